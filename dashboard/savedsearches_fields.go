package dashboard

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// searchField is a field of the form of a saved search.
type searchField struct {
	Name, Label, Hint string
	Mode              string // of the keyboard that a phone shows
	List              string // id of the list of words that it may have
	Most              int    // characters that it takes
	Chosen            bool   // it is chosen from Options

	Value    string
	Problems []string
	Options  []option // of a field that is chosen from
}

// otherFields are the fields that are not filters. They are named as the API names them, except for the two that make up
// schedule.day.
var otherFields = map[string]searchField{
	"name":              {Label: "Name", Hint: "How you recognize the search, also in messages.", Most: 200},
	"schedule.monthday": {Label: "Day of the month", Hint: "1 to 28. The default is 1.", Mode: "numeric"},
	"schedule.weekday":  {Label: "Day of the week"},
	"schedule.cadence":  {Label: "Schedule"},
	"schedule.active":   {Label: "Active"},
	"schedule":          {Label: "Schedule"},
	"filters":           {Label: "Filters"},
}

// fieldOf returns the empty field of a name; ok is false if there is none.
func fieldOf(name string) (field searchField, ok bool) {
	if field, ok = otherFields[name]; ok {
		field.Name = name
		return field, true
	}
	bare := strings.TrimPrefix(name, "filters.")
	f, word, ok := cola.SavedFilter(bare)
	if !ok || bare == name {
		return searchField{Name: name}, false
	}
	field = searchField{Name: name, Label: f.Label, Hint: f.Hint}
	switch {
	case word != "":
		field.Label = word
	case f.Kind == cola.MinFilter || f.Kind == cola.MaxFilter:
		field.Mode, field.Hint = "decimal", "Excludes labels whose "+f.Noun+" is unknown."
	case f.Kind == cola.ChoiceFilter || f.Kind == cola.UnitFilter:
		field.Chosen = true
	default:
		field.Most, field.List = 200, wordLists[bare]
		if bare == "barcode_value" {
			field.Mode = "numeric"
		}
	}
	return field, true
}

// wordLists are the lists of words that labels have, by field.
var wordLists = map[string]string{"derived_category": "categories", "country": "origins"}

// ID is the id of the field in the page.
func (f searchField) ID() string { return fieldID(f.Name) }

func fieldID(name string) string { return strings.ReplaceAll(name, ".", "-") }

// Described returns the ids of what describes the field; empty for none.
func (f searchField) Described() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.ID()+"-hint")
	}
	if len(f.Problems) > 0 {
		ids = append(ids, f.ID()+"-problems")
	}
	return strings.Join(ids, " ")
}

// searchBox is a box to tick.
type searchBox struct {
	Name, Label string
	On          bool
}

// ID is the id of the box in the page.
func (b searchBox) ID() string { return fieldID(b.Name) }

// boxGroup is boxes of which any will do.
type boxGroup struct {
	Legend string
	Boxes  []searchBox
}

// formSection is the filters of one section of the form.
type formSection struct {
	Title  string
	Folded bool // it can be folded, and is unless it has values or problems
	Open   bool
	Groups []boxGroup
	Fields []searchField
}

// told is one thing that is wrong with a form.
type told struct {
	ID, Label string // of the field; empty where the form has no such field
	Message   string
}

// searchForm is the form of a saved search, as it is shown.
type searchForm struct {
	Action, Submit, Back string
	Typed                url.Values
	Problems             map[string][]string
	Sentence             string // what is wrong that is of no field
	Once                 string // makes a form that is sent twice the same request; empty for a change
	Was                  string // what the search was like that is changed; see stateMark
	Preview              preview
	NotTaken             []string // of what the form was to be filled with
	Categories, Origins  []string // words that labels have
}

// Text returns what was typed into a field.
func (f *searchForm) Text(name string) string {
	return strings.ToValidUTF8(f.Typed.Get(name), "\uFFFD")
}

// Is reports whether a field has a value.
func (f *searchForm) Is(name, value string) bool { return f.Typed.Get(name) == value }

// Field returns a field with what was typed.
func (f *searchForm) Field(name string) searchField {
	field, _ := fieldOf(name)
	field.Value, field.Problems = f.Text(name), f.Problems[name]
	filter, _, ok := cola.SavedFilter(strings.TrimPrefix(name, "filters."))
	switch {
	case name == "schedule.weekday":
		for day := range 7 {
			value := strconv.Itoa((day + 1) % 7) // from Monday on
			field.Options = append(field.Options, option{Value: value, Label: time.Weekday((day + 1) % 7).String(), Chosen: value == field.Value})
		}
	case ok && field.Chosen:
		none := map[bool]string{true: "choose", false: "any"}[filter.Kind == cola.UnitFilter]
		field.Options = append([]option{{Label: none}}, optionsOf(field.Value, filter.Words...)...)
	}
	return field
}

// Sections returns the fields of all filters.
func (f *searchForm) Sections() (sections []formSection) {
	at := map[string]int{}
	for _, c := range cola.Filters() {
		if c.Saved == nil {
			continue
		}
		n, ok := at[c.Section]
		if !ok {
			n, at[c.Section] = len(sections), len(sections)
			sections = append(sections, formSection{Title: c.Section, Folded: n > 1})
		}
		s := &sections[n]
		if len(c.Saved) == 1 {
			s.Fields = append(s.Fields, f.Field("filters."+c.Saved[0]))
		} else {
			s.Groups = append(s.Groups, f.group(c))
		}
		s.Open = s.Open || f.has(c)
	}
	return sections
}

// group returns the boxes of a filter.
func (f *searchForm) group(c cola.Filter) boxGroup {
	g := boxGroup{Legend: c.Label}
	for i, name := range c.Saved {
		g.Boxes = append(g.Boxes, searchBox{"filters." + name, c.Words[i], f.Is("filters."+name, "true")})
	}
	return g
}

// has reports whether something is typed into a field of a filter, or wrong with it.
func (f *searchForm) has(c cola.Filter) bool {
	return slices.ContainsFunc(c.Saved, func(name string) bool {
		return strings.Join(f.Typed["filters."+name], "") != "" || f.Problems["filters."+name] != nil
	})
}
