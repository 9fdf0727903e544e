package dashboard

import (
	"net/url"
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

	Value    string
	Problems []string
	Options  []option // of a field that is chosen from
}

// searchTexts are the fields that a text is typed into. They are named as the API names them, but for the two that make up schedule.day.
var searchTexts = map[string]searchField{
	"name":                       {Label: "Name", Hint: "What you recognise the search by, in messages too.", Most: 200},
	"filters.query":              {Label: "Words", Hint: "All of them occur in brand, product, class, permit or applicant. “In quotes” they stand side by side; oak* finds oaken.", Most: 200},
	"filters.brand_name":         {Label: "Brand name contains", Most: 200},
	"filters.derived_category":   {Label: "Category path", Hint: "Such as Wine > Red Wine; what is below it is found, too.", List: "categories", Most: 200},
	"filters.country":            {Label: "Country of origin", Hint: "Its name or adjective: France, french.", List: "origins", Most: 200},
	"filters.us_state":           {Label: "US state of origin", Hint: "Its name or two letters.", Most: 200},
	"filters.applicant_us_state": {Label: "US state of the applicant", Hint: "Its name or two letters.", Most: 200},
	"filters.permit_number_text": {Label: "Permit number contains", Hint: "Such as CA-W.", Most: 200},
	"filters.abv_min":            {Label: "Alcohol at least, %", Mode: "decimal"},
	"filters.abv_max":            {Label: "Alcohol at most, %", Mode: "decimal"},
	"filters.volume_min":         {Label: "Contents at least", Mode: "decimal"},
	"filters.volume_max":         {Label: "Contents at most", Mode: "decimal"},
	"filters.barcode_value":      {Label: "Barcode", Hint: "The main one; digits, with spaces or hyphens if you like.", Mode: "numeric", Most: 200},
	"schedule.monthday":          {Label: "Day of the month", Hint: "1 to 28; 1 when empty.", Mode: "numeric"},
}

// otherLabels name the fields that are chosen from.
var otherLabels = map[string]string{
	"filters.volume_unit": "Unit", "filters.application_status": "Status", "schedule.cadence": "Runs by itself", "schedule.weekday": "Day of the week",
	"schedule.active": "Active", "filters": "Filters", "schedule": "Schedule",
}

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

// boxNames are the boxes of the form by group, with their labels.
var boxNames = map[string][][2]string{
	"Kind":         {{"type_wine", "Wine"}, {"type_malt_beverage", "Malt beverages"}, {"type_distilled_spirit", "Distilled spirits"}},
	"Category":     {{"derived_beer", "Beer"}, {"derived_wine", "Wine"}, {"derived_liquor", "Liquor"}},
	"Made in":      {{"origin_domestic", "the United States"}, {"origin_imported", "other countries"}},
	"Container is": {{"container_bottle", "bottle"}, {"container_can", "can"}, {"container_keg", "keg"}, {"container_box", "box"}, {"container_cask", "cask"}, {"container_pouch", "pouch"}, {"container_pod", "pod"}, {"container_carton", "carton"}, {"container_bag", "bag"}, {"container_jug", "jug"}},
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

// Field returns a field that a text is typed into.
func (f *searchForm) Field(name string) searchField {
	field := searchTexts[name]
	field.Name, field.Value, field.Problems = name, f.Text(name), f.Problems[name]
	return field
}

// Choice returns a field that is chosen from.
func (f *searchForm) Choice(name string) searchField {
	field := searchField{Name: name, Label: otherLabels[name], Value: f.Text(name), Problems: f.Problems[name]}
	switch name {
	case "filters.volume_unit":
		field.Options = append([]option{{Label: "choose"}}, optionsOf(field.Value, cola.VolumeUnits()...)...)
	case "filters.application_status":
		field.Options = append([]option{{Label: "any"}}, optionsOf(field.Value, cola.Statuses()...)...)
	case "schedule.weekday":
		for day := range 7 {
			value := strconv.Itoa((day + 1) % 7) // from Monday on
			field.Options = append(field.Options, option{Value: value, Label: time.Weekday((day + 1) % 7).String(), Chosen: value == field.Value})
		}
	}
	return field
}

// Group returns the boxes of a group.
func (f *searchForm) Group(legend string) boxGroup {
	g := boxGroup{Legend: legend}
	for _, box := range boxNames[legend] {
		name := "filters." + box[0]
		g.Boxes = append(g.Boxes, searchBox{name, box[1], f.Is(name, "true")})
	}
	return g
}

// Opens reports whether something is typed into one of some fields, or wrong with it. A name that ends with an underscore means all that begin so.
func (f *searchForm) Opens(names ...string) bool {
	set := func(field string) bool {
		for _, name := range names {
			if field == "filters."+name || strings.HasSuffix(name, "_") && strings.HasPrefix(field, "filters."+name) {
				return true
			}
		}
		return false
	}
	for field, values := range f.Typed {
		if set(field) && strings.Join(values, "") != "" {
			return true
		}
	}
	for field := range f.Problems {
		if set(field) {
			return true
		}
	}
	return false
}
