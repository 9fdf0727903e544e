package httpapi

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	"github.com/colaregistry/colaregistry/internal/web"
)

// TestLoggedRequests checks that an account's requests are recorded whatever their outcome, and that
// public requests and requests without a valid credential are not.
func TestLoggedRequests(t *testing.T) {
	var got []string
	h := New(newFake(), keys{}, Options{
		Logger: slog.New(slog.DiscardHandler),
		LogRequest: func(account cola.AccountID, failed bool, describe func() cola.LoggedRequest) {
			r := describe()
			got = append(got, fmt.Sprintf("%t %s %s %s %d %s %s", failed, r.Channel, r.Method, r.Target, r.Status, r.Code, r.Input))
		},
	})
	for _, request := range []string{
		"GET /api/v1/colas?q=oak", "HEAD /api/v1/usage", "GET /api/v1/unknown", "PUT /api/v1/colas", "GET /api/v1/colas?per_page=x",
		"GET /healthz", "GET /images/11054001000049-1",
	} {
		var method, target string
		fmt.Sscan(request, &method, &target)
		r := httptest.NewRequest(method, target, nil)
		r.Header.Set("X-Api-Key", testKey)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/api/v1/colas?q=anonymous", nil))
	want := []string{
		"false rest GET /api/v1/colas 200  q=oak", "false rest HEAD /api/v1/usage 200  ", "true rest GET /api/v1/unknown 404 not_found ",
		"true rest PUT /api/v1/colas 405 method_not_allowed ", "true rest GET /api/v1/colas 400 validation_error per_page=x",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

// TestServeAs checks that a request for an authenticated caller needs no key, and is charged and
// recorded with the REST channel and the caller's credential, even behind another router.
func TestServeAs(t *testing.T) {
	f, got := newFake(), []string(nil)
	a := New(f, keys{}, Options{
		Logger: slog.New(slog.DiscardHandler),
		LogRequest: func(account cola.AccountID, _ bool, describe func() cola.LoggedRequest) {
			r := describe()
			got = append(got, fmt.Sprint(account, r.Channel, r.Credential, r.Target, r.Status, r.Units))
		},
	})
	c := cola.Caller{
		Account: 7, Channel: cola.ChannelDashboard, Credential: cola.Credential{Kind: cola.CredentialSignIn, ID: 3},
	}
	outer := chi.NewRouter()
	outer.Post("/{outer}/try", func(w http.ResponseWriter, r *http.Request) {
		a.ServeAs(w, httptest.NewRequest(http.MethodGet, r.Header.Get("Target"), nil).WithContext(r.Context()), c)
	})
	for _, target := range []string{"/api/v1/colas/11054001000049", "/api/v1/colas/stats?group_by=year", "/api/v1/unknown"} {
		r := httptest.NewRequest(http.MethodPost, "/requests/try", nil)
		r.Header.Set("Target", target)
		outer.ServeHTTP(httptest.NewRecorder(), r)
	}
	want := []string{
		"7rest{sign_in 3}/api/v1/colas/11054001000049200 1", "7rest{sign_in 3}/api/v1/colas/stats200 1", "7rest{sign_in 3}/api/v1/unknown404 0",
	}
	if diff := cmp.Diff(want, got); diff != "" || f.used.DetailViews != 1 {
		t.Errorf("used %+v; recorded (-want +got):\n%s", f.used, diff)
	}
}

// TestServeAsLimits checks that calls from a session count toward the plan's rate limit, even if
// they are free or invalid, and that each reload of a list is charged. The session's dashboard pages
// neither count nor are limited.
func TestServeAsLimits(t *testing.T) {
	r := registrytest.New(t)
	c := r.Holder(t, "ann@example.com", cola.TierFree)
	a := New(r.Service, auth.New(r.Store, nil, nil), Options{Logger: slog.New(slog.DiscardHandler)})
	get := func(target string) *http.Response {
		w := httptest.NewRecorder()
		a.ServeAs(w, httptest.NewRequest(http.MethodGet, target, nil), c)
		return w.Result()
	}
	var remaining []string
	for range 2 {
		got := get("/api/v1/colas?date_range=all&per_page=1")
		if got.StatusCode != http.StatusOK {
			t.Fatalf("search: %s", got.Status)
		}
		remaining = append(remaining, got.Header.Get("X-List-Records-Remaining"))
	}
	if diff := cmp.Diff([]string{"9999", "9998"}, remaining); diff != "" {
		t.Errorf("list records left after a search and its reload (-want +got):\n%s", diff)
	}
	browse := func() {
		t.Helper()
		for range 11 {
			if _, _, err := r.Explore(t.Context(), c, cola.SearchParams{DateRange: cola.AllDates}); err != nil {
				t.Fatalf("dashboard: %v", err)
			}
		}
	}
	r.Advance(61 * time.Second)
	browse()
	for n, target := range []string{"/api/v1/unknown", "/api/v1/colas?per_page=x"} {
		if got := get(target); got.StatusCode == http.StatusTooManyRequests {
			t.Fatalf("invalid call %d: %s", n+1, got.Status)
		}
	}
	for n := 3; n <= 10; n++ {
		if got := get("/api/v1/usage"); got.StatusCode != http.StatusOK {
			t.Fatalf("call %d: %s", n, got.Status)
		}
	}
	if got := get("/api/v1/usage"); got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" {
		t.Errorf("call 11: %s %v, want 429 with Retry-After", got.Status, got.Header)
	}
	browse()
}

// BenchmarkRequestLog compares the median latency of charged searches over HTTP with and without the
// request log. Every request is recorded: the account stays within its limits, because the clock
// advances.
func BenchmarkRequestLog(b *testing.B) {
	r := registrytest.New(b)
	account := r.Holder(b, "ann@example.com", cola.TierPro).Account
	secret := auth.NewSecret()
	key := secret.Key()
	key.AccountID, key.Name = account, "benchmark"
	if _, err := r.Store.CreateKey(b.Context(), key, secret.Hash(), 0); err != nil {
		b.Fatal(err)
	}
	var servers [2]*httptest.Server // without and with the request log
	var took [2][]time.Duration
	for i, record := range []web.LogRequest{nil, r.LogRequest} {
		o := Options{Logger: slog.New(slog.DiscardHandler), LogRequest: record}
		servers[i] = httptest.NewServer(New(r.Service, auth.New(r.Store, nil, nil), o))
		defer servers[i].Close()
	}
	for b.Loop() { // alternating, so that other load on the machine affects both equally
		r.Advance(6 * time.Second)
		for i, server := range servers {
			start := time.Now()
			searchOnce(b, server.URL, secret.Reveal())
			took[i] = append(took[i], time.Since(start))
		}
	}
	median := func(all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[len(all)/2].Microseconds())
	}
	b.ReportMetric(median(took[0]), "µs-plain")
	b.ReportMetric(median(took[1]), "µs-logged")
	b.ReportMetric(median(took[1])/median(took[0]), "ratio")
}

func searchOnce(b *testing.B, server, key string) {
	request, err := http.NewRequest(http.MethodGet, server+"/api/v1/colas?q=red&product_type=wine&per_page=1&date_range=all", nil)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("X-Api-Key", key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
		b.Fatal(response.Status, string(body), err)
	}
}
