package registry

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search"
)

// fewLabels is the total below which a search has notes on labels outside its dates or with unknown
// fields.
const fewLabels = 20

// AllDatesHint ends the note on labels outside the default window. It is for callers of the API; the
// dashboard has a link instead.
const AllDatesHint = " To search all dates, set date_range to all."

// searchNotes returns notes on a search: how an ambiguous origin was read; if few labels match,
// which labels are left out because of their dates or unknown fields; and if none match, possible
// reasons.
func searchNotes(view *search.View, p *cola.SearchParams, q *cola.ColaSearch, total int) []string {
	notes := nonEmpty(vocabulary.OriginNote(p.Origin, q.Domestic))
	if total < fewLabels {
		notes = append(notes, dateNotes(view, q, total)...)
		notes = append(notes, unknownFieldNotes(view, q.Query)...)
	}
	if total > 0 {
		return notes
	}
	notes = append(notes, wordNotes(view, q.Query)...)
	if number := q.PermitNumber; number != "" && countMatches(view, cola.Query{PermitNumber: number}) == 0 {
		notes = append(notes, fmt.Sprintf("No label has the permit number %s. To find a company's permit numbers, "+
			"search permittees.", cola.Quoted(number)))
	}
	if code := q.Barcode; code != "" && countMatches(view, cola.Query{Barcode: code}) == 0 {
		notes = append(notes, fmt.Sprintf("No label has the main barcode %s.", cola.Quoted(code)))
	}
	words := vocabularyOf(view)
	const vacuous = " This filter alone rules out every label."
	for _, unknown := range nonEmpty(words.UnknownOrigin("origin", p.Origin),
		words.UnknownCategory(p.DerivedSubcategory),
		unknownValue("grape variety", p.Grape, view.KnowsGrape),
		unknownValue("appellation", p.Appellation, view.KnowsAppellation)) {
		notes = append(notes, unknown+vacuous)
	}
	return notes
}

// dateNotes returns notes on labels that only the dates of a search leave out: those outside the
// default window, those without a date and those with an estimated one. total is the number of
// labels that match.
func dateNotes(view *search.View, q *cola.ColaSearch, total int) (notes []string) {
	if q.From != 0 || q.To != 0 {
		always, dated := q.Query, q.Query
		always.From, always.To = 0, 0
		dated.From, dated.To = 1, 0 // any date
		all, known := countMatches(view, always), countMatches(view, dated)
		if n := known - total; n > 0 && q.DefaultWindow {
			notes = append(notes, fmt.Sprintf("%s outside the default window of %d days.%s", labelsMatch(n),
				cola.DefaultWindowDays, AllDatesHint))
		}
		if n := all - known; n > 0 {
			notes = append(notes, fmt.Sprintf("%s, but the approval date is unknown and can't be estimated. To "+
				"include undated labels, remove the date filters and set date_range to all.", labelsMatch(n)))
		}
	}
	if q.NoEstimates {
		included := q.Query
		included.NoEstimates = false
		if n := countMatches(view, included) - total; n > 0 {
			notes = append(notes, labelsMatch(n)+" every other filter, but the approval date is only estimated.")
		}
	}
	return notes
}

// maxWordNotes limits the notes on words of one search.
const maxWordNotes = 5

// wordNotes returns a note on each word of the text that no label has, and of the brand name that no
// brand has, with the most similar word; or one on a text or brand name without any word.
func wordNotes(view *search.View, q cola.Query) (notes []string) {
	add := func(where, word string, withWord func(word string) cola.Query) {
		suggestion := ""
		if near := view.NearestWord(word); near != "" {
			if n := countMatches(view, withWord(near)); n > 0 {
				suggestion = didYouMean(fmt.Sprintf("%s (%s)", near, labels(n)), true)
			}
		}
		if len(notes) < maxWordNotes {
			notes = append(notes, fmt.Sprintf("No %s contains %s.%s", where, cola.Quoted(word), suggestion))
		}
	}
	for _, given := range []string{q.Text, q.BrandName} {
		if strings.TrimSpace(given) != "" && !hasWord(given) {
			return []string{fmt.Sprintf("No label matches %s, because it has no letters or digits.", cola.Quoted(given))}
		}
	}
	if _, isID := cola.ParseTTBID(q.Text); !isID && !vocabulary.BarcodeShaped(q.Text) {
		for _, word := range view.UnknownWords(q.Text) {
			add("label", word, func(word string) cola.Query { return cola.Query{Text: word} })
		}
	}
	for word := range strings.FieldsSeq(q.BrandName) {
		inBrand := func(word string) cola.Query { return cola.Query{BrandName: word} }
		if hasWord(word) && countMatches(view, inBrand(word)) == 0 {
			add("brand name", word, inBrand)
		}
	}
	return notes
}

// hasWord reports whether a text has a letter or digit.
func hasWord(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// labels returns "1 label", "2 labels" and so on.
func labels(n int) string {
	if n == 1 {
		return "1 label"
	}
	return fmt.Sprintf("%d labels", n)
}

// nonEmpty returns the notes that are not empty.
func nonEmpty(notes ...string) []string {
	return slices.DeleteFunc(notes, func(n string) bool { return n == "" })
}

// labelsMatch returns "1 label matches", "2 labels match" and so on.
func labelsMatch(n int) string {
	if n == 1 {
		return "1 label matches"
	}
	return fmt.Sprintf("%d labels match", n)
}

// countMatches counts the labels that match.
func countMatches(view *search.View, q cola.Query) int {
	return view.Search(cola.ColaSearch{Query: q, Page: 1}).Total
}

// unknownFieldNotes returns a note for each field that is unknown for labels that match all other
// filters.
func unknownFieldNotes(view *search.View, q cola.Query) (notes []string) {
	all := slices.DeleteFunc(cola.Filters(), func(f cola.Filter) bool { return !f.Unknown })
	for _, f := range all {
		lifted, conditions := q, false
		for _, other := range all {
			if other.Noun == f.Noun {
				conditions = conditions || other.Given(&q)
				other.Clear(&lifted)
			}
		}
		known := f.Known(lifted)
		if !conditions || known == nil {
			continue
		}
		n := countMatches(view, lifted)
		for _, k := range known {
			n -= countMatches(view, k)
		}
		if n > 0 {
			notes = append(notes, fmt.Sprintf("%s every other filter, but the %s is unknown.", labelsMatch(n), f.Noun))
		}
	}
	return notes
}

// UnknownOrigin returns a note if no label has the given origin, and "" otherwise. name is the
// caller's name for the filter.
func (w Vocabulary) UnknownOrigin(name, word string) string {
	if strings.TrimSpace(word) == "" || w.HasOrigin(word) {
		return ""
	}
	hint := ""
	if !vocabulary.IsOrigin(word) {
		hint = didYouMean(vocabulary.NearestSpelling(word, w.originWords()))
	}
	return fmt.Sprintf("No label has the %s %s.%s", name, cola.Quoted(word), hint)
}

// unknownValue returns a note if no label has the given value, and "" otherwise.
func unknownValue(noun, value string, knows func(string) (known bool, nearest string)) string {
	if strings.TrimSpace(value) == "" {
		return ""
	}
	known, nearest := knows(value)
	if known {
		return ""
	}
	return fmt.Sprintf("No label has the %s %s.%s", noun, cola.Quoted(value), didYouMean(nearest, nearest != ""))
}

// originWords returns the words that find labels by origin.
func (w Vocabulary) originWords() []string {
	words := slices.DeleteFunc(vocabulary.OriginWords(), func(word string) bool { return !w.HasOrigin(word) })
	for _, name := range w.Origins() {
		words = append(words, strings.ToLower(name))
	}
	return words
}

// UnknownCategory returns a note if no label has the given category path, and "" otherwise.
func (w Vocabulary) UnknownCategory(path string) string {
	if vocabulary.NormalizePath(path) == "" || w.HasCategory(path) {
		return ""
	}
	return fmt.Sprintf("No label has the category path %s.%s", cola.Quoted(path),
		didYouMean(vocabulary.Nearest(path, w.Categories)))
}

// UnknownState returns a note if no label is from the given US state, which must be valid, and ""
// otherwise.
func (w Vocabulary) UnknownState(state string) string {
	if strings.TrimSpace(state) == "" || w.HasUSState(state) {
		return ""
	}
	return fmt.Sprintf("No label is from the US state %s.", cola.Quoted(state))
}

// UnknownWords returns a note for each word in a saved search's filters that no label has.
func (w Vocabulary) UnknownWords(f cola.SavedSearchFilters) []string {
	return nonEmpty(w.UnknownOrigin("country", f.Country), w.UnknownState(f.USState),
		w.UnknownCategory(f.DerivedCategory))
}

// SavedSearchNotes returns notes on the filters of a saved search: how an ambiguous country was
// read, and which words no label has yet.
func (w Vocabulary) SavedSearchNotes(f cola.SavedSearchFilters) []string {
	notes := nonEmpty(vocabulary.OriginNote(f.Country, f.AsQuery().Domestic))
	for _, u := range w.UnknownWords(f) {
		notes = append(notes, u+" The search has no matches yet.")
	}
	return notes
}

// didYouMean returns a suggestion of a similar word, or "" if ok is false.
func didYouMean(near string, ok bool) string {
	if !ok {
		return ""
	}
	return " Did you mean " + near + "?"
}

// listFilter is a filter of a reference list and its value.
type listFilter struct{ name, value string }

// maxListedWords limits the values that a note lists.
const maxListedWords = 20

// notes explains an empty reference list: which filter values no row has, and which values exist.
func (w ListVocabulary) notes(filters ...listFilter) (notes []string) {
	if len(w) == 0 {
		return []string{"The registry has no data of this kind yet."}
	}
	conditions := 0
	for _, f := range filters {
		if strings.TrimSpace(f.value) == "" {
			continue
		}
		conditions++
		if have, ok := w[f.name]; ok && !w.Has(f.name, f.value) {
			notes = append(notes, fmt.Sprintf("No row has the %s %s. Available: %s.%s",
				f.name, cola.Quoted(f.value), joinWords(f.name, have), didYouMean(vocabulary.Nearest(f.value, have))))
		}
	}
	if conditions > 1 && notes == nil {
		notes = []string{"Each filter alone has matching rows, but no row matches all of them."}
	}
	return notes
}

// joinWords writes the words of a filter as part of a sentence.
func joinWords(filter string, words []string) string {
	switch {
	case filter == "year":
		return words[0] + " to " + words[len(words)-1]
	case len(words) > maxListedWords:
		return fmt.Sprintf("%s and %d others", strings.Join(words[:maxListedWords], ", "), len(words)-maxListedWords)
	}
	return strings.Join(words, ", ")
}
