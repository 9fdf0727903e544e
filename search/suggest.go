package search

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// Suggest completes a value of a label field. A value matches if it, or a word in it, begins with
// the query, after text.BrandKey normalizes both. An apostrophe may be typed as a space, and the
// query may end within the word "and", which keys omit. Values that begin with the query come
// first, then those with the most labels. Counts are exact and include only live labels.
func (v *View) Suggest(s cola.SuggestSearch) []cola.Suggestion {
	switch s.Field {
	case cola.SuggestBrand:
		return v.suggestBrands(newCompletion(s.Q), s.Limit)
	case cola.SuggestCompany:
		return v.suggestCompanies(newCompletion(s.Q), s.Limit)
	}
	return v.suggestions.of(v, s.Field).Suggest(s)
}

// ranking keeps the first limit values in the order of compare.
type ranking[T any] struct {
	limit   int
	compare func(a, b T) int
	first   []T
}

// add adds a value if it ranks among the first limit values.
func (r *ranking[T]) add(v T) {
	if len(r.first) == r.limit {
		if r.limit == 0 || r.compare(v, r.first[r.limit-1]) >= 0 {
			return
		}
		r.first = r.first[:r.limit-1]
	}
	at, _ := slices.BinarySearchFunc(r.first, v, r.compare)
	r.first = slices.Insert(r.first, at, v)
}

// namedValue is a value with the form in which it is matched and sorted.
type namedValue struct {
	key string
	cola.Suggestion
}

// byLabels compares values in the order of suggestions: most labels first, then by name.
func byLabels(a, b namedValue) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.key, b.key), strings.Compare(a.Value, b.Value),
		strings.Compare(a.PermitNumber, b.PermitNumber))
}

// suggestions returns the suggestions of the rankings, in order.
func suggestions(rankings ...*ranking[namedValue]) []cola.Suggestion {
	found := []cola.Suggestion{}
	for _, r := range rankings {
		for i := range r.first {
			found = append(found, r.first[i].Suggestion)
		}
	}
	return found
}

// ValueList completes values of a short list.
type ValueList struct{ values []namedValue } // in the order of suggestions

// NewValueList returns a list of values with their counts. It leaves out values that have no count
// or that no parameter accepts.
func NewValueList(values []cola.Suggestion) *ValueList {
	l := &ValueList{}
	for _, v := range values {
		if v.Count > 0 && cola.AcceptsText(v.Value) {
			l.values = append(l.values, namedValue{text.BrandKey(v.Value), v})
		}
	}
	slices.SortFunc(l.values, byLabels)
	return l
}

// Suggest returns the values that complete a query, as View.Suggest does.
func (l *ValueList) Suggest(s cola.SuggestSearch) []cola.Suggestion {
	c := newCompletion(s.Q)
	found, within := []cola.Suggestion{}, []cola.Suggestion{}
	for i := range l.values {
		if len(found) == s.Limit {
			break
		}
		v := &l.values[i]
		switch c.match(v.key, v.Value) {
		case nameBegins:
			found = append(found, v.Suggestion)
		case wordBegins:
			if len(within) < s.Limit {
				within = append(within, v.Suggestion)
			}
		}
	}
	return append(found, within[:min(len(within), s.Limit-len(found))]...)
}

// suggestionCache holds the short lists of values of one view. Building a list takes one pass over
// a column.
type suggestionCache struct {
	mu    sync.Mutex
	lists map[string]*ValueList // by field
}

// of returns the values of a field.
func (c *suggestionCache) of(v *View, field string) *ValueList {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.lists[field]; l != nil {
		return l
	}
	var values []cola.Suggestion
	switch field {
	case cola.SuggestCategory:
		values = v.categoryCounts()
	case cola.SuggestOrigin:
		values = v.originCounts()
	case cola.SuggestClass:
		values = v.classCounts()
	case cola.SuggestAppellation:
		values = v.appellationCounts()
	case cola.SuggestGrape:
		values = v.grapeCounts()
	}
	if c.lists == nil {
		c.lists = map[string]*ValueList{}
	}
	c.lists[field] = NewValueList(values)
	return c.lists[field]
}
