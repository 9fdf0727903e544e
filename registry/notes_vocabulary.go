package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search"
)

// UnknownOrigin returns a note if no label has the given origin, and "" otherwise.
func (w Vocabulary) UnknownOrigin(word string) string {
	finding, near := w.unknownOrigin(word)
	return finding + didYouMean(near, near != "")
}

// unknownOrigin is UnknownOrigin, but returns the suggested origin separately, or "" if there is
// none.
func (w Vocabulary) unknownOrigin(word string) (finding, near string) {
	if strings.TrimSpace(word) == "" || w.HasOrigin(word) {
		return "", ""
	}
	if !vocabulary.IsOrigin(word) {
		near, _ = vocabulary.NearestSpelling(word, w.originWords())
	}
	return fmt.Sprintf("No label is from %s.", cola.Quoted(word)), near
}

// maxNearValues is the maximum number of values that valueNotes suggests for one filter.
const maxNearValues = 3

// valueNotes returns a note on each filter whose value no label has. If there are several near values
// with which the search finds labels, further notes suggest them. q is the query of p.
func valueNotes(view *search.View, p *cola.SearchParams, q cola.Query) (notes []Note) {
	var words Vocabulary
	if p.Origin != "" || p.DerivedSubcategory != "" { // listing the values takes longer than the search
		words = vocabularyOf(view)
	}
	add := func(
		value, finding string, near []string, field func(*cola.SearchParams) *string, set func(*cola.Query, string),
	) {
		if finding == "" {
			return
		}
		n := newNote(finding)
		near, found := rankValues(view, near, q, set)
		if len(near) > 0 {
			n.didYouMean(near[0], p, func(changed *cola.SearchParams) { *field(changed) = near[0] })
		} else if strings.Contains(value, ",") { // names contain commas, too
			n.Text += " This filter takes only one value."
		}
		n.Text += " This filter alone rules out every label."
		notes = append(notes, n)
		for i := 1; i < min(len(near), maxNearValues) && found[i].dated > 0; i++ {
			or := Note{Text: "Or did you mean " + near[i] + "?"}
			or.suggest(or.Text, p, func(changed *cola.SearchParams) { *field(changed) = near[i] })
			notes = append(notes, or)
		}
	}
	finding, near := words.unknownOrigin(p.Origin)
	add(p.Origin, finding, nonEmpty(near), originField.of, originField.set)
	path, nearPath := words.unknownCategory(p.DerivedSubcategory)
	add(p.DerivedSubcategory, path, nonEmpty(nearPath),
		func(p *cola.SearchParams) *string { return &p.DerivedSubcategory },
		func(q *cola.Query, value string) { q.CategoryPath = vocabulary.NormalizePath(value) })
	class, nearClass := unknownValue("class/type", p.Class, view.KnowsClass)
	add(p.Class, class, nearClass,
		func(p *cola.SearchParams) *string { return &p.Class },
		func(q *cola.Query, value string) { q.Class = value })
	grape, nearGrape := unknownValue("grape variety", p.Grape, view.KnowsGrape)
	add(p.Grape, grape, nearGrape, grapeField.of, grapeField.set)
	area, nearArea := unknownValue("appellation", p.Appellation, view.KnowsAppellation)
	add(p.Appellation, area, nearArea, appellationField.of, appellationField.set)
	return notes
}

// rankValues sorts values of a field by the matches of q with each, most first.
func rankValues(
	view *search.View, values []string, q cola.Query, set func(*cola.Query, string),
) (sorted []string, found []matches) {
	of := map[string]matches{}
	for _, value := range values {
		set(&q, value)
		of[value] = matchesOf(view, q)
	}
	sorted = slices.Clone(values)
	slices.SortStableFunc(sorted, func(a, b string) int { return of[b].compare(of[a]) })
	for _, value := range sorted {
		found = append(found, of[value])
	}
	return sorted, found
}

// unknownValue returns a finding if no label has the given value. In that case, near are the known
// values that it may stand for.
func unknownValue(
	noun, value string, knows func(string) (known bool, nearest []string),
) (finding string, near []string) {
	if strings.TrimSpace(value) == "" {
		return "", nil
	}
	known, near := knows(value)
	if known {
		return "", nil
	}
	return fmt.Sprintf("No label has the %s %s.", noun, cola.Quoted(value)), near
}

// originWords returns the origin words that match at least one label, preceded by the names of
// origins as labels spell them.
func (w Vocabulary) originWords() []string {
	words := slices.DeleteFunc(vocabulary.OriginWords(), func(word string) bool { return !w.HasOrigin(word) })
	return slices.Concat(w.Origins(), words)
}

// UnknownCategory returns a note if no label has the given category path, and "" otherwise.
func (w Vocabulary) UnknownCategory(path string) string {
	finding, near := w.unknownCategory(path)
	return finding + didYouMean(near, near != "")
}

// unknownCategory is UnknownCategory, but returns the suggested path separately, or "" if there is
// none.
func (w Vocabulary) unknownCategory(path string) (finding, near string) {
	if vocabulary.NormalizePath(path) == "" || w.HasCategory(path) {
		return "", ""
	}
	near, _ = vocabulary.Nearest(path, w.Categories)
	return fmt.Sprintf("No label has the category path %s.", cola.Quoted(path)), near
}

// UnknownState returns a note if no label is from the given US state, which must be valid, and ""
// otherwise.
func (w Vocabulary) UnknownState(state string) string {
	if strings.TrimSpace(state) == "" || w.HasUSState(state) {
		return ""
	}
	return fmt.Sprintf("No label is from the US state %s.", cola.Quoted(state))
}

// UnknownWords returns a note for each value in a saved search's filters that no label has. If no
// label matches the filters, it also returns notes on unknown words in the text or brand name, and on
// words that keyword search doesn't cover. The notes suggest corrections and filters.
func (w Vocabulary) UnknownWords(f cola.SavedSearchFilters) []string {
	texts := nonEmpty(w.UnknownOrigin(f.Country), w.UnknownState(f.USState),
		w.UnknownCategory(f.DerivedCategory))
	q := f.AsQuery()
	if w.view == nil || countMatches(w.view, q) > 0 {
		return texts
	}
	p := cola.SearchParams{
		Q: q.Text, BrandName: q.BrandName,
		Origin: cmp.Or(f.Country, f.USState), Grape: f.Grape, Appellation: f.Appellation,
	}
	notes := filterNotes(w.view, &p, q, 0, guessNone)
	if len(notes) == 0 {
		filters, words := keywordNotes(w.view, &p, q)
		notes = slices.Concat(filters, words)
	}
	for i, n := range notes {
		if n.Search == nil {
			notes[i].Finding = n.Text // with a suggestion that other filters exclude
		}
	}
	p = cola.SearchParams{Class: f.Class, Grape: f.Grape, Appellation: f.Appellation}
	for _, n := range append(notes, valueNotes(w.view, &p, q)...) {
		text := strings.TrimSpace(n.Finding + " " + n.Action)
		if n.Search != nil && !strings.HasSuffix(text, "?") {
			text += "."
		}
		texts = append(texts, text)
	}
	return texts
}

// SavedSearchNotes returns notes on the filters of a saved search: how an ambiguous country was
// interpreted, operators in the text, and which words no label has yet.
func (w Vocabulary) SavedSearchNotes(f cola.SavedSearchFilters) []string {
	notes := nonEmpty(vocabulary.OriginNote(f.Country, f.AsQuery().Domestic), operatorNote(f.Query, 1))
	if unknown := w.UnknownWords(f); len(unknown) > 0 {
		notes = append(append(notes, unknown...), "The search has no matches yet.")
	}
	return notes
}

// listFilter is a filter on a reference list and its value.
type listFilter struct{ name, value string }

// noCombination is the note on filters whose values all exist, but in different rows.
const noCombination = "Each filter alone has matching rows, but no row matches all of them."

// maxListedWords is the maximum number of values that a note lists.
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
		if available, ok := w[f.name]; ok && !w.Has(f.name, f.value) {
			notes = append(notes, fmt.Sprintf("No row has the %s %s. Available: %s.%s",
				f.name, cola.Quoted(f.value), joinWords(f.name, available), didYouMean(vocabulary.Nearest(f.value, available))))
		}
	}
	if conditions > 1 && notes == nil {
		notes = []string{noCombination}
	}
	return notes
}

// joinWords formats the words of a filter as part of a sentence.
func joinWords(filter string, words []string) string {
	switch {
	case filter == "year":
		return words[0] + " to " + words[len(words)-1]
	case len(words) > maxListedWords:
		return fmt.Sprintf("%s and %d more", strings.Join(words[:maxListedWords], ", "), len(words)-maxListedWords)
	}
	return strings.Join(words, ", ")
}
