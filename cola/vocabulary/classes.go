package vocabulary

import (
	"strings"
)

// Class is one of TTB's class/type codes.
type Class struct {
	ID          string      // such as "101" or "80A"
	Name        string      // in TTB's spelling
	ProductType ProductType // empty if the code doesn't imply one
	Category    string      // category path; empty if the code doesn't imply one
}

// Classes lists the known class/type codes in TTB's order. Labels may have others.
func Classes() []Class {
	classes := make([]Class, len(classTable))
	for i, c := range classTable {
		kind, _ := ProductTypeOfClass(c.id)
		classes[i] = Class{ID: c.id, Name: c.name, ProductType: kind, Category: c.category}
	}
	return classes
}

// ProductTypeOfClass returns the product type of a class/type code. TTB assigns ranges of numbers
// to product types, so the code need not be in Classes. Some codes have a letter after the number
// (80A). ok is false for an invalid code and for numbers without a product type, such as 990,
// non-alcoholic mixes.
func ProductTypeOfClass(classID string) (kind ProductType, ok bool) {
	n, _, ok := parseClass(classID)
	if !ok {
		return "", false
	}
	switch {
	case n >= 80 && n <= 89, n == 931, n == 981: // sake is taxed as beer and labeled as wine
		return Wine, true
	case n >= 900 && n <= 909, n >= 951 && n <= 957:
		return MaltBeverage, true
	case n >= 100 && n <= 799, n >= 920 && n <= 949, n >= 970 && n <= 983: // 97x and 98x are 92x and 93x, imported
		return DistilledSpirits, true
	}
	return "", false
}

// parseClass returns the parts of a class/type code: a number of one to three digits and, for some
// codes, a letter, which is 0 otherwise.
func parseClass(id string) (n int, letter byte, ok bool) {
	id = strings.TrimSpace(id)
	if len(id) > 1 {
		if c := id[len(id)-1] &^ 0x20; c >= 'A' && c <= 'Z' {
			id, letter = id[:len(id)-1], c
		}
	}
	if id == "" || len(id) > 3 {
		return 0, 0, false
	}
	for i := range len(id) {
		if id[i] < '0' || id[i] > '9' {
			return 0, 0, false
		}
		n = n*10 + int(id[i]-'0')
	}
	return n, letter, true
}

// classTable lists TTB's class/type codes and names, as TTB spells them, with the category path
// that a class implies (see CategoryOfClass). TTB does not publish a complete list, so labels may
// have other codes.
var classTable = [...]struct{ id, name, category string }{
	{"80", "TABLE RED WINE", "Wine > Red Wine"},
	{"80A", "ROSE WINE", "Wine > Rosé Wine"},
	{"81", "TABLE WHITE WINE", "Wine > White Wine"},
	{"82", "TABLE FLAVORED WINE", "Wine > Flavored Wine"},
	{"82C", "APPLE BASED FLAVORED WINE", "Wine > Flavored Wine"},
	{"82M", "HONEY BASED TABLE WINE", "Wine > Mead"},
	{"83", "TABLE FRUIT WINE", "Wine > Fruit Wine"},
	{"83C", "APPLE TABLE WINE/CIDER", "Beer > Cider"},
	{"84", "SPARKLING WINE/CHAMPAGNE", "Wine > Sparkling Wine"},
	{"84C", "SPARKLING WINE/ CIDER", "Beer > Cider > Sparkling Cider"},
	{"84M", "SPARKLING WINE/MEAD", "Wine > Mead"},
	{"85", "CARBONATED WINE", "Wine > Carbonated Wine"},
	{"85C", "CARBONATED WINE/CIDER", "Beer > Cider"},
	{"86", "VERMOUTH/MIXED TYPES", "Wine > Vermouth"},
	{"87", "DESSERT FLAVORED WINE", "Wine > Flavored Wine"},
	{"87C", "APPLE BASED DESSERT FLAVORED WINE", "Wine > Flavored Wine"},
	{"87M", "HONEY BASED DESSERT WINE", "Wine > Mead"},
	{"88", "DESSERT /PORT/SHERRY/(COOKING) WINE", "Wine"},
	{"89", "DESSERT FRUIT WINE", "Wine > Fruit Wine"},
	{"89C", "APPLE DESSERT WINE/CIDER", "Wine > Fruit Wine"},
	{"100", "STRAIGHT WHISKY", "Liquor > Whiskey"},
	{"101", "STRAIGHT BOURBON WHISKY", "Liquor > Whiskey > Bourbon > Straight Bourbon"},
	{"102", "STRAIGHT RYE WHISKY", "Liquor > Whiskey > Rye Whiskey > Straight Rye"},
	{"103", "STRAIGHT CORN WHISKY", "Liquor > Whiskey > Corn Whiskey"},
	{"109", "OTHER STRAIGHT WHISKY", "Liquor > Whiskey"},
	{"110", "WHISKY BOTTLED IN BOND (BIB)", "Liquor > Whiskey"},
	{"111", "BOURBON WHISKY BIB", "Liquor > Whiskey > Bourbon > Bottled in Bond"},
	{"112", "RYE WHISKY BIB", "Liquor > Whiskey > Rye Whiskey > Bottled in Bond"},
	{"117", "STRAIGHT MALT WHISKY", "Liquor > Whiskey > Malt Whiskey"},
	{"118", "MALT WHISKY", "Liquor > Whiskey > Malt Whiskey"},
	{"120", "STRAIGHT WHISKY BLENDS", "Liquor > Whiskey > Blended Whiskey"},
	{"121", "STRAIGHT BOURBON WHISKY BLENDS", "Liquor > Whiskey > Bourbon"},
	{"130", "WHISKY BLENDS", "Liquor > Whiskey > Blended Whiskey"},
	{"137", "BLENDED WHISKY", "Liquor > Whiskey > Blended Whiskey"},
	{"140", "WHISKY", "Liquor > Whiskey"},
	{"141", "BOURBON WHISKY", "Liquor > Whiskey > Bourbon"},
	{"142", "RYE WHISKY", "Liquor > Whiskey > Rye Whiskey"},
	{"143", "CORN WHISKY", "Liquor > Whiskey > Corn Whiskey"},
	{"144", "LIGHT WHISKY", "Liquor > Whiskey > Light Whiskey"},
	{"147", "SPIRIT WHISKY", "Liquor > Whiskey > Spirit Whiskey"},
	{"149", "OTHER WHISKY (FLAVORED)", "Liquor > Whiskey > Flavored Whiskey"},
	{"150", "SCOTCH WHISKY", "Liquor > Whiskey > Scotch"},
	{"151", "SCOTCH WHISKY FB", "Liquor > Whiskey > Scotch"},
	{"153", "SINGLE MALT SCOTCH WHISKY", "Liquor > Whiskey > Scotch > Single Malt Scotch"},
	{"160", "CANADIAN WHISKY", "Liquor > Whiskey > Canadian Whisky"},
	{"161", "CANADIAN WHISKY FB", "Liquor > Whiskey > Canadian Whisky"},
	{"165", "STRAIGHT AMERICAN SINGLE MALT", "Liquor > Whiskey > American Single Malt"},
	{"166", "AMERICAN SINGLE MALT WHISKEY", "Liquor > Whiskey > American Single Malt"},
	{"170", "IRISH WHISKY", "Liquor > Whiskey > Irish Whiskey"},
	{"171", "IRISH WHISKY FB", "Liquor > Whiskey > Irish Whiskey"},
	{"190", "OTHER IMPORTED WHISKY", "Liquor > Whiskey"},
	{"191", "OTHER IMPORTED WHISKY FB", "Liquor > Whiskey"},
	{"200", "DISTILLED GIN", "Liquor > Gin"},
	{"201", "LONDON DRY DISTILLED GIN", "Liquor > Gin > London Dry Gin"},
	{"210", "GIN", "Liquor > Gin"},
	{"211", "LONDON DRY GIN", "Liquor > Gin > London Dry Gin"},
	{"219", "OTHER GIN", "Liquor > Gin"},
	{"230", "GIN - FLAVORED", "Liquor > Gin > Flavored Gin"},
	{"250", "DISTILLED GIN (IMPORTED)", "Liquor > Gin"},
	{"258", "OTHER DISTILLED GIN FB", "Liquor > Gin"},
	{"260", "GIN (IMPORTED)", "Liquor > Gin"},
	{"268", "OTHER GIN FB", "Liquor > Gin"},
	{"289", "OTHER GIN - FLAVORED", "Liquor > Gin > Flavored Gin"},
	{"300", "VODKA (80-89 PROOF)", "Liquor > Vodka"},
	{"301", "VODKA 80-89 PROOF", "Liquor > Vodka"},
	{"310", "VODKA (90-99 PROOF)", "Liquor > Vodka"},
	{"311", "VODKA 90-99 PROOF", "Liquor > Vodka"},
	{"320", "VODKA (100 PROOF UP)", "Liquor > Vodka"},
	{"330", "VODKA - FLAVORED", "Liquor > Vodka > Flavored Vodka"},
	{"339", "VODKA - OTHER FLAVORED", "Liquor > Vodka > Flavored Vodka"},
	{"351", "VODKA 80-89 PROOF FB", "Liquor > Vodka"},
	{"400", "U.S. RUM (WHITE)", "Liquor > Rum > White Rum"},
	{"401", "PUERTO RICAN RUM (WHITE)", "Liquor > Rum > White Rum"},
	{"402", "VIRGIN ISLANDS RUM (WHITE)", "Liquor > Rum > White Rum"},
	{"409", "OTHER RUM (WHITE)", "Liquor > Rum > White Rum"},
	{"410", "U.S. RUM (GOLD)", "Liquor > Rum > Gold Rum"},
	{"411", "PUERTO RICAN RUM (GOLD)", "Liquor > Rum > Gold Rum"},
	{"419", "OTHER RUM (GOLD)", "Liquor > Rum > Gold Rum"},
	{"450", "FOREIGN RUM", "Liquor > Rum"},
	{"459", "OTHER FORIEGN RUM", "Liquor > Rum"},
	{"461", "JAMAICAN RUM WHITE FB", "Liquor > Rum > White Rum"},
	{"463", "JAMAICAN RUM GOLD FB", "Liquor > Rum > Gold Rum"},
	{"490", "OTHER FOREIGN RUM", "Liquor > Rum"},
	{"492", "OTHER RUM WHITE USB", "Liquor > Rum > White Rum"},
	{"493", "OTHER RUM GOLD FB", "Liquor > Rum > Gold Rum"},
	{"494", "OTHER RUM GOLD USB", "Liquor > Rum > Gold Rum"},
	{"499", "IMPORTED FLAVORED RUM", "Liquor > Rum > Flavored Rum"},
	{"500", "CALIFORNIA GRAPE BRANDY", "Liquor > Brandy"},
	{"501", "CALIFORNIA BRANDY", "Liquor > Brandy"},
	{"510", "NEW YORK GRAPE BRANDY", "Liquor > Brandy"},
	{"520", "OTHER DOMESTIC GRAPE BRANDY", "Liquor > Brandy"},
	{"521", "BRANDY", "Liquor > Brandy"},
	{"540", "FRUIT BRANDY", "Liquor > Brandy > Fruit Brandy"},
	{"541", "APPLE BRANDY", "Liquor > Brandy > Apple Brandy"},
	{"546", "PEAR BRANDY", "Liquor > Brandy > Pear Brandy"},
	{"547", "APRICOT BRANDY", "Liquor > Brandy > Apricot Brandy"},
	{"549", "OTHER FRUIT BRANDY", "Liquor > Brandy > Fruit Brandy"},
	{"550", "FRENCH BRANDY", "Liquor > Brandy"},
	{"551", "COGNAC (BRANDY) FB", "Liquor > Brandy > Cognac"},
	{"553", "ARMAGNAC (BRANDY) FB", "Liquor > Brandy > Armagnac"},
	{"560", "OTHER FOREIGN BRANDY", "Liquor > Brandy"},
	{"588", "OTHER GRAPE BRANDY (PISCO, GRAPPA) FB", "Liquor > Brandy"},
	{"600", "CORDIALS (FRUIT & PEELS)", "Liquor > Liqueur > Fruit Liqueur"},
	{"601", "FRUIT FLAVORED LIQUEURS", "Liquor > Liqueur > Fruit Liqueur"},
	{"603", "CURACAO", "Liquor > Liqueur > Curaçao"},
	{"604", "TRIPLE SEC", "Liquor > Liqueur > Triple Sec"},
	{"605", "SLOE GIN", "Liquor > Liqueur > Sloe Gin"},
	{"609", "OTHER FRUITS & PEELS LIQUEURS", "Liquor > Liqueur > Fruit Liqueur"},
	{"610", "CORDIALS (HERBS & SEEDS)", "Liquor > Liqueur > Herbal Liqueur"},
	{"611", "ANISETTE, OUZO, OJEN", "Liquor > Liqueur > Anise Liqueur"},
	{"612", "COFFEE (CAFE) LIQUEUR", "Liquor > Liqueur > Coffee Liqueur"},
	{"615", "HERBS AND SEEDS SCHNAPPS LIQUEUR", "Liquor > Liqueur > Schnapps"},
	{"616", "AMARETTO", "Liquor > Liqueur > Amaretto"},
	{"617", "SAMBUCA", "Liquor > Liqueur > Sambuca"},
	{"619", "OTHER (HERBS & SEEDS)", "Liquor > Liqueur > Herbal Liqueur"},
	{"620", "CORDIALS (CREMES OR CREAMS)", "Liquor > Liqueur"},
	{"627", "DAIRY CREAM LIQUEUR/CORDIAL", "Liquor > Liqueur > Cream Liqueur"},
	{"629", "OTHER LIQUEUR (CREME OR CREAMS)", "Liquor > Liqueur"},
	{"640", "SPECIALTIES & PROPRIETARIES", "Liquor > Specialty"},
	{"641", "WHISKY SPECIALTIES", "Liquor > Specialty > Whiskey Specialty"},
	{"642", "GIN SPECIALTIES", "Liquor > Specialty > Gin Specialty"},
	{"643", "VODKA SPECIALTIES", "Liquor > Specialty > Vodka Specialty"},
	{"644", "RUM SPECIALTIES", "Liquor > Specialty > Rum Specialty"},
	{"649", "OTHER SPECIALTIES & PROPRIETARIES", "Liquor > Specialty"},
	{"651", "FRUIT FLAVORED LIQUEURS", "Liquor > Liqueur > Fruit Liqueur"},
	{"653", "CURACAO", "Liquor > Liqueur > Curaçao"},
	{"661", "ANISETTE, OUZO, OJEN", "Liquor > Liqueur > Anise Liqueur"},
	{"669", "OTHER HERB & SEED CORDIALS/LIQUEURS", "Liquor > Liqueur > Herbal Liqueur"},
	{"679", "OTHER LIQUEUR (CREMES OR CREAMS)", "Liquor > Liqueur"},
	{"699", "OTHER SPECIALTIES & PROPRIETARIES", "Liquor > Specialty"},
	{"702", "WHISKY OLD FASHIONED (48 PROOF UP)", "Liquor > Ready to Drink > Cocktail"},
	{"719", "OTHER COCKTAILS (48PROOF UP)", "Liquor > Ready to Drink > Cocktail"},
	{"789", "OTHER COCKTAILS (UNDER 48 PROOF)", "Liquor > Ready to Drink > Cocktail"},
	{"900", "MALT BEVERAGES", "Beer"},
	{"901", "BEER", "Beer"},
	{"902", "ALE", "Beer > Ale"},
	{"903", "MALT LIQUOR", "Beer > Malt Liquor"},
	{"904", "STOUT", "Beer > Stout"},
	{"905", "PORTER", "Beer > Porter"},
	{"906", "MALT BEVERAGES SPECIALITIES - FLAVORED", "Beer > Flavored Malt Beverage"},
	{"907", "CEREAL BEVERAGES - NEAR BEER (NON ALCOHOLIC)", "Beer > Non-Alcoholic"},
	{"908", "IRC BEER", "Beer"},
	{"909", "OTHER MALT BEVERAGES (BEER)", "Beer"},
	{"920", "OTHER SPIRITS", "Liquor"},
	{"921", "NEUTRAL SPIRITS - GRAIN", "Liquor > Neutral Spirits"},
	{"926", "BITTERS - BEVERAGE", "Liquor > Bitters"},
	{"928", "GRAIN SPIRITS", "Liquor > Neutral Spirits"},
	{"931", "SAKE", "Liquor > Sake"},
	{"943", "AGAVE SPIRITS", "Liquor > Agave"},
	{"951", "BEER", "Beer"},
	{"952", "ALE", "Beer > Ale"},
	{"956", "MALT BEVERAGES SPECIALITIES", "Beer > Flavored Malt Beverage"},
	{"957", "CEREAL BEVERAGES - NEAR BEER (NON ALCOHOLIC)", "Beer > Non-Alcoholic"},
	{"977", "TEQUILA FB", "Liquor > Agave > Tequila"},
	{"978", "TEQUILA USB", "Liquor > Agave > Tequila"},
	{"979", "MEZCAL", "Liquor > Agave > Mezcal"},
	{"980", "MEZCAL FB", "Liquor > Agave > Mezcal"},
	{"981", "SAKE - IMPORTED", "Liquor > Sake"},
	{"983", "AGAVE SPIRITS", "Liquor > Agave"},
	{"990", "NON ALCOHOL MIXES", ""},
}
