package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/ttbsite"
	"github.com/colaregistry/colaregistry/store"
)

// recentTTBSite returns a site with labels from the last seven days.
func recentTTBSite(t *testing.T, labels int) *ttbsite.Site {
	t.Helper()
	today := cola.DateOf(time.Now())
	return mustTTBSite(t, ttbsite.Options{Labels: labels, First: today.AddDays(-6), Last: today})
}

// fetchFlags returns the flags of a server that fetches labels and images from a site.
func fetchFlags(t *testing.T, h testRegistry, site string) []string {
	return []string{
		"--admin-listen", "127.0.0.1:0", "--fetch", "--fetch-contact", "ops@example.com", "--fetch-base-url", site + ttbsite.Path,
		"--fetch-rate", "500", "--fetch-backoff", "5ms", "--fetch-hold", "2s", "--fetch-images", "new",
		"--image-store", filepath.Join(h.DataDir, "pictures"), "--no-fetch-reference",
	}
}

// labels returns the number of labels that a search finds.
func (s *serverProcess) labels(t *testing.T, key, query string) int {
	t.Helper()
	a := s.get(t, "/colas?approval_date_from=2000-01-01&per_page=1"+query, key)
	total, ok := a.at("pagination", "total").(float64)
	if !ok {
		t.Fatalf("search: status %d: %s", a.StatusCode, a.body)
	}
	return int(total)
}

// TestServeFetch fetches labels and images in a server until the site blocks it. The server keeps
// responding, even after a restart, which doesn't clear the block. Fetching continues after fetch
// resume.
func TestServeFetch(t *testing.T) {
	t.Parallel()
	for kind, empty := range map[string]func(*testing.T) testRegistry{"sqlite": embedded, "postgres": onPostgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h, site := empty(t), recentTTBSite(t, 30)
			for range 50 {
				site.Inject(ttbsite.None)
			}
			site.Inject(ttbsite.Block)
			web := site.Start()
			defer web.Close()
			_, secret, _ := mustAccount(t, mustOpen(t, h), "ops@example.com", cola.TierPro)
			key, args := secret.Reveal(), fetchFlags(t, h, web.URL)
			s := startServer(t, h, args...)
			await(t, "the site blocks the server", func() bool { return strings.Contains(s.err.String(), "fetch resume") })
			await(t, "searches find the first labels", func() bool { return s.labels(t, key, "") > 0 })
			s.stop(t)

			s = startServer(t, h, args...)
			await(t, "the server reports that it is blocked", func() bool { return strings.Contains(s.err.String(), "fetch resume") })
			if samples := scrape(t, s.admin(t)); samples["colaregistry_fetch_blocked"] != 1 || samples["colaregistry_fetch_requests"] != 51 {
				t.Errorf("blocked = %v after %v requests, want 1 after 51",
					samples["colaregistry_fetch_blocked"], samples["colaregistry_fetch_requests"])
			}
			if n := s.labels(t, key, ""); n == 0 || s.readyz(t) != http.StatusOK || len(site.Log()) != 51 {
				t.Errorf("%d labels, readiness %d, %d requests while blocked", n, s.readyz(t), len(site.Log()))
			}
			if out := h.run(t, "fetch", "resume"); !strings.Contains(out, "4711471147114711") {
				t.Errorf("fetch resume printed %q, want the reason for the block", out)
			}
			labels := site.Labels()
			await(t, "searches find all labels", func() bool { return s.labels(t, key, "") == len(labels) })
			await(t, "everything is fetched", func() bool { return len(fetchStatusOf(t, h).Labels) > 0 && fetchStatusOf(t, h).SecondsLeft == 0 })
			var images []any
			await(t, "the index has the label's details and images", func() bool {
				label := s.get(t, "/colas/"+labels[7].ID.String(), key)
				images, _ = label.at("data", "images").([]any)
				return label.at("data", "application_status") != nil && len(images) > 0
			})
			address, _ := images[0].(map[string]any)["image_url"].(string)
			if !strings.HasPrefix(address, "http") {
				address = s.root() + address
			}
			if status, _ := fetch(t, address); status != http.StatusOK {
				t.Errorf("image %s: status %d", address, status)
			}
			if out := h.run(t, "fetch", "resume"); !strings.Contains(out, "neither") {
				t.Errorf("fetch resume without a block printed %q", out)
			}
			s.stop(t)
		})
	}
}

// TestServersShareFetching runs two servers that fetch into one database, and checks that they
// don't duplicate requests.
func TestServersShareFetching(t *testing.T) {
	t.Parallel()
	h, site := onPostgres(t), recentTTBSite(t, 60)
	web := site.Start()
	defer web.Close()
	_, secret, _ := mustAccount(t, mustOpen(t, h), "ops@example.com", cola.TierPro)
	key := secret.Reveal()
	other := h
	other.DataDir = t.TempDir()
	args := fetchFlags(t, h, web.URL)
	servers := []*serverProcess{startServer(t, h, args...), startServer(t, other, args...)}
	for _, s := range servers {
		await(t, "searches find all labels", func() bool { return s.labels(t, key, "") == len(site.Labels()) })
	}
	await(t, "everything is fetched", func() bool { return fetchStatusOf(t, h).SecondsLeft == 0 })
	for _, s := range servers {
		s.stop(t)
	}
	if extra := site.Tally().Extra(); extra > 3 { // one session per server, and perhaps one for a form with images
		t.Errorf("%d more requests than needed", extra)
	}
}

// TestServeFetchStops shuts a server down in the middle of a request. The server stores the result
// and leaves no claim behind.
func TestServeFetchStops(t *testing.T) {
	t.Parallel()
	h, site := embedded(t), recentTTBSite(t, 10)
	arrived, answer := make(chan struct{}), make(chan struct{})
	var forms atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.RawQuery, "publicFormDisplay") && forms.Add(1) == 3 {
			close(arrived)
			<-answer
		}
		site.ServeHTTP(w, r)
	}))
	defer web.Close()
	s := startServer(t, h, append(fetchFlags(t, h, web.URL), "--fetch-images", "none")...)
	<-arrived
	s.cmd.Process.Signal(syscall.SIGTERM)
	await(t, "the server shuts down", func() bool { return strings.Contains(s.err.String(), "finishing in-flight") })
	close(answer)
	if err := <-s.done; err != nil { // don't call stop: a second signal would end it immediately
		t.Errorf("serve: %v\n%s", err, s.err.String())
	}
	s.done <- nil
	st := mustOpen(t, h)
	queued := 0
	for ; ; queued++ {
		if _, err := st.ClaimLabel(t.Context(), true, time.Minute); err != nil {
			break
		}
	}
	if queued != 7 || forms.Load() != 3 {
		t.Errorf("%d labels can be claimed after %d forms, want 7 after 3", queued, forms.Load())
	}
}

// TestServeFetchDemo checks that --fetch rejects a registry with demo data, and creates none.
func TestServeFetchDemo(t *testing.T) {
	t.Parallel()
	h, site := seeded(t), recentTTBSite(t, 5)
	web := site.Start()
	defer web.Close()
	s := launch(t, h, fetchFlags(t, h, web.URL)...)
	if err := <-s.done; err == nil || !strings.Contains(s.err.String(), "demo labels") {
		t.Errorf("serve --fetch with demo labels: %v\n%s", err, s.err.String())
	}
	s.done <- nil
	if n := len(site.Log()); n > 0 {
		t.Errorf("%d requests", n)
	}
	h = embedded(t)
	s = startServer(t, h, fetchFlags(t, h, web.URL)...)
	await(t, "the labels are fetched", func() bool { return fetchStatusOf(t, h).LastDay != 0 })
	s.stop(t)
	if out := h.run(t, "account", "list"); strings.Contains(out, demoEmail) {
		t.Errorf("accounts of a server with --fetch: %s", out)
	}
}

// TestServeFetchFlags checks that invalid flags are rejected before the server starts, and that
// they are ignored without --fetch.
func TestServeFetchFlags(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no contact":     {},
		"contact":        {"--fetch-contact", "nobody"},
		"rate":           {"--fetch-contact", "ops@example.com", "--fetch-rate", "6"},
		"images":         {"--fetch-contact", "ops@example.com", "--fetch-images", "new", "--fetch-details", "none"},
		"image store":    {"--fetch-contact", "ops@example.com", "--fetch-images", "new", "--database-url", "postgres://localhost/x"},
		"source":         {"--fetch-contact", "ops@example.com", "--fetch-source-url", "labels=https://example.com/"},
		"quiet hours":    {"--fetch-contact", "ops@example.com", "--fetch-quiet-hours", "13:00"},
		"quiet all day":  {"--fetch-contact", "ops@example.com", "--fetch-quiet-hours", "13:00-13:00"},
		"no scheme":      {"--fetch-contact", "ops@example.com", "--fetch-base-url", "ttbonline.gov/colasonline/"},
		"scheme":         {"--fetch-contact", "ops@example.com", "--fetch-base-url", "ftp://ttbonline.gov/"},
		"query":          {"--fetch-contact", "ops@example.com", "--fetch-base-url", "https://ttbonline.gov/?a=b"},
		"quiet, in days": {"--fetch-contact", "ops@example.com", "--fetch-quiet-hours", "Mon-Fri"},
	} {
		c := command(append([]string{"serve", "--fetch", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir()}, args...)...)
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "--fetch-") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	var c serveCommand
	if err := c.checkFetch(); err != nil {
		t.Errorf("without --fetch: %v", err)
	}
}

// TestFetchStatusStale checks that the status shows when a registry became stale.
func TestFetchStatusStale(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	for newest, stale := range map[cola.Date]string{
		cola.NewDate(2026, time.November, 16): "2026-11-20T00:00:00Z", // a Monday
		cola.NewDate(2026, time.November, 17): "",
	} {
		status := store.FetchStatus{NewestDay: newest}
		b, err := json.Marshal(newFetchStatusJSON(status, now, 0))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			StaleSince string    `json:"stale_since"`
			NewestDay  cola.Date `json:"newest_day"`
		}
		if err := json.Unmarshal(b, &got); err != nil || got.StaleSince != stale || got.NewestDay != newest {
			t.Errorf("status %s, %v, want it stale since %q", b, err, stale)
		}
		var text strings.Builder
		printFetchStatus(&text, status, now, 0)
		if has := strings.Contains(text.String(), "stale:"); has != (stale != "") {
			t.Errorf("text says stale: %t\n%s", has, text.String())
		}
	}
}

// TestFetchMetrics checks the samples that are exported for a status, including after the store has
// become unavailable.
func TestFetchMetrics(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	fetches := &statusStore{status: store.FetchStatus{
		Windows: map[string]int{store.FetchPending: 2, store.FetchComplete: 40}, Labels: map[string]int{store.FetchFailed: 3},
		Requests: 700, LastRequest: now.Add(-time.Minute), PausedUntil: now.Add(time.Minute),
		NewestDay: cola.NewDate(2026, time.November, 16), OldestPending: cola.NewDate(2026, time.November, 18),
	}}
	m := newFetchMetrics(fetches)
	m.now = func() time.Time { return now }
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	check := func(desc string, want map[string]float64) {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			for _, sample := range f.Metric {
				name := strings.TrimPrefix(f.GetName(), "colaregistry_fetch_")
				for _, l := range sample.Label {
					name += " " + l.GetValue()
				}
				got[name] = sample.GetGauge().GetValue()
			}
		}
		for name, value := range want {
			if v, ok := got[name]; !ok || v != value {
				t.Errorf("%s: %s = %v (%t), want %v", desc, name, v, ok, value)
			}
		}
		if len(want) == 0 && len(got) > 0 {
			t.Errorf("%s: %v, want no samples", desc, got)
		}
	}
	check("paused", map[string]float64{
		"windows pending": 2, "windows complete": 40, "windows split": 0, "windows incomplete": 0, "queued_labels pending": 0,
		"queued_labels failed": 3, "requests": 700, "blocked": 0, "paused": 1, "stale": 1,
		"last_request_timestamp_seconds": float64(now.Unix() - 60), "newest_day_timestamp_seconds": float64(now.Unix() - 4*86400 - 12*3600),
		"oldest_pending_day_age_seconds": 60 * 3600,
	})
	fetches.status = store.FetchStatus{Blocked: "CAPTCHA"}
	check("from the cache", map[string]float64{"blocked": 0, "windows pending": 2})
	now = now.Add(time.Hour)
	check("blocked", map[string]float64{
		"blocked": 1, "paused": 0, "stale": 0, "windows pending": 0, "oldest_pending_day_age_seconds": 0,
		"newest_day_timestamp_seconds": 0, "last_request_timestamp_seconds": 0,
	})
	fetches.err = store.ErrUnavailable
	now = now.Add(time.Minute)
	check("unavailable for a minute", map[string]float64{"blocked": 1})
	now = now.Add(time.Hour)
	check("unavailable for an hour", nil)
}

// statusStore returns a fixed status or error.
type statusStore struct {
	store.Fetches
	status store.FetchStatus
	err    error
}

func (s *statusStore) FetchStatus(context.Context) (store.FetchStatus, error) { return s.status, s.err }
