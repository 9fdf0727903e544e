package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/collect"
	"github.com/colaregistry/colaregistry/internal/ttbsite"
	"github.com/colaregistry/colaregistry/store"
)

// mustFetch runs fetch ttb against a site and returns its exit code and output.
func mustFetch(t *testing.T, site *ttbsite.Site, h testRegistry, args ...string) (code int, out, errs string) {
	t.Helper()
	server := site.Start()
	defer server.Close()
	c := command(append(append([]string{
		"fetch", "ttb", "--from", "2026-01-05", "--to", "2026-01-11", "--contact", "ops@example.com",
		"--base-url", server.URL + ttbsite.Path, "--rate", "500", "--backoff", "5ms",
	}, h.flags()...), args...)...)
	var stdout, stderr output
	c.Stdout, c.Stderr = &stdout, &stderr
	c.Run()
	return c.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// ttbLast is the last completion date on the test sites; the first is 2026-01-05.
var ttbLast = cola.NewDate(2026, time.January, 11)

func mustTTBSite(t *testing.T, o ttbsite.Options) *ttbsite.Site {
	t.Helper()
	site, err := ttbsite.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return site
}

// TestFetch checks exit codes, reports and the status of runs that succeed, fail and are blocked.
func TestFetch(t *testing.T) {
	t.Parallel()
	for kind, empty := range map[string]func(*testing.T) testRegistry{"sqlite": embedded, "postgres": onPostgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := empty(t)
			site := mustTTBSite(t, ttbsite.Options{Labels: 30, Last: ttbLast})
			for range 10 {
				site.Inject(ttbsite.None)
			}
			site.Inject(ttbsite.Block)
			code, _, errs := mustFetch(t, site, h)
			if code != exitBlocked || !strings.Contains(errs, "4711471147114711") || len(site.Log()) != 11 {
				t.Errorf("blocked: code %d after %d requests\n%s", code, len(site.Log()), errs)
			}
			if status := fetchStatusOf(t, h); status.Blocked == nil || status.BlockedAt == nil || status.RateLimit != 500 {
				t.Errorf("status = %+v, want a blocked site", status)
			}
			code, out, errs := mustFetch(t, site, h)
			if code != 0 || !strings.Contains(out, "incomplete=0") || !strings.Contains(out, "failed=0") {
				t.Errorf("code %d\n%s%s", code, out, errs)
			}
			if status := fetchStatusOf(t, h); status.Blocked != nil || status.Days["complete"] != 7 || status.FirstDay.String() != "2026-01-05" ||
				status.Requests != int64(len(site.Log())) || status.LastRequestAt == nil || status.SecondsLeft != 0 {
				t.Errorf("status = %+v, want complete days", status)
			}
			if got := site.Log()[0].UserAgent; !strings.Contains(got, "(+ops@example.com)") || !strings.HasPrefix(got, "colaregistry/") {
				t.Errorf("User-Agent = %q", got)
			}
		})
	}
}

// TestFetchFailures checks that failures are listed and change the exit code.
func TestFetchFailures(t *testing.T) {
	t.Parallel()
	h := embedded(t)
	site := mustTTBSite(t, ttbsite.Options{Labels: 30, Busy: 12, Limit: 10, Last: ttbLast})
	labels := site.Labels()
	for _, l := range labels {
		site.Change(l.ID, func(l *ttbsite.Label) { l.Class.ID, l.Class.Name = "80", "TABLE RED WINE" }) // can't be split
	}
	code, out, errs := mustFetch(t, site, h)
	if code != exitFailed || !strings.Contains(out, "incomplete=1") || !strings.Contains(errs, "incomplete: 2026-01-") {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
	status := fetchStatusOf(t, h)
	if len(status.Incomplete) != 1 || status.LastFailure == nil {
		t.Errorf("status = %+v, want an incomplete day", status)
	}
	for _, l := range labels {
		site.Change(l.ID, func(changed *ttbsite.Label) { changed.Class = l.Class })
	}
	if code, out, errs = mustFetch(t, site, h); code != 0 {
		t.Errorf("second run: code %d\n%s%s", code, out, errs)
	}
}

// TestFetchDemo checks that runs and dry runs reject a registry with demo labels without sending a
// request.
func TestFetchDemo(t *testing.T) {
	t.Parallel()
	for kind, registry := range map[string]func(*testing.T) testRegistry{"sqlite": demoFile, "postgres": withDemoData} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := registry(t)
			site := mustTTBSite(t, ttbsite.Options{Labels: 3, Last: ttbLast})
			for _, args := range [][]string{nil, {"--dry-run"}} {
				code, out, errs := mustFetch(t, site, h, args...)
				if code == 0 || !strings.Contains(errs, "demo labels") || len(site.Log()) > 0 {
					t.Errorf("fetch %v: code %d after %d requests\n%s%s", args, code, len(site.Log()), out, errs)
				}
			}
		})
	}
}

// TestFetchRate checks the bounds of --rate, whose values must be representable as intervals.
func TestFetchRate(t *testing.T) {
	for rate, want := range map[float64]bool{1e-10: false, 0: false, -1: false, 0.001: true, 5: true, 5.1: false} {
		c := collectorFlags{Contact: "ops@example.com", Rate: rate, Details: collect.None, Images: collect.None}
		if err := c.check("--"); (err == nil) != want {
			t.Errorf("--rate %g: %v, want valid: %t", rate, err, want)
		}
	}
}

// TestFetchStatusPause checks that the status shows a pause and the time of the next request until
// the pause ends.
func TestFetchStatusPause(t *testing.T) {
	for _, paused := range []bool{true, false} {
		until := time.Now().Add(-time.Hour)
		if paused {
			until = time.Now().Add(time.Hour)
		}
		status := store.FetchStatus{Requests: 1, LastRequest: until, PausedUntil: until}
		var text strings.Builder
		printFetchStatus(&text, status, time.Now(), 0)
		if got := newFetchStatusJSON(status, time.Now(), 0).PausedUntil; (got != nil) != paused {
			t.Errorf("paused_until = %v, want it set: %t", got, paused)
		}
		if s := text.String(); strings.Contains(s, "paused:") != paused || strings.Contains(s, "next at") != paused {
			t.Errorf("want a pause: %t, got\n%s", paused, s)
		}
	}
}

// TestFetchStatusOfFailedLabels checks that the status names failed labels, and shows the time left
// only while there is work.
func TestFetchStatusOfFailedLabels(t *testing.T) {
	status := store.FetchStatus{
		Interval: time.Second, Labels: map[string]int{store.FetchFailed: 1},
		Failed: []store.FailedLabel{{TTBID: 26_001_001_000_001, Failure: "no form"}},
	}
	for _, pending := range []int{0, 3} {
		status.Labels[store.FetchPending] = pending
		var text strings.Builder
		printFetchStatus(&text, status, time.Now(), status.Left())
		if s := text.String(); !strings.Contains(s, "26001001000001: no form") || strings.Contains(s, "time left") != (pending > 0) {
			t.Errorf("status with %d pending labels:\n%s", pending, s)
		}
	}
	out, err := json.Marshal(newFetchStatusJSON(status, time.Now(), status.Left()))
	if want := `"failed_labels":[{"ttb_id":"26001001000001","failure":"no form"}]`; err != nil || !strings.Contains(string(out), want) {
		t.Errorf("JSON = %s, %v; want %s", out, err, want)
	}
}

// TestFetchStatusOfImages checks that the status counts labels with missing images, but leaves them
// out of the time left, because they may not be due for weeks.
func TestFetchStatusOfImages(t *testing.T) {
	status := store.FetchStatus{Interval: time.Second, Labels: map[string]int{store.FetchImages: 2}}
	var text strings.Builder
	printFetchStatus(&text, status, time.Now(), status.Left())
	j := newFetchStatusJSON(status, time.Now(), status.Left())
	if !strings.Contains(text.String(), "2 with missing images") || j.Labels["images"] != 2 || j.SecondsLeft != 0 {
		t.Errorf("status = %+v,\n%s\nwant 2 labels and no time left", j, text.String())
	}
}

// TestRequestRate checks that rates are rounded: the store rounds intervals up to microseconds.
func TestRequestRate(t *testing.T) {
	for _, want := range []float64{0, 0.001, 0.3, 0.7, 1, 3, 5} {
		interval := time.Duration(0)
		if want > 0 {
			interval = (time.Duration(float64(time.Second)/want) + time.Microsecond - 1).Truncate(time.Microsecond)
		}
		if got := requestRate(interval); got != want {
			t.Errorf("rate for an interval of %v = %v, want %v", interval, got, want)
		}
	}
}

// TestFetchStops checks that a signal ends the command cleanly.
func TestFetchStops(t *testing.T) {
	t.Parallel()
	h := embedded(t)
	site := mustTTBSite(t, ttbsite.Options{Labels: 30, Last: ttbLast})
	server := site.Start()
	defer server.Close()
	c := command(append([]string{
		"fetch", "ttb", "--follow", "--from", "2026-01-05", "--contact", "ops@example.com", "--details", "all",
		"--base-url", server.URL + ttbsite.Path, "--rate", "5",
	}, h.flags()...)...)
	var errs output
	c.Stderr = &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for len(site.Log()) < 2 {
		time.Sleep(10 * time.Millisecond)
	}
	c.Process.Signal(syscall.SIGTERM)
	if err := c.Wait(); err != nil {
		t.Errorf("fetch: %v\n%s", err, errs.String())
	}
	n := len(site.Log())
	if status := fetchStatusOf(t, h); status.Days["pending"] == 0 || n > 10 {
		t.Errorf("status = %+v after %d requests, want pending days", status, n)
	}
	if code, _, errs := mustFetch(t, site, h); code != 0 { // would wait if the first run had not released its claims
		t.Errorf("second run: code %d\n%s", code, errs)
	}
}

func fetchStatusOf(t *testing.T, h testRegistry) (status fetchStatusJSON) {
	t.Helper()
	out := mustRun(t, append([]string{"fetch", "status", "--json"}, h.flags()...)...)
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		t.Fatalf("fetch status: %v\n%s", err, out)
	}
	return status
}
