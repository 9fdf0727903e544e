package registry

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

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
	Text    string // the whole note, for API callers
	Finding string // Text without advice for API callers
	Action  string // such as "Search all dates"; empty if Search is nil
	Search  *cola.SearchParams
	found   matches // of Search, if it changes keywords
}

// matches counts the labels that a search finds.
type matches struct {
	dated int // within its dates
	ever  int // across all dates; counted only if dated is 0
}

func matchesOf(view *search.View, q cola.Query) (m matches) {
	if m.dated = countMatches(view, q); m.dated == 0 && (q.From != 0 || q.To != 0) {
		q.From, q.To = 0, 0
		m.ever = countMatches(view, q)
	}
	return m
}

// compare returns a positive number if m ranks above o, and a negative one if it ranks below.
func (m matches) compare(o matches) int {
	return cmp.Or(cmp.Compare(m.dated, o.dated), cmp.Compare(m.ever, o.ever))
}

func noteTexts(notes []Note) []string {
	texts := make([]string, len(notes))
	for i, n := range notes {
		texts[i] = n.Text
	}
	return texts
}

// suggest adds a search to n: a changed copy of p, starting at the first page.
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

// correct suggests p with a corrected text or brand name, in which near replaces a misspelling, if
// labels have both. The suggestion says how many labels the changed search finds. If they are all
// outside its dates, the suggestion searches all dates. If other filters exclude all labels, n has
// the suggestion only in Text. q is the query of p.
func (n *Note) correct(
	view *search.View, near string, p *cola.SearchParams, q cola.Query, change func(*cola.SearchParams),
) {
	changed := *p
	change(&changed)
	q.Text, q.BrandName = changed.Q, changed.BrandName
	switch n.found = matchesOf(view, q); {
	case n.found.dated > 0:
		n.didYouMean(fmt.Sprintf("%s (%s)", near, labels(n.found.dated)), p, change)
	case n.found.ever > 0:
		searchAllDates(&changed)
		n.didYouMean(fmt.Sprintf("%s (%s across all dates)", near, labels(n.found.ever)), &changed, change)
		n.Text += allDatesAdvice(p)
	case countMatches(view, cola.Query{Text: q.Text, BrandName: q.BrandName}) > 0:
		n.Text += didYouMean(near, true)
	}
}

// searchAllDates removes the dates from a search.
func searchAllDates(p *cola.SearchParams) {
	p.ApprovalDateFrom, p.ApprovalDateTo, p.DateRange = 0, 0, cola.AllDates
}

// allDatesAdvice tells API callers how to search all dates.
func allDatesAdvice(p *cola.SearchParams) string {
	if p.ApprovalDateFrom != 0 || p.ApprovalDateTo != 0 {
		return " To search all dates, remove the date filters and set date_range to all."
	}
	return " To search all dates, set date_range to all."
}

// newNote returns a note without a suggested search.
func newNote(text string) Note { return Note{Text: text, Finding: text} }

// newNotes returns notes without suggested searches. It skips empty texts.
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
		notes = append(notes, newNotes(unknownFieldNotes(view, &q.Query)...)...)
	}
	if filters := filterNotes(view, p, q.Query, total, guessNone); len(filters) > 0 || total > 0 {
		return append(notes, filters...)
	}
	filters, words := keywordNotes(view, p, q.Query)
	notes = slices.Concat(notes, filters, words)
	if number := q.PermitNumber; number != "" && countMatches(view, cola.Query{PermitNumber: number}) == 0 {
		notes = append(notes, newNote(fmt.Sprintf("No label has the permit number %s. To find a company's permit "+
			"numbers, search permittees.", cola.Quoted(number))))
	}
	if code := q.Barcode; code != "" && countMatches(view, cola.Query{Barcode: code}) == 0 {
		notes = append(notes, newNote(fmt.Sprintf("No label has the main barcode %s.", cola.Quoted(code))))
	}
	notes = append(notes, newNotes(numberNote(view, q.Text))...)
	notes = append(notes, valueNotes(view, p, q.Query)...)
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

// keywordNotes returns notes on unknown, misspelled and half-typed words of a search without results.
// If filters in place of the words find more labels than corrected words, keywordNotes suggests the
// filters, and leaves out words without a suggested correction.
func keywordNotes(view *search.View, p *cola.SearchParams, q cola.Query) (filters, words []Note) {
	words = wordNotes(view, p, q)
	suggested := slices.DeleteFunc(slices.Clone(words), func(n Note) bool { return n.Search == nil })
	var most matches
	for _, n := range suggested {
		if n.found.compare(most) > 0 {
			most = n.found
		}
	}
	guesses, given := []guessing{guessUnknown, guessGrapes}, splitWords(q.Text)
	switch unknown := unknownOf(view, given); len(unknown) {
	case 0:
		guesses = guesses[1:]
	case len(given):
		guesses = guesses[:1]
	}
	for _, guess := range guesses {
		filters = filterNotes(view, p, q, 0, guess)
		if len(filters) > 0 && filters[0].found.compare(most) > 0 {
			return filters, suggested
		}
	}
	return nil, words
}

// maxCombinationNotes is the maximum number of notes on filters that together exclude all labels.
const maxCombinationNotes = 3

// combinationNotes returns notes on filters that can be removed to find labels, most labels first,
// or a note on the only filter.
func combinationNotes(view *search.View, p *cola.SearchParams, q *cola.ColaSearch) []Note {
	if given := givenFilters(q); len(given) == 1 {
		return newNotes(fmt.Sprintf("No label matches the given %s.", given[0][0].Noun))
	}
	notes := removals(view, p, q)
	return notes[:min(len(notes), maxCombinationNotes)]
}

// givenFilters returns the filters of a search, grouped by noun. It leaves out the dates of the
// default window, and filters that only saved searches have.
func givenFilters(q *cola.ColaSearch) (groups [][]*cola.Filter) {
	for f := range cola.Filters() {
		if f.Param == "" || !f.Given(&q.Query) || q.DefaultWindow && strings.HasPrefix(f.Param, "approval_date_") {
			continue
		}
		i := slices.IndexFunc(groups, func(g []*cola.Filter) bool { return g[0].Noun == f.Noun })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

// removals returns a note on each filter whose removal would produce matches, most labels first. It
// never suggests removing the keywords, or the only filter.
func removals(view *search.View, p *cola.SearchParams, q *cola.ColaSearch) (notes []Note) {
	groups := givenFilters(q)
	if len(groups) == 1 {
		return nil
	}
	found := map[string]int{}
	for _, g := range groups {
		reduced := q.Query
		for _, f := range g {
			f.Clear(&reduced)
		}
		if g[0].Param != "q" {
			found[g[0].Noun] = countMatches(view, reduced)
		}
	}
	slices.SortStableFunc(groups, func(a, b []*cola.Filter) int {
		return cmp.Compare(found[b[0].Noun], found[a[0].Noun])
	})
	for _, g := range groups {
		noun := g[0].Noun
		if found[noun] == 0 {
			break
		}
		n := newNote(fmt.Sprintf("%s every filter except %s.", labelsMatch(found[noun]), noun))
		n.suggest("Remove the "+noun+" filter", p, func(changed *cola.SearchParams) {
			for _, f := range g {
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

// dateNotes returns notes on labels that a search leaves out only because of their dates: those
// outside the default window, those without a date and those with an estimated one. total is the
// number of labels that match.
func dateNotes(view *search.View, p *cola.SearchParams, q *cola.ColaSearch, total int) (notes []Note) {
	if q.From != 0 || q.To != 0 {
		anyTime, dated := q.Query, q.Query
		anyTime.From, anyTime.To = 0, 0
		dated.From, dated.To = 1, 0 // any date
		all, known := countMatches(view, anyTime), countMatches(view, dated)
		if n := known - total; n > 0 && q.DefaultWindow {
			newer := q.Query
			newer.From, newer.To = q.To+1, 0
			note := Note{Finding: otherMatches(n, countMatches(view, newer) == 0)}
			note.Text = fmt.Sprintf("%s outside the default window of %d days. To search all dates, set date_range to all.",
				labelsMatch(n), cola.DefaultWindowDays)
			note.suggest("show", p, searchAllDates)
			notes = append(notes, note)
		}
		if n := all - known; n > 0 {
			note := Note{Finding: labelsMatch(n) + ", but the approval date is unknown and can't be estimated."}
			note.Text = note.Finding + " To include undated labels, remove the date filters and set date_range to all."
			note.suggest("Include undated labels", p, searchAllDates)
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

// labels returns "1 label", "2 labels" and so on.
func labels(n int) string {
	if n == 1 {
		return "1 label"
	}
	return fmt.Sprintf("%d labels", n)
}

// otherMatches introduces a link to n labels outside the default window.
func otherMatches(n int, older bool) string {
	noun := "matches"
	if n == 1 {
		noun = "match"
	}
	if older {
		return fmt.Sprintf("%d older %s:", n, noun)
	}
	return fmt.Sprintf("%d %s on other dates:", n, noun)
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
func unknownFieldNotes(view *search.View, q *cola.Query) (notes []string) {
	for f := range cola.Filters() {
		if !f.Unknown || !anyGiven(unknownFields(f.Noun), q) {
			continue
		}
		lifted := *q
		for other := range unknownFields(f.Noun) {
			other.Clear(&lifted)
		}
		known := f.Known(lifted)
		if known == nil {
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

// unknownFields yields the filters on a field that is unknown for some labels.
func unknownFields(noun string) iter.Seq[*cola.Filter] {
	return func(yield func(*cola.Filter) bool) {
		for f := range cola.Filters() {
			if f.Unknown && f.Noun == noun && !yield(f) {
				return
			}
		}
	}
}

// anyGiven reports whether a query has a condition for any of the filters.
func anyGiven(filters iter.Seq[*cola.Filter], q *cola.Query) bool {
	for f := range filters {
		if f.Given(q) {
			return true
		}
	}
	return false
}

// didYouMean returns a suggestion of a similar word, or "" if ok is false.
func didYouMean(near string, ok bool) string {
	if !ok {
		return ""
	}
	return " Did you mean " + near + "?"
}
