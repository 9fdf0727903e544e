package dashboard

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/params"
)

// maxSearch limits the query of a URL, in bytes, as in the API.
const maxSearch = 8192

// addressField is the field name for problems with the URL itself.
const addressField = "address"

// searchRequest is the search in a URL, raw and decoded.
type searchRequest struct {
	raw    string
	values url.Values // of search parameters
	params cola.SearchParams
	hints  []string // on unknown parameters that resemble a known one
}

// readSearch reads the query of a URL. Problems are in params. It ignores unknown parameters, such
// as those of campaign links.
func readSearch(reader *params.Reader[cola.SearchParams], raw string) searchRequest {
	s := searchRequest{raw: raw}
	var problems cola.Problems
	if len(raw) > maxSearch {
		problems.Add(addressField, "The query has %d characters; the limit is %d.", len(raw), maxSearch)
		raw = ""
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		problems.Add(addressField, "Invalid URL encoding. Write %% as %%25 and ; as %%3B.")
	}
	s.values, s.hints = searchValues(values)
	s.params = reader.Read(reader.Fields(s.values), problems)
	if n := s.params.PerPage; n.OK && n.V > cola.DefaultPerPage {
		s.params.Problems.Add("per_page", "Show up to %d labels per page here, or up to %d with the API.",
			cola.DefaultPerPage, cola.MaxPerPage)
	}
	if !s.params.VolumeMin.OK && !s.params.VolumeMax.OK &&
		len(s.params.Problems["volume_min"])+len(s.params.Problems["volume_max"]) == 0 {
		s.params.VolumeUnit = "" // the form always submits a unit
	}
	return s
}

// searchValues returns the values of known parameters, and a hint for each unknown name that
// resembles one.
func searchValues(values url.Values) (known url.Values, hints []string) {
	var names []string
	for _, f := range cola.FieldsOf[cola.SearchParams]() {
		names = append(names, f.Name)
	}
	known = url.Values{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(names, name) {
			known[name] = values[name]
		} else if near, ok := vocabulary.Nearest(name, names); ok {
			hints = append(hints, fmt.Sprintf("Ignored %s: there’s no such filter. Did you mean %s?",
				params.Quoted(name), near))
		}
	}
	return known, hints
}

// canonicalURL returns the URL of the same search without the empty fields that browsers submit. It
// is empty if the URL is already canonical or the search has problems.
func (s searchRequest) canonicalURL() string {
	empty := func(texts []string) bool { return !slices.ContainsFunc(texts, func(t string) bool { return t != "" }) }
	without := url.Values{}
	for name, texts := range s.values {
		if !empty(texts) && (name != "volume_unit" || s.params.VolumeUnit != "") {
			without[name] = texts
		}
	}
	to := exploreURL(without)
	if len(without) == len(s.values) || len(s.params.Problems) > 0 || to == explorePath+"?"+s.raw {
		return ""
	}
	return to
}

// exploreURL returns the URL of a search. A search without filters needs a parameter, because the
// bare path shows the form.
func exploreURL(values url.Values) string {
	return explorePath + "?" + cmp.Or(values.Encode(), "q=")
}

// queryOf encodes parameters for the API.
func queryOf[P any](p P) url.Values {
	values := url.Values{}
	eachParam(p, func(name string, value any) {
		switch value := value.(type) {
		case []string:
			values[name] = slices.Clone(value)
		case float64:
			values.Set(name, formatDecimal(value))
		default:
			values.Set(name, fmt.Sprint(value))
		}
	})
	return values
}

// argumentsOf encodes parameters for a tool.
func argumentsOf[P any](p P) map[string]any {
	arguments := map[string]any{}
	eachParam(p, func(name string, value any) { arguments[name] = value })
	return arguments
}

// eachParam calls do with every nonzero parameter, as a string, []string, int or float64.
func eachParam[P any](p P, do func(name string, value any)) {
	all := reflect.ValueOf(p)
	for _, f := range cola.FieldsOf[P]() {
		field := all.FieldByIndex(f.Index)
		if field.IsZero() {
			continue
		}
		switch value := field.Interface().(type) {
		case cola.Date:
			do(f.Name, value.String())
		case cola.Opt[int]:
			do(f.Name, value.V)
		case cola.Opt[float64]:
			do(f.Name, value.V)
		default:
			do(f.Name, value)
		}
	}
}

// exploreForm is the search form with its values and problems.
type exploreForm struct {
	values   url.Values
	Problems map[string][]string
	Open     bool // show the additional filters
}

func (s searchRequest) form(problems map[string][]string) exploreForm {
	f := exploreForm{values: s.values, Problems: problems}
	for name := range problems {
		_, filter := cola.FilterOf(name)
		f.Open = f.Open || filter && name != "q"
	}
	return f
}

// exploreField is a field of the form.
type exploreField struct {
	Name, Label, Hint string
	Value             string
	Kind              string // text, date, number, choice or unit
	MaxLength         int    // characters
	Problems          []string
	Options           []option
	Empty             string // label of the empty choice
	Suggest           string // which values to suggest; empty for none
}

// DescribedBy returns the ID of the field's description, if it has one.
func (f exploreField) DescribedBy() string {
	if f.Hint == "" && len(f.Problems) == 0 {
		return ""
	}
	return "f-" + f.Name + "-d"
}

// UnlistedValue returns the value of a choice if it is not one of the options.
func (f exploreField) UnlistedValue() string {
	for _, o := range f.Options {
		if o.Chosen {
			return ""
		}
	}
	return f.Value
}

// exploreLabel returns the label of a parameter.
func exploreLabel(name string) string {
	if f, ok := cola.FilterOf(name); ok && name != "q" {
		return f.Label
	}
	labels := map[string]string{
		"q": "Search labels", "sort": "Order", "page": "Page", "per_page": "Labels per page",
		"cursor": "Cursor", addressField: "URL",
	}
	return cmp.Or(labels[name], name)
}

// Checks returns the checkbox fields.
func (f exploreForm) Checks() []exploreField { return f.fields(true) }

// Fields returns the other fields, except q.
func (f exploreForm) Fields() []exploreField { return f.fields(false) }

func (f exploreForm) fields(checks bool) (fields []exploreField) {
	for _, c := range cola.Filters() {
		if c.Param != "" && c.Param != "q" && (c.Kind == cola.ListFilter) == checks {
			fields = append(fields, f.Field(c.Param))
		}
	}
	return fields
}

// Field returns a field with its value.
func (f exploreForm) Field(name string) exploreField {
	filter, ok := cola.FilterOf(name)
	if !ok {
		return exploreField{Name: name}
	}
	one := exploreField{
		Name:      name,
		Label:     filter.Label,
		Hint:      filter.Hint,
		Kind:      "text",
		MaxLength: 200,
		Problems:  f.Problems[name],
		Suggest:   suggestFields[name],
	}
	submitted := f.values[name]
	one.Value = strings.ToValidUTF8(strings.Join(submitted, " "), "\uFFFD")
	switch filter.Kind {
	case cola.DateFilter:
		// A date input would drop an invalid value and hide the problem.
		if _, err := cola.ParseDate(one.Value); err == nil || one.Value == "" {
			one.Kind = "date"
		}
	case cola.MinFilter, cola.MaxFilter:
		one.Kind = "number"
	case cola.ChoiceFilter:
		one.Kind, one.Empty = "choice", "Any"
	case cola.WindowFilter:
		one.Kind, one.Empty = "choice", "Default (last 12 months)"
	case cola.UnitFilter:
		one.Kind = "unit"
	}
	for _, word := range filter.Words {
		one.Options = append(one.Options, option{
			Value:  word,
			Label:  word,
			Chosen: slices.ContainsFunc(submitted, func(s string) bool { return listContains(s, word) }),
		})
	}
	if filter.Kind == cola.WindowFilter {
		one.Options[0].Label = "All time"
	}
	return one
}

// listContains reports whether a comma-separated value contains a word.
func listContains(value, word string) bool {
	for one := range strings.SplitSeq(value, ",") {
		if strings.EqualFold(strings.TrimSpace(one), word) {
			return true
		}
	}
	return false
}

// ProblemList lists the problems: those with a form field first, then the others, each sorted by
// label.
func (f exploreForm) ProblemList() []formProblem {
	var problems []formProblem
	for name, messages := range f.Problems {
		_, field := cola.FilterOf(name)
		problems = append(problems, formProblem{name, exploreLabel(name), messages, field})
	}
	slices.SortFunc(problems, func(a, b formProblem) int {
		if a.Field != b.Field {
			return map[bool]int{true: -1, false: 1}[a.Field]
		}
		return strings.Compare(a.Label, b.Label)
	})
	return problems
}

// formProblem lists the problems with one parameter.
type formProblem struct {
	Name, Label string
	Messages    []string
	Field       bool // the form has a field for it, with the ID "f-" + Name
}
