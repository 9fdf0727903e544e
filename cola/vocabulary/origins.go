package vocabulary

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Origin is one of TTB's origin codes: a country, a US state, or a region.
type Origin struct {
	ID       string // two characters, such as "51" or "6E"; GEORGIA has two IDs, for the state and the country
	Name     string // TTB's spelling, upper case
	Domestic bool   // in the United States, which for TTB includes the District of Columbia and Puerto Rico
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

// OriginNames returns the places (see PlaceOf) that a word stands for. The word is a name, an
// adjective, a US state code or an ISO 3166 code. Letter case, accents and punctuation are ignored.
// A two-letter code for both a state and a country stands for the state.
//
// A word may stand for several places ("carolinian"). A place may have several names in the data
// (IRAQ, and IRAQ OR REPUBLIC OF IRAQ in TTB's table); TTB's name comes first. Words for the United
// States and the United Kingdom include their parts, because TTB lists those as origins: "american"
// finds labels from Kentucky and "british" labels from Scotland. An unknown word is returned in
// upper case, because the data may have origins that are not in TTB's table. A blank word returns
// nil.
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

// IsOrigin reports whether OriginNames recognizes a word.
func IsOrigin(word string) bool { return originsByWord()[foldPlace(word)] != nil }

// CoversSeveralOrigins reports whether a word covers several of TTB's origins: AMERICAN also covers
// the states.
func CoversSeveralOrigins(word string) bool {
	names, n := OriginNames(word), 0
	for _, p := range places {
		if slices.Contains(names, p.searched()) {
			n++
		}
	}
	return n > 1
}

// Two places share the name GEORGIA. Searches distinguish them by a suffix: the unit separator,
// which no name contains, and TTB's code.
const (
	georgia        = "GEORGIA"
	georgiaState   = georgia + "\x1f08"
	georgiaCountry = georgia + "\x1f6E"
)

// PlaceOf returns the searched form of a label's origin: its name, with a suffix for GEORGIA that
// distinguishes the state from the country. TTB's origin code or, if there is none,
// domestic_or_imported determines the suffix. Without either, there is no suffix, and searches find
// the label by name but not by code or "american".
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

// PlaceName reverses PlaceOf: it returns the origin's name.
func PlaceName(place string) string {
	const suffix = len(georgiaState) - len(georgia)
	if n := len(place) - suffix; n == len(georgia) && place[n] == georgiaState[len(georgia)] && strings.EqualFold(place[:n], georgia) {
		return place[:n]
	}
	return place
}

// searched returns the searched form of the place (see PlaceOf).
func (p place) searched() string { return PlaceOf(p.name, p.id, "") }

// OriginNote explains how an ambiguous word was interpreted and how to select the other place. It
// returns "" for other words. domestic is the search's domestic_or_imported filter, which
// distinguishes the two Georgias.
func OriginNote(word, domestic string) string {
	key := foldPlace(word)
	if names := originsByWord()[key]; slices.Contains(names, georgiaState) && slices.Contains(names, georgiaCountry) {
		if domestic != "" {
			return ""
		}
		return fmt.Sprintf("%s was interpreted as both the US state and the country; "+
			"use GA for the state or GE for the country.",
			strconv.Quote(strings.TrimSpace(word)))
	}
	code := strings.ToUpper(key)
	state := slices.IndexFunc(states[:], func(s State) bool { return s.Code == code })
	country := slices.IndexFunc(countryCodes[:], func(c countryCode) bool { return c.alpha2 == code })
	if state < 0 || country < 0 {
		return ""
	}
	c := countryCodes[country]
	if slices.Contains(OriginNames(c.name), OriginNames(code)[0]) {
		return "" // the same place, such as Puerto Rico
	}
	return fmt.Sprintf("%s was interpreted as %s; for %s, use %s or %s.",
		code, placeTitle(states[state].Origin), placeTitle(c.name), c.name, c.alpha3)
}

// placeTitle returns the name of a place in title case.
func placeTitle(name string) string {
	words := strings.Fields(strings.ToLower(name))
	for i, w := range words {
		if i == 0 || w != "of" && w != "and" && w != "the" {
			words[i] = strings.ToUpper(w[:1]) + w[1:] // names in the table are ASCII
		}
	}
	return strings.Join(words, " ")
}

// OriginWords returns all known names and adjectives of origins, but no codes, folded and sorted.
func OriginWords() []string {
	isCode := map[string]bool{}
	for _, c := range countryCodes {
		isCode[strings.ToLower(c.alpha2)], isCode[strings.ToLower(c.alpha3)] = true, true
	}
	for _, s := range states {
		isCode[strings.ToLower(s.Code)] = true
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(originsByWord())), func(word string) bool { return isCode[word] })
}

// originsByWord maps folded words to places.
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
		for _, word := range p.allNames() {
			add(word, []string{p.name, p.searched()}) // PlaceOf returns the bare name for an ambiguous GEORGIA
		}
		parts[p.country] = append(parts[p.country], p.searched())
	}
	for _, p := range places { // after TTB's names, which come first
		for _, word := range p.allNames() {
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

// addCodes adds the codes of states, then those of countries. It keeps existing entries, so states
// take precedence over countries.
func addCodes(index map[string][]string) {
	add := func(code string, names []string) {
		if key := foldPlace(code); index[key] == nil {
			index[key] = names
		}
	}
	for _, s := range states {
		names := index[foldPlace(s.Origin)]
		if s.Origin == georgia {
			names = []string{georgiaState}
		}
		add(s.Code, names)
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

// allNames returns every name and adjective of the place.
func (p place) allNames() []string {
	return slices.Concat([]string{p.name}, split(p.also, ";"), split(p.words, ","))
}

// split returns the trimmed items of a list in the table.
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

// foldPlace returns the form in which place names are compared: folded, without apostrophes,
// periods or a leading article. Other punctuation becomes a space, "&" becomes "and", and "saint"
// becomes "st".
func foldPlace(s string) string {
	var b strings.Builder
	for _, r := range FoldText(s) {
		switch {
		case r == '.' || r == '\'' || r == '’' || r == 'ʻ': // unicode.IsLetter('ʻ') is true
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
