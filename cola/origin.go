package cola

import (
	"fmt"
	"maps"
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

// OriginNames returns the places (see PlaceOf) that a word means: a name, an adjective, a US postal code or an ISO 3166 code,
// regardless of letter case, accents and punctuation. A two-letter code of both a state and a country means the state.
//
// A word may mean several places (carolinian), and a place may have several names in the data (IRAQ and, in TTB's table,
// IRAQ OR REPUBLIC OF IRAQ); TTB's come first. The words and codes of the United States and of the United Kingdom also mean
// their parts, because TTB lists those as origins: "american" finds a label from Kentucky and "british" one from Scotland.
// An unknown word is returned as it is, since the data may hold an origin that TTB's table lacks. A blank word returns nil.
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

// IsOrigin reports whether a word is known to mean an origin.
func IsOrigin(word string) bool { return originsByWord()[foldPlace(word)] != nil }

// Two places share the name GEORGIA. Searches tell them apart by a suffix that no name can have: a control character, the unit
// separator, and TTB's code.
const (
	georgia        = "GEORGIA"
	georgiaState   = georgia + "\x1f08"
	georgiaCountry = georgia + "\x1f6E"
)

// PlaceOf returns the name that a label's origin is searched by: origin_name, and for GEORGIA which of the two places is meant.
// TTB's origin code decides that; without it domestic_or_imported does. A GEORGIA of which neither is known stays GEORGIA:
// the name finds it, the codes and "american" do not.
func PlaceOf(originName, originID, domesticOrImported string) string {
	if !strings.EqualFold(originName, georgia) {
		return originName
	}
	switch {
	case originID == "08", originID != "6E" && domesticOrImported == Domestic:
		return originName + strings.TrimPrefix(georgiaState, georgia)
	case originID == "6E", domesticOrImported == Imported:
		return originName + strings.TrimPrefix(georgiaCountry, georgia)
	}
	return originName
}

// PlaceName returns the origin name of what PlaceOf returned.
func PlaceName(place string) string {
	const suffix = len(georgiaState) - len(georgia)
	if n := len(place) - suffix; n == len(georgia) && place[n] == georgiaState[len(georgia)] && strings.EqualFold(place[:n], georgia) {
		return place[:n]
	}
	return place
}

// found returns what labels from the place are searched by: its name, or which GEORGIA it is.
func (p place) found() string { return PlaceOf(p.name, p.id, "") }

// OriginNote returns what to tell a caller about a word that more than one place goes by, empty for any other word. It says
// how the word was read and how to ask for the other place. domestic is the filter domestic_or_imported of the same search,
// which tells the two Georgias apart.
func OriginNote(word, domestic string) string {
	key := foldPlace(word)
	if names := originsByWord()[key]; slices.Contains(names, georgiaState) && slices.Contains(names, georgiaCountry) {
		if domestic != "" {
			return ""
		}
		return fmt.Sprintf("%s means both the US state and the country. For one of them use GA or GE.", shown(strings.TrimSpace(word)))
	}
	code := strings.ToUpper(key)
	state := slices.IndexFunc(states[:], func(s usState) bool { return s.code == code })
	country := slices.IndexFunc(countryCodes[:], func(c countryCode) bool { return c.alpha2 == code })
	if state < 0 || country < 0 {
		return ""
	}
	c := countryCodes[country]
	if slices.Contains(OriginNames(c.name), OriginNames(code)[0]) {
		return "" // the same place, such as Puerto Rico
	}
	return fmt.Sprintf("%s was read as %s; for %s use %s or %s.",
		code, placeTitle(states[state].origin), placeTitle(c.name), c.name, c.alpha3)
}

// placeTitle writes the name of a place the way people do.
func placeTitle(name string) string {
	words := strings.Fields(strings.ToLower(name))
	for i, w := range words {
		if i == 0 || w != "of" && w != "and" && w != "the" {
			words[i] = strings.ToUpper(w[:1]) + w[1:] // the table is ASCII
		}
	}
	return strings.Join(words, " ")
}

// OriginWords returns every word that is known to mean an origin, codes aside, folded and sorted.
func OriginWords() []string {
	isCode := map[string]bool{}
	for _, c := range countryCodes {
		isCode[strings.ToLower(c.alpha2)], isCode[strings.ToLower(c.alpha3)] = true, true
	}
	for _, s := range states {
		isCode[strings.ToLower(s.code)] = true
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(originsByWord())), func(word string) bool { return isCode[word] })
}

// originsByWord indexes the tables once: folded word to places.
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
			add(word, []string{p.name, p.found()}) // a GEORGIA that is not told apart has the bare name
		}
		parts[p.country] = append(parts[p.country], p.found())
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
	addCodes(index)
	return index
})

// addCodes adds the postal codes of states and the codes of countries to an index of words. A word that is there stays as it
// is, so the codes of states win over those of countries.
func addCodes(index map[string][]string) {
	add := func(code string, names []string) {
		if key := foldPlace(code); index[key] == nil {
			index[key] = names
		}
	}
	for _, s := range states {
		names := index[foldPlace(s.origin)]
		if s.origin == georgia {
			names = []string{georgiaState}
		}
		add(s.code, names)
	}
	for _, c := range countryCodes {
		names := index[foldPlace(c.name)]
		if strings.EqualFold(c.name, georgia) {
			names = []string{georgiaCountry}
		}
		add(c.alpha2, names)
		add(c.alpha3, names)
	}
}

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
