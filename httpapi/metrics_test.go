package httpapi

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// newMeasuredHandler returns the handler for a service and its metrics registry.
func newMeasuredHandler(t testing.TB, svc Service) (http.Handler, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	return New(svc, keys{}, Options{Logger: slog.New(slog.DiscardHandler), Metrics: registry}), registry
}

// samples returns a metric's values by label values, in the order of label names. For a histogram,
// the value is the number of observations.
func samples(t testing.TB, g prometheus.Gatherer, name string) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			found[strings.Join(labels, " ")] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return found
}

// nonzero removes samples with the value 0.
func nonzero(all map[string]float64) map[string]float64 {
	for labels, n := range all {
		if n == 0 {
			delete(all, labels)
		}
	}
	return all
}

// TestRequestMetrics checks the metrics after requests with every outcome.
func TestRequestMetrics(t *testing.T) {
	h, registry := newMeasuredHandler(t, newFake())
	requests := []struct{ method, target, lines string }{
		{"GET", "/api/v1/colas?q=oak", "X-API-Key: " + testKey},
		{"GET", "/api/v1/colas?q=elm&page=2", "X-API-Key: " + testKey},
		{"GET", "/api/v1/colas?per_page=1000", "X-API-Key: " + testKey},
		{"HEAD", "/api/v1/colas", "X-API-Key: " + testKey},
		{"GET", "/api/v1/colas/11054001000049", "X-API-Key: " + testKey},
		{"GET", "/api/v1/colas/1", "X-API-Key: " + testKey},
		{"GET", "/api/v1/usage", ""},
		{"POST", "/api/v1/usage", "X-API-Key: " + testKey},
		{"BREW", "/api/v1/usage", "X-API-Key: " + testKey},
		{"GET", "/api/v1/made/up", "X-API-Key: " + testKey},
		{"GET", "/made/up", ""},
		{"GET", "/metrics", ""},
		{"GET", "/healthz", ""},
	}
	received := 0.
	for _, r := range requests {
		resp := send(t, h, r.method, r.target, r.lines)
		if r.method != "HEAD" && strings.HasPrefix(r.target, "/api/v1/colas?") {
			received += float64(len(mustRead(t, resp)))
		}
	}
	want := map[string]float64{
		"GET /api/v1/colas 200":          2,
		"GET /api/v1/colas 400":          1,
		"HEAD /api/v1/colas 200":         1,
		"GET /api/v1/colas/{ttb_id} 200": 1,
		"GET /api/v1/colas/{ttb_id} 404": 1,
		"GET /api/v1/usage 401":          1,
		"POST /api/v1/usage 405":         1,
		"other /api/v1/usage 405":        1,
		"GET other 404":                  3,
		"GET /healthz 200":               1,
	}
	if diff := cmp.Diff(want, samples(t, registry, "colaregistry_http_requests_total")); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	durations := map[string]float64{"/api/v1/colas": 4, "/api/v1/colas/{ttb_id}": 2, "/api/v1/usage": 3, "other": 3, "/healthz": 1}
	if diff := cmp.Diff(durations, nonzero(samples(t, registry, "colaregistry_http_request_duration_seconds"))); diff != "" {
		t.Errorf("durations (-want +got):\n%s", diff)
	}
	if got := samples(t, registry, "colaregistry_http_response_bytes_total")["/api/v1/colas"]; got != received {
		t.Errorf("counted %v bytes, want %v", got, received)
	}
}

// TestRouteMetrics checks that every route has a series from the start, so that the first request
// shows up as an increase.
func TestRouteMetrics(t *testing.T) {
	_, registry := newMeasuredHandler(t, newFake())
	routes := samples(t, registry, "colaregistry_http_request_duration_seconds")
	want := []string{"/.well-known/mcp-registry-auth", "/.well-known/openai-apps-challenge", "/llms.txt",
		"/healthz", "/readyz", "/images/{image}", "/api/v1/openapi.json", unsubscribePath, confirmPath, feedPath, web.Other}
	for _, op := range operations(newFake()) {
		want = append(want, basePath+op.Path)
	}
	slices.Sort(want)
	want = slices.Compact(want) // some paths have several methods
	if diff := cmp.Diff(want, sortedKeys(routes)); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("lint problems = %v, %v", problems, err)
	}
}

// TestBoundedSeries checks that requests cannot create new label values.
func TestBoundedSeries(t *testing.T) {
	h, registry := newMeasuredHandler(t, newFake())
	for i := range 100 {
		send(t, h, fmt.Sprintf("M%d", i), fmt.Sprintf("/api/v1/x%d", i), "X-API-Key: "+testKey)
		send(t, h, "GET", fmt.Sprintf("/%d", i))
		get(t, h, fmt.Sprintf("/api/v1/colas/%d", i))
		get(t, h, fmt.Sprintf("/api/v1/colas/{ttb_id}/%d", i))
	}
	want := map[string]float64{"other other 404": 100, "GET other 404": 200, "GET /api/v1/colas/{ttb_id} 404": 100}
	if diff := cmp.Diff(want, samples(t, registry, "colaregistry_http_requests_total")); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// probe is a service that reads the metrics during a request.
type probe struct {
	*fake
	look func()
}

func (w probe) Usage(ctx context.Context, c cola.Caller) (cola.UsageStats, cola.QuotaState, error) {
	w.look()
	return w.fake.Usage(ctx, c)
}

func TestInFlight(t *testing.T) {
	w := &probe{fake: newFake()}
	h, registry := newMeasuredHandler(t, w)
	inFlight := func() float64 { return samples(t, registry, "colaregistry_http_requests_in_flight")[""] }
	got := -1.
	w.look = func() { got = inFlight() }
	get(t, h, "/api/v1/usage")
	if got != 1 || inFlight() != 0 {
		t.Errorf("in flight = %v during a request, %v after it; want 1, 0", got, inFlight())
	}
}

func TestPanicMetrics(t *testing.T) {
	f := newFake()
	h, registry := newMeasuredHandler(t, f)
	f.panic = "broken"
	get(t, h, "/api/v1/usage")
	f.panic = http.ErrAbortHandler // aborts the connection, and does not count as a panic
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("recovered %v, want ErrAbortHandler", p)
			}
		}()
		get(t, h, "/api/v1/usage")
	}()
	want := map[string]float64{"GET /api/v1/usage 500": 1, "GET /api/v1/usage 0": 1}
	if diff := cmp.Diff(want, samples(t, registry, "colaregistry_http_requests_total")); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if got := samples(t, registry, "colaregistry_http_panics_total")[""]; got != 1 {
		t.Errorf("panics = %v, want 1", got)
	}
	if got := samples(t, registry, "colaregistry_http_requests_in_flight")[""]; got != 0 {
		t.Errorf("requests in flight = %v, want 0", got)
	}
}

// TestLogHasNoSecrets sends valid and invalid keys in every possible place, along with search
// terms, with debug logging on. The log must not contain any of them.
func TestLogHasNoSecrets(t *testing.T) {
	const wrong, term = "lar_wrongwrongwrong", "soughtafter"
	f := newFake()
	var log strings.Builder
	handler := slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})
	h := New(f, keys{}, Options{Logger: slog.New(handler), Metrics: prometheus.NewRegistry()})
	requests := 0
	for _, key := range []string{testKey, wrong} {
		for _, line := range []string{"X-API-Key: " + key, "Authorization: Bearer " + key, "Authorization: Basic " + key, "X-Request-Id: " + key, "User-Agent: " + key, "Cookie: key=" + key} {
			for _, target := range []string{
				"/api/v1/colas?q=" + term, "/api/v1/colas?brand_name=" + term + "&api_key=" + key, "/api/v1/usage?access_token=" + key,
				"/api/v1/colas/" + key, "/api/v1/permittees/" + term, "/api/v1/barcode/" + term, "/api/v1/" + key, "/" + key,
				"/images/" + key, "/images/11054001000049-" + key, "/llms.txt?key=" + key, "/readyz?" + key,
			} {
				for _, method := range []string{"GET", "HEAD", "POST", strings.ToUpper(key)} {
					requests++
					send(t, h, method, target, line)
				}
			}
		}
	}
	for _, secret := range []string{testKey, strings.ToUpper(testKey), wrong, strings.ToUpper(wrong), term} {
		if line, _, found := strings.Cut(log.String(), secret); found {
			t.Errorf("log contains %s: …%s%s", secret, line[strings.LastIndex(line, "\n")+1:], secret)
		}
	}
	if lines := strings.Count(log.String(), "\n"); lines != requests {
		t.Errorf("log has %d lines, want %d", lines, requests)
	}
}

// BenchmarkMetrics compares searches with and without metrics.
func BenchmarkMetrics(b *testing.B) {
	for _, measured := range []bool{false, true} {
		b.Run(fmt.Sprintf("measured=%t", measured), func(b *testing.B) {
			o := Options{Logger: slog.New(slog.NewJSONHandler(io.Discard, nil))}
			if measured {
				o.Metrics = prometheus.NewRegistry()
			}
			h := New(newFake(), keys{}, o)
			r := httptest.NewRequest("GET", "/api/v1/colas?q=oak&product_type=wine", nil)
			r.Header.Set("X-Api-Key", testKey)
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
}

// TestHandles checks that Handles accepts every route and no path outside the API.
func TestHandles(t *testing.T) {
	a := &api{ops: operations(newFake())}
	for pattern := range a.routePatterns() {
		if !Handles(pattern) {
			t.Errorf("Handles(%q) = false, want true", pattern)
		}
	}
	for path, want := range map[string]bool{"/": false, "/keys": false, "/apis": false, "/api": true, "/api/v2/x": true, "": false} {
		if Handles(path) != want {
			t.Errorf("Handles(%q) = %v", path, !want)
		}
	}
}
