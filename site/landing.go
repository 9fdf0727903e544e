package site

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/httpapi"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// Service contains the operations of the registry that the landing page uses; *registry.Service
// implements it.
type Service interface {
	Samples(context.Context) (*registry.Samples, error)
}

// landing is the page for signed-out visitors. It is rendered again only when the samples
// change, so its cost doesn't depend on the number of visitors.
type landing struct {
	limit *ratelimit.Limiter[netip.Prefix] // limits sample calls by IP address or IPv6 /64

	mu      sync.Mutex
	samples *registry.Samples // nil while the index is being built
	calls   []httpapi.SampleCall
	page    *document // nil before the first visit
}

// Limits on sample calls per IP address (IPv6: per /64) and process.
const (
	sampleBurst       = 20
	sampleInterval    = 2 * time.Second
	maxLimitedClients = 20_000
)

func newLanding(now cola.Clock) landing {
	return landing{limit: ratelimit.New[netip.Prefix](sampleBurst, sampleInterval, maxLimitedClients, now)}
}

// landingPage is the data for the landing page. Samples are nil while the service isn't ready.
// Without labels, the page shows no statistics, and it shows the documentation's example instead of
// sample calls.
type landingPage struct {
	*registry.Samples
	Local   bool // whether the server can only be reached from its own machine
	Tabs    []sampleTab
	Example *sampleTab            // the documentation's example call, if there are no labels; may be nil
	Brand   *cola.BrandMatch      // the most similar brand in the sample check; may be nil
	Similar *cola.BrandMatch      // the most similar brand whose name isn't identical; may be nil
	Newest  []newLabel            // the newest labels
	Bottle  *registry.SampleLabel // a label with an image; may be nil
	Bars    []bar                 // chart of the sample count
	Shares  []share               // of all labels, by kind of data
	Since   int                   // year of the oldest approval; 0 if unknown
	Plans   []plan
}

// newLabel is a label with its known or estimated approval date.
type newLabel struct {
	BrandName string
	Approved  cola.Date
}

// share is the share of labels that have a kind of data, such as images.
type share struct {
	Title   string
	Percent int
}

// bar is a bar in the chart of the sample count, in view box units.
type bar struct {
	Year                 string
	Colas                int
	Partial              bool // the year hasn't ended
	X, Y, Height, Middle int
}

// sampleTab is a sample call with its heading and its indented response.
type sampleTab struct {
	httpapi.SampleCall
	Title, Text string
	JSON        string
	Page        string // URL path of the guide
}

// plan is a tier in the comparison of plans.
type plan struct {
	cola.Tier
	cola.Limits
	Link web.PlanLink // if visitors can create an account
}

// sampleTexts returns the descriptions of the sample calls by name.
func sampleTexts(calls registry.SampleCalls) map[string]sampleTab {
	kind := "Labels"
	if slices.Equal(calls.Search.ProductType, []string{"wine"}) {
		kind = "Wines"
	}
	return map[string]sampleTab{
		"search": {
			Title: "Search labels", Page: docsPath + "/api#search-labels",
			Text: kind + " that mention “" + calls.Search.Q + "”, newest first.",
		},
		"brand": {
			Title: "Check a name", Page: docsPath + "/search#similar-brands",
			Text: "Brands that look or sound like “" + calls.Check.Q + "”, with scores and permittees.",
		},
		"count": {
			Title: "Count", Page: docsPath + "/api#count-labels",
			Text: "How many labels mention “" + calls.Count.Q + "”, by year of approval.",
		},
	}
}

// serveLanding serves the landing page. Caches must not share it, because signed-in visitors get a
// different page at the same URL.
func (s *server) serveLanding(w http.ResponseWriter, r *http.Request) {
	page, _ := s.currentLanding(r.Context())
	w.Header().Del("X-Robots-Tag") // set for pages of the dashboard
	s.serveDocument(w, r, page, "private, no-cache")
}

// currentLanding returns the landing page and the sample calls, which are nil if there are no
// samples.
func (s *server) currentLanding(ctx context.Context) (*document, []httpapi.SampleCall) {
	samples := s.currentSamples(ctx)
	l := &s.landing
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.page != nil && l.samples == samples {
		return l.page, l.calls
	}
	var calls []httpapi.SampleCall
	if samples != nil {
		var err error
		if calls, err = httpapi.SampleCalls(s.opts.PublicURL, samples); err != nil {
			s.opts.Logger.Warn("could not render sample responses; showing the landing page without them", "error", err)
		}
	}
	page := newDocument(htmlType, s.render(s.landingPage(samples, calls)))
	l.samples, l.calls, l.page = samples, calls, &page
	return l.page, l.calls
}

// currentSamples returns the samples, or nil while there are none.
func (s *server) currentSamples(ctx context.Context) *registry.Samples {
	samples, err := s.opts.Service.Samples(ctx)
	if err != nil && cola.CodeOf(err) != cola.CodeUnavailable {
		s.opts.Logger.Warn("could not read samples; showing the landing page without them", "error", err)
	}
	return samples
}

func (s *server) landingPage(samples *registry.Samples, calls []httpapi.SampleCall) page {
	data := landingPage{Samples: samples, Local: web.IsLocalURL(s.opts.PublicURL)}
	if samples != nil {
		texts := sampleTexts(samples.Calls)
		for _, c := range calls {
			tab := texts[c.Name]
			tab.SampleCall, tab.JSON = c, indented(string(c.Response))
			data.Tabs = append(data.Tabs, tab)
		}
		data.addExamples(samples)
		data.addNumbers(&samples.Coverage)
	}
	if samples == nil || samples.Coverage.Labels == 0 {
		data.Example = s.exampleCall()
	}
	for _, t := range cola.Tiers() {
		p := plan{Tier: t, Limits: t.Limits()}
		if s.opts.SignUp {
			p.Link = web.NewPlanLink(t, s.opts.Billing, s.opts.Operator)
		}
		data.Plans = append(data.Plans, p)
	}
	return page{
		Title: "US alcohol label search and API", Path: "/", Layout: bare, Body: "landing", Data: data,
		Description: "Search US label approvals (COLAs) for wine, beer and spirits through an API, an AI " +
			"assistant or your browser. Check brand names and set up alerts.",
	}
}

// exampleCall returns the documentation's example of a label search. It returns nil if the
// reference has no such operation.
func (s *server) exampleCall() *sampleTab {
	op := s.operation("searchColas")
	if op == nil {
		return nil
	}
	return &sampleTab{
		SampleCall: httpapi.SampleCall{Curl: op.Samples[0].Source}, JSON: op.Responses[0].Example,
		Page: docsPath + "/api#search-labels",
	}
}

// operation returns a REST API operation, or nil.
func (s *server) operation(id string) *httpapi.Operation {
	for i := range s.opts.Reference.Sections {
		for j := range s.opts.Reference.Sections[i].Operations {
			if op := &s.opts.Reference.Sections[i].Operations[j]; op.ID == id {
				return op
			}
		}
	}
	return nil
}

// addExamples sets the example shown for each use case.
func (p *landingPage) addExamples(samples *registry.Samples) {
	for i := range samples.Brands.Brands {
		b := &samples.Brands.Brands[i]
		if p.Brand == nil {
			p.Brand = b
		}
		if b.Similarity != cola.SimilarExact && p.Similar == nil {
			p.Similar = b
		}
	}
	for _, l := range samples.Labels[:min(3, len(samples.Labels))] {
		p.Newest = append(p.Newest, newLabel{l.BrandName, max(l.ApprovalDate, l.ApprovalDateEstimate)})
	}
	if n := len(samples.Labels); n > 0 {
		p.Bottle = &samples.Labels[n-1] // not one of Newest, if there are more
	}
	p.Bars = newBars(samples.Counts.Groups)
}

// addNumbers sets the statistics on all labels. Shares that round to zero are left out.
func (p *landingPage) addNumbers(c *cola.Coverage) {
	if len(c.Years) > 0 {
		p.Since = c.Years[len(c.Years)-1].Year
	}
	for _, part := range []struct {
		title string
		count int
	}{{"With images", c.WithImages}, {"With barcodes", c.WithBarcodes}} {
		if percent := 100 * part.count / max(1, c.Labels); percent > 0 {
			p.Shares = append(p.Shares, share{part.title, percent})
		}
	}
}

// newBars returns the bars for groups by year, oldest first. Labels without a year have none.
func newBars(groups []cola.LabelGroup) (bars []bar) {
	const barWidth, barGap, height = 28, 12, 74
	most := 1
	groups = slices.DeleteFunc(slices.Clone(groups), func(g cola.LabelGroup) bool { return !g.Year.OK })
	for _, g := range groups {
		most = max(most, g.Count)
	}
	for _, g := range slices.Backward(groups) {
		b := bar{
			Year: string(g.Year.V), Colas: g.Count, Partial: g.Partial,
			X: len(bars)*(barWidth+barGap) + barGap/2, Height: max(1, height*g.Count/most),
		}
		b.Y, b.Middle = height+4-b.Height, b.X+barWidth/2
		bars = append(bars, b)
	}
	return bars
}

// takeLimit counts a sample call. If the limit is exceeded, it returns the time to wait.
func (s *server) takeLimit(r *http.Request) time.Duration {
	return s.landing.limit.Take(security.Network(cola.ClientFrom(r.Context())), 1)
}

// serveSample serves the response to a sample call.
func (s *server) serveSample(w http.ResponseWriter, r *http.Request) {
	if wait := s.takeLimit(r); wait > 0 {
		web.Fail(w, r, &cola.Error{
			Code: cola.CodeQuotaExceeded, RetryAfter: wait,
			Message: "Too many sample calls. Wait a few seconds, or use an API key.",
		})
		return
	}
	_, calls := s.currentLanding(r.Context())
	for _, c := range calls {
		if c.Name == chi.URLParam(r, "name") {
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("X-Robots-Tag", "noindex")
			web.Write(w, http.StatusOK, "application/json", c.Response)
			return
		}
	}
	if len(calls) == 0 {
		web.Fail(w, r, cola.Unavailable())
		return
	}
	web.Fail(w, r, cola.Errorf(cola.CodeNotFound, "There is no sample call %s.", cola.Quoted(chi.URLParam(r, "name"))))
}

// dateText formats a date for display.
func dateText(d cola.Date) string { return d.Time().Format("Jan 2, 2006") }
