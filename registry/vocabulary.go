package registry

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
)

// Vocabulary lists the filter values that occur in records. Listing them is free.
type Vocabulary struct {
	Categories []string // category paths of labels, and their parents
	Places     []string // origins of labels as returned by vocabulary.PlaceOf, upper case
	States     []string // states of permittees, two letters

	Times             ListVocabulary // COLA processing times
	FormulaTimes      ListVocabulary
	RegistrationTimes ListVocabulary
	Reports           ListVocabulary // production reports
	AVAs              ListVocabulary // states of the areas

	resolve func(path string) string // maps an outdated category path to the current one; may be nil
	view    *search.View             // for UnknownWords and Grapes; may be nil
}

// ListVocabulary lists the values in the rows of a reference list by filter, sorted.
type ListVocabulary map[string][]string

// Vocabulary returns the filter values that occur in records. It is not metered: call it only for
// an admitted request.
func (s *Service) Vocabulary(context.Context) (Vocabulary, error) {
	if err := s.checkIndexBuilt(); err != nil {
		return Vocabulary{}, err
	}
	w := vocabularyOf(s.index.View())
	w.addReferences(s.references.Load())
	return w, nil
}

// vocabularyOf returns the filter values of labels and permittees.
func vocabularyOf(v *search.View) Vocabulary {
	return Vocabulary{Categories: v.Categories(), Places: v.Origins(), States: v.States(), resolve: v.Resolve, view: v}
}

// addReferences adds the words of the reference lists.
func (w *Vocabulary) addReferences(r *store.ReferenceSets) {
	w.Times = collectWords(r.ProcessingTimes, func(t *cola.ProcessingTime, add func(filter, word string)) {
		add("commodity", t.Commodity)
	})
	w.FormulaTimes = collectWords(r.FormulaProcessingTimes,
		func(t *cola.FormulaProcessingTime, add func(filter, word string)) {
			add("commodity", t.Commodity)
			add("formula_type", t.FormulaType)
		})
	w.RegistrationTimes = collectWords(r.RegistrationProcessingTimes,
		func(t *cola.RegistrationProcessingTime, add func(filter, word string)) {
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

func collectWords[T any](rows []T, each func(row *T, add func(filter, word string))) ListVocabulary {
	words := ListVocabulary{}
	for i := range rows {
		each(&rows[i], func(filter, word string) {
			if at, found := slices.BinarySearch(words[filter], word); !found && word != "" {
				words[filter] = slices.Insert(words[filter], at, word)
			}
		})
	}
	return words
}

// Origins returns the distinct names of the places, in upper case.
func (w Vocabulary) Origins() []string {
	var names []string
	for _, place := range w.Places {
		if name := vocabulary.PlaceName(place); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Grapes returns up to limit grape varieties of labels, most frequent first.
func (w Vocabulary) Grapes(limit int) (names []string) {
	if w.view == nil {
		return nil
	}
	for _, s := range w.view.Suggest(cola.SuggestSearch{Field: cola.SuggestGrape, Limit: limit}) {
		names = append(names, s.Value)
	}
	return names
}

// HasOrigin reports whether any label has an origin that word refers to.
func (w Vocabulary) HasOrigin(word string) bool { return w.hasOrigins(vocabulary.OriginNames(word)) }

// HasUSState reports whether any label is from the given US state, written as in a saved search's
// us_state filter.
func (w Vocabulary) HasUSState(word string) bool {
	return w.hasOrigins(cola.SavedSearchFilters{USState: word}.AsQuery().OriginNames)
}

func (w Vocabulary) hasOrigins(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(w.Places, name) })
}

// HasCategory reports whether any label has the given category path or one below it. Outdated paths
// are mapped to current ones.
func (w Vocabulary) HasCategory(path string) bool {
	if w.resolve != nil {
		path = w.resolve(path)
	}
	folded := vocabulary.FoldPath(path)
	return slices.ContainsFunc(w.Categories, func(c string) bool { return vocabulary.FoldPath(c) == folded })
}

// Has reports whether any row of the list has the given word, ignoring case and spacing as the
// list's filter does.
func (w ListVocabulary) Has(filter, word string) bool {
	word = strings.Join(strings.Fields(word), " ")
	return slices.ContainsFunc(w[filter], func(have string) bool { return matchesFilter(have, word) })
}
