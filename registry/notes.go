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

// fewLabels is the total below which notes mention labels outside the search's dates or with
// unknown fields.
const fewLabels = 20

// Note explains the results of a search. If a modified search is likely to find more, Search is
// that search and Action names it.
type Note struct {
	Text    string // the whole note, for callers of the API
	Finding string // Text without advice for callers of the API
	Action  string // such as "Search all dates"; empty if Search is nil
	Search  *cola.SearchParams
}

func noteTexts(notes []Note) []string {
	texts := make([]string, len(notes))
	for i, n := range notes {
		texts[i] = n.Text
	}
	return texts
}

// suggest adds a search to n: p with a change, from the first page.
func (n *Note) suggest(action string, p *cola.SearchParams, change func(*cola.SearchParams)) {
	changed := *p
	changed.Page, changed.Cursor = cola.Opt[int]{}, ""
	change(&changed)
	n.Action, n.Search = action, &changed
}

// didYouMean adds the suggestion of a similar value. near is empty if there is none.
func (n *Note) didYouMean(near string, p *cola.SearchParams, change func(*cola.SearchParams)) {
	if near != "" {
		n.Text += didYouMean(near, true)
		n.suggest(strings.TrimSpace(didYouMean(near, true)), p, change)
	}
}

// newNote returns a note without a suggested search.
func newNote(text string) Note { return Note{Text: text, Finding: text} }

// newNotes returns notes without suggested searches. It omits empty ones.
func newNotes(texts ...string) (notes []Note) {
	for _, text := range nonEmpty(texts...) {
		notes = append(notes, newNote(text))
	}
	return notes
}

// searchNotes returns notes on a search: how an ambiguous origin and operators were interpreted; if
// few labels match, how many are left out because of their dates or unknown fields; and if none
// match, possible reasons.
func searchNotes(view *search.View, p *cola.SearchParams, q *cola.ColaSearch, total int) []Note {
	notes := newNotes(vocabulary.OriginNote(p.Origin, q.Domestic), operatorNote(p.Q, total))
	if total < fewLabels {
		notes = append(notes, dateNotes(view, p, q, total)...)
		notes = append(notes, newNotes(unknownFieldNotes(view, q.Query)...)...)
	}
	if total > 0 {
		return notes
	}
	words := wordNotes(view, p, q.Query)
	notes = append(notes, words...)
	if number := q.PermitNumber; number != "" && countMatches(view, cola.Query{PermitNumber: number}) == 0 {
		notes = append(notes, newNote(fmt.Sprintf("No label has the permit number %s. To find a company's permit "+
			"numbers, search permittees.", cola.Quoted(number))))
	}
	if code := q.Barcode; code != "" && countMatches(view, cola.Query{Barcode: code}) == 0 {
		notes = append(notes, newNote(fmt.Sprintf("No label has the main barcode %s.", cola.Quoted(code))))
	}
	notes = append(notes, newNotes(numberNote(view, q.Text))...)
	notes = append(notes, valueNotes(view, p)...)
	notes = append(notes, wholeBrandNotes(view, p, q.Query)...)
	corrected := slices.ContainsFunc(words, func(n Note) bool { return n.Text != n.Finding })
	if n, ok := brandNote(view, p, q.Query, corrected); ok {
		notes = append(notes, n)
	}
	if len(notes) == 0 {
		notes = combinationNotes(view, p, q)
	}
	return notes
}

// numberNote returns a note if a text is a TTB ID or in a barcode format, and no label has it.
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
// and for a single word that has been corrected already.
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
	found := countMatches(view, cola.Query{Text: alone.Q, BrandName: alone.BrandName})
	if found == 0 {
		return n, false
	}
	n = newNote(fmt.Sprintf("The brand %s has a similar name.", cola.Quoted(brand)))
	n.didYouMean(fmt.Sprintf("%s (%s)", brand, labels(found)), p, func(changed *cola.SearchParams) { *field(changed) = value })
	return n, true
}

// wholeBrandNotes returns a note if no label has the brand in quotes. It suggests the search without
// quotes if some names contain the text.
func wholeBrandNotes(view *search.View, p *cola.SearchParams, q cola.Query) []Note {
	brand, ok := cola.WholeBrand(q.BrandName)
	if !ok || countMatches(view, cola.Query{BrandName: q.BrandName}) > 0 {
		return nil
	}
	n := newNote(fmt.Sprintf("No label has the brand name %s.", cola.Quoted(brand)))
	if found := countMatches(view, cola.Query{BrandName: brand}); hasWord(brand) && found > 0 {
		n.Finding += fmt.Sprintf(" %s without the quotes.", labelsMatch(found))
		n.Text = n.Finding
		n.suggest("Search without quotes", p, func(changed *cola.SearchParams) { changed.BrandName = brand })
	}
	return []Note{n}
}

// maxCombinationNotes limits the notes on filters that exclude all labels together.
const maxCombinationNotes = 3

// combinationNotes returns notes on filters that can be removed to find labels, most labels first, or
// a note on the only filter. It never suggests removing the keywords.
func combinationNotes(view *search.View, p *cola.SearchParams, q *cola.ColaSearch) []Note {
	type exclusion struct {
		noun    string
		filters []cola.Filter
		labels  int
	}
	var all []exclusion
	for _, f := range cola.Filters() {
		if !f.Given(&q.Query) || q.DefaultWindow && strings.HasPrefix(f.Param, "approval_date_") {
			continue
		}
		i := slices.IndexFunc(all, func(e exclusion) bool { return e.noun == f.Noun })
		if i < 0 {
			i, all = len(all), append(all, exclusion{noun: f.Noun})
		}
		all[i].filters = append(all[i].filters, f)
	}
	if len(all) == 1 {
		return newNotes(fmt.Sprintf("No label matches the given %s.", all[0].noun))
	}
	for i := range all {
		if all[i].filters[0].Param == "q" {
			continue
		}
		without := q.Query
		for _, f := range all[i].filters {
			f.Clear(&without)
		}
		all[i].labels = countMatches(view, without)
	}
	slices.SortStableFunc(all, func(a, b exclusion) int { return cmp.Compare(b.labels, a.labels) })
	var notes []Note
	for _, e := range all[:min(len(all), maxCombinationNotes)] {
		if e.labels == 0 {
			break
		}
		n := newNote(fmt.Sprintf("%s every filter except %s.", labelsMatch(e.labels), e.noun))
		n.suggest("Remove the "+e.noun+" filter", p, func(changed *cola.SearchParams) {
			for _, f := range e.filters {
				f.Remove(changed)
			}
			if !changed.VolumeMin.OK && !changed.VolumeMax.OK {
				changed.VolumeUnit = ""
			}
		})
		notes = append(notes, n)
	}
	return notes
}

// valueNotes returns a note on each filter whose value no label has.
func valueNotes(view *search.View, p *cola.SearchParams) (notes []Note) {
	words := vocabularyOf(view)
	add := func(finding, near string, change func(changed *cola.SearchParams)) {
		if finding != "" {
			n := newNote(finding)
			n.didYouMean(near, p, change)
			n.Text += " This filter alone rules out every label."
			notes = append(notes, n)
		}
	}
	finding, near := words.unknownOrigin("origin", p.Origin)
	add(finding, near, func(changed *cola.SearchParams) { changed.Origin = near })
	path, nearPath := words.unknownCategory(p.DerivedSubcategory)
	add(path, nearPath, func(changed *cola.SearchParams) { changed.DerivedSubcategory = nearPath })
	class, nearClass := unknownValue("class/type", p.Class, view.KnowsClass)
	add(class, nearClass, func(changed *cola.SearchParams) { changed.Class = nearClass })
	grape, nearGrape := unknownValue("grape variety", p.Grape, view.KnowsGrape)
	add(grape, nearGrape, func(changed *cola.SearchParams) { changed.Grape = nearGrape })
	area, nearArea := unknownValue("appellation", p.Appellation, view.KnowsAppellation)
	add(area, nearArea, func(changed *cola.SearchParams) { changed.Appellation = nearArea })
	return notes
}

// dateNotes returns notes on labels that a search leaves out only because of their dates: those
// outside the default window, those without a date and those with an estimated one. total is the
// number of labels that match.
func dateNotes(view *search.View, p *cola.SearchParams, q *cola.ColaSearch, total int) (notes []Note) {
	allDates := func(changed *cola.SearchParams) {
		changed.ApprovalDateFrom, changed.ApprovalDateTo, changed.DateRange = 0, 0, cola.AllDates
	}
	if q.From != 0 || q.To != 0 {
		always, dated := q.Query, q.Query
		always.From, always.To = 0, 0
		dated.From, dated.To = 1, 0 // any date
		all, known := countMatches(view, always), countMatches(view, dated)
		if n := known - total; n > 0 && q.DefaultWindow {
			note := Note{Finding: fmt.Sprintf("%s outside the default window of %d days.", labelsMatch(n),
				cola.DefaultWindowDays)}
			note.Text = note.Finding + " To search all dates, set date_range to all."
			note.suggest("Search all dates", p, allDates)
			notes = append(notes, note)
		}
		if n := all - known; n > 0 {
			note := Note{Finding: labelsMatch(n) + ", but the approval date is unknown and can't be estimated."}
			note.Text = note.Finding + " To include undated labels, remove the date filters and set date_range to all."
			note.suggest("Include undated labels", p, allDates)
			notes = append(notes, note)
		}
	}
	if q.NoEstimates {
		included := q.Query
		included.NoEstimates = false
		if n := countMatches(view, included) - total; n > 0 {
			note := newNote(labelsMatch(n) + " every other filter, but the approval date is only estimated.")
			note.suggest("Include estimated dates", p, func(changed *cola.SearchParams) { changed.EstimatedDates = "" })
			notes = append(notes, note)
		}
	}
	return notes
}

// maxWordNotes limits the notes on words of one search.
const maxWordNotes = 5

// wordNotes returns a note on each word or prefix of the text that no label has, and on each word
// of the brand name that no brand has. Each suggests the most similar known word. A text or brand
// name without any word gets a single note instead.
func wordNotes(view *search.View, p *cola.SearchParams, q cola.Query) (notes []Note) {
	add := func(finding, word, near, star string, query func(text string) cola.Query, field func(*cola.SearchParams) *string) {
		n := newNote(fmt.Sprintf("%s %s.", finding, cola.Quoted(word)))
		if near != "" {
			if found := countMatches(view, query(near+star)); found > 0 {
				n.didYouMean(fmt.Sprintf("%s%s (%s)", near, star, labels(found)), p, func(changed *cola.SearchParams) {
					*field(changed) = replaceWord(*field(changed), word, near)
				})
				if *field(n.Search) == *field(p) {
					n.Action, n.Search = "", nil // spelled differently in the text, perhaps with accents
				}
			}
		}
		if len(notes) < maxWordNotes {
			notes = append(notes, n)
		}
	}
	part := q.BrandName
	if _, ok := cola.WholeBrand(part); ok {
		part = "" // see wholeBrandNotes
	}
	for _, given := range []string{q.Text, part} {
		if strings.TrimSpace(given) != "" && !hasWord(given) {
			return newNotes(fmt.Sprintf("No label matches %s, because it has no letters or digits.", cola.Quoted(given)))
		}
	}
	if _, isID := cola.ParseTTBID(q.Text); !isID && !vocabulary.BarcodeShaped(q.Text) {
		withText := func(text string) cola.Query { return cola.Query{Text: text} }
		text := func(p *cola.SearchParams) *string { return &p.Q }
		for _, word := range view.UnknownWords(q.Text) {
			add("No label contains", word, view.NearestWord(word), "", withText, text)
		}
		for _, prefix := range view.UnknownPrefixes(q.Text) {
			add("No label has a word that begins with", prefix, view.NearestPrefix(prefix), "*", withText, text)
		}
	}
	for word := range strings.FieldsSeq(part) {
		inBrand := func(word string) cola.Query { return cola.Query{BrandName: word} }
		if hasWord(word) && countMatches(view, inBrand(word)) == 0 {
			add("No brand name contains", word, view.NearestWord(word), "", inBrand,
				func(p *cola.SearchParams) *string { return &p.BrandName })
		}
	}
	return notes
}

var (
	quotation = regexp.MustCompile(`["“”„‟«»][^"“”„‟«»]*["“”„‟«»]`)
	exclusion = regexp.MustCompile(`^-\pL`) // unlike the name -196
)

// operatorNote returns a note if a text seems to contain operators, which searches don't support,
// and "" otherwise. AND needs no note, because every word must occur anyway. In an all-caps text
// that labels match, NOT and OR are part of a name, such as TRICK OR TREAT.
func operatorNote(text string, total int) string {
	const every = "Search operators aren't supported; every word must match. "
	words := strings.Fields(quotation.ReplaceAllString(text, " quoted "))
	name := total > 0 && text == strings.ToUpper(text)
	for i, word := range words {
		switch inside := i < len(words)-1 && !name; {
		case exclusion.MatchString(word):
			bare := cola.Quoted(strings.TrimPrefix(word, "-"))
			return fmt.Sprintf("%s was treated as the word %s. ", cola.Quoted(word), bare) + every +
				"To exclude it, leave it out and skip the labels that contain it."
		case word == "NOT" && inside:
			return "NOT was treated as a word. " + every +
				"To exclude words, leave them and NOT out, and skip the labels that contain them."
		case word == "OR" && inside && i > 0:
			return "OR was treated as a word. " + every + "Search for each alternative separately."
		}
	}
	return ""
}

// replaceWord replaces a word in a text, ignoring case.
func replaceWord(text, word, with string) string {
	whole := regexp.MustCompile(`(?i)(^|[^\pL\pN])` + regexp.QuoteMeta(word) + `($|[^\pL\pN])`)
	// A match consumes the separator after it, so adjacent occurrences need a second pass.
	for range 2 {
		text = whole.ReplaceAllString(text, "${1}"+strings.ReplaceAll(with, "$", "$$")+"${2}")
	}
	return text
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

// unknownFieldNotes returns a note for each filtered field that is unknown for labels that match
// all other filters.
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
	finding, near := w.unknownOrigin(name, word)
	return finding + didYouMean(near, near != "")
}

// unknownOrigin is UnknownOrigin, but returns the suggested origin separately, or "" if there is
// none.
func (w Vocabulary) unknownOrigin(name, word string) (finding, near string) {
	if strings.TrimSpace(word) == "" || w.HasOrigin(word) {
		return "", ""
	}
	if !vocabulary.IsOrigin(word) {
		near, _ = vocabulary.NearestSpelling(word, w.originWords())
	}
	return fmt.Sprintf("No label has the %s %s.", name, cola.Quoted(word)), near
}

// unknownValue returns a finding if no label has the given value, and the nearest known value, or
// "" if there is none.
func unknownValue(
	noun, value string, knows func(string) (known bool, nearest string),
) (finding, near string) {
	if strings.TrimSpace(value) == "" {
		return "", ""
	}
	known, near := knows(value)
	if known {
		return "", ""
	}
	return fmt.Sprintf("No label has the %s %s.", noun, cola.Quoted(value)), near
}

// originWords returns the origin words that match at least one label.
func (w Vocabulary) originWords() []string {
	words := slices.DeleteFunc(vocabulary.OriginWords(), func(word string) bool { return !w.HasOrigin(word) })
	for _, name := range w.Origins() {
		words = append(words, strings.ToLower(name))
	}
	return words
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

// UnknownWords returns a note for each word in a saved search's filters that no label has.
func (w Vocabulary) UnknownWords(f cola.SavedSearchFilters) []string {
	return nonEmpty(w.UnknownOrigin("country", f.Country), w.UnknownState(f.USState),
		w.UnknownCategory(f.DerivedCategory))
}

// SavedSearchNotes returns notes on the filters of a saved search: how an ambiguous country was
// interpreted, operators in the text, and which words no label has yet.
func (w Vocabulary) SavedSearchNotes(f cola.SavedSearchFilters) []string {
	notes := nonEmpty(vocabulary.OriginNote(f.Country, f.AsQuery().Domestic), operatorNote(f.Query, 1))
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

// noCombination is the note if every filter value exists, but in different rows.
const noCombination = "Each filter alone has matching rows, but no row matches all of them."

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
		return fmt.Sprintf("%s and %d others", strings.Join(words[:maxListedWords], ", "), len(words)-maxListedWords)
	}
	return strings.Join(words, ", ")
}
