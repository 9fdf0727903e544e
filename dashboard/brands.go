package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// brandService contains the operations that the “Check a name” page uses.
type brandService interface {
	SearchBrands(context.Context, cola.Caller, cola.BrandParams) (registry.BrandPage, cola.QuotaState, error)
}

func brandRoutes() []route {
	reader := params.New[cola.BrandParams]("a check")
	return []route{get(brandsPath, func(req *request) error { return req.brands(reader) })}
}

// brandsPage is the form and, if a name was checked, the report.
type brandsPage struct {
	Form   brandForm
	Hints  []string // notes on ignored URL parameters
	Report *brandReport
	Quota  cola.QuotaState
}

// brands checks a name if the URL has one. Otherwise it shows the form, which is free.
func (req *request) brands(reader *params.Reader[cola.BrandParams]) error {
	check := readQuery(reader, req.http.URL.RawQuery)
	if n := check.params.PerPage; n.OK && n.V > cola.DefaultPerPage {
		check.params.Problems.Add("per_page", "The maximum here is %d. The API returns up to %d brands per page.",
			cola.DefaultPerPage, cola.MaxPerPage)
	}
	p := brandsPage{Form: brandForm{values: check.values}, Hints: check.hints, Quota: req.quota}
	if len(check.values) == 0 && len(check.params.Problems) == 0 {
		return req.show(http.StatusOK, "brands", page{Title: "Check a name", Data: p})
	}
	if to := check.canonicalURL(check.params.Problems, brandsURL); to != "" {
		return req.redirect(to, "")
	}
	if answered, err := req.guardCharge(brandPrice()); answered || err != nil {
		return err
	}
	result, state, err := req.svc.SearchBrands(req.ctx(), req.caller, check.params)
	req.recordQuota(state)
	p.Quota = req.quota
	if p.Form.Problems = fieldProblems(err); p.Form.Problems != nil {
		web.EventOf(req.ctx()).Code = cola.CodeValidation
		return req.show(http.StatusBadRequest, "brands", page{Title: "Invalid input · Check a name", Data: p})
	}
	if err != nil {
		return err
	}
	req.allowBackCache()
	p.Report = req.brandReport(check.params, result)
	return req.show(http.StatusOK, "brands", page{
		Title: p.Report.Name + " · Check a name", Data: p,
		Call: req.call(http.MethodGet, "/brands?"+params.Query(check.params).Encode(),
			"Costs one list record per brand returned; free if no brand is similar.").
			forTool("check_brand", argumentsOf(check.params)),
	})
}

// brandsURL returns the URL of a check. Without parameters, it is the URL of the form.
func brandsURL(values url.Values) string {
	return strings.TrimSuffix(brandsPath+"?"+values.Encode(), "?")
}

func brandPrice() price {
	return price{cola.MeterListRecords, "one list record per brand shown, up to 20; free if no brand is similar", "Check name"}
}

// brandReport lists the brands that are similar to a name.
type brandReport struct {
	Name     string
	Checked  time.Time
	DataAsOf cola.Date
	Limits   []fact     // filters of the check
	Notes    []noteLink // how many brands are similar, and how
	Rows     []brandRow
	Pager    pager
	FirstURL string // first page, if this one is past the last
	Cut      bool   // shortened because the month's list records are used up
	Cost     pageCost
}

// brandRow is a similar brand.
type brandRow struct {
	Name        string
	Similarity  string
	Score       int
	Types       []string
	Labels      int
	Statuses    []string // number of labels by status, such as "2 expired"
	First, Last cola.Date
	Holders     []brandHolder
	MoreHolders int
	ExampleID   string
	LabelsURL   string // search by the brand's name
	SaveURL     string // form to save that search
}

// brandHolder is a permit with labels of a brand.
type brandHolder struct {
	Name, Permit, Href string
	Labels             int
}

// brandReport prepares the result of a check.
func (req *request) brandReport(p cola.BrandParams, found registry.BrandPage) *brandReport {
	at := found.Pagination
	r := &brandReport{
		Name: singleLine(strings.TrimSpace(p.Q)), Checked: req.now(), DataAsOf: found.DataAsOf,
		Notes: noteLinks(found.Advice, exploreURL),
		Cut:   at.TruncatedByQuota, Cost: listCost(req.quota),
	}
	r.Limits = facts(listFact("Product types", p.ProductType), listFact("Similarity", similarityNames(p.Strategies)),
		intFact("Minimum score", p.MinScore))
	r.Pager = pager{Page: at.Page, Pages: at.Pages, Total: at.Total}
	to := func(page int) string {
		if p.Page = (cola.Opt[int]{}); page > 1 {
			p.Page = cola.Some(page)
		}
		return brandsURL(params.Query(p))
	}
	if n := len(found.Brands); n > 0 {
		r.Pager.First, r.Pager.Last = (at.Page-1)*at.PerPage+1, (at.Page-1)*at.PerPage+n
	} else if at.Total > 0 {
		r.FirstURL = to(1)
	}
	if at.Page > 1 && len(found.Brands) > 0 {
		r.Pager.Previous = to(at.Page - 1)
	}
	if at.HasMore && !r.Cut {
		r.Pager.Next = to(at.Page + 1)
	}
	for i := range found.Brands {
		r.Rows = append(r.Rows, newBrandRow(&found.Brands[i], p.ProductType))
	}
	return r
}

// maxBrandLength is the maximum length of a brand name in a search, in characters.
const maxBrandLength = 200

// brandSearch returns the brand_name that finds a brand. A name that can't be quoted is truncated
// instead, so the search also finds longer names.
func brandSearch(brand string) string {
	if value, ok := cola.QuoteBrand(brand); ok {
		return value
	}
	runes := []rune(brand)
	return string(runes[:min(len(runes), maxBrandLength)])
}

// newBrandRow prepares a brand. types are the product types in the check's filter.
func newBrandRow(m *cola.BrandMatch, types []string) brandRow {
	name := func(s string) string { return truncate(singleLine(s), maxShownName) }
	search := cola.SearchParams{BrandName: brandSearch(m.BrandName), ProductType: types}
	r := brandRow{
		Name: name(m.BrandName), Similarity: cola.SimilarityName(m.Similarity), Score: m.Score, Types: m.ProductTypes,
		Labels: m.Colas, First: m.FirstApproval, Last: m.LastApproval, MoreHolders: m.TotalHolders - len(m.Holders),
		ExampleID: m.ExampleTTBID.String(), SaveURL: newSearchPath + "?" + params.Query(search).Encode(),
	}
	search.DateRange = cola.AllDates
	r.LabelsURL = exploreURL(params.Query(search))
	for _, s := range []struct {
		n    int
		name string
	}{
		{m.Statuses.Approved, vocabulary.StatusApproved}, {m.Statuses.Expired, vocabulary.StatusExpired},
		{m.Statuses.Surrendered, vocabulary.StatusSurrendered}, {m.Statuses.Revoked, vocabulary.StatusRevoked},
		{m.Statuses.Unknown, "with unknown status"},
	} {
		if s.n > 0 {
			r.Statuses = append(r.Statuses, web.Thousands(s.n)+" "+s.name)
		}
	}
	for _, h := range m.Holders {
		r.Holders = append(r.Holders, brandHolder{
			Name:   cmp.Or(name(string(h.CompanyName)), name(h.PermitNumber)),
			Permit: name(h.PermitNumber), Href: permitHref(h.PermitNumber), Labels: h.Colas,
		})
	}
	return r
}

// similarityNames returns the display names of kinds of similarity.
func similarityNames(kinds []string) (names []string) {
	for _, kind := range kinds {
		names = append(names, cola.SimilarityName(kind))
	}
	return names
}

// brandForm is the form with its values and problems.
type brandForm struct {
	values   url.Values
	Problems map[string][]string
}

// Open reports whether the additional fields are in use.
func (f brandForm) Open() bool {
	return f.values.Has("strategies") || f.values.Has("min_score")
}

// ProblemList lists the problems with the form.
func (f brandForm) ProblemList() []formProblem {
	return listProblems(f.Problems, func(name string) (string, bool) {
		one := f.Field(name)
		return cmp.Or(one.Label, exploreLabel(name)), one.Label != ""
	})
}

// Field returns a field with its value.
func (f brandForm) Field(name string) exploreField {
	one := map[string]exploreField{
		"q": {Label: "Brand name", MaxLength: 100, Suggest: cola.SuggestBrand},
		"product_type": {Label: "Product type", Options: optionsOf("", vocabulary.ProductTypes()...),
			Hint: "Names can conflict across product types. Leave all unchecked to check every type."},
		"strategies": {Label: "Kinds of similarity"},
		"min_score": {Label: "Minimum score", Kind: "number",
			Hint: fmt.Sprintf("From 1 to 100; %d by default.", cola.DefaultMinScore)},
	}[name]
	if name == "strategies" {
		for _, kind := range cola.Similarities() {
			one.Options = append(one.Options, option{Value: kind, Label: cola.SimilarityName(kind)})
		}
	}
	submitted := f.values[name]
	one.Name, one.Kind, one.Problems = name, cmp.Or(one.Kind, "text"), f.Problems[name]
	one.Value = strings.ToValidUTF8(strings.Join(submitted, " "), "\uFFFD")
	for i, o := range one.Options {
		one.Options[i].Chosen = slices.ContainsFunc(submitted, func(s string) bool {
			return listContains(s, o.Value)
		})
	}
	return one
}
