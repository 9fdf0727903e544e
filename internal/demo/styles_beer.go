package demo

var (
	hopFlavors   = []string{"grapefruit", "pine", "mango", "passion fruit", "orange peel", "pineapple", "resin", "stone fruit", "lime"}
	maltFlavors  = []string{"caramel", "toast", "biscuit", "honey", "nuts", "bread crust", "toffee"}
	roastFlavors = []string{"coffee", "dark chocolate", "roasted barley", "vanilla", "molasses", "oak", "licorice"}
	lightFlavors = []string{"crisp grain", "honey", "lemon", "floral hops", "fresh bread", "herbs"}
	sourFlavors  = []string{"raspberry", "cherry", "lemon", "oak", "peach", "apricot", "passion fruit"}
)

// hopVarieties are real; a beer has one to four of them.
var hopVarieties = []string{
	"Amarillo", "Azacca", "Bravo", "Cascade", "Centennial", "Chinook", "Citra", "Columbus", "El Dorado", "Fuggle", "Galaxy", "Hallertau", "Idaho 7", "Mosaic",
	"Motueka", "Nelson Sauvin", "Saaz", "Sabro", "Simcoe", "Strata", "Styrian Golding", "Tettnang", "Vic Secret", "Warrior",
}

var beerStyles = []style{
	{class: "902", imported: "952", path: "Beer > Ale > India Pale Ale", weight: 17, abv: [2]float64{5.8, 7.5}, flavors: hopFlavors, ibu: [2]int{45, 75}, names: []string{"IPA", "INDIA PALE ALE", "WEST COAST IPA"}},
	{class: "902", imported: "952", path: "Beer > Ale > India Pale Ale > Hazy IPA", weight: 13, abv: [2]float64{6, 8}, domestic: true, flavors: hopFlavors, ibu: [2]int{20, 50}, names: []string{"HAZY IPA", "NEW ENGLAND IPA", "JUICY IPA"}},
	{class: "902", imported: "952", path: "Beer > Ale > India Pale Ale > Double IPA", weight: 7, abv: [2]float64{7.8, 10.5}, flavors: hopFlavors, ibu: [2]int{60, 100}, names: []string{"DOUBLE IPA", "IMPERIAL IPA", "TRIPLE IPA"}},
	{class: "902", imported: "952", path: "Beer > Ale > Pale Ale", weight: 8, abv: [2]float64{4.8, 6}, flavors: hopFlavors, ibu: [2]int{25, 45}, names: []string{"PALE ALE", "EXTRA PALE ALE"}},
	{class: "902", imported: "952", path: "Beer > Ale > Amber Ale", weight: 4, abv: [2]float64{4.8, 6.2}, flavors: maltFlavors, ibu: [2]int{20, 35}, names: []string{"AMBER ALE", "RED ALE", "COPPER ALE"}},
	{class: "902", imported: "952", path: "Beer > Ale > Brown Ale", weight: 3, abv: [2]float64{4.8, 6.2}, flavors: maltFlavors, ibu: [2]int{18, 30}, names: []string{"BROWN ALE", "NUT BROWN ALE"}},
	{class: "902", imported: "952", path: "Beer > Ale > Wheat Beer > Hefeweizen", weight: 4, abv: [2]float64{4.6, 5.6}, flavors: []string{"banana", "clove", "wheat", "lemon", "bubblegum"}, ibu: [2]int{8, 18}, names: []string{"HEFEWEIZEN", "WEISSBIER", "WHEAT"}},
	{class: "902", imported: "952", path: "Beer > Ale > Belgian Ale > Tripel", weight: 2, abv: [2]float64{8, 9.8}, flavors: []string{"pear", "clove", "honey", "orange peel", "pepper"}, ibu: [2]int{20, 40}, names: []string{"TRIPEL", "ABBEY TRIPEL", "BELGIAN GOLDEN"}},
	{class: "902", imported: "952", path: "Beer > Ale > Belgian Ale > Saison", weight: 4, abv: [2]float64{5, 7.5}, flavors: []string{"black pepper", "hay", "lemon", "orange peel", "coriander"}, ibu: [2]int{18, 35}, names: []string{"SAISON", "FARMHOUSE ALE", "SAISON DE {g}"}},
	{class: "902", imported: "952", path: "Beer > Ale > Sour Ale", weight: 5, abv: [2]float64{3.8, 7}, flavors: sourFlavors, ibu: [2]int{4, 12}, names: []string{"SOUR", "GOSE", "BERLINER WEISSE", "WILD ALE"}},
	{class: "901", imported: "951", path: "Beer > Lager > Pilsner", weight: 8, abv: [2]float64{4.4, 5.5}, flavors: lightFlavors, ibu: [2]int{22, 42}, names: []string{"PILSNER", "PILS", "CZECH-STYLE PILSNER", "ITALIAN PILS"}},
	{class: "901", imported: "951", path: "Beer > Lager", weight: 8, abv: [2]float64{4, 5.4}, flavors: lightFlavors, ibu: [2]int{8, 22}, names: []string{"LAGER", "LIGHT LAGER", "PREMIUM LAGER", "CERVEZA", "EXPORT"}},
	{class: "901", imported: "951", path: "Beer > Lager > Märzen", weight: 2.4, abv: [2]float64{5.4, 6.2}, flavors: maltFlavors, ibu: [2]int{18, 26}, names: []string{"OKTOBERFEST", "MÄRZEN", "FESTBIER"}},
	{class: "901", imported: "951", path: "Beer > Lager > Bock", weight: 1.5, abv: [2]float64{6.3, 8.5}, flavors: maltFlavors, ibu: [2]int{18, 28}, names: []string{"BOCK", "DOPPELBOCK", "MAIBOCK"}},
	{class: "904", imported: "952", path: "Beer > Stout", weight: 6, abv: [2]float64{4.8, 7}, flavors: roastFlavors, ibu: [2]int{25, 45}, names: []string{"STOUT", "OATMEAL STOUT", "MILK STOUT", "DRY STOUT"}},
	{class: "904", imported: "952", path: "Beer > Stout > Imperial Stout", weight: 4, abv: [2]float64{9, 14}, flavors: roastFlavors, ibu: [2]int{40, 75}, names: []string{"IMPERIAL STOUT", "BARREL-AGED STOUT", "RUSSIAN IMPERIAL STOUT", "BOURBON BARREL AGED"}},
	{class: "905", imported: "952", path: "Beer > Porter", weight: 3, abv: [2]float64{5, 7}, flavors: roastFlavors, ibu: [2]int{20, 40}, names: []string{"PORTER", "ROBUST PORTER", "BALTIC PORTER", "VANILLA PORTER"}},
	{class: "903", path: "Beer > Malt Liquor", weight: 0.6, abv: [2]float64{6, 8.5}, domestic: true, flavors: lightFlavors, names: []string{"MALT LIQUOR", "HIGH GRAVITY"}},
	{class: "906", imported: "956", path: "Beer > Flavored Malt Beverage", weight: 9, abv: [2]float64{4, 8}, flavors: fruitFlavors, names: []string{"MANGO", "BLUEBERRY VANILLA", "PEACH COBBLER", "GUAVA MOCHI", "KEY LIME", "PUMPKIN ALE", "HARD LEMONADE"}},
	{class: "906", path: "Liquor > Ready to Drink > Hard Seltzer", weight: 4, abv: [2]float64{4, 6}, domestic: true, flavors: []string{"black cherry", "lime", "mango", "grapefruit", "watermelon"}, names: []string{"HARD SELTZER", "BLACK CHERRY", "MANGO", "RUBY GRAPEFRUIT", "LIME"}},
	{class: "907", imported: "957", path: "Beer > Non-Alcoholic", weight: 1.4, abv: [2]float64{0.1, 0.4}, flavors: lightFlavors, ibu: [2]int{10, 40}, names: []string{"NON-ALCOHOLIC IPA", "ALCOHOL FREE", "NEAR BEER", "FREE WAVE"}},
}
