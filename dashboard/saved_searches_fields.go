package dashboard

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
)

// nonFilterFields are the fields other than filters, by name. The API's schedule.day is split into
// schedule.weekday and schedule.monthday.
var nonFilterFields = map[string]formField{
	"name":              {Label: "Name", Hint: "Shown in alerts.", MaxLength: 200},
	"schedule.monthday": {Label: "Day of month", Hint: "1 to 28. Default: 1.", Mode: "numeric"},
	"schedule.weekday":  {Label: "Day of week"},
	"schedule.cadence":  {Label: "Schedule"},
	"schedule.active":   {Label: "Run on this schedule"},
	"schedule":          {Label: "Schedule"},
	"filters":           {Label: "Filters"},
	alertAddressField:   {Label: "Add a destination", MaxLength: 1000},
	alertSharedField:    {Label: "Destinations"},
}

// lookupField returns an empty field by name; ok is false for an unknown name.
func lookupField(name string) (field formField, ok bool) {
	if field, ok = nonFilterFields[name]; ok {
		field.Name = name
		return field, true
	}
	bare := strings.TrimPrefix(name, "filters.")
	f, word, ok := cola.SavedFilter(bare)
	if !ok || bare == name {
		return formField{Name: name}, false
	}
	field = formField{Name: name, Label: f.Label, Hint: f.Hint}
	switch {
	case word != "":
		field.Label = word
	case f.Kind == cola.MinFilter || f.Kind == cola.MaxFilter:
		field.Mode, field.Hint = "decimal", "Excludes labels whose "+f.Noun+" is unknown."
	case f.Kind == cola.ChoiceFilter || f.Kind == cola.UnitFilter:
		field.IsSelect = true
	default:
		field.MaxLength, field.Datalist = 200, datalists[bare]
		if bare == "barcode_value" {
			field.Mode = "numeric"
		}
	}
	return field, true
}

// datalists maps a field to the ID of its list of suggestions.
var datalists = map[string]string{"derived_category": "categories", "country": "origins", "grape": "grapes"}

// checkboxGroup is a group of checkboxes that are combined with OR.
type checkboxGroup struct {
	Legend string
	Boxes  []checkbox
}

// filterSection is a group of filters with a heading.
type filterSection struct {
	Title   string
	Filters []*cola.Filter
}

// filterSections groups the filters that include accepts by section. The order of the sections
// doesn't depend on include.
func filterSections(include func(*cola.Filter) bool) (sections []filterSection) {
	for c := range cola.Filters() {
		i := slices.IndexFunc(sections, func(s filterSection) bool { return s.Title == c.Section })
		if i < 0 {
			i, sections = len(sections), append(sections, filterSection{Title: c.Section})
		}
		if include(c) {
			sections[i].Filters = append(sections[i].Filters, c)
		}
	}
	return slices.DeleteFunc(sections, func(s filterSection) bool { return len(s.Filters) == 0 })
}

// formSection is a section of filters in the form.
type formSection struct {
	Title  string
	Folded bool // collapsible
	Open   bool // expanded, because it has values or problems
	Groups []checkboxGroup
	Fields []formField
}

// searchForm is the form for a saved search.
type searchForm struct {
	Action, Submit, Back string
	Values               url.Values
	Problems             map[string][]string
	Error                string // a problem not tied to a single field
	IdempotencyKey       string // detects a repeated submission; only for new searches
	Fingerprint          string // fingerprint of the search when the form was opened; see formFingerprint
	Preview              preview
	Unsupported          []string // parts of the source search that saved searches don't support
	Categories, Origins  []string // suggestions
	Grapes               []string // suggestions, most frequent first

	// Only for existing searches:
	UUID         string
	Destinations []destinationRow

	// Only for new searches:
	AllSearches []destinationRow    // destinations that get the alerts of all searches
	Shared      []destinationChoice // destinations of other searches
	Rules       cola.DestinationRules
}

// SendsMail reports whether the server sends email.
func (f *searchForm) SendsMail() bool { return f.Rules.SendsMail }

// destinationChoice is a destination of another search that can also get the new one's alerts.
type destinationChoice struct {
	destinationRow
	Chosen   bool
	Confirms bool // the recipient must confirm for the new search
}

// Text returns the value of a field.
func (f *searchForm) Text(name string) string {
	return strings.ToValidUTF8(f.Values.Get(name), "\uFFFD")
}

// Is reports whether a field has the given value.
func (f *searchForm) Is(name, value string) bool { return f.Values.Get(name) == value }

// Field returns a field with its value.
func (f *searchForm) Field(name string) formField {
	field, _ := lookupField(name)
	field.Value, field.Problems = f.Text(name), f.Problems[name]
	if name == alertAddressField {
		field.Hint = webhookURLHint(f.Rules) + " for webhooks, or an email address. Optional."
		if !f.SendsMail() {
			field.Hint = webhookURLHint(f.Rules) + " for webhooks. Optional. Email isn’t set up on this server."
		}
	}
	filter, _, ok := cola.SavedFilter(strings.TrimPrefix(name, "filters."))
	switch {
	case name == "schedule.weekday":
		for day := range 7 {
			value := strconv.Itoa((day + 1) % 7) // starting on Monday
			field.Options = append(field.Options,
				option{Value: value, Label: time.Weekday((day + 1) % 7).String(), Chosen: value == field.Value})
		}
	case ok && field.IsSelect:
		empty := map[bool]string{true: "Select", false: "Any"}[filter.Kind == cola.UnitFilter]
		field.Options = append([]option{{Label: empty}}, optionsOf(field.Value, filter.Words...)...)
	}
	return field
}

// Sections returns the sections of the form, which contain the fields of all filters.
func (f *searchForm) Sections() (sections []formSection) {
	for n, group := range filterSections(func(c *cola.Filter) bool { return c.Saved != nil }) {
		s := formSection{Title: group.Title, Folded: n > 1, Open: slices.ContainsFunc(group.Filters, f.has)}
		for _, c := range group.Filters {
			if len(c.Saved) == 1 {
				s.Fields = append(s.Fields, f.Field("filters."+c.Saved[0]))
			} else {
				s.Groups = append(s.Groups, f.group(c))
			}
		}
		sections = append(sections, s)
	}
	return sections
}

// group returns the checkboxes of a filter.
func (f *searchForm) group(c *cola.Filter) checkboxGroup {
	g := checkboxGroup{Legend: c.Label}
	for i, name := range c.Saved {
		g.Boxes = append(g.Boxes, checkbox{"filters." + name, c.Words[i], f.Is("filters."+name, "true")})
	}
	return g
}

// has reports whether a filter has a value or a problem.
func (f *searchForm) has(c *cola.Filter) bool {
	return slices.ContainsFunc(c.Saved, func(name string) bool {
		return strings.Join(f.Values["filters."+name], "") != "" || f.Problems["filters."+name] != nil
	})
}

// changeParams reads the form as a complete replacement: fields missing from the form are removed.
func changeParams(form url.Values) cola.SavedSearchChangeParams {
	p := changeSearchReader.Read(changeSearchReader.Fields(apiFields(form)), nil)
	if p.Name == "" {
		p.Problems.Add("name", "Enter a name of 1 to 200 characters.")
	}
	if p.Filters == nil {
		p.Filters = &cola.SavedSearchFilters{}
	}
	if form.Get("schedule.cadence") == "" {
		p.Schedule, p.Nulls = nil, append(p.Nulls, "schedule")
	}
	return p
}

// apiFields converts the fields of the form to those of the API: the day depends on the cadence,
// and an unchecked box means false.
func apiFields(form url.Values) url.Values {
	fields := maps.Clone(form)
	for _, name := range []string{
		idempotencyField, previewField, fingerprintField, alertAddressField, alertAllField, alertSharedField, "schedule.weekday",
		"schedule.monthday",
	} {
		delete(fields, name)
	}
	switch form.Get("schedule.cadence") {
	case "":
		delete(fields, "schedule.active")
		return fields
	case cola.CadenceWeekly:
		fields["schedule.day"] = form["schedule.weekday"]
	case cola.CadenceMonthly:
		fields["schedule.day"] = form["schedule.monthday"]
	}
	if strings.Join(fields["schedule.active"], "") == "" {
		fields.Set("schedule.active", "false")
	}
	return fields
}

// formValues returns the form values for a search.
func formValues(s cola.SavedSearch) url.Values {
	form := url.Values{"name": {s.Name}}
	fillFilters(form, s.Filters)
	if plan := s.Schedule; plan != nil {
		form.Set("schedule.cadence", plan.Cadence)
		form.Set("schedule.active", strconv.FormatBool(plan.Active))
		switch plan.Cadence {
		case cola.CadenceWeekly:
			form.Set("schedule.weekday", strconv.Itoa(plan.Day))
		case cola.CadenceMonthly:
			form.Set("schedule.monthday", strconv.Itoa(plan.Day))
		}
	}
	return form
}

// fillFilters fills in the fields of the filters that are set.
func fillFilters(form url.Values, f cola.SavedSearchFilters) {
	all := reflect.ValueOf(f)
	for _, field := range cola.FieldsOf[cola.SavedSearchFilters]() {
		switch value := all.FieldByIndex(field.Index).Interface().(type) {
		case string:
			if value != "" {
				form.Set("filters."+field.Name, value)
			}
		case cola.Opt[float64]:
			if value.OK {
				form.Set("filters."+field.Name, formatDecimal(value.V))
			}
		case cola.Opt[bool]:
			if value.V {
				form.Set("filters."+field.Name, "true")
			}
		}
	}
}

// formFingerprint returns a hash of the name, filters and schedule in a form. It ignores
// differences in spacing and number formats.
func formFingerprint(form url.Values) string {
	normalized := url.Values{}
	for name, values := range apiFields(form) {
		text := strings.Join(strings.Fields(strings.Join(values, " ")), " ")
		if number, err := strconv.ParseFloat(text, 64); err == nil &&
			(strings.HasSuffix(name, "_min") || strings.HasSuffix(name, "_max")) {
			text = formatValue(number)
		}
		if text != "" {
			normalized.Set(name, text)
		}
	}
	sum := sha256.Sum256([]byte(normalized.Encode()))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

var exploredReader = params.New[cola.SearchParams]("this page")

// fillFromSearch fills in the form from a search with the query parameters of GET /colas, and sets
// the name to a summary of the filters. It notes filters that saved searches don't support, and
// ignores unknown parameters.
func (f *searchForm) fillFromSearch(query url.Values) {
	if from := query.Get("from"); from != "" {
		query, _ = url.ParseQuery(strings.TrimPrefix(from, "?")) // malformed parts are dropped
	}
	values := slices.DeleteFunc(exploredReader.Fields(query), func(v params.Value) bool {
		_, known := exploredReader.Takes(v.Name)
		return !known
	})
	p := exploredReader.Read(values, nil)
	filters := p.ForSavedSearch()
	fillFilters(f.Values, filters)
	if len(filters.Conditions()) > 0 {
		name := strings.NewReplacer("“", "", "”", "", `"`, "").Replace(singleLine(filterSummary(filters))) // pages quote names
		f.Values.Set("name", truncate(name, nonFilterFields["name"].MaxLength-1))
	}
	f.noteUnsupported(p)
}

// noteUnsupported notes the parts of a search that saved searches don't support.
func (f *searchForm) noteUnsupported(p cola.SearchParams) {
	if p.ApprovalDateFrom != 0 || p.ApprovalDateTo != 0 || p.DateRange != "" ||
		len(p.Problems["approval_date_from"])+len(p.Problems["approval_date_to"]) > 0 {
		f.Unsupported = append(f.Unsupported,
			"Approval dates (each run covers the time since the last one)")
	}
	for _, lacking := range p.NotForSavedSearch() {
		if lacking.Param == "permit_number" {
			f.Unsupported = append(f.Unsupported,
				"Exact permit number "+cola.Quoted(p.PermitNumber)+
					" (use “Permit number contains” under “Identifiers and status” instead)")
			continue
		}
		f.Unsupported = append(f.Unsupported,
			strings.ToUpper(lacking.Noun[:1])+lacking.Noun[1:]+" (not available in saved searches yet)")
	}
	delete(p.Problems, "approval_date_from")
	delete(p.Problems, "approval_date_to")
	if len(p.Problems) > 0 {
		f.Unsupported = append(f.Unsupported, "Filters with invalid values")
	}
}

// ProblemList lists the problems with the fields.
func (f *searchForm) ProblemList() []fieldProblem {
	return problemList(f.Problems, func(name string) (string, bool) {
		field, ok := lookupField(name)
		return field.Label, ok && name != "filters" && name != "schedule"
	})
}

// moveDayProblems moves the problems with schedule.day to the field for the chosen cadence.
func (f *searchForm) moveDayProblems() {
	messages, ok := f.Problems["schedule.day"]
	if !ok {
		return
	}
	delete(f.Problems, "schedule.day")
	name := "schedule.weekday"
	if f.Is("schedule.cadence", cola.CadenceMonthly) {
		name = "schedule.monthday"
	}
	for _, message := range messages {
		f.Problems[name] = append(f.Problems[name], dayBounds(name, message))
	}
}

// dayBounds replaces the bounds of schedule.day in a message, which cover weekdays and days of the
// month, with the field's own bounds.
func dayBounds(name, message string) string {
	before, found := strings.CutSuffix(message, " from 0 to 28.")
	switch {
	case !found:
		return message
	case name == "schedule.monthday":
		return before + " from 1 to 28."
	}
	return before + " from 0 to 6."
}
