package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/ingest"
	"github.com/colaregistry/colaregistry/internal/demo"
)

// TestImportMetrics checks the metrics after each progress report. The import has three sources,
// one of unknown size.
func TestImportMetrics(t *testing.T) {
	m := newImportMetrics([]ingest.Source{{Size: 100}, {Size: -1}, {Size: 50}})
	counts := func(added, changed, unchanged, rejected int) ingest.Counts {
		return ingest.Counts{
			Read:  added + changed + unchanged + rejected,
			Added: added, Changed: changed, Unchanged: unchanged, Rejected: rejected,
		}
	}
	steps := []struct {
		progress ingest.Progress
		want     []string // expected metric lines
	}{
		{
			ingest.Progress{},
			[]string{"rows_read_total 0", "read_bytes_total 0", "sources_done 0", "sources 3", "source_bytes 150"},
		},
		{
			ingest.Progress{Index: 0, BytesRead: 60, Counts: counts(5, 0, 0, 1)},
			[]string{"rows_read_total 6", `rows_total{outcome="added"} 5`, `rows_total{outcome="rejected"} 1`, "read_bytes_total 60", "sources_done 0"},
		},
		{
			ingest.Progress{Index: 0, BytesRead: 100, Counts: counts(8, 0, 0, 1), Done: true},
			[]string{"read_bytes_total 100", "sources_done 1"},
		},
		{
			ingest.Progress{Index: 1, BytesRead: 7, Counts: counts(8, 2, 0, 1)},
			[]string{`rows_total{outcome="changed"} 2`, "read_bytes_total 107", "sources_done 1"},
		},
		{
			ingest.Progress{Index: 2, BytesRead: 50, Counts: counts(8, 2, 3, 1), Done: true},
			[]string{"rows_read_total 14", `rows_total{outcome="unchanged"} 3`, "read_bytes_total 157", "sources_done 3"},
		},
		// production reports, which are stored at the end
		{
			ingest.Progress{Index: 2, BytesRead: 50, Counts: counts(9, 2, 3, 1), Done: true},
			[]string{`rows_total{outcome="added"} 9`, "read_bytes_total 157", "sources_done 3"},
		},
	}
	for i, step := range steps {
		m.set(step.progress)
		text := exposition(m)
		for _, line := range step.want {
			if !strings.Contains(text, "\ncolaregistry_import_"+line+"\n") {
				t.Errorf("step %d: no %s in\n%s", i, line, text)
			}
		}
	}
	if problems, err := testutil.CollectAndLint(m); err != nil || len(problems) > 0 {
		t.Errorf("CollectAndLint = %v, %v; want no problems", problems, err)
	}
}

// exposition returns a collector's metrics in the Prometheus text format.
func exposition(c prometheus.Collector) string {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	return w.Body.String()
}

// TestImportMetricsWhileRunning checks the metrics of an import while it runs.
func TestImportMetricsWhileRunning(t *testing.T) {
	t.Parallel()
	address, end := startImport(t, embedded(t))
	now := scrape(t, address)
	read, added := now["colaregistry_import_rows_read_total"], now[`colaregistry_import_rows_total{outcome="added"}`]
	if read != added || read > 5_000 || now["colaregistry_import_sources"] != 1 ||
		now["colaregistry_import_sources_done"] != 0 || now["colaregistry_import_read_bytes_total"] <= 0 {
		t.Errorf("%v rows read, %v added: %v",
			read, added, increases(nil, now, "import_sources", "import_sources_done", "import_read_bytes_total"))
	}
	if status, text := fetch(t, address+"/readyz"); status != http.StatusOK {
		t.Errorf("/readyz: status %d, want 200: %s", status, text)
	}
	end()
}

var printedMetrics = regexp.MustCompile(`Metrics at (http://\S+)/metrics`)

// startImport imports labels from a pipe. Once rows have been read, it returns the address that
// serves the import's metrics, and end, which closes the pipe and checks the result.
func startImport(t *testing.T, h testRegistry) (address string, end func()) {
	t.Helper()
	var labels bytes.Buffer
	if err := demo.WriteColas(&labels, demo.Options{Colas: 5_000, Seed: 1, AsOf: cola.NewDate(2026, 11, 20)}); err != nil {
		t.Fatal(err)
	}
	c := command(slices.Concat([]string{"import", "--admin-listen", "127.0.0.1:0"},
		h.flags(), []string{"colas", "-"})...)
	var out, errs output
	c.Stdout, c.Stderr = &out, &errs
	pipe, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	written := make(chan error, 1)
	go func() {
		_, err := pipe.Write(labels.Bytes())
		written <- err
	}()
	eventually(t, func() bool {
		m := printedMetrics.FindStringSubmatch(errs.String())
		if m == nil {
			return false
		}
		address = m[1]
		return scrape(t, address)["colaregistry_import_rows_read_total"] > 0
	})
	return address, func() {
		err := errors.Join(<-written, pipe.Close(), c.Wait())
		if err != nil || !strings.HasPrefix(lastLine(out.String()), "read=5000 ") ||
			!strings.HasSuffix(out.String(), " rejected=0\n") {
			t.Errorf("%v\n%s%s", err, out.String(), errs.String())
		}
	}
}
