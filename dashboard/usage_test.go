package dashboard

import (
	"context"
	"encoding/csv"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
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
	a.shows(t, http.StatusOK, "0 of 10,000", "0 of 1,000,000", "Dec 1, 2026, 00:00 UTC", "No requests in the last 30 days",
		"No list records in this period", "No requests hit a limit", "curl -H \"X-API-Key: $API_KEY\" 'https://registry.example/api/v1/usage'",
		`"name": "get_usage"`)
	if to := s.by("").get("/usage").redirects(t); to != "/sign-in?return=%2Fusage" {
		t.Errorf("signed out: redirect to %s", to)
	}
}

// TestUsage checks that usage is shown in each unit, by channel and credential, by day and month,
// with totals.
func TestUsage(t *testing.T) {
	s := mustSite(t)
	account := s.browsers.callers[ann].Account
	hostile := `<script>alert("1")</script>`
	key, app := s.registry.Key(t, account, hostile), s.registry.App(t, account, "Claude\u202e")
	s.spend(key, 50, 4)
	s.spend(app, 20, 1)
	s.registry.Advance(24 * time.Hour)
	s.spend(key, 30, 2)
	for target, texts := range map[string][]string{
		"/usage": {
			"7 of 10,000", "100 of 1,000,000",
			": 51 by <time", `<time datetime="2026-11-20">`, // 1.5 days of 11
			"100 list records in total; peak of 70 on Nov 20. REST API 80, Assistants 20.",
			`<th scope="row">Nov 20</th><td>50</td><td>20</td><td>70</td>`,
			`<th scope="row">Nov 19</th><td>0</td><td>0</td><td>0</td>`,
			`<td role="cell" data-label="Channel">Assistants</td><td role="cell" data-label="Requests" class="number">2</td>` +
				`<td role="cell" data-label="Detail views" class="number">1</td><td role="cell" data-label="List records" class="number">20</td>`,
		},
		"/usage?unit=detail_views": {
			"7 detail views in total; peak of 5 on Nov 20. REST API 6, Assistants 1.",
			`<th scope="row">Nov 20</th><td>4</td><td>1</td><td>5</td>`,
		},
		"/usage?unit=requests&group_by=source&range=7d": {
			"10 requests in total; peak of 7 on Nov 20. " + hostile + " 8, Claude 2.", `<th scope="row">Nov 15</th>`,
		},
		"/usage?group_by=source&range=12m": {
			"100 list records in total; peak of 100 in Nov 2026. " + hostile + " 80, Claude 20.",
			`<th scope="row">Dec 2025</th><td>0</td>`, `<th scope="row">Nov 2026</th><td>80</td><td>20</td><td>100</td>`,
		},
	} {
		a := s.get(target)
		a.checkHTML(t)
		a.shows(t, http.StatusOK, texts...)
		for _, bad := range []string{"<script>alert", "\u202e", "Nov 22</th>"} {
			if strings.Contains(a.body, bad) {
				t.Errorf("%s contains %q", target, bad)
			}
		}
	}
}

// TestUsageSwitches checks that each switch changes one part of the view and keeps the others, and
// that unknown values select the default.
func TestUsageSwitches(t *testing.T) {
	s := mustSite(t)
	page := s.get("/usage?unit=detail_views&group_by=source&range=90d&utm_source=mail")
	page.shows(t, http.StatusOK,
		`href="/usage?unit=list_records&group_by=source&range=90d#chart"`,
		`href="/usage?unit=detail_views&group_by=channel&range=90d#chart"`,
		`href="/usage?unit=detail_views&group_by=source&range=12m#chart"`,
		`href="/usage?unit=detail_views&group_by=source&range=90d#chart" aria-current="true"`)
	if got := strings.Count(page.body, `aria-current="true"`); got != 3 {
		t.Errorf("%d current switches, want one in each of 3 groups", got)
	}
	view := newUsageView(url.Values{"unit": {"gold"}, "group_by": {""}, "range": {"1d"}})
	if standard := newUsageView(nil); view.href() != standard.href() {
		t.Errorf("unknown values select %s, want %s", view.href(), standard.href())
	}
}

// TestUsageCSV checks that the file has full dates and that no heading is a formula.
func TestUsageCSV(t *testing.T) {
	r := fullReport("=cmd")
	c := usageView{measures()[0], bySource, registry.Last30Days}.chart(r)
	text, err := url.PathUnescape(strings.TrimPrefix(string(c.CSV()), "data:text/csv;charset=utf-8,"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 1+len(r.Steps) {
		t.Fatalf("%d rows, %v; want %d", len(rows), err, 1+len(r.Steps))
	}
	if last := rows[len(rows)-1]; last[0] != "2026-12-31" || last[len(last)-1] != "1056066" {
		t.Errorf("last row = %q", last)
	}
	for _, head := range rows[0] {
		if strings.HasPrefix(head, "=") {
			t.Errorf("heading %q is a formula", head)
		}
	}
}

// TestEarlyForecast checks that on the 1st of a month, the page doesn't explain a missing
// projection by saying that the account is new.
func TestEarlyForecast(t *testing.T) {
	s := mustSite(t)
	reason := func(since cola.Date) string {
		r := fullReport("x")
		r.Now, r.Since = since.Time().Add(12*time.Hour), since
		r.State.Used = cola.Used{DetailViews: 1}
		s.setReport(r)
		_, text, _ := strings.Cut(s.get("/usage").body, `class="meter"`)
		_, text, _ = strings.Cut(text, `<p class="soft">`)
		text, _, _ = strings.Cut(text, "</p>")
		return text
	}
	first, later := reason(cola.NewDate(2026, 12, 1)), reason(cola.NewDate(2026, 12, 9))
	if first == "" || first == later || strings.Contains(first+later, "<time") {
		t.Errorf("reasons = %q on the 1st and %q on the first day of use, want different ones without a projection", first, later)
	}
}

func TestNewForecast(t *testing.T) {
	november := cola.PeriodOf(registrytest.StartTime)
	first, last := cola.NewDate(2026, 11, 1), cola.NewDate(2026, 11, 30)
	midMonth := time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name                   string
		used, limit, projected int
		since                  cola.Date
		want                   forecast
	}{
		{"unused", 0, 200, 0, 0, forecast{}},
		{"within", 75, 200, 150, first, forecast{Projected: 150}},
		{"exactly at the limit", 100, 200, 200, first, forecast{Projected: 200}},
		{"over", 150, 200, 300, first, forecast{Projected: 300, Over: true, ExhaustedOn: cola.NewDate(2026, 11, 21)}},
		{"over since the 11th", 100, 200, 400, first + 10, forecast{
			Projected: 400, Over: true, Since: first + 10, ExhaustedOn: cola.NewDate(2026, 11, 21),
		}},
		{"over today", 199, 200, 398, first, forecast{Projected: 398, Over: true, ExhaustedOn: cola.NewDate(2026, 11, 16)}},
		{"first day of use", 150, 200, 150, first + 15, forecast{Projected: 150, Early: true, Since: first + 15}},
		{"used up", 200, 200, 300, first, forecast{Projected: 300, Over: true, Exhausted: true}},
		{"over the limit after a downgrade", 900, 200, 900, first, forecast{Projected: 900, Over: true, Exhausted: true}},
	} {
		r := registry.UsageReport{
			State: cola.QuotaState{Tier: cola.TierFree, Period: november}, Now: midMonth, Since: test.since,
		}
		m := meter{"Detail views", test.used, test.limit}
		test.want.Meter, test.want.Last, test.want.Upgradable = m, last, true
		if got := newForecast(m, test.projected, r); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: forecast = %+v, want %+v", test.name, got, test.want)
		}
	}
}

// TestMeter checks that a meter never shows more than its limit and that a small part is visible.
func TestMeter(t *testing.T) {
	for _, test := range []struct{ used, limit, shown, over, percent, width int }{
		{0, 200, 0, 0, 0, 0}, {1, 1_000_000, 1, 0, 0, 2}, {199, 200, 199, 0, 99, 99}, {200, 200, 200, 0, 100, 100},
		{205, 200, 200, 5, 100, 100}, {0, 0, 0, 0, 100, 100},
	} {
		m := meter{"", test.used, test.limit}
		if m.Shown() != test.shown || m.Over() != test.over || percent(m.Used, m.Limit) != test.percent || barWidth(m.Used, m.Limit) != test.width {
			t.Errorf("%d of %d: shown %d, over %d, %d%%, width %d; want %+v", m.Used, m.Limit, m.Shown(), m.Over(),
				percent(m.Used, m.Limit), barWidth(m.Used, m.Limit), test)
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
	a := s.get("/usage?unit=detail_views&group_by=source")
	a.checkHTML(t)
	a.shows(t, http.StatusOK, "30 detail views in total; peak of 30 on Nov 20. ",
		`<bdi>Other</bdi> <span class="soft">25</span>`,
		`<th scope="row" role="rowheader"><bdi>Other</bdi></th><td role="cell" data-label="Channel">REST API</td>`)
	byChannels := s.get("/usage")
	byChannels.shows(t, http.StatusOK, "REST API 30, Assistants 3.", `<bdi>REST API</bdi> <span class="soft">30</span>`)
	maxSeries := len(seriesClasses())
	if list := legend(a); len(list) != maxSeries || list[maxSeries-1] != "Other 25" || slices.Contains(list[:maxSeries-1], "Other 25") {
		t.Errorf("legend by source = %q, want %d items, Other last", list, maxSeries)
	}
	if diff := cmp.Diff([]string{"REST API 30", "Assistants 3"}, legend(byChannels)); diff != "" {
		t.Errorf("legend by channel (-want +got):\n%s", diff)
	}
	for _, a := range []response{a, byChannels} {
		a.lacks(t, "<bdi>others</bdi>")
	}
}

// legend returns the items of a page's legend.
func legend(a response) (items []string) {
	for _, m := range regexp.MustCompile(`<bdi>([^<]*)</bdi> <span class="soft">([\d,]+)</span>`).FindAllStringSubmatch(a.body, -1) {
		items = append(items, m[1]+" "+m[2])
	}
	return items
}

// TestOtherSource checks that usage combined by the registry, for any channel, and sources beyond
// the limit form a single series, which comes last. A key with the same name stays separate.
func TestOtherSource(t *testing.T) {
	r := fullReport("x")
	for _, i := range []int{9, 10, 11} {
		r.Rows[i].Name, r.Rows[i].Credential = "others", cola.Credential{}
	}
	r.Rows[0].Name = othersName
	for d := range r.Steps {
		r.Steps[d].By[0].DetailViews = 2_000 // more than any other source
		r.Steps[d].By[1] = registry.Usage{}
	}
	for rows, want := range map[int]int{12: 6, 4: 3} {
		some := r
		some.Rows = r.Rows
		if rows < 12 {
			some.Rows = append(slices.Clone(r.Rows[:rows-1]), r.Rows[11]) // one of them has no usage
		}
		got := sourceSeries(some)
		others := 0
		for _, s := range got {
			if s.other {
				others++
			}
		}
		if len(got) != want || others != 1 || !got[want-1].other || got[0].name != othersName || got[0].other {
			t.Errorf("%d rows: %d series, %d of them Other; want %d series, Other last", rows, len(got), others, want)
		}
	}
}

// fixedReport is a registry that returns a fixed usage report.
type fixedReport struct {
	*registry.Service
	report registry.UsageReport
}

func (r fixedReport) UsageReport(context.Context, cola.Caller, registry.UsageSpan) (registry.UsageReport, cola.QuotaState, error) {
	return r.report, r.report.State, nil
}

// setReport makes the site show a usage report.
func (s *site) setReport(r registry.UsageReport) {
	s.handler = New(fixedReport{s.registry.Service, r}, s.browsers,
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
		Now:       time.Date(2026, 12, 16, 0, 0, 0, 0, time.UTC), Since: cola.NewDate(2026, 12, 1),
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
	}
	for d := range 90 {
		day := cola.NewDate(2026, 12, 31).AddDays(d - 89)
		step := registry.UsageStep{First: day, Last: day, By: make([]registry.Usage, 12)}
		for i := range step.By {
			step.By[i] = registry.Usage{DetailViews: 500 + i, ListRecords: 88_000 + i, Requests: 600 + i}
			step.Total = step.Total.Plus(step.By[i])
		}
		r.Steps = append(r.Steps, step)
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
	a := s.get("/usage?group_by=source&range=90d")
	a.checkHTML(t)
	a.shows(t, http.StatusOK, "Used up", "120,000", "<time datetime=\"2026-12-26\">", `href="/plans"`, "Other",
		"View all 50", "60 requests per minute", "Detail views used up",
		errorExplanations[cola.CodeInsufficientScope].Why, errorExplanations[cola.CodeUnauthorized].Why,
		errorExplanations[cola.CodeAccountSuspended].Why)
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

// TestUsageSums checks that the series by channel, and those by source, add up to each day's total
// usage.
func TestUsageSums(t *testing.T) {
	r := fullReport("x")
	for name, all := range map[string][]usageSeries{"channels": channelSeries(r), "sources": sourceSeries(r)} {
		if len(all) > len(seriesClasses()) {
			t.Errorf("%s: %d series, want at most %d", name, len(all), len(seriesClasses()))
		}
		for d, step := range r.Steps {
			var sum registry.Usage
			for _, s := range all {
				sum = sum.Plus(s.uses[d])
			}
			if sum != step.Total {
				t.Errorf("%s on %s add up to %+v, want %+v", name, step.First, sum, step.Total)
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
