package vocabulary

import (
	"strings"
)

// Class is one of TTB's class/type codes.
type Class struct {
	ID          string      // such as "101" or "80A"
	Name        string      // in TTB's spelling
	ProductType ProductType // empty if the code doesn't imply one
}

// Classes lists the known class/type codes in TTB's order. Labels may have others.
func Classes() []Class {
	classes := make([]Class, len(classTable))
	for i, c := range classTable {
		kind, _ := ProductTypeOfClass(c.id)
		classes[i] = Class{ID: c.id, Name: c.name, ProductType: kind}
	}
	return classes
}

// ProductTypeOfClass returns the product type of a class/type code. TTB assigns ranges of numbers
// to product types, so the code need not be in Classes. Some codes have a letter after the number
// (80A). ok is false for an invalid code and for numbers without a product type, such as 990,
// non-alcoholic mixes.
func ProductTypeOfClass(classID string) (kind ProductType, ok bool) {
	n, ok := classNumber(classID)
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

// classNumber returns the number of a class/type code: one to three digits, optionally followed by
// a letter.
func classNumber(id string) (n int, ok bool) {
	id = strings.TrimSpace(id)
	if len(id) > 1 {
		if c := id[len(id)-1] &^ 0x20; c >= 'A' && c <= 'Z' {
			id = id[:len(id)-1]
		}
	}
	if id == "" || len(id) > 3 {
		return 0, false
	}
	for i := range len(id) {
		if id[i] < '0' || id[i] > '9' {
			return 0, false
		}
		n = n*10 + int(id[i]-'0')
	}
	return n, true
}

// classTable lists TTB's class/type codes and names, as TTB spells them. TTB publishes no complete
// list, so labels may have other codes.
var classTable = [...]struct{ id, name string }{
	{"80", "TABLE RED WINE"},
	{"80A", "ROSE WINE"},
	{"81", "TABLE WHITE WINE"},
	{"82", "TABLE FLAVORED WINE"},
	{"82C", "APPLE BASED FLAVORED WINE"},
	{"82M", "HONEY BASED TABLE WINE"},
	{"83", "TABLE FRUIT WINE"},
	{"83C", "APPLE TABLE WINE/CIDER"},
	{"84", "SPARKLING WINE/CHAMPAGNE"},
	{"84C", "SPARKLING WINE/ CIDER"},
	{"84M", "SPARKLING WINE/MEAD"},
	{"85", "CARBONATED WINE"},
	{"85C", "CARBONATED WINE/CIDER"},
	{"86", "VERMOUTH/MIXED TYPES"},
	{"87", "DESSERT FLAVORED WINE"},
	{"87C", "APPLE BASED DESSERT FLAVORED WINE"},
	{"87M", "HONEY BASED DESSERT WINE"},
	{"88", "DESSERT /PORT/SHERRY/(COOKING) WINE"},
	{"89", "DESSERT FRUIT WINE"},
	{"89C", "APPLE DESSERT WINE/CIDER"},
	{"100", "STRAIGHT WHISKY"},
	{"101", "STRAIGHT BOURBON WHISKY"},
	{"102", "STRAIGHT RYE WHISKY"},
	{"103", "STRAIGHT CORN WHISKY"},
	{"109", "OTHER STRAIGHT WHISKY"},
	{"110", "WHISKY BOTTLED IN BOND (BIB)"},
	{"111", "BOURBON WHISKY BIB"},
	{"112", "RYE WHISKY BIB"},
	{"117", "STRAIGHT MALT WHISKY"},
	{"118", "MALT WHISKY"},
	{"120", "STRAIGHT WHISKY BLENDS"},
	{"121", "STRAIGHT BOURBON WHISKY BLENDS"},
	{"130", "WHISKY BLENDS"},
	{"137", "BLENDED WHISKY"},
	{"140", "WHISKY"},
	{"141", "BOURBON WHISKY"},
	{"142", "RYE WHISKY"},
	{"143", "CORN WHISKY"},
	{"144", "LIGHT WHISKY"},
	{"147", "SPIRIT WHISKY"},
	{"149", "OTHER WHISKY (FLAVORED)"},
	{"150", "SCOTCH WHISKY"},
	{"151", "SCOTCH WHISKY FB"},
	{"153", "SINGLE MALT SCOTCH WHISKY"},
	{"160", "CANADIAN WHISKY"},
	{"161", "CANADIAN WHISKY FB"},
	{"165", "STRAIGHT AMERICAN SINGLE MALT"},
	{"166", "AMERICAN SINGLE MALT WHISKEY"},
	{"170", "IRISH WHISKY"},
	{"171", "IRISH WHISKY FB"},
	{"190", "OTHER IMPORTED WHISKY"},
	{"191", "OTHER IMPORTED WHISKY FB"},
	{"200", "DISTILLED GIN"},
	{"201", "LONDON DRY DISTILLED GIN"},
	{"210", "GIN"},
	{"211", "LONDON DRY GIN"},
	{"219", "OTHER GIN"},
	{"230", "GIN - FLAVORED"},
	{"250", "DISTILLED GIN (IMPORTED)"},
	{"258", "OTHER DISTILLED GIN FB"},
	{"260", "GIN (IMPORTED)"},
	{"268", "OTHER GIN FB"},
	{"289", "OTHER GIN - FLAVORED"},
	{"300", "VODKA (80-89 PROOF)"},
	{"301", "VODKA 80-89 PROOF"},
	{"310", "VODKA (90-99 PROOF)"},
	{"311", "VODKA 90-99 PROOF"},
	{"320", "VODKA (100 PROOF UP)"},
	{"330", "VODKA - FLAVORED"},
	{"339", "VODKA - OTHER FLAVORED"},
	{"351", "VODKA 80-89 PROOF FB"},
	{"400", "U.S. RUM (WHITE)"},
	{"401", "PUERTO RICAN RUM (WHITE)"},
	{"402", "VIRGIN ISLANDS RUM (WHITE)"},
	{"409", "OTHER RUM (WHITE)"},
	{"410", "U.S. RUM (GOLD)"},
	{"411", "PUERTO RICAN RUM (GOLD)"},
	{"419", "OTHER RUM (GOLD)"},
	{"450", "FOREIGN RUM"},
	{"459", "OTHER FORIEGN RUM"},
	{"461", "JAMAICAN RUM WHITE FB"},
	{"463", "JAMAICAN RUM GOLD FB"},
	{"490", "OTHER FOREIGN RUM"},
	{"492", "OTHER RUM WHITE USB"},
	{"493", "OTHER RUM GOLD FB"},
	{"494", "OTHER RUM GOLD USB"},
	{"499", "IMPORTED FLAVORED RUM"},
	{"500", "CALIFORNIA GRAPE BRANDY"},
	{"501", "CALIFORNIA BRANDY"},
	{"510", "NEW YORK GRAPE BRANDY"},
	{"520", "OTHER DOMESTIC GRAPE BRANDY"},
	{"521", "BRANDY"},
	{"540", "FRUIT BRANDY"},
	{"541", "APPLE BRANDY"},
	{"546", "PEAR BRANDY"},
	{"547", "APRICOT BRANDY"},
	{"549", "OTHER FRUIT BRANDY"},
	{"550", "FRENCH BRANDY"},
	{"551", "COGNAC (BRANDY) FB"},
	{"553", "ARMAGNAC (BRANDY) FB"},
	{"560", "OTHER FOREIGN BRANDY"},
	{"588", "OTHER GRAPE BRANDY (PISCO, GRAPPA) FB"},
	{"600", "CORDIALS (FRUIT & PEELS)"},
	{"601", "FRUIT FLAVORED LIQUEURS"},
	{"603", "CURACAO"},
	{"604", "TRIPLE SEC"},
	{"605", "SLOE GIN"},
	{"609", "OTHER FRUITS & PEELS LIQUEURS"},
	{"610", "CORDIALS (HERBS & SEEDS)"},
	{"611", "ANISETTE, OUZO, OJEN"},
	{"612", "COFFEE (CAFE) LIQUEUR"},
	{"615", "HERBS AND SEEDS SCHNAPPS LIQUEUR"},
	{"616", "AMARETTO"},
	{"617", "SAMBUCA"},
	{"619", "OTHER (HERBS & SEEDS)"},
	{"620", "CORDIALS (CREMES OR CREAMS)"},
	{"627", "DAIRY CREAM LIQUEUR/CORDIAL"},
	{"629", "OTHER LIQUEUR (CREME OR CREAMS)"},
	{"640", "SPECIALTIES & PROPRIETARIES"},
	{"641", "WHISKY SPECIALTIES"},
	{"642", "GIN SPECIALTIES"},
	{"643", "VODKA SPECIALTIES"},
	{"644", "RUM SPECIALTIES"},
	{"649", "OTHER SPECIALTIES & PROPRIETARIES"},
	{"651", "FRUIT FLAVORED LIQUEURS"},
	{"653", "CURACAO"},
	{"661", "ANISETTE, OUZO, OJEN"},
	{"669", "OTHER HERB & SEED CORDIALS/LIQUEURS"},
	{"679", "OTHER LIQUEUR (CREMES OR CREAMS)"},
	{"699", "OTHER SPECIALTIES & PROPRIETARIES"},
	{"702", "WHISKY OLD FASHIONED (48 PROOF UP)"},
	{"719", "OTHER COCKTAILS (48PROOF UP)"},
	{"789", "OTHER COCKTAILS (UNDER 48 PROOF)"},
	{"900", "MALT BEVERAGES"},
	{"901", "BEER"},
	{"902", "ALE"},
	{"903", "MALT LIQUOR"},
	{"904", "STOUT"},
	{"905", "PORTER"},
	{"906", "MALT BEVERAGES SPECIALITIES - FLAVORED"},
	{"907", "CEREAL BEVERAGES - NEAR BEER (NON ALCOHOLIC)"},
	{"908", "IRC BEER"},
	{"909", "OTHER MALT BEVERAGES (BEER)"},
	{"920", "OTHER SPIRITS"},
	{"921", "NEUTRAL SPIRITS - GRAIN"},
	{"926", "BITTERS - BEVERAGE"},
	{"928", "GRAIN SPIRITS"},
	{"931", "SAKE"},
	{"943", "AGAVE SPIRITS"},
	{"951", "BEER"},
	{"952", "ALE"},
	{"956", "MALT BEVERAGES SPECIALITIES"},
	{"957", "CEREAL BEVERAGES - NEAR BEER (NON ALCOHOLIC)"},
	{"977", "TEQUILA FB"},
	{"978", "TEQUILA USB"},
	{"979", "MEZCAL"},
	{"980", "MEZCAL FB"},
	{"981", "SAKE - IMPORTED"},
	{"983", "AGAVE SPIRITS"},
	{"990", "NON ALCOHOL MIXES"},
}
