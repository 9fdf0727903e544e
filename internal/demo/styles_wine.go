package demo

var (
	redFlavors     = []string{"black cherry", "plum", "blackberry", "cassis", "tobacco", "cedar", "vanilla", "black pepper", "leather", "violet", "dark chocolate", "raspberry"}
	whiteFlavors   = []string{"green apple", "pear", "lemon zest", "peach", "white flowers", "honeysuckle", "wet stone", "grapefruit", "melon", "butter", "almond", "lime"}
	roseFlavors    = []string{"strawberry", "watermelon", "red currant", "rose petal", "orange peel", "peach", "white pepper"}
	bubbleFlavors  = []string{"brioche", "green apple", "toasted almond", "citrus", "pear", "chalk", "white peach"}
	dessertFlavors = []string{"fig", "caramel", "walnut", "dried apricot", "orange peel", "honey", "toffee", "raisin", "cocoa"}
	fruitFlavors   = []string{"blueberry", "cherry", "peach", "raspberry", "apple", "cranberry", "strawberry", "pear"}
	sakeFlavors    = []string{"steamed rice", "melon", "banana", "pear", "anise", "white peach", "cucumber"}
)

var wineStyles = []style{
	{class: "80", path: "Wine > Red Wine", weight: 41, abv: [2]float64{11.5, 15.4}, flavors: redFlavors, grapes: reds},
	{class: "81", path: "Wine > White Wine", weight: 27, abv: [2]float64{10.5, 14}, flavors: whiteFlavors, grapes: whites},
	{class: "80A", path: "Wine > Rosé Wine", weight: 7, abv: [2]float64{11, 13.5}, flavors: roseFlavors, grapes: roses},
	{class: "84", path: "Wine > Sparkling Wine", weight: 7, abv: [2]float64{11, 12.9}, flavors: bubbleFlavors, grapes: sparkling,
		names: []string{"BRUT", "BRUT NATURE", "EXTRA BRUT", "BLANC DE BLANCS", "BRUT ROSÉ", "EXTRA DRY"}},
	{class: "84", path: "Wine > Sparkling Wine > Champagne", weight: 0.4, abv: [2]float64{12, 12.5}, only: []string{"51"}, flavors: bubbleFlavors, grapes: sparkling,
		names: []string{"BRUT", "BRUT RÉSERVE", "BLANC DE BLANCS", "BLANC DE NOIRS", "ROSÉ", "EXTRA BRUT", "MILLÉSIME"}},
	{class: "84", path: "Wine > Sparkling Wine > Prosecco", weight: 0.4, abv: [2]float64{11, 11.5}, only: []string{"50"}, flavors: bubbleFlavors, grapes: sparkling,
		names: []string{"PROSECCO", "PROSECCO EXTRA DRY", "PROSECCO ROSÉ", "MILLESIMATO"}},
	{class: "84", path: "Wine > Sparkling Wine > Cava", weight: 0.4, abv: [2]float64{11.5, 12}, only: []string{"52"}, flavors: bubbleFlavors, grapes: sparkling,
		names: []string{"CAVA BRUT", "CAVA RESERVA", "BRUT NATURE"}},
	{class: "88", path: "Wine > Dessert Wine > Port > Tawny Port", weight: 0.5, abv: [2]float64{19, 20}, only: []string{"54"}, flavors: dessertFlavors, grapes: fortified,
		names: []string{"TAWNY", "10 YEARS OLD TAWNY", "20 YEARS OLD TAWNY", "COLHEITA"}},
	{class: "88", path: "Wine > Dessert Wine > Port > Ruby Port", weight: 0.3, abv: [2]float64{19, 20}, only: []string{"54"}, flavors: dessertFlavors, grapes: fortified,
		names: []string{"RUBY", "LATE BOTTLED VINTAGE", "VINTAGE PORT"}},
	{class: "88", path: "Wine > Dessert Wine > Sherry", weight: 0.25, abv: [2]float64{15, 20}, only: []string{"52"}, flavors: dessertFlavors, grapes: fortified,
		names: []string{"FINO", "AMONTILLADO", "OLOROSO", "PEDRO XIMÉNEZ", "MANZANILLA"}},
	{class: "88", path: "Wine > Dessert Wine", weight: 2.2, abv: [2]float64{16, 20}, flavors: dessertFlavors, grapes: fortified,
		names: []string{"LATE HARVEST", "PORT", "ICE WINE", "SOLERA", "MUSCAT"}},
	{class: "86", path: "Wine > Vermouth", weight: 0.8, abv: [2]float64{15, 18}, flavors: []string{"wormwood", "orange peel", "clove", "thyme", "vanilla"},
		names: []string{"SWEET VERMOUTH", "DRY VERMOUTH", "VERMOUTH BLANC", "VERMOUTH ROSSO"}},
	{class: "82", path: "Wine > Flavored Wine", weight: 1.6, abv: [2]float64{5, 13.9}, flavors: fruitFlavors, names: []string{"SANGRIA", "PEACH", "STRAWBERRY", "WINE SPRITZER", "MULLED"}},
	{class: "83", path: "Wine > Fruit Wine", weight: 2.2, abv: [2]float64{8, 13.5}, domestic: true, flavors: fruitFlavors, names: []string{"BLUEBERRY", "BLACKBERRY", "CHERRY", "PEACH", "CRANBERRY", "RHUBARB", "ELDERBERRY"}},
	{class: "82M", path: "Wine > Mead", weight: 1.3, abv: [2]float64{7, 14}, domestic: true, flavors: []string{"honey", "wildflower", "clove", "orange", "vanilla"}, names: []string{"TRADITIONAL MEAD", "MELOMEL", "METHEGLIN", "WILDFLOWER", "BOCHET"}},
	{class: "83C", path: "Beer > Cider", weight: 2.6, abv: [2]float64{4.5, 8.4}, domestic: true, flavors: []string{"apple", "pear", "ginger", "tannin", "citrus"}, names: []string{"DRY CIDER", "SEMI-SWEET", "ROSÉ CIDER", "HOPPED CIDER", "HERITAGE APPLE"}},
	{class: "84C", path: "Beer > Cider > Sparkling Cider", weight: 0.6, abv: [2]float64{5, 8}, flavors: []string{"apple", "brioche", "quince"}, names: []string{"BRUT CIDER", "CIDRE BOUCHÉ", "PÉTILLANT"}},
	{class: "85", path: "Wine > Wine Spritzer", weight: 0.9, abv: [2]float64{4, 8}, domestic: true, flavors: fruitFlavors, names: []string{"SPRITZ", "ROSÉ SPRITZ", "BUBBLY"}},
	{class: "87", path: "Liquor > Ready to Drink > Wine Cocktail", weight: 0.7, abv: [2]float64{13.9, 20}, domestic: true, flavors: fruitFlavors, names: []string{"MARGARITA", "BAJA LIME", "STRAWBERRY", "AGAVE WINE COCKTAIL", "MOJITO"}},
	{class: "931", path: "Liquor > Sake", weight: 0.2, abv: [2]float64{13, 16}, domestic: true, flavors: sakeFlavors, names: []string{"JUNMAI", "NIGORI", "JUNMAI GINJO"}},
	{class: "981", path: "Liquor > Sake", weight: 4.5, abv: [2]float64{13, 17}, only: []string{"59"}, flavors: sakeFlavors, names: []string{"JUNMAI", "JUNMAI GINJO", "JUNMAI DAIGINJO", "NIGORI", "HONJOZO", "TOKUBETSU JUNMAI", "NAMA GENSHU"}},
	{class: "981", path: "Liquor > Rice Wine > Makgeolli", weight: 0.6, abv: [2]float64{6, 13}, only: []string{"5D"}, flavors: sakeFlavors, names: []string{"MAKGEOLLI", "CHEONGJU", "YAKJU"}},
}

// designations are the words on wine labels that a derived designation is made of.
var designations = []string{
	"reserve", "estate bottled", "old vine", "single vineyard", "barrel select", "special selection", "unfiltered", "vieilles vignes", "grand cru", "riserva",
	"gran reserva", "late harvest", "brut", "sur lie",
}
