package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// exploreService contains the operations that the Explore pages use.
type exploreService interface {
	Explore(context.Context, cola.Caller, cola.SearchParams) (registry.ExploreResult, cola.QuotaState, error)
	ExportColas(context.Context, cola.Caller, cola.SearchParams) (registry.ColaPage, cola.QuotaState, error)
	Rows([]cola.ColaSummary) []cola.ColaRow
	LabelPage(ctx context.Context, c cola.Caller, id string) (registry.LabelPage, cola.QuotaState, error)
	Suggest(context.Context, cola.Caller, cola.SuggestParams) (registry.Suggestions, cola.QuotaState, error)
	PermitteeProfile(
		ctx context.Context, c cola.Caller, number string,
	) (registry.PermitteeProfile, cola.QuotaState, error)
}

const permitteesPath = explorePath + "/permittees/"

func exploreRoutes() []route {
	reader, suggestReader := params.New[cola.SearchParams]("a search"), params.New[cola.SuggestParams]("suggestions")
	return []route{
		get(explorePath, func(req *request) error { return req.explore(reader) }),
		get(exportPath, func(req *request) error { return req.export(reader) }),
		get(suggestionsPath, func(req *request) error { return req.suggestions(suggestReader) }),
		get(explorePath+"/{ttb_id}", (*request).label),
		get(permitteesPath+"*", (*request).permittee), // a permit number may contain a slash
	}
}

// explorePage is the search form and, if the URL has a search, its results.
type explorePage struct {
	Tabs     []facetLink
	Form     exploreForm
	Hints    []string // notes on ignored URL parameters
	Refused  *refusal // the search exceeded a quota
	Results  *exploreResults
	Examples []exampleSearch
	Quota    cola.QuotaState
}

// exampleSearch is a suggested search.
type exampleSearch struct{ Words, Href string }

func exampleSearches() []exampleSearch {
	return []exampleSearch{
		{"“reserve”", explorePath + "?q=reserve"},
		{"French wine", explorePath + "?origin=french&product_type=wine"},
		{"Beer in cans", explorePath + "?container_type=can&product_type=malt+beverage"},
		{"Spirits at 50% ABV or higher", explorePath + "?abv_min=50&product_type=distilled+spirits"},
		{"Surrendered approvals", explorePath + "?status=surrendered"},
	}
}

// explore searches if the URL has search parameters. Otherwise it shows the form, which is free.
func (req *request) explore(reader *params.Reader[cola.SearchParams]) error {
	search := readQuery(reader, req.http.URL.RawQuery)
	view := req.query().Get(viewParam)
	address := searchAddress(view)
	p := explorePage{Tabs: exploreTabs(explorePath), Form: newExploreForm(search.values, nil), Hints: search.hints, Quota: req.quota}
	p.Form.keep(view)
	if len(search.values) == 0 && len(search.params.Problems) == 0 {
		p.Examples = exampleSearches()
		return req.show(http.StatusOK, "explore", page{Title: "Explore", Data: p})
	}
	if to := search.canonicalURL(search.params.Problems, address); to != "" {
		return req.redirect(to, "")
	}
	if answered, err := req.guardCharge(searchPrice(search.params.PerPage.V)); answered || err != nil {
		return err
	}
	result, state, err := req.svc.Explore(req.ctx(), req.caller, search.params)
	req.recordQuota(state)
	p.Quota = req.quota
	if err != nil { // the chips that show the filters are part of the results
		p.Form.open(maps.Keys(search.values))
	}
	if problems := fieldProblems(err); problems != nil {
		web.EventOf(req.ctx()).Code = cola.CodeValidation
		p.Form.setProblems(problems)
		return req.show(http.StatusBadRequest, "explore", page{Title: "Invalid search · Explore", Data: p})
	}
	if p.Refused = req.refusalOf(err); p.Refused != nil {
		return req.show(http.StatusTooManyRequests, "explore", page{Title: "Plan limit reached · Explore", Data: p})
	}
	if err != nil {
		return err
	}
	req.allowBackCache()
	p.Results = req.searchResults(reader, search.params, result, view)
	return req.show(http.StatusOK, "explore",
		page{Title: p.Results.Title(), Data: p, Call: req.searchCall(search.params)})
}

// refusal describes a used-up quota. It appears above the form, which keeps the input.
type refusal struct {
	Message string
	Upgrade string // upgrade page; may be empty
}

// refusalOf returns the refusal for a used-up quota, or nil for any other error.
func (req *request) refusalOf(err error) *refusal {
	limit, ok := errors.AsType[*cola.Error](err)
	if !ok || limit.Code != cola.CodeQuotaExceeded {
		return nil
	}
	web.EventOf(req.ctx()).Code = limit.Code
	return &refusal{Message: limit.Message, Upgrade: limit.UpgradeURL}
}

// noteLink is a note on a search, with a link to the search that it suggests.
type noteLink struct{ Text, Action, Href string }

// noteLinks prepares notes. address returns the URL of a suggested search.
func noteLinks(notes []registry.Note, address func(url.Values) string) (links []noteLink) {
	for _, n := range notes {
		link := noteLink{Text: n.Finding}
		if n.Search != nil {
			link.Action, link.Href = n.Action, address(params.Query(*n.Search))
		}
		links = append(links, link)
	}
	return links
}

// searchCall returns the API call that returns the data of the page.
func (req *request) searchCall(p cola.SearchParams) *apiCall {
	path := "/colas"
	if q := params.Query(p).Encode(); q != "" {
		path += "?" + q
	}
	cost := "Costs one list record per label returned; free if nothing matches."
	return req.call("GET", path, cost).forTool("search_colas", argumentsOf(p))
}

// allowBackCache lets the browser cache a charged page for the back button. Otherwise, returning
// from a label would repeat the search, which costs list records again after store.PageRetention.
// Other pages are not cached at all.
//
// Any other navigation to the URL requests the page again (no-cache), so counters are current.
// After another user signs in, the cookie differs (Vary). Signing out clears the cache, for shared
// computers (Clear-Site-Data, see signOut).
func (req *request) allowBackCache() {
	h := req.w.Header()
	h.Set("Cache-Control", "private, no-cache")
	h.Add("Vary", "Cookie")
}

// notFoundPage is the page for a record that does not exist.
type notFoundPage struct {
	Message    string
	SearchText string // suggested search
}

// showNotFound shows that a record does not exist, with a search for its identifier.
func (req *request) showNotFound(err error, title, id string) error {
	web.EventOf(req.ctx()).Code = cola.CodeNotFound
	public, _ := web.PublicError(err, "")
	return req.show(http.StatusNotFound, "not_found",
		page{Title: title, Data: notFoundPage{public.Message, singleLine(truncate(id, 200))}})
}

// price is the cost of opening a page.
type price struct {
	Meter cola.Meter
	Words string // the cost
	Open  string // text of the confirmation link
}

// searchPrice is the price of a page of perPage labels; 0 means the default page size.
func searchPrice(perPage int) price {
	return price{
		cola.MeterListRecords,
		fmt.Sprintf("one list record per label shown, up to %d; free if nothing matches",
			cmp.Or(perPage, cola.DefaultPerPage)), "Search",
	}
}

func explanationPrice() price {
	return price{cola.MeterListRecords, "one list record; free if the label doesn’t exist", "Continue"}
}

func runPrice() price {
	return price{cola.MeterListRecords, "one list record per label shown, up to 20", "Show labels"}
}

func recordPrice() price {
	return price{cola.MeterDetailViews, "one detail view; free if the record doesn’t exist", "Continue"}
}

// chargeConfirmation asks for confirmation before opening a charged page that another site linked
// to.
type chargeConfirmation struct {
	price
	To, Shown string // its URL, in full and as displayed
	Quota     cola.QuotaState
}

// guardCharge responds to a request for a charged page if the request must not incur a charge, and
// reports whether it responded. It runs before any lookup, and no header makes the page itself
// free:
//
//   - HEAD is answered without a lookup, because lookups are charged. Its status is 200, because many
//     clients follow a 405 with a GET.
//   - Prefetching and embedding get a 403.
//   - A link from another site, including a sibling domain, gets a confirmation page. Otherwise
//     any website could spend the quota of a signed-in visitor.
//
// All other requests open the page at its usual price, including those from browsers that send none
// of these headers.
func (req *request) guardCharge(p price) (answered bool, err error) {
	h := req.http.Header
	if req.http.Method == http.MethodHead {
		req.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		req.w.WriteHeader(http.StatusOK)
		return true, nil
	}
	if !isDocument(h) {
		return true, cola.Errorf(cola.CodeForbidden,
			"This page uses quota, so it can’t be embedded in another page. You weren’t charged.")
	}
	if isPrefetch(h) {
		return true, cola.Errorf(cola.CodeForbidden,
			"This page uses quota, so it can’t be preloaded. You weren’t charged.")
	}
	switch h.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		event := web.EventOf(req.ctx())
		event.Meter, event.Logged = p.Meter, true
		return false, nil
	}
	to := req.http.URL.RequestURI()
	ask := chargeConfirmation{p, to, truncate(to, 200), req.quota}
	return true, req.show(http.StatusOK, "explore_confirm", page{Title: "Open this page?", Data: ask})
}
