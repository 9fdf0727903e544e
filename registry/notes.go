package registry

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
)

// searchNotes returns what to tell the caller of a search beside its rows: how an ambiguous origin was read and, when no
// label matches, what may be the reason.
func searchNotes(view *search.View, p *cola.SearchParams, q *cola.ColaSearch, total int) []string {
	notes := nonEmpty(cola.OriginNote(p.Origin, q.Domestic))
	if total > 0 {
		return notes
	}
	words := vocabularyOf(view)
	const vacuous = " So a total of 0 says nothing about the other filters."
	for _, unknown := range nonEmpty(words.UnknownOrigin("origin", p.Origin), words.UnknownCategory(p.DerivedSubcategory)) {
		notes = append(notes, unknown+vacuous)
	}
	if q.DefaultWindow {
		always := q.Query
		always.From, always.To = 0, 0
		if n := countMatches(view, always); n > 0 {
			notes = append(notes, fmt.Sprintf("%s outside the default window of %d days. To search all dates, set approval_date_from to 2005-01-01.",
				labelsMatch(n), cola.DefaultWindowDays))
		}
	}
	return append(notes, unknownFieldNotes(view, q.Query)...)
}

// nonEmpty returns the notes that say something.
func nonEmpty(notes ...string) []string {
	return slices.DeleteFunc(notes, func(n string) bool { return n == "" })
}

// labelsMatch says how many labels match.
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

// unknownFieldNotes returns a note for each field that is unknown for labels that match all other filters.
func unknownFieldNotes(view *search.View, q cola.Query) (notes []string) {
	all := slices.DeleteFunc(cola.Filters(), func(f cola.Filter) bool { return !f.Unknown })
	for _, f := range all {
		lifted, given := q, false
		for _, other := range all {
			if other.Noun == f.Noun {
				given = given || other.Given(&q)
				other.Clear(&lifted)
			}
		}
		known := f.Known(lifted)
		if !given || known == nil {
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

// UnknownOrigin returns a sentence on a word for an origin that no label has, empty otherwise. name is what the caller calls
// the filter.
func (w Words) UnknownOrigin(name, word string) string {
	if strings.TrimSpace(word) == "" || w.HasOrigin(word) {
		return ""
	}
	hint := ""
	if !cola.IsOrigin(word) {
		hint = didYouMean(cola.NearestSpelling(word, w.originWords()))
	}
	return fmt.Sprintf("No label has the %s %s.%s", name, cola.Quoted(word), hint)
}

// originWords returns the words that find labels by origin.
func (w Words) originWords() []string {
	words := slices.DeleteFunc(cola.OriginWords(), func(word string) bool { return !w.HasOrigin(word) })
	for _, name := range w.Origins() {
		words = append(words, strings.ToLower(name))
	}
	return words
}

// UnknownCategory returns a sentence on a category path that no label has, empty otherwise.
func (w Words) UnknownCategory(path string) string {
	if cola.SettlePath(path) == "" || w.HasCategory(path) {
		return ""
	}
	return fmt.Sprintf("No label has the category path %s.%s", cola.Quoted(path), didYouMean(cola.Nearest(path, w.Categories)))
}

// UnknownState returns a sentence on a US state that no label is from, empty otherwise. The state itself is known to be valid.
func (w Words) UnknownState(state string) string {
	if strings.TrimSpace(state) == "" || w.HasUSState(state) {
		return ""
	}
	return fmt.Sprintf("No label is from the US state %s.", cola.Quoted(state))
}

// UnknownWords returns a sentence for each word in the filters of a saved search that no label has.
func (w Words) UnknownWords(f cola.SavedSearchFilters) []string {
	return nonEmpty(w.UnknownOrigin("country", f.Country), w.UnknownState(f.USState), w.UnknownCategory(f.DerivedCategory))
}

// SavedSearchNotes returns what to tell the owner of a saved search about its filters: how an ambiguous country was read, and
// which words no label has yet.
func (w Words) SavedSearchNotes(f cola.SavedSearchFilters) []string {
	notes := nonEmpty(cola.OriginNote(f.Country, f.AsQuery().Domestic))
	for _, u := range w.UnknownWords(f) {
		notes = append(notes, u+" The search finds nothing until a label has it.")
	}
	return notes
}

// didYouMean asks whether the caller meant a word that is near.
func didYouMean(near string, ok bool) string {
	if !ok {
		return ""
	}
	return " Did you mean " + near + "?"
}

// listFilter is a filter of a reference list and its value.
type listFilter struct{ name, value string }

// maxListedWords is how many words of a filter a note lists.
const maxListedWords = 20

// notes returns what to tell the caller of a reference list that has no rows: which filter values no row has, and the
// values that there are.
func (w ListWords) notes(filters ...listFilter) (notes []string) {
	if len(w) == 0 {
		return []string{"The registry holds no figures of this kind."}
	}
	given := 0
	for _, f := range filters {
		if strings.TrimSpace(f.value) == "" {
			continue
		}
		given++
		if have, ok := w[f.name]; ok && !w.Has(f.name, f.value) {
			notes = append(notes, fmt.Sprintf("No row has the %s %s; there are %s.%s",
				f.name, cola.Quoted(f.value), joinWords(f.name, have), didYouMean(cola.Nearest(f.value, have))))
		}
	}
	if given > 1 && notes == nil {
		notes = []string{"There are rows with each of these filters, but none with all of them."}
	}
	return notes
}

// joinWords writes the words of a filter as part of a sentence.
func joinWords(filter string, words []string) string {
	switch {
	case filter == "year":
		return "some from " + words[0] + " to " + words[len(words)-1]
	case len(words) > maxListedWords:
		return fmt.Sprintf("%s and %d others", strings.Join(words[:maxListedWords], ", "), len(words)-maxListedWords)
	}
	return strings.Join(words, ", ")
}

// Words are what may be asked for, as far as it is known from the records. None of them costs anything to list.
type Words struct {
	Categories []string // category paths that labels have, and those above them
	Places     []string // that labels are from, as cola.PlaceOf has them, upper case
	States     []string // of permittees, two letters

	Times             ListWords // of the processing times of labels
	FormulaTimes      ListWords
	RegistrationTimes ListWords
	Reports           ListWords // production reports
	AVAs              ListWords // states that areas lie in

	resolve func(path string) string // a category path that may be former to the current one; nil: none is former
}

// ListWords are the words that the filters of a reference list take, by filter: those that its rows have, in order.
type ListWords map[string][]string

// Words returns the words that the records hold. It is not metered and no request of the burst: call it for an admitted
// request only.
func (s *Service) Words(context.Context) (Words, error) {
	if err := s.checkIndexBuilt(); err != nil {
		return Words{}, err
	}
	w := vocabularyOf(s.index.View())
	w.addReferences(s.references.Load())
	return w, nil
}

// vocabularyOf returns the words that labels and permittees hold.
func vocabularyOf(v *search.View) Words {
	return Words{Categories: v.Categories(), Places: v.Origins(), States: v.States(), resolve: v.Resolve}
}

// addReferences adds the words of the reference lists.
func (w *Words) addReferences(r *store.ReferenceSets) {
	w.Times = collectWords(r.ProcessingTimes, func(t *cola.ProcessingTime, add func(filter, word string)) {
		add("commodity", t.Commodity)
	})
	w.FormulaTimes = collectWords(r.FormulaProcessingTimes, func(t *cola.FormulaProcessingTime, add func(filter, word string)) {
		add("commodity", t.Commodity)
		add("formula_type", t.FormulaType)
	})
	w.RegistrationTimes = collectWords(r.RegistrationProcessingTimes, func(t *cola.RegistrationProcessingTime, add func(filter, word string)) {
		add("category", t.Category)
		add("application_type", t.ApplicationType)
	})
	w.Reports = collectWords(r.ProductionReports, func(p *cola.ProductionReport, add func(filter, word string)) {
		add("year", strconv.Itoa(p.Year))
		add("commodity", p.Commodity)
		add("report_type", p.ReportType)
		add("statistical_group", string(p.StatisticalGroup))
		add("statistical_detail", string(p.StatisticalDetail))
	})
	w.AVAs = collectWords(r.AVAs, func(a *cola.AVADetail, add func(filter, word string)) {
		for _, state := range a.States {
			add("state", state)
		}
	})
}

func collectWords[T any](rows []T, each func(row *T, add func(filter, word string))) ListWords {
	words := ListWords{}
	for i := range rows {
		each(&rows[i], func(filter, word string) {
			if at, met := slices.BinarySearch(words[filter], word); !met && word != "" {
				words[filter] = slices.Insert(words[filter], at, word)
			}
		})
	}
	return words
}

// Origins returns the names of the places, each once, upper case.
func (w Words) Origins() []string {
	var names []string
	for _, place := range w.Places {
		if name := cola.PlaceName(place); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// HasOrigin reports whether a label has an origin that a word means.
func (w Words) HasOrigin(word string) bool { return w.hasOrigins(cola.OriginNames(word)) }

// HasUSState reports whether a label is from a US state, as the filter of that name of a saved search has it.
func (w Words) HasUSState(word string) bool {
	return w.hasOrigins(cola.SavedSearchFilters{USState: word}.AsQuery().OriginNames)
}

func (w Words) hasOrigins(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(w.Places, name) })
}

// HasCategory reports whether a label has a category path, or one below it. A former path is its current one.
func (w Words) HasCategory(path string) bool {
	if w.resolve != nil {
		path = w.resolve(path)
	}
	folded := cola.FoldPath(path)
	return slices.ContainsFunc(w.Categories, func(c string) bool { return cola.FoldPath(c) == folded })
}

// Has reports whether a row of the list has a word, as a filter of the list compares it: whatever its letter case and spacing.
func (w ListWords) Has(filter, word string) bool {
	word = strings.Join(strings.Fields(word), " ")
	return slices.ContainsFunc(w[filter], func(have string) bool { return matchesFilter(have, word) })
}
