package dashboard

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// listService contains the operations for lists other than labels.
type listService interface {
	Vocabulary(context.Context) (registry.Vocabulary, error)
	SearchPermittees(context.Context, cola.Caller, cola.PermitteeParams) (registry.PermitteePage, cola.QuotaState, error)
	Barcode(ctx context.Context, c cola.Caller, value string) (cola.BarcodeResult, cola.QuotaState, error)
	AVAs(context.Context, cola.Caller, cola.AVAParams) (registry.List[cola.AVA], cola.QuotaState, error)
	ProductionReports(
		context.Context, cola.Caller, cola.ProductionReportParams,
	) (registry.PageList[cola.ProductionReport], cola.QuotaState, error)
	ProcessingTimes(
		context.Context, cola.Caller, cola.ProcessingTimeParams,
	) (registry.List[cola.ProcessingTime], cola.QuotaState, error)
	FormulaProcessingTimes(
		context.Context, cola.Caller, cola.FormulaProcessingTimeParams,
	) (registry.List[cola.FormulaProcessingTime], cola.QuotaState, error)
	RegistrationProcessingTimes(
		context.Context, cola.Caller, cola.RegistrationProcessingTimeParams,
	) (registry.List[cola.RegistrationProcessingTime], cola.QuotaState, error)
}

// The lists in Explore other than labels.
const (
	permitteeListPath = explorePath + "/permittees"
	barcodeListPath   = explorePath + "/barcodes"
	avaListPath       = explorePath + "/avas"
	reportListPath    = explorePath + "/production-reports"
	timeListPath      = explorePath + "/processing-times"
)

// exploreTabs returns the tabs of Explore. path is the page's path.
func exploreTabs(path string) (tabs []facetLink) {
	for _, tab := range []facetLink{
		{Label: "Labels", Href: explorePath}, {Label: "Permittees", Href: permitteeListPath},
		{Label: "Barcodes", Href: barcodeListPath}, {Label: "AVAs", Href: avaListPath},
		{Label: "Production reports", Href: reportListPath}, {Label: "Processing times", Href: timeListPath},
	} {
		tab.Chosen = path == tab.Href || tab.Href == timeListPath && strings.HasPrefix(path, timeListPath)
		tabs = append(tabs, tab)
	}
	return tabs
}

func listRoutes() []route {
	return []route{
		permitteeList().route(), barcodeList().route(), avaList().route(), reportList().route(),
		timeList().route(), formulaTimeList().route(), registrationTimeList().route(),
	}
}

// list is a page with a form and a table of the records that match. P is the parameter type of
// the operation that finds them.
type list[P any] struct {
	path, title string
	one, many   string // noun for a record, singular and plural
	intro       string
	call        string // path of the API operation
	tool        string
	price       *price // price of a search; nil if it is free and needs no parameters
	fields      []listField
	columns     []listColumn
	variants    []facetLink // pages with similar records, including this one
	find        func(req *request, p P) (listRows, cola.QuotaState, error)
}

// listField is a field of a list's form.
type listField struct {
	Name, Label, Hint string
	Words             func(registry.Vocabulary) []string // choices; nil for a text field
	Labels            map[string]string                  // labels of choices, if different
}

// listColumn is a column of a list's table.
type listColumn struct {
	Title  string
	Number bool
	Status bool // its cells are approval statuses
}

// listCell is a cell of a list's table.
type listCell struct {
	listColumn
	Text string
	Href string
	Day  cola.Date
}

// listRows are the records on a page.
type listRows struct {
	rows  [][]listCell // cells in the order of the columns
	pager pager
	notes []string
	cut   bool       // shortened because the month's list records are used up
	more  *facetLink // a related search
	path  string     // API path, if it depends on the parameters
}

// listPage is the data of a list's page.
type listPage struct {
	Tabs, Variants []facetLink
	Path           string
	Title, Intro   string
	One, Many      string
	Fields         []exploreField
	Problems       []formProblem
	Hints          []string
	Refused        *refusal
	Columns        []listColumn
	Found          bool // a search ran
	Rows           [][]listCell
	Notes          []string
	Pager          pager
	FirstURL       string // first page, if this one is past the last
	Cut            bool
	More           *facetLink
	Charged        bool // searches of this list cost list records
	Cost           pageCost
	Left           int // list records left
}

func (l list[P]) route() route {
	reader := params.New[P]("a search of " + l.many)
	return get(l.path, func(req *request) error { return l.serve(req, reader) })
}

// serve shows the results of a search. If searches cost quota, it shows only the form unless the
// URL has parameters.
func (l list[P]) serve(req *request, reader *params.Reader[P]) error {
	search := readQuery(reader, req.http.URL.RawQuery)
	address := func(values url.Values) string {
		if len(values) == 0 && l.price != nil { // the bare path shows the form
			return l.path + "?" + l.fields[0].Name + "="
		}
		return strings.TrimSuffix(l.path+"?"+values.Encode(), "?")
	}
	if to := search.canonicalURL(nil, address); to != "" && !search.broken && req.query().Get("page") == "" {
		return req.redirect(to, "")
	}
	words, err := req.svc.Vocabulary(req.ctx())
	if err != nil {
		return err
	}
	p := l.newPage(search.values, words)
	p.Hints, p.Left = search.hints, req.quota.ListRecordsRemaining()
	if l.price != nil {
		if len(search.values) == 0 && !search.broken {
			return req.show(http.StatusOK, "explore_list", page{Title: l.title + " · Explore", Data: p})
		}
		if answered, err := req.guardCharge(*l.price); answered || err != nil {
			return err
		}
	}
	found, state, err := l.find(req, search.params)
	req.recordQuota(state)
	p.Cost = listCost(req.quota)
	if err != nil {
		return l.showError(req, p, search.values, words, err)
	}
	if l.price != nil {
		req.allowBackCache()
	}
	p.add(found, address(withoutPage(search.values)))
	call := req.call("GET", cmp.Or(found.path, l.call+strings.TrimSuffix("?"+params.Query(search.params).Encode(), "?")), p.Price())
	if found.path == "" {
		call = call.forTool(l.tool, argumentsOf(search.params))
	}
	return req.show(http.StatusOK, "explore_list", page{Title: l.title + " · Explore", Data: p, Call: call})
}

// showError shows an error with the form: invalid parameters, an unknown record or a limit.
func (l list[P]) showError(req *request, p listPage, values url.Values, words registry.Vocabulary, err error) error {
	title := l.title
	if problems := fieldProblems(err); problems != nil {
		web.EventOf(req.ctx()).Code = cola.CodeValidation
		title = "Invalid search"
		p.Fields = l.form(values, problems, words)
		p.Problems = listProblems(problems, func(name string) (string, bool) {
			for _, f := range l.fields {
				if f.Name == name {
					return f.Label, true
				}
			}
			return exploreLabel(name), false
		})
	} else if cola.CodeOf(err) == cola.CodeNotFound {
		web.EventOf(req.ctx()).Code = cola.CodeNotFound
		public, _ := web.PublicError(err, "")
		p.Found, p.Notes = true, []string{public.Message}
	} else if p.Refused = req.refusalOf(err); p.Refused == nil {
		return err
	}
	return req.show(statusOf(err), "explore_list", page{Title: title + " · Explore", Data: p})
}

// newPage returns the page with the form.
func (l list[P]) newPage(values url.Values, words registry.Vocabulary) listPage {
	p := listPage{
		Tabs: exploreTabs(l.path), Path: l.path, Title: l.title, Intro: l.intro, One: l.one, Many: l.many,
		Fields: l.form(values, nil, words), Columns: l.columns, Charged: l.price != nil,
	}
	for _, v := range l.variants {
		v.Chosen = v.Href == l.path
		p.Variants = append(p.Variants, v)
	}
	return p
}

// form returns the fields with their values and problems.
func (l list[P]) form(values url.Values, problems map[string][]string, words registry.Vocabulary) (fields []exploreField) {
	for _, f := range l.fields {
		one := exploreField{
			Name: f.Name, Label: f.Label, Hint: f.Hint, Kind: "text", MaxLength: 200, Problems: problems[f.Name],
			Value: strings.ToValidUTF8(strings.Join(values[f.Name], " "), "\uFFFD"),
		}
		if f.Words != nil {
			one.Kind, one.Empty = "choice", "Any"
			for _, word := range f.Words(words) {
				one.Options = append(one.Options, option{
					Value: word, Label: cmp.Or(f.Labels[word], word), Chosen: strings.EqualFold(word, strings.TrimSpace(one.Value)),
				})
			}
		}
		fields = append(fields, one)
	}
	return fields
}

// add adds the records to the page. first is the URL of the first page.
func (p *listPage) add(found listRows, first string) {
	p.Found, p.Rows, p.Pager, p.Cut, p.More = true, found.rows, found.pager, found.cut, found.more
	for _, note := range found.notes {
		p.Notes = append(p.Notes, p.noteSentence(note))
	}
	if len(p.Rows) == 0 && p.Pager.Total > 0 {
		p.FirstURL = first
	}
	for _, row := range p.Rows {
		for i := range row {
			row[i].listColumn = p.Columns[i]
		}
	}
}

// noteSentence replaces API names in a note with the labels of the form.
func (p *listPage) noteSentence(note string) string {
	return quotedOrName.ReplaceAllStringFunc(note, func(word string) string {
		for _, f := range p.Fields {
			if f.Name == word {
				return strings.ToLower(f.Label)
			}
		}
		return word
	})
}

// VariantGroup returns the variants as a control.
func (p listPage) VariantGroup() linkGroup { return linkGroup{"For", p.Variants} }

// Price returns the price of a search as a sentence.
func (p listPage) Price() string {
	if !p.Charged {
		return "Free."
	}
	return "Costs one list record per " + p.One + " returned; free if nothing matches."
}

// withoutPage returns the parameters without the page number.
func withoutPage(values url.Values) url.Values {
	values = withoutBlanks(values)
	values.Del("page")
	return values
}

// rowsOf returns one row of cells per record.
func rowsOf[T any](records []T, cells func(*T) []listCell) (rows [][]listCell) {
	for i := range records {
		rows = append(rows, cells(&records[i]))
	}
	return rows
}

// listRowsPerPage is the number of records per page of a list that the API returns whole.
const listRowsPerPage = 50

// wholeList returns a page of a list that the API returns whole.
func wholeList[T any](req *request, l registry.List[T], cells func(*T) []listCell) listRows {
	rows, at := paginate(req, l.Rows, listRowsPerPage)
	return listRows{rows: rowsOf(rows, cells), pager: at, notes: l.Notes}
}

func textCell[T ~string](text T) listCell {
	return listCell{Text: truncate(singleLine(string(text)), maxShownName)}
}

func numberCell(n int) listCell { return listCell{Text: web.Thousands(n)} }

func optCell(n cola.Opt[int]) listCell {
	if !n.OK {
		return listCell{}
	}
	return numberCell(n.V)
}

func dayCell(d cola.Date) listCell { return listCell{Day: d} }

// to adds a link to a cell.
func (c listCell) to(href string) listCell { c.Href = href; return c }

// flagField returns a field that limits a list to some records.
func flagField(name, label string, words ...string) listField {
	f := listField{Name: name, Label: label, Labels: map[string]string{}}
	values := []string{"true", "false"}[:len(words)]
	for i, value := range values {
		f.Labels[value] = words[i]
	}
	f.Words = func(registry.Vocabulary) []string { return values }
	return f
}
