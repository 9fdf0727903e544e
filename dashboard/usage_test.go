package dashboard

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	"github.com/colaregistry/colaregistry/registry"
)

// spend uses a caller's quota: it searches for labels and opens some of them.
func (s *site) spend(c cola.Caller, list, details int) {
	s.t.Helper()
	page, _, err := s.registry.SearchColas(s.t.Context(), c, cola.SearchParams{
		ApprovalDateFrom: cola.NewDate(2005, 1, 1),
		PerPage:          cola.Some(list),
	})
	if err != nil || len(page.Colas) != list {
		s.t.Fatalf("search returned %d labels, %v; want %d", len(page.Colas), err, list)
	}
	for i := range details {
		if _, _, err := s.registry.Cola(s.t.Context(), c, page.Colas[i].TTBID.String(), ""); err != nil {
			s.t.Fatal(err)
		}
	}
}

func TestNoUsage(t *testing.T) {
	s := mustSite(t)
	a := s.get("/usage")
	a.checkHTML(t)
	a.shows(t, http.StatusOK, "0 of 10,000", "0 of 1,000,000", "Dec 1, 2026, 00:00 UTC", "No requests this month",
		"No rejected requests", "curl -H \"X-API-Key: $KEY\" 'https://registry.example/api/v1/usage'",
		`"name": "get_usage"`)
	if to := s.by("").get("/usage").redirects(t); to != "/sign-in?return=%2Fusage" {
		t.Errorf("signed out: redirect to %s", to)
	}
}

// TestUsage checks that usage is shown by day, channel, credential and month, with totals.
func TestUsage(t *testing.T) {
	s := mustSite(t)
	account := s.browsers.callers[ann].Account
	hostile := `<script>alert("1")</script>`
	key, app := s.registry.Key(t, account, hostile), s.registry.App(t, account, "Claude\u202e")
	s.spend(key, 50, 4)
	s.spend(app, 20, 1)
	s.registry.Advance(24 * time.Hour)
	s.spend(key, 30, 2)
	a := s.get("/usage")
	a.checkHTML(t)
	a.shows(
		t,
		http.StatusOK,
		"7 of 10,000",
		"100 of 1,000,000",
		"10 of 10,000 by",
		"146 of 1,000,000 by",
		"7 detail views in total; peak of 5 on Nov 20. REST API 6, Assistants 1.",
		"100 list records in total; peak of 70 on Nov 20. "+hostile+" 80, Claude 20.",
		`<th scope="row">Nov 20</th><td>4</td><td>1</td><td>5</td>`,
		`<th scope="row">Nov 21</th><td>30</td><td>0</td><td>30</td>`,
		`<th scope="row">November 2026</th><td>100</td>`,
		"in total; peak of 100 in November 2026.",
		`<th scope="row">December 2025</th><td>0</td>`,
		`<td role="cell" data-label="Channel">Assistants</td><td role="cell" data-label="Requests" class="number">2</td>`+
			`<td role="cell" data-label="Detail views" class="number">1</td><td role="cell" data-label="List records" class="number">20</td>`,
	)
	for _, bad := range []string{"<script>alert", "\u202e", "Nov 22</th>"} {
		if strings.Contains(a.body, bad) {
			t.Errorf("page contains %q", bad)
		}
	}
}

func TestNewForecast(t *testing.T) {
	november := cola.PeriodOf(registrytest.StartTime)
	last := cola.NewDate(2026, 11, 30)
	for _, test := range []struct {
		name                   string
		used, limit, projected int
		want                   forecast
	}{
		{"unused", 0, 200, 0, forecast{Last: last}},
		{"within", 100, 200, 150, forecast{Projected: 150, Last: last}},
		{"exactly at the limit", 100, 200, 200, forecast{Projected: 200, Last: last}},
		{"over", 150, 200, 300, forecast{
			Projected:   300,
			Over:        true,
			Last:        last,
			ExhaustedOn: cola.NewDate(2026, 11, 21),
		}},
		{"used up", 200, 200, 300, forecast{Projected: 300, Over: true, Exhausted: true, Last: last}},
		{"over the limit after a downgrade", 900, 200, 900, forecast{
			Projected: 900,
			Over:      true,
			Exhausted: true,
			Last:      last,
		}},
	} {
		m := meter{"Detail views", test.used, test.limit}
		test.want.Meter = m
		if diff := cmp.Diff(test.want, newForecast(m, test.projected, november)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestUsageManySources checks that with more keys and apps than rows, channel totals stay exact and
// each chart shows the rest as one series. A chart omits sources with zero usage.
func TestUsageManySources(t *testing.T) {
	s := mustSite(t)
	account := s.browsers.callers[ann].Account
	for n := range 30 {
		s.spend(s.registry.Key(t, account, fmt.Sprint("key ", n)), 1, 1)
	}
	for n := range 3 {
		s.spend(s.registry.App(t, account, fmt.Sprint("app ", n)), 1, 0)
	}
	a := s.get("/usage")
	a.checkHTML(t)
	a.shows(t, http.StatusOK, "30 detail views in total; peak of 30 on Nov 20. REST API 30. ",
		"REST API 30, Assistants 3.", ", Other 28. ", `<bdi>REST API</bdi> <span class="soft">30</span>`,
		`<bdi>Other</bdi> <span class="soft">28</span>`,
		`<th scope="row" role="rowheader"><bdi>Other</bdi></th><td role="cell" data-label="Channel">REST API</td>`)
	for _, bad := range []string{
		">others<", "The others", "Others", "Browser sessions", " 0. All", "Assistants 0",
		`<span class="soft">0</span>`,
	} {
		if strings.Contains(a.body, bad) {
			t.Errorf("page contains %q", bad)
		}
	}
	if got := strings.Count(a.body, "<bdi>Other</bdi> <span"); got != 2 {
		t.Errorf("Other is in %d legends, want 2", got)
	}
}

// TestOtherSource checks that usage combined by the registry, for any channel, and
// sources beyond the limit form one last series. A key with the same name stays separate.
func TestOtherSource(t *testing.T) {
	r := fullReport("x")
	for _, i := range []int{9, 10, 11} {
		r.Rows[i].Name, r.Rows[i].Credential = "others", cola.Credential{}
	}
	r.Rows[0].Name = othersName
	for d := range r.Days {
		r.Days[d].By[0].DetailViews = 2_000 // more than any other source
		r.Days[d].By[1] = registry.Usage{Requests: 1}
	}
	for rows, want := range map[int]int{12: 6, 4: 3} {
		some := r
		some.Rows = r.Rows
		if rows < 12 {
			some.Rows = append(slices.Clone(r.Rows[:rows-1]), r.Rows[11]) // one has no detail views or list records
		}
		got := sourceSeries(some)
		rest := 0
		for _, s := range got {
			if s.rest {
				rest++
			}
		}
		if len(got) != want || rest != 1 || !got[want-1].rest || got[0].name != othersName || got[0].rest {
			t.Errorf("%d rows: %d series, %d of them Other; want %d series, Other last", rows, len(got), rest, want)
		}
	}
}

// reporting is a registry that returns a fixed usage report.
type reporting struct {
	*registry.Service
	report registry.UsageReport
}

func (r reporting) UsageReport(context.Context, cola.Caller) (registry.UsageReport, cola.QuotaState, error) {
	return r.report, r.report.State, nil
}

// setReport makes the site show a usage report.
func (s *site) setReport(r registry.UsageReport) {
	s.handler = New(reporting{s.registry.Service, r}, s.browsers,
		Options{PublicURL: registrytest.PublicURL, Logger: slog.New(slog.DiscardHandler), Now: s.registry.Now})
}

// fullReport returns a usage report of the maximum size.
func fullReport(name string) registry.UsageReport {
	month := cola.PeriodOf(time.Date(2026, 12, 31, 12, 0, 0, 0, time.UTC))
	r := registry.UsageReport{
		State: cola.QuotaState{
			Tier:   cola.TierStarter,
			Period: month,
			Limits: cola.TierStarter.Limits(),
			Used:   cola.Used{DetailViews: 2_000, ListRecords: 60_000},
		},
		Projected: cola.Used{DetailViews: 2_000, ListRecords: 120_000},
	}
	for i := range 12 {
		kind := []cola.CredentialKind{cola.CredentialKey, cola.CredentialLink}[i%2]
		channel := []cola.Channel{cola.ChannelREST, cola.ChannelMCP, cola.ChannelDashboard}[i%3]
		r.Rows = append(r.Rows, registry.UsageRow{
			Channel: channel, Credential: cola.Credential{Kind: kind, ID: int64(i)}, Name: fmt.Sprintf("%s %d", name,
				i),
			Total: registry.Usage{
				DetailViews: 31 * (500 + i),
				ListRecords: 31 * (88_000 + i),
				Requests:    31 * (600 + i),
			},
		})
		r.Months = append(r.Months, registry.MonthUsage{
			Period: month - 11 + cola.Period(i),
			Used:   cola.Used{DetailViews: 1_900 + i, ListRecords: 96_000 + i},
		})
	}
	for d := range 31 {
		day := registry.DayUsage{Day: cola.NewDate(2026, 12, 1+d), By: make([]registry.Usage, 12)}
		for i := range day.By {
			day.By[i] = registry.Usage{DetailViews: 500 + i, ListRecords: 88_000 + i, Requests: 600 + i}
			day.Total = day.Total.Plus(day.By[i])
		}
		r.Days = append(r.Days, day)
	}
	reasons := []string{
		registry.RefusedBurst, registry.RefusedDetailViews, registry.RefusedListRecords,
		registry.RefusedScope, registry.RefusedCredential, registry.RefusedSuspended, "<script>",
	}
	for i := range 50 {
		r.Refusals = append(r.Refusals, registry.Refusal{
			LastAt:     registrytest.StartTime,
			Channel:    cola.ChannelREST,
			Credential: cola.Credential{Kind: cola.CredentialKey, ID: 1},
			Name:       name,
			Reason:     reasons[i%len(reasons)],
			Count:      1000,
		})
	}
	return r
}

// TestFullUsage checks that the largest report stays within the page size limit and shows the
// busiest sources separately.
func TestFullUsage(t *testing.T) {
	s := mustSite(t)
	s.setReport(fullReport(strings.Repeat("a long name ", 3) + "<script>alert(1)</script>"))
	a := s.get("/usage")
	a.checkHTML(t)
	a.shows(t, http.StatusOK, "Used up", "120,000 of 100,000", `href="/plans"`, "Other",
		"View all 50", "60 requests per minute", "Detail views used up", "Missing permission",
		"Inactive key, app or session", "Account suspended")
	if got := strings.Count(a.body, "data-label=\"Fix\""); got != refusalsShown {
		t.Errorf("%d rejections, want %d", got, refusalsShown)
	}
	all := s.get("/usage/refusals")
	all.checkHTML(t)
	all.shows(t, http.StatusOK, "1,000")
	if got := strings.Count(all.body, "data-label=\"Fix\""); got != 50 {
		t.Errorf("%d rejections, want 50", got)
	}
}

// TestUsageSums checks that the series add up to the total usage for any number of sources.
func TestUsageSums(t *testing.T) {
	r := fullReport("x")
	for name, all := range map[string][]usageSeries{"channels": channelSeries(r), "sources": sourceSeries(r)} {
		if len(all) > len(seriesClasses()) {
			t.Errorf("%d series of %s, want at most %d", len(all), name, len(seriesClasses()))
		}
		for d, day := range r.Days {
			var sum registry.Usage
			for _, s := range all {
				sum = sum.Plus(s.uses[d])
			}
			if sum != day.Total {
				t.Errorf("%s on %s add up to %+v, want %+v", name, day.Day, sum, day.Total)
			}
		}
	}
}

func TestRotatedKeyUsage(t *testing.T) {
	r := fullReport("x")
	for i := range r.Rows {
		r.Rows[i].Name = "laptop"
	}
	if got := sourceSeries(r); len(got) != 1 || got[0].name != "laptop" {
		t.Errorf("%d sources, want only laptop", len(got))
	}
}

// TestBrowserBursts checks the advice on exceeded rate limits: people wait a minute, and
// programs follow Retry-After.
func TestBrowserBursts(t *testing.T) {
	r := registry.UsageReport{Refusals: []registry.Refusal{
		{Channel: cola.ChannelDashboard, Reason: registry.RefusedBurst},
		{Channel: cola.ChannelREST, Reason: registry.RefusedBurst},
	}}
	rows := refusalRows(r, 2)
	if rows[0].Do == rows[1].Do || strings.Contains(rows[0].Do, "Retry-After") ||
		!strings.Contains(rows[1].Do, "Retry-After") {
		t.Errorf("advice for the dashboard %q, for REST %q", rows[0].Do, rows[1].Do)
	}
}

func TestPlans(t *testing.T) {
	s := mustSite(t)
	open := s.by("").get("/plans")
	open.checkHTML(t)
	open.shows(t, http.StatusOK, "Free", "Starter", "Pro", "$39", "$99", "10,000", "1,000,000",
		"ask your administrator", `href="/sign-in?return=%2Fplans"`)
	if strings.Contains(open.body, "your plan</span>") {
		t.Error("signed-out visitor has a plan")
	}
	own := s.get("/plans")
	own.checkHTML(t)
	own.shows(t, http.StatusOK, `<th scope="col" class="own">Pro <span class="state good">your plan</span></th>`,
		`href="/usage"`, "/api/v1/usage'")
	if strings.Count(own.body, "your plan</span>") != 1 {
		t.Error("account's plan is not marked exactly once")
	}
	s.handler = New(s.registry.Service, s.browsers, Options{
		PublicURL: registrytest.PublicURL, BillingURL: "https://billing.example/change?a=1&b=2",
		Logger: slog.New(slog.DiscardHandler), Now: s.registry.Now,
	})
	paid := s.get("/plans")
	paid.checkHTML(t)
	paid.shows(t, http.StatusOK, `<a class="button" href="https://billing.example/change?a=1&b=2">Change plan</a>`)
}
