package registry

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search"
)

// numberNote returns a note if a query is a TTB ID or in a barcode format, and no label has it.
func numberNote(view *search.View, text string) string {
	noun := "barcode"
	if _, isID := cola.ParseTTBID(text); isID {
		noun = "TTB ID"
	} else if !vocabulary.BarcodeShaped(text) {
		return ""
	}
	if countMatches(view, cola.Query{Text: text}) > 0 {
		return "" // other filters exclude the label
	}
	return fmt.Sprintf("No label has the %s %s.", noun, cola.Quoted(text))
}

// minNearBrand is the minimum score of a brand that a note suggests.
const minNearBrand = 80

// brandNote suggests the brand that is most similar to the text of a search, or to its brand name
// if it has no text. ok is false if labels have the name itself, if no similar brand has labels,
// or if the name is a single word that has already been corrected.
func brandNote(view *search.View, p *cola.SearchParams, q cola.Query, corrected bool) (n Note, ok bool) {
	name, field := q.Text, func(p *cola.SearchParams) *string { return &p.Q }
	valueOf := func(brand string) (string, bool) { return brand, cola.AcceptsText(brand) }
	if name == "" {
		name, field = q.BrandName, func(p *cola.SearchParams) *string { return &p.BrandName }
		if brand, ok := cola.WholeBrand(name); ok {
			name, valueOf = brand, cola.QuoteBrand
		}
	}
	_, isID := cola.ParseTTBID(name)
	if isID || vocabulary.BarcodeShaped(name) || !hasWord(name) || corrected && len(strings.Fields(name)) == 1 {
		return n, false
	}
	var alone cola.SearchParams
	*field(&alone) = *field(p)
	if countMatches(view, cola.Query{Text: alone.Q, BrandName: alone.BrandName}) > 0 {
		return n, false // labels have the name, but other filters exclude them
	}
	similar := view.Brands(cola.BrandSearch{Name: name, MinScore: minNearBrand, Page: 1, PerPage: 1}).Rows
	if len(similar) == 0 {
		return n, false
	}
	brand := similar[0].BrandName
	value, ok := valueOf(brand)
	if !ok {
		return n, false
	}
	*field(&alone) = value
	if countMatches(view, cola.Query{Text: alone.Q, BrandName: alone.BrandName}) == 0 {
		return n, false
	}
	n = newNote(fmt.Sprintf("The brand %s has a similar name.", cola.Quoted(brand)))
	n.correct(view, brand, p, q, func(changed *cola.SearchParams) { *field(changed) = value })
	return n, true
}

// wholeBrandNotes returns a note if no label has the quoted brand. It suggests the search without
// quotes if some names contain the brand.
func wholeBrandNotes(view *search.View, p *cola.SearchParams, q cola.Query) []Note {
	brand, ok := cola.WholeBrand(q.BrandName)
	if !ok || countMatches(view, cola.Query{BrandName: q.BrandName}) > 0 {
		return nil
	}
	n := newNote(fmt.Sprintf("No label has the brand name %s.", cola.Quoted(brand)))
	if hasWord(brand) && countMatches(view, cola.Query{BrandName: brand}) > 0 {
		q.BrandName = brand
		if found := countMatches(view, q); found > 0 {
			n.Finding += fmt.Sprintf(" %s without the quotes.", labelsMatch(found))
		} else {
			n.Finding += " Other brand names contain it."
		}
		n.Text = n.Finding
		n.suggest("Search without quotes", p, func(changed *cola.SearchParams) { changed.BrandName = brand })
	}
	return []Note{n}
}

// maxWordNotes is the maximum number of notes on the words of one search.
const maxWordNotes = 5

// wordKind is a kind of word in a search.
type wordKind struct {
	finding string // introduces a word that is unknown
	star    string // "*" for a prefix
	query   func(text string) cola.Query
	field   func(*cola.SearchParams) *string
}

var (
	textWord   = &wordKind{"No label contains the word", "", textQuery, textField}
	textPrefix = &wordKind{"No label has a word that begins with", "*", textQuery, textField}
	brandWord  = &wordKind{"No brand name contains", "",
		func(text string) cola.Query { return cola.Query{BrandName: text} },
		func(p *cola.SearchParams) *string { return &p.BrandName }}
)

func textQuery(text string) cola.Query       { return cola.Query{Text: text} }
func textField(p *cola.SearchParams) *string { return &p.Q }

// unknownWord is a word or prefix that no label has, or a word that no brand has.
type unknownWord struct {
	*wordKind
	word string   // folded
	near []string // possible corrections, most likely first, without star
}

// replace replaces the word in its field.
func (u *unknownWord) replace(p *cola.SearchParams, with string) {
	*u.field(p) = replaceWord(*u.field(p), u.word, with)
}

// wordNotes returns a note on each word or prefix of the query that no label has, and on each word
// of the brand name that no brand has. Each suggests the most similar known word with which the
// search finds labels. If no word is similar, a note on the query suggests the prefix instead:
// chardon* for chardon. If several words are unknown and all can be corrected, the last note
// suggests one search with all corrections, even of words that have no note because of
// maxWordNotes. A query or brand name without any words gets a single note instead.
func wordNotes(view *search.View, p *cola.SearchParams, q cola.Query) (notes []Note) {
	for _, given := range []string{q.Text, brandPart(q.BrandName)} {
		if strings.TrimSpace(given) != "" && !hasWord(given) {
			return newNotes(fmt.Sprintf("No label matches %s, because it has no letters or digits.", cola.Quoted(given)))
		}
	}
	unknown := unknownWords(view, q)
	context := *p // with corrections, and without unknown words that have none
	all := *p     // with all corrections
	corrections := 0
	for i, u := range unknown {
		n := newNote(fmt.Sprintf("%s %s.", u.finding, cola.Quoted(u.word)))
		if near := u.correction(view, &context, unknown[i+1:], q); near != "" {
			changed := *p
			u.replace(&changed, near)
			n.correct(view, near+u.star, p, q, func(s *cola.SearchParams) { s.Q, s.BrandName = changed.Q, changed.BrandName })
			if *u.field(&changed) != *u.field(p) { // else spelled differently, perhaps with an apostrophe
				u.replace(&all, near)
				corrections++
			}
		}
		if len(notes) < maxWordNotes {
			notes = append(notes, n)
		}
	}
	if len(unknown) > 1 && corrections == len(unknown) {
		for i := range notes {
			notes[i] = newNote(notes[i].Finding)
		}
		notes[len(notes)-1].correct(view, correctedText(p, &all), p, q, func(s *cola.SearchParams) {
			s.Q, s.BrandName = all.Q, all.BrandName
		})
	}
	return notes
}

// unknownWords returns the words and prefixes of the query that no label has, and the words of the
// brand name that no brand has.
func unknownWords(view *search.View, q cola.Query) (unknown []unknownWord) {
	if _, isID := cola.ParseTTBID(q.Text); !isID && !vocabulary.BarcodeShaped(q.Text) {
		for _, word := range view.UnknownWords(q.Text) {
			near := view.NearestWords(word)
			if len(near) == 0 {
				near = []string{word + "*"}
			}
			unknown = append(unknown, unknownWord{kindOf(view, word), word, near})
		}
		for _, prefix := range view.UnknownPrefixes(q.Text) {
			unknown = append(unknown, unknownWord{textPrefix, prefix, view.NearestPrefixes(prefix)})
		}
	}
	words := wordPattern.FindAllString(vocabulary.FoldText(brandPart(q.BrandName)), -1)
	for i, word := range words {
		if !slices.Contains(words[:i], word) && countMatches(view, brandWord.query(word)) == 0 {
			unknown = append(unknown, unknownWord{brandWord, word, view.NearestWords(word)})
		}
	}
	return unknown
}

// kindOf returns the kind of an unknown word. The value of an unsearched field has its own finding.
func kindOf(view *search.View, word string) *wordKind {
	if longest([]string{word}) < minValueLetters {
		return textWord
	}
	for _, f := range unsearchedFields {
		if f.has(view, word) {
			kind := *textWord
			kind.finding = "Keyword search doesn't cover " + f.plural + ", such as"
			return &kind
		}
	}
	return textWord
}

// brandPart returns the brand name of a query if it is not a whole brand. See wholeBrandNotes.
func brandPart(brand string) string {
	if _, ok := cola.WholeBrand(brand); ok {
		return ""
	}
	return brand
}

// correction returns the most likely correction with which the search finds labels on any date, and
// replaces the word in context. later are the unknown words after u. If the search finds no labels
// with any correction, it removes the word from context, and returns the most likely one that
// labels have, or "".
func (u *unknownWord) correction(
	view *search.View, context *cola.SearchParams, later []unknownWord, q cola.Query,
) (first string) {
	q.From, q.To = 0, 0
	known := *context
	for _, l := range later {
		l.replace(&known, "")
	}
	for _, near := range u.near {
		if countMatches(view, u.query(near+u.star)) == 0 {
			continue
		}
		changed := known
		u.replace(&changed, near)
		q.Text, q.BrandName = strings.TrimSpace(changed.Q), strings.TrimSpace(changed.BrandName)
		if countMatches(view, q) > 0 {
			u.replace(context, near)
			return near
		}
		first = cmp.Or(first, near)
	}
	u.replace(context, "")
	return first
}

// correctedText returns the text or the brand name of a corrected search, or both, depending on
// which of them differ from the original.
func correctedText(original, corrected *cola.SearchParams) string {
	text := strings.Join(strings.Fields(corrected.Q), " ")
	brand := strings.Join(strings.Fields(corrected.BrandName), " ")
	switch {
	case corrected.Q == original.Q:
		return brand
	case corrected.BrandName == original.BrandName:
		return text
	}
	return text + " with brand name " + brand
}

var (
	quotation = regexp.MustCompile(`["“”„‟«»][^"“”„‟«»]*["“”„‟«»]`)
	exclusion = regexp.MustCompile(`^-\pL`) // unlike the name -196

	wordPattern = regexp.MustCompile(`[\pL\pM\pN]+`)
)

// operatorNote returns a note if a query seems to contain operators, which searches don't support,
// and "" otherwise. AND needs no note, because every word must occur anyway. In an all-caps query
// that matches labels, NOT and OR are part of a name, such as TRICK OR TREAT.
func operatorNote(text string, total int) string {
	const every = "Search operators aren't supported; every word must match. "
	words := strings.Fields(quotation.ReplaceAllString(text, " quoted "))
	name := total > 0 && text == strings.ToUpper(text)
	for i, word := range words {
		switch inside := i < len(words)-1 && !name; {
		case exclusion.MatchString(word):
			bare := cola.Quoted(strings.TrimPrefix(word, "-"))
			return fmt.Sprintf("%s was treated as the word %s. ", cola.Quoted(word), bare) + every +
				"You can't exclude words: remove " + cola.Quoted(word) + ", and ignore the results that contain " + bare + "."
		case word == "NOT" && inside:
			return "NOT was treated as a word. " + every +
				"You can't exclude words: remove NOT and the words after it, and ignore the results that contain them."
		case word == "OR" && inside && i > 0:
			return "OR was treated as a word. " + every + "Search for each alternative separately."
		}
	}
	return ""
}

// replaceWord replaces a folded word in a text.
func replaceWord(text, word, with string) string {
	return wordPattern.ReplaceAllStringFunc(text, func(w string) string {
		if vocabulary.FoldText(w) == word {
			return with
		}
		return w
	})
}

// hasWord reports whether a string has a letter or digit.
func hasWord(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}
