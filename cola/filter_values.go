package cola

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// indexed sets the struct field indexes of filters. It panics if a name has no field.
func indexed(filters []Filter) []Filter {
	for i := range filters {
		f := &filters[i]
		if f.Param != "" {
			f.paramIndex = indexOf[SearchParams](f.Param)
		}
		for _, name := range f.Saved {
			f.savedIndex = append(f.savedIndex, indexOf[SavedSearchFilters](name))
		}
		if f.field != "" {
			field, ok := reflect.TypeFor[Query]().FieldByName(f.field)
			if !ok {
				panic("cola: Query has no field " + f.field)
			}
			f.queryIndex = field.Index
		}
	}
	return filters
}

func indexOf[T any](name string) []int {
	i := FieldIndex[T](name)
	if i < 0 {
		panic("cola: unknown filter " + name)
	}
	return FieldsOf[T]()[i].Index
}

// fieldAt returns a pointer to a field of a struct.
func fieldAt[T any](s *T, index []int) any {
	return reflect.ValueOf(s).Elem().FieldByIndex(index).Addr().Interface()
}

func (f *Filter) condition(q *Query) reflect.Value {
	return reflect.ValueOf(q).Elem().FieldByIndex(f.queryIndex)
}

// boolean reports whether saved searches have a boolean for each word.
func (f *Filter) boolean() bool { return len(f.Saved) > 1 }

// filterValue is the value of a filter. Its kind determines which field is set.
type filterValue struct {
	text   string       // for text, choices and units
	words  []string     // for lists, and for choices that saved searches store as booleans
	number Opt[float64] // for bounds
	date   Date
}

func (v filterValue) given() bool {
	return v.text != "" || len(v.words) > 0 || v.number.OK || v.date != 0
}

// String formats the value for display: "wine or malt beverage".
func (v filterValue) String() string {
	switch {
	case len(v.words) > 0:
		return joinedWithOr(v.words)
	case v.number.OK:
		return plain(v.number.V)
	case v.date != 0:
		return v.date.String()
	}
	return v.text
}

// joinedWithOr joins one or more words: "wine, malt beverage or distilled spirits".
func joinedWithOr(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// valueAt reads a value from a field of a struct.
func valueAt(field any) (v filterValue) {
	switch field := field.(type) {
	case *string:
		v.text = *field
	case *[]string:
		v.words = *field
	case *Opt[float64]:
		v.number = *field
	case *Date:
		v.date = *field
	default:
		panic(fmt.Sprintf("cola: unsupported filter type %T", field))
	}
	return v
}

// writeTo writes the value to a field of a struct.
func (v filterValue) writeTo(field any) {
	switch field := field.(type) {
	case *string:
		*field = v.text
	case *[]string:
		*field = v.words
	case *Opt[float64]:
		*field = v.number
	case *Date:
		*field = v.date
	default:
		panic(fmt.Sprintf("cola: unsupported filter type %T", field))
	}
}

// param returns a pointer to the filter's field in the parameters.
func (f *Filter) param(p *SearchParams) any { return fieldAt(p, f.paramIndex) }

// saved returns the filter's value in a saved search.
func (f *Filter) saved(s *SavedSearchFilters) (v filterValue) {
	if !f.boolean() {
		return valueAt(fieldAt(s, f.savedIndex[0]))
	}
	for i, index := range f.savedIndex {
		if fieldAt(s, index).(*Opt[bool]).V {
			v.words = append(v.words, f.Words[i])
		}
	}
	return v
}

// save writes the filter's value to a saved search.
func (f *Filter) save(s *SavedSearchFilters, v filterValue) {
	if !f.boolean() {
		v.writeTo(fieldAt(s, f.savedIndex[0]))
		return
	}
	if v.text != "" {
		v.words = []string{v.text}
	}
	for i, index := range f.savedIndex {
		if slices.ContainsFunc(v.words, func(word string) bool { return sameWord(word, f.Words[i]) }) {
			*fieldAt(s, index).(*Opt[bool]) = Some(true)
		}
	}
}

// excludesNothing reports whether the value of a choice contains all of the filter's words.
// Domestic and imported together also match labels of unknown origin.
func (f *Filter) excludesNothing(v filterValue) bool {
	return f.Kind == ChoiceFilter && len(v.words) == len(f.Words)
}

// set adds the filter's condition to a query. Volume bounds are in milliliters.
func (f *Filter) set(q *Query, v filterValue) {
	switch {
	case !v.given() || f.queryIndex == nil || f.excludesNothing(v):
	case f.apply != nil:
		f.apply(q, v)
	case f.Kind == ChoiceFilter && v.text == "": // a boolean of a saved search
		filterValue{text: v.words[0]}.writeTo(fieldAt(q, f.queryIndex))
	default:
		v.writeTo(fieldAt(q, f.queryIndex))
	}
}
