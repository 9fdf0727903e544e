package demo

// tongue is a language to name brands in: words, syllables to coin names from, and patterns in which a verb in braces
// stands for a word.
//
//	{s} surname  {g} given name  {c} coined name  {a} adjective  {n} land or thing  {t} tree or plant  {k} creature
//	{p} place    {#} number word  {m} things, more than one
type tongue struct {
	Surnames, Given      []string
	Coin                 [3][]string // first, middle (may be empty) and last syllables
	Adjectives, Things   []string
	Trees, Creatures     []string
	Places, Numbers      []string
	Several              []string // things in the plural
	Cuvees               []string // patterns of fanciful names
	Companies, Importers []string // patterns of company names, only where permittees are: in English
	perKind[[]string]             // patterns of brand names
}

// word returns any word that the verb stands for.
func (t *tongue) word(d *dice, verb byte) string {
	switch verb {
	case 's':
		return pick(d, t.Surnames)
	case 'g':
		return pick(d, t.Given)
	case 'c':
		return pick(d, t.Coin[0]) + pick(d, t.Coin[1]) + pick(d, t.Coin[2])
	case 'a':
		return pick(d, t.Adjectives)
	case 'n':
		return pick(d, t.Things)
	case 't':
		return pick(d, t.Trees)
	case 'k':
		return pick(d, t.Creatures)
	case 'p':
		return pick(d, t.Places)
	case 'm':
		return pick(d, t.Several)
	case '#':
		return pick(d, t.Numbers)
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
