package cola

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Origin is one of TTB's origin codes: a country, a US state, or a region that labels name.
type Origin struct {
	ID       string // two characters, such as "51" or "6E"; GEORGIA has two codes, the state's and the country's
	Name     string // TTB's spelling, upper case
	Domestic bool   // in the United States, which here as in TTB's rules are the states, the District of Columbia and Puerto Rico
}

// Origins lists TTB's origin codes in TTB's order.
func Origins() []Origin {
	origins := make([]Origin, 0, len(places))
	for _, p := range places {
		if p.id != "" {
			origins = append(origins, Origin{ID: p.id, Name: p.name, Domestic: p.country == "US"})
		}
	}
	return origins
}

// OriginNames returns the origin names, upper case, that a word means: a place's name or its adjective, regardless of letter
// case, accents and punctuation. A word may mean several places (georgian), and a place may have several names in the data
// (IRAQ and, in TTB's table, IRAQ OR REPUBLIC OF IRAQ); TTB's come first. The names and adjectives of the United States and
// of the United Kingdom mean each of their parts too, because TTB gives those codes of their own: "american" finds a label
// from Kentucky and "british" one from Scotland. An unknown word is returned itself, as the data may hold an origin that
// TTB's table does not; only white space returns nil.
func OriginNames(word string) []string {
	if names := originsByWord()[foldPlace(word)]; names != nil {
		return slices.Clone(names)
	}
	word = strings.Join(strings.Fields(word), " ")
	if word == "" {
		return nil
	}
	return []string{strings.ToUpper(word)}
}

// IsOrigin reports whether TTB's table has a word: OriginNames returns what it means there, and not the word itself.
func IsOrigin(word string) bool { return originsByWord()[foldPlace(word)] != nil }

// originsByWord indexes the table once: folded word to names.
var originsByWord = sync.OnceValue(func() map[string][]string {
	index := map[string][]string{}
	add := func(word string, names []string) {
		key := foldPlace(word)
		for _, name := range names {
			if !slices.Contains(index[key], name) {
				index[key] = append(index[key], name)
			}
		}
	}
	parts := map[string][]string{}
	for _, p := range places {
		for _, word := range p.called() {
			add(word, []string{p.name})
		}
		parts[p.country] = append(parts[p.country], p.name)
	}
	for _, p := range places { // after all of TTB's names
		for _, word := range p.called() {
			add(word, split(p.also, ";"))
		}
	}
	for _, c := range countries {
		for _, word := range split(c.words, ",") {
			add(word, parts[c.code])
		}
	}
	return index
})

// called returns every name and word for the place.
func (p place) called() []string {
	return slices.Concat([]string{p.name}, split(p.also, ";"), split(p.words, ","))
}

// split returns the trimmed items of a list in the table, none for an empty one.
func split(list, separator string) []string {
	if list == "" {
		return nil
	}
	items := strings.Split(list, separator)
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

// foldPlace returns the form in which names of places are compared: folded like any text, apostrophes and periods dropped,
// other punctuation made white space, "&" and "saint" spelt one way, and no article in front.
func foldPlace(s string) string {
	var b strings.Builder
	for _, r := range FoldText(s) {
		switch {
		case r == '.' || r == '\'' || r == '’' || r == 'ʻ': // the last is a letter
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		case r == '&':
			b.WriteString(" and ")
		default:
			b.WriteByte(' ')
		}
	}
	words := strings.Fields(b.String())
	if len(words) > 1 && words[0] == "the" {
		words = words[1:]
	}
	for i, w := range words {
		if w == "saint" {
			words[i] = "st"
		}
	}
	return strings.Join(words, " ")
}
