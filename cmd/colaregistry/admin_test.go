package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/colaregistry/colaregistry/cola"
)

var printedAdmin = regexp.MustCompile(`admin listener started" address=(\S+)`)

// admin returns the address of the server's admin listener.
func (s *serverProcess) admin(t *testing.T) string {
	t.Helper()
	m := printedAdmin.FindStringSubmatch(s.err.String())
	if m == nil {
		t.Fatalf("no admin listener:\n%s", s.err.String())
	}
	return "http://" + m[1]
}

// fetch returns the status and body of a GET without credentials.
func fetch(t *testing.T, address string) (int, string) {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// scrape returns the samples that a listener exposes, keyed by name and labels.
func scrape(t *testing.T, address string) map[string]float64 {
	t.Helper()
	status, text := fetch(t, address+"/metrics")
	if status != http.StatusOK {
		t.Fatalf("/metrics: status %d, want 200: %s", status, text)
	}
	samples := map[string]float64{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndex(line, " ")
		value, err := strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		samples[line[:at]] = value
	}
	return samples
}

// increases returns the samples of the given metrics that increased between two scrapes, and by how
// much.
func increases(before, after map[string]float64, names ...string) map[string]float64 {
	up := map[string]float64{}
	for sample, value := range after {
		name, _, _ := strings.Cut(sample, "{")
		for _, n := range names {
			if d := value - before[sample]; name == "colaregistry_"+n && d != 0 {
				up[strings.TrimPrefix(sample, "colaregistry_")] = d
			}
		}
	}
	return up
}

// TestMetrics checks that the metrics count each call exactly once.
func TestMetrics(t *testing.T) {
	t.Parallel()
	onBoth(t, testMetrics)
}

func testMetrics(t *testing.T, h testRegistry) {
	s := startServer(t, h, "--admin-listen", "127.0.0.1:0")
	_, secret, _ := mustAccount(t, mustOpen(t, h), "metrics@example.com", cola.TierPro)
	admin, key := s.admin(t), secret.Reveal()
	before := scrape(t, admin)
	found := s.get(t, "/colas?q=oak&approval_date_from=2005-01-01&per_page=3", key)
	s.get(t, "/colas?q=oak&approval_date_from=2005-01-01&per_page=3", key)
	s.get(t, "/colas?brand_name=oak&approval_date_from=2005-01-01&per_page=3", key)
	s.get(t, "/colas/"+found.ids()[0], key)
	s.get(t, "/colas/99999999999999", key)
	s.get(t, "/colas?per_page=1000", key)
	s.get(t, "/barcode/1", key)
	s.get(t, "/usage", "")
	s.get(t, "/made/up", key)
	request := func(route, status string) string {
		return fmt.Sprintf(`http_requests_total{method="GET",route=%q,status=%q}`, route, status)
	}
	timed := func(route string) string { return fmt.Sprintf(`http_request_duration_seconds_count{route=%q}`, route) }
	want := map[string]float64{
		request("/api/v1/colas", "200"): 3, request("/api/v1/colas", "400"): 1, timed("/api/v1/colas"): 4,
		request("/api/v1/colas/{ttb_id}", "200"): 1,
		request("/api/v1/colas/{ttb_id}", "404"): 1, timed("/api/v1/colas/{ttb_id}"): 2,
		request("/api/v1/barcode/{barcode_value}", "404"): 1, timed("/api/v1/barcode/{barcode_value}"): 1,
		request("/api/v1/usage", "401"): 1, timed("/api/v1/usage"): 1,
		request("other", "404"): 1, timed("other"): 1,
		`searches_total{class="text"}`: 2, `searches_total{class="brand"}`: 1, `searches_total{class="barcode"}`: 1,
		`search_duration_seconds_count{class="text"}`: 2, `search_duration_seconds_count{class="brand"}`: 1,
		`search_duration_seconds_count{class="barcode"}`: 1,
		`charged_units_total{meter="list_records"}`:      9, `charged_units_total{meter="detail_views"}`: 1,
	}
	var got map[string]float64
	// A request is counted after its handler returns, so the caller may get the response first.
	for range 100 {
		got = increases(before, scrape(t,
			admin), "http_requests_total", "http_request_duration_seconds_count", "searches_total",
			"search_duration_seconds_count", "charged_units_total")
		if maps.Equal(got, want) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("increases (-want +got):\n%s", diff)
	}
	now := scrape(t, admin)
	for name, want := range map[string]float64{
		"index_labels": testColas, "index_lag_seconds": 0, "ready": 1, "http_requests_in_flight": 0,
	} {
		if got := now["colaregistry_"+name]; got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
}

// TestAdminListener checks that admin endpoints are not public and expose no secrets.
func TestAdminListener(t *testing.T) {
	t.Parallel()
	s := startServer(t, seeded(t), "--admin-listen", "127.0.0.1:0")
	admin, public := s.admin(t), strings.TrimSuffix(s.base, "/api/v1")
	s.get(t, "/colas/"+s.key, s.key)
	for _, path := range []string{
		"/", "/metrics", "/healthz", "/readyz", "/debug/pprof/", "/debug/pprof/heap?debug=1",
		"/debug/pprof/goroutine?debug=2", "/debug/pprof/profile?seconds=1", "/debug/pprof/trace?seconds=0.1",
		"/debug/pprof/symbol",
	} {
		status, text := fetch(t, admin+path)
		if status != http.StatusOK || text == "" || strings.Contains(text, s.key) {
			t.Errorf("admin %s: status %d, %d bytes; want 200 with a body and no key", path, status, len(text))
		}
		if status, _ := fetch(t, public+path); status == http.StatusOK && path != "/healthz" && path != "/readyz" &&
			path != "/" {
			t.Errorf("%s is public, want it only on the admin listener", path)
		}
	}
	for _, path := range []string{"/debug/pprof/cmdline", "/api/v1/usage", "/docs"} {
		if status, _ := fetch(t, admin+path); status != http.StatusNotFound {
			t.Errorf("admin %s: status %d, want 404", path, status)
		}
	}
	_, text := fetch(t, admin+"/metrics")
	for _, want := range []string{
		"go_goroutines ", "go_gc_duration_seconds", "process_resident_memory_bytes ", "colaregistry_build_info{",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Error(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "colaregistry_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	s.stop(t)
	if _, err := http.Get(admin + "/healthz"); err == nil {
		t.Error("admin listener still responds after the server stopped")
	}
}

// TestAdminListenError checks that serve and import report an unusable admin address before they
// create any data.
func TestAdminListenError(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, address := range []string{"nowhere", "127.0.0.1:99999", busy.Addr().String()} {
		for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"import", "avas", "-"}} {
			h := embedded(t)
			out, err := command(append(append(args, h.flags()...), "--admin-listen", address)...).CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--admin-listen: listen on "+address) {
				t.Errorf("%v --admin-listen %s: error %v, want one that names the address:\n%s", args, address, err, out)
			}
			if entries, err := os.ReadDir(h.DataDir); err != nil || len(entries) > 0 {
				t.Errorf("%v --admin-listen %s created %v, %v", args, address, entries, err)
			}
		}
	}
}

// mustAdmin opens an admin listener in this process.
func mustAdmin(t *testing.T) (a *admin, address string) {
	t.Helper()
	env := &environment{Context: t.Context(), log: slog.New(slog.DiscardHandler)}
	a, err := openAdmin(env, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	return a, "http://" + a.address.String()
}

func TestAdminProbes(t *testing.T) {
	a, address := mustAdmin(t)
	check := func(path string, status int, body string) {
		t.Helper()
		if got, text := fetch(t, address+path); got != status || text != body+"\n" {
			t.Errorf("%s: status %d %q, want %d %q", path, got, text, status, body)
		}
	}
	check("/healthz", http.StatusOK, "ok")
	check("/readyz", http.StatusServiceUnavailable, "starting")
	var broken error
	a.setReady(func(context.Context) error { return broken })
	check("/readyz", http.StatusOK, "ok")
	broken = errors.New("database: gone")
	check("/readyz", http.StatusServiceUnavailable, "database: gone")
	check("/healthz", http.StatusOK, "ok")
}

// TestAdminCloseDuringProfile checks that a long-running profile does not block exit.
func TestAdminCloseDuringProfile(t *testing.T) {
	t.Parallel()
	a, address := mustAdmin(t)
	ended := make(chan error, 1)
	go func() {
		resp, err := http.Get(address + "/debug/pprof/goroutine?seconds=3600")
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		ended <- err
	}()
	time.Sleep(100 * time.Millisecond) // let the profile start
	a.close()
	<-ended
}

// TestNoAdmin checks that every listener method works on a nil listener.
func TestNoAdmin(t *testing.T) {
	a, err := openAdmin(&environment{Context: t.Context()}, "")
	if a != nil || err != nil {
		t.Fatalf("openAdmin without an address = %v, %v; want nil, nil", a, err)
	}
	a.register(newImportMetrics(nil))
	a.setReady(func(context.Context) error { return nil })
	if r := a.registerer(); r != nil {
		t.Errorf("registerer() = %v, want nil", r)
	}
	a.close()
}

func TestIsLoopback(t *testing.T) {
	for ip, want := range map[string]bool{
		"127.0.0.1": true, "127.8.8.8": true, "::1": true, "0.0.0.0": false, "::": false, "192.0.2.1": false,
	} {
		if got := isLoopback(&net.TCPAddr{IP: net.ParseIP(ip), Port: 1}); got != want {
			t.Errorf("isLoopback(%s) = %t, want %t", ip, got, want)
		}
	}
	if isLoopback(&net.UnixAddr{Name: "x"}) {
		t.Error("isLoopback(Unix socket) = true, want false")
	}
}
