package dashboard

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/params"
)

// maxSearch is the maximum length of a URL's query, in bytes, as in the API.
const maxSearch = 8192

// addressField is the field name for problems with the URL itself.
const addressField = "address"

// queryParams are the parameters in the query of a page's URL, raw and decoded.
type queryParams[P any] struct {
	raw    string
	values url.Values // values of known parameters
	params P
	broken bool     // the query itself is invalid; params has the problem
	hints  []string // notes on unknown parameters that resemble a known one
}

// readQuery reads the query of a URL and records problems in params. It ignores unknown parameters,
// such as those of campaign links, and a unit without a volume, because forms always submit a unit.
func readQuery[P any](reader *params.Reader[P], raw string) queryParams[P] {
	q := queryParams[P]{raw: raw}
	var problems cola.Problems
	if len(raw) > maxSearch {
		problems.Add(addressField, "The query is %d bytes; the limit is %d.", len(raw), maxSearch)
		raw = ""
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		problems.Add(addressField, "Invalid URL encoding. Write %% as %%25 and ; as %%3B.")
	}
	q.broken = len(problems) > 0
	q.values, q.hints = knownValues[P](values)
	q.params = reader.Read(reader.Fields(withoutBlanks(q.values)), problems)
	return q
}

// knownValues returns the values of parameters of P, and a hint for each unknown name that
// resembles one.
func knownValues[P any](values url.Values) (known url.Values, hints []string) {
	var names []string
	for _, f := range cola.FieldsOf[P]() {
		names = append(names, f.Name)
	}
	known = url.Values{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(names, name) {
			known[name] = values[name]
		} else if nearest, ok := vocabulary.Nearest(name, names); ok {
			hints = append(hints, fmt.Sprintf("Ignored %s: there’s no such filter. Did you mean %s?",
				params.Quoted(name), nearest))
		}
	}
	return known, hints
}

// withoutBlanks returns the values without the empty ones that browsers submit, and without a unit
// if there is no volume.
func withoutBlanks(values url.Values) url.Values {
	result := url.Values{}
	for name, texts := range values {
		texts = slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return t == "" })
		if len(texts) > 0 {
			result[name] = texts
		}
	}
	if !result.Has("volume_min") && !result.Has("volume_max") {
		result.Del("volume_unit")
	}
	return result
}

// canonicalURL returns the URL of the same page without the empty fields that browsers submit. It
// returns "" if the URL is already canonical or has problems. address returns the URL for a query.
func (q queryParams[P]) canonicalURL(problems cola.Problems, address func(url.Values) string) string {
	canonical := withoutBlanks(q.values)
	same := maps.EqualFunc(canonical, q.values, func(a, b []string) bool { return slices.Equal(a, b) })
	if to := address(canonical); !same && len(problems) == 0 && !strings.HasSuffix(to, "?"+q.raw) {
		return to
	}
	return ""
}

// exploreURL returns the URL of a search. A search without filters needs a parameter, because the
// bare path shows the form.
func exploreURL(values url.Values) string {
	return explorePath + "?" + cmp.Or(values.Encode(), "q=")
}

// The view of the results is a parameter of the page, not of the search.
const (
	viewParam   = "view"
	galleryView = "gallery"
)

// searchAddress returns exploreURL for a view.
func searchAddress(view string) func(url.Values) string {
	if view != galleryView {
		return exploreURL
	}
	return func(values url.Values) string { return exploreURL(values) + "&" + viewParam + "=" + galleryView }
}

// argumentsOf encodes parameters for a tool.
func argumentsOf[P any](p P) map[string]any {
	arguments := map[string]any{}
	params.Each(p, func(name string, value any) { arguments[name] = value })
	return arguments
}

// exploreForm is the search form with its values and problems.
type exploreForm struct {
	values   url.Values
	Problems map[string][]string
	Open     bool     // show the additional filters
	Kept     []option // parameters that a new search keeps, with their values
}

// newExploreForm returns the form with submitted values and their problems.
func newExploreForm(values url.Values, problems map[string][]string) exploreForm {
	f := exploreForm{values: values}
	f.setProblems(problems)
	return f
}

// setProblems sets the problems. It shows the additional filters if one of them has a problem.
func (f *exploreForm) setProblems(problems map[string][]string) {
	f.Problems = problems
	f.open(maps.Keys(problems))
}

// open shows the additional filters if names includes one of them.
func (f *exploreForm) open(names iter.Seq[string]) {
	for name := range names {
		_, filter := cola.FilterOf(name)
		f.Open = f.Open || filter && name != "q"
	}
}

// keep makes a new search keep the order, the page size and the view of this one.
func (f *exploreForm) keep(view string) {
	for _, name := range []string{"sort", "per_page"} {
		if value := f.values.Get(name); value != "" {
			f.Kept = append(f.Kept, option{Label: name, Value: value})
		}
	}
	if view == galleryView {
		f.Kept = append(f.Kept, option{Label: viewParam, Value: view})
	}
}

// exploreField is a field of the form.
type exploreField struct {
	Name, Label, Hint string
	Value             string
	Kind              string // text, date, number, choice or unit
	MaxLength         int    // in characters
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
		"q": "Search labels", "sort": "Sort", "page": "Page", "per_page": "Labels per page",
		"cursor": "Cursor", addressField: "URL",
	}
	return cmp.Or(labels[name], name)
}

// exploreSection is a section of filters in the form.
type exploreSection struct {
	Title          string
	Checks, Fields []exploreField // checkboxes, and the other fields
}

// Sections returns the sections of the form, which contain the fields of all filters except q.
func (f exploreForm) Sections() (sections []exploreSection) {
	for _, group := range filterSections(func(c *cola.Filter) bool { return c.Param != "" && c.Param != "q" }) {
		s := exploreSection{Title: group.Title}
		for _, c := range group.Filters {
			if c.Kind == cola.ListFilter {
				s.Checks = append(s.Checks, f.Field(c.Param))
			} else {
				s.Fields = append(s.Fields, f.Field(c.Param))
			}
		}
		sections = append(sections, s)
	}
	return sections
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
		one.Kind, one.Empty = "choice", "Default (last 365 days)"
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
		one.Options[0].Label = "All dates"
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

// ProblemList lists the problems with the form.
func (f exploreForm) ProblemList() []formProblem {
	return listProblems(f.Problems, func(name string) (string, bool) {
		_, field := cola.FilterOf(name)
		return exploreLabel(name), field
	})
}

// listProblems lists problems: those with a form field first, then the rest, each sorted by
// label. label returns the label of a parameter and whether the form has a field for it.
func listProblems(all map[string][]string, label func(name string) (string, bool)) (problems []formProblem) {
	for name, messages := range all {
		text, field := label(name)
		problems = append(problems, formProblem{name, text, messages, field})
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
