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

// Words are what may be asked for, as far as it is known from the records. None of them costs anything to list.
type Words struct {
	Categories []string // category paths that labels have, and those above them
	Places     []string // that labels are from, as vocabulary.PlaceOf has them, upper case
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
	if err := s.built(); err != nil {
		return Words{}, err
	}
	w := wordsIn(s.index.View())
	w.list(s.references.Load())
	return w, nil
}

// wordsIn returns the words that labels and permittees hold.
func wordsIn(v *search.View) Words {
	return Words{Categories: v.Categories(), Places: v.Origins(), States: v.States(), resolve: v.Resolve}
}

// list gathers the words of the reference lists.
func (w *Words) list(r *store.ReferenceSets) {
	w.Times = wordsOf(r.ProcessingTimes, func(t *cola.ProcessingTime, add func(filter, word string)) {
		add("commodity", t.Commodity)
	})
	w.FormulaTimes = wordsOf(r.FormulaProcessingTimes, func(t *cola.FormulaProcessingTime, add func(filter, word string)) {
		add("commodity", t.Commodity)
		add("formula_type", t.FormulaType)
	})
	w.RegistrationTimes = wordsOf(r.RegistrationProcessingTimes, func(t *cola.RegistrationProcessingTime, add func(filter, word string)) {
		add("category", t.Category)
		add("application_type", t.ApplicationType)
	})
	w.Reports = wordsOf(r.ProductionReports, func(p *cola.ProductionReport, add func(filter, word string)) {
		add("year", strconv.Itoa(p.Year))
		add("commodity", p.Commodity)
		add("report_type", p.ReportType)
		add("statistical_group", string(p.StatisticalGroup))
		add("statistical_detail", string(p.StatisticalDetail))
	})
	w.AVAs = wordsOf(r.AVAs, func(a *cola.AVADetail, add func(filter, word string)) {
		for _, state := range a.States {
			add("state", state)
		}
	})
}

func wordsOf[T any](rows []T, each func(row *T, add func(filter, word string))) ListWords {
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
		if name := vocabulary.PlaceName(place); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// HasOrigin reports whether a label has an origin that a word means.
func (w Words) HasOrigin(word string) bool { return w.hasOrigins(vocabulary.OriginNames(word)) }

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
	folded := vocabulary.FoldPath(path)
	return slices.ContainsFunc(w.Categories, func(c string) bool { return vocabulary.FoldPath(c) == folded })
}

// Has reports whether a row of the list has a word, as a filter of the list compares it: whatever its letter case and spacing.
func (w ListWords) Has(filter, word string) bool {
	word = strings.Join(strings.Fields(word), " ")
	return slices.ContainsFunc(w[filter], func(have string) bool { return is(have, word) })
}
