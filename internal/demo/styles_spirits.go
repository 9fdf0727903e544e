package demo

var (
	whiskeyFlavors = []string{"caramel", "vanilla", "oak", "cinnamon", "orange peel", "toasted nuts", "leather", "dried cherry", "rye spice", "brown sugar"}
	scotchFlavors  = []string{"peat smoke", "honey", "heather", "sea salt", "dried fruit", "malt", "toffee", "apple"}
	ginFlavors     = []string{"juniper", "coriander", "lemon peel", "cucumber", "lavender", "orris", "grapefruit", "cardamom"}
	agaveFlavors   = []string{"cooked agave", "black pepper", "citrus", "vanilla", "herbs", "smoke", "earth"}
	rumFlavors     = []string{"molasses", "banana", "vanilla", "brown sugar", "coconut", "nutmeg", "toffee"}
	brandyFlavors  = []string{"baked apple", "dried apricot", "oak", "vanilla", "walnut", "candied orange"}
	herbalFlavors  = []string{"gentian", "orange peel", "anise", "mint", "rhubarb", "clove", "saffron"}
	vodkaFlavors   = []string{"clean grain", "citrus", "white pepper", "mineral", "cream"}
)

// finishes are the casks that a spirit may spend its last months in.
var finishes = []string{"sherry cask", "port cask", "rum cask", "toasted barrel", "cognac cask", "Madeira cask", "maple barrel", "wine barrique", "stout barrel"}

var (
	bourbonGrains = []string{"corn", "rye", "malted barley", "wheat"}
	whiskeyGrains = []string{"rye", "corn", "malted barley", "oats", "wheat"}
	vodkaGrains   = []string{"corn", "wheat", "rye", "potato"}
)

var spiritStyles = []style{
	{class: "101", path: "Liquor > Whiskey > Bourbon > Straight Bourbon", weight: 14, abv: [2]float64{40, 64}, domestic: true, flavors: whiskeyFlavors, grains: bourbonGrains, aged: [2]int{2, 15},
		names: []string{"SMALL BATCH", "SINGLE BARREL", "BARREL PROOF", "CASK STRENGTH", "SINGLE BARREL SELECT", "DOUBLE OAKED", "WHEATED", "FOUR GRAIN"}},
	{class: "141", path: "Liquor > Whiskey > Bourbon", weight: 8, abv: [2]float64{40, 60}, domestic: true, flavors: whiskeyFlavors, grains: bourbonGrains, aged: [2]int{0, 6}, names: []string{"BOURBON", "SMALL BATCH", "SMALL BARREL", "HIGH RYE"}},
	{class: "111", path: "Liquor > Whiskey > Bourbon > Bottled in Bond", weight: 2, abv: [2]float64{50, 50}, domestic: true, flavors: whiskeyFlavors, grains: bourbonGrains, aged: [2]int{4, 9}, names: []string{"BOTTLED IN BOND", "BONDED", "100 PROOF"}},
	{class: "102", path: "Liquor > Whiskey > Rye Whiskey > Straight Rye", weight: 6, abv: [2]float64{43, 62}, domestic: true, flavors: whiskeyFlavors, grains: whiskeyGrains, aged: [2]int{2, 13}, names: []string{"STRAIGHT RYE", "SINGLE BARREL RYE", "BARREL STRENGTH", "PORT FINISHED"}},
	{class: "142", path: "Liquor > Whiskey > Rye Whiskey", weight: 3, abv: [2]float64{40, 55}, domestic: true, flavors: whiskeyFlavors, grains: whiskeyGrains, aged: [2]int{0, 5}, names: []string{"RYE", "100% RYE", "SPICED RYE"}},
	{class: "140", path: "Liquor > Whiskey", weight: 4, abv: [2]float64{40, 55}, domestic: true, flavors: whiskeyFlavors, grains: whiskeyGrains, aged: [2]int{0, 8}, names: []string{"AMERICAN WHISKEY", "RESERVE", "BLACK LABEL", "CORN WHISKEY"}},
	{class: "166", path: "Liquor > Whiskey > American Single Malt", weight: 2, abv: [2]float64{43, 58}, domestic: true, flavors: scotchFlavors, grains: []string{"malted barley"}, aged: [2]int{2, 8}, names: []string{"SINGLE MALT", "PEATED", "SHERRY CASK"}},
	{class: "149", path: "Liquor > Whiskey > Flavored Whiskey", weight: 3, abv: [2]float64{30, 40}, domestic: true, flavors: []string{"honey", "cinnamon", "apple", "peanut butter", "maple"}, names: []string{"HONEY", "CINNAMON", "APPLE", "PEANUT BUTTER", "MAPLE"}},
	{class: "153", path: "Liquor > Whiskey > Scotch > Single Malt Scotch", weight: 3, abv: [2]float64{40, 60}, only: []string{"5K"}, flavors: scotchFlavors, grains: []string{"malted barley"}, aged: [2]int{8, 30}, names: []string{"12 YEAR OLD", "16 YEAR OLD", "CASK STRENGTH", "PEATED", "SHERRY OAK", "DOUBLE CASK"}},
	{class: "151", path: "Liquor > Whiskey > Scotch > Blended Scotch", weight: 1.6, abv: [2]float64{40, 46}, only: []string{"5K"}, flavors: scotchFlavors, grains: []string{"malted barley", "wheat"}, aged: [2]int{3, 18}, names: []string{"BLENDED SCOTCH WHISKY", "BLACK", "12 YEAR OLD"}},
	{class: "171", path: "Liquor > Whiskey > Irish Whiskey", weight: 2, abv: [2]float64{40, 46}, only: []string{"5E", "6W"}, flavors: []string{"honey", "apple", "vanilla", "malt", "toffee"}, grains: []string{"malted barley", "corn"}, aged: [2]int{3, 18}, names: []string{"SINGLE POT STILL", "BLENDED IRISH WHISKEY", "SINGLE MALT"}},
	{class: "161", path: "Liquor > Whiskey > Canadian Whisky", weight: 1.4, abv: [2]float64{40, 45}, only: []string{"69"}, flavors: whiskeyFlavors, grains: []string{"rye", "corn"}, aged: [2]int{3, 15}, names: []string{"CANADIAN WHISKY", "RYE", "NORTHERN RESERVE"}},
	{class: "191", path: "Liquor > Whiskey > Japanese Whisky", weight: 1.2, abv: [2]float64{40, 48}, only: []string{"59", "8A"}, flavors: scotchFlavors, grains: []string{"malted barley", "corn"}, aged: [2]int{3, 18}, names: []string{"MIZUNARA CASK", "PURE MALT", "BLENDED WHISKY"}},
	{class: "301", imported: "351", path: "Liquor > Vodka", weight: 10, abv: [2]float64{40, 44}, flavors: vodkaFlavors, grains: vodkaGrains, names: []string{"VODKA", "HANDCRAFTED", "SIX TIMES DISTILLED", "GLUTEN FREE"}},
	{class: "339", path: "Liquor > Vodka > Flavored Vodka", weight: 5, abv: [2]float64{30, 37.5}, flavors: fruitFlavors, names: []string{"CITRUS", "LAVENDER", "PEACH", "CUCUMBER", "RASPBERRY", "JALAPEÑO"}},
	{class: "210", imported: "268", path: "Liquor > Gin", weight: 6, abv: [2]float64{40, 50}, flavors: ginFlavors, names: []string{"GIN", "BARREL RESTED", "NAVY STRENGTH", "BOTANICAL", "CONTEMPORARY GIN"}},
	{class: "201", imported: "258", path: "Liquor > Gin > London Dry Gin", weight: 3, abv: [2]float64{41, 47}, flavors: ginFlavors, names: []string{"LONDON DRY", "DRY GIN"}},
	{class: "400", imported: "492", path: "Liquor > Rum > White Rum", weight: 3, abv: [2]float64{40, 45}, flavors: rumFlavors, names: []string{"SILVER", "WHITE RUM", "AGRICOLE"}},
	{class: "410", imported: "493", path: "Liquor > Rum > Gold Rum", weight: 3, abv: [2]float64{40, 50}, flavors: rumFlavors, aged: [2]int{0, 8}, names: []string{"GOLD", "AGED RUM", "BARREL RESERVE"}},
	{class: "490", path: "Liquor > Rum", weight: 0.9, abv: [2]float64{40, 58}, only: []string{"5J", "4D", "5M", "4H", "67", "7F"}, flavors: rumFlavors, aged: [2]int{1, 23}, names: []string{"AÑEJO", "XO", "OVERPROOF", "12 AÑOS", "POT STILL"}},
	{class: "977", path: "Liquor > Agave > Tequila", weight: 6, abv: [2]float64{40, 50}, only: []string{"81"}, flavors: agaveFlavors, aged: [2]int{0, 7}, names: []string{"BLANCO", "REPOSADO", "AÑEJO", "EXTRA AÑEJO", "CRISTALINO", "HIGH PROOF"}},
	{class: "980", path: "Liquor > Agave > Mezcal", weight: 2, abv: [2]float64{42, 52}, only: []string{"81"}, flavors: agaveFlavors, names: []string{"ESPADÍN", "TOBALÁ", "ENSAMBLE", "JOVEN", "CUISHE"}},
	{class: "943", path: "Liquor > Agave", weight: 0.8, abv: [2]float64{40, 45}, domestic: true, flavors: agaveFlavors, names: []string{"AGAVE SPIRIT", "BLUE AGAVE"}},
	{class: "521", imported: "560", path: "Liquor > Brandy", weight: 2, abv: [2]float64{40, 45}, flavors: brandyFlavors, aged: [2]int{2, 20}, names: []string{"VSOP", "XO", "RESERVE BRANDY"}},
	{class: "541", path: "Liquor > Brandy > Apple Brandy", weight: 1.2, abv: [2]float64{40, 50}, domestic: true, flavors: brandyFlavors, aged: [2]int{0, 6}, names: []string{"APPLEJACK", "APPLE BRANDY"}},
	{class: "551", path: "Liquor > Brandy > Cognac", weight: 2, abv: [2]float64{40, 45}, only: []string{"51"}, flavors: brandyFlavors, aged: [2]int{2, 30}, names: []string{"VS", "VSOP", "XO", "HORS D'ÂGE", "GRANDE CHAMPAGNE"}},
	{class: "588", path: "Liquor > Brandy > Grappa", weight: 0.8, abv: [2]float64{38, 45}, only: []string{"50", "85", "70"}, flavors: brandyFlavors, names: []string{"GRAPPA", "RISERVA", "ACHOLADO", "QUEBRANTA"}},
	{class: "609", imported: "679", path: "Liquor > Liqueur", weight: 3, abv: [2]float64{15, 35}, flavors: fruitFlavors, names: []string{"LIMONCELLO", "TRIPLE SEC", "ELDERFLOWER", "COFFEE", "CREAM"}},
	{class: "619", imported: "669", path: "Liquor > Liqueur > Amaro", weight: 3, abv: [2]float64{16, 40}, flavors: herbalFlavors, names: []string{"AMARO", "FERNET", "APERITIVO", "HERBAL LIQUEUR"}},
	{class: "926", path: "Liquor > Bitters", weight: 0.6, abv: [2]float64{35, 45}, flavors: herbalFlavors, names: []string{"AROMATIC BITTERS", "ORANGE BITTERS", "CELERY"}},
	{class: "789", path: "Liquor > Ready to Drink > Cocktail", weight: 4, abv: [2]float64{5, 23}, domestic: true, flavors: fruitFlavors, names: []string{"MARGARITA", "OLD FASHIONED", "ESPRESSO MARTINI", "GIN & TONIC", "PALOMA", "NEGRONI"}},
	{class: "649", imported: "699", path: "Liquor > Specialty", weight: 6, abv: [2]float64{10, 45}, flavors: fruitFlavors, names: []string{"APPLE PIE MOONSHINE", "STRAWBERRY MOONSHINE", "VODKA SODA", "PEACH MOONSHINE", "SMOOTH SPIRIT", "HONEY & BOURBON"}},
}
