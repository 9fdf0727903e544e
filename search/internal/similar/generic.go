package similar

import "strings"

// IsGeneric reports whether a word, as normalized by vocabulary.WordKey, is an article, a
// preposition, or a word for the goods or the trade. Unrelated brands often share such words.
func IsGeneric(key string) bool { return generic[key] }

// generic contains the generic words as normalized by vocabulary.WordKey, which removes some
// endings. The table is fixed rather than computed, so that scores do not change with the registry.
var generic = wordSet(`
	a an the of by for from in on at to with
	de del della dell delle dei di da do dos du des la le les el los las il lo gli von van der den das die am zum zur
	wine vin vino vini vinho vine vineyard winery winemaker vintner vintage cellar cave cava estate vina vinedo
	chateau domaine domain maison clo mas bodega cantina cantine tenuta azienda agricola fattoria podere weingut
	kellerei quinta hacienda finca casa
	brewing brewery brewer brewhous brew beer bier biere birra cerveza cerveceria ale lager ipa stout porter
	pilsner pilsener cider cidery cyder seltzer mead meadery kombucha
	distillery distilling distiller distilled spirit whisky bourbon scotch rye vodka gin rum rhum ron tequila mezcal
	brandy cognac liqueur liquor sake soju cocktail
	cabernet sauvignon chardonnay merlot pinot noir grigio gri syrah shiraz zinfandel riesling malbec moscato prosecco
	champagne cuvee cru brut
	reserve reserva riserva selection special limited edition private collection premium craft handcrafted
	company co inc llc ltd corp corporation group import importer international
`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}
