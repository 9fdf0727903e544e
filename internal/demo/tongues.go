package demo

import "github.com/colaregistry/colaregistry/cola"

// tongue is a language to name brands in: words, syllables to coin names from, and patterns in which a verb in braces
// stands for a word.
//
//	{s} surname  {g} given name  {c} coined name  {a} adjective  {n} land or thing  {t} tree or plant  {k} creature
//	{p} place    {#} number word  {m} things, more than one
type tongue struct {
	surnames, given      []string
	coin                 [3][]string // first, middle (may be empty) and last syllables
	adjectives, things   []string
	trees, creatures     []string
	places, numbers      []string
	several              []string // things in the plural
	wine, beer, spirits  []string // patterns of brand names
	cuvees               []string // patterns of fanciful names
	companies, importers []string // patterns of company names; importers only where permittees are, in English
}

// brands returns the patterns of brand names for a commodity.
func (t *tongue) brands(kind cola.ProductType) []string {
	switch kind {
	case cola.MaltBeverage:
		return t.beer
	case cola.DistilledSpirits:
		return t.spirits
	}
	return t.wine
}

// word returns any word that the verb stands for.
func (t *tongue) word(d *dice, verb byte) string {
	switch verb {
	case 's':
		return pick(d, t.surnames)
	case 'g':
		return pick(d, t.given)
	case 'c':
		return pick(d, t.coin[0]) + pick(d, t.coin[1]) + pick(d, t.coin[2])
	case 'a':
		return pick(d, t.adjectives)
	case 'n':
		return pick(d, t.things)
	case 't':
		return pick(d, t.trees)
	case 'k':
		return pick(d, t.creatures)
	case 'p':
		return pick(d, t.places)
	case 'm':
		return pick(d, t.several)
	case '#':
		return pick(d, t.numbers)
	}
	panic("demo: no such word: " + string(verb))
}

// fill replaces the verbs of a pattern by words.
func (t *tongue) fill(d *dice, pattern string) string {
	b := make([]byte, 0, 48)
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '{' {
			b = append(b, pattern[i])
			continue
		}
		b = append(b, t.word(d, pattern[i+1])...)
		i += 2
	}
	return string(b)
}
