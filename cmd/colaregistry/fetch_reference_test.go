package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/colaregistry/colaregistry/collect/reference"
	"github.com/colaregistry/colaregistry/internal/shareddata"
	"github.com/colaregistry/colaregistry/store"
)

// referenceSite serves files under their publishers' file names.
type referenceSite struct {
	*httptest.Server
	mu       sync.Mutex        // guards files, which the test changes between requests
	files    map[string]string // content by file name
	requests atomic.Int32
}

func newReferenceSite(t *testing.T, files map[string]string) *referenceSite {
	t.Helper()
	s := &referenceSite{files: files}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		s.mu.Lock()
		content, ok := s.files[path.Base(r.URL.Path)]
		s.mu.Unlock()
		if !ok || r.UserAgent() != userAgent("ops@example.com") {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, content)
	}))
	t.Cleanup(s.Close)
	return s
}

// remove makes the site return 404 for a file.
func (s *referenceSite) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, name)
}

// args returns the arguments of fetch reference that point every source at the site, and disable
// those whose files it lacks.
func (s *referenceSite) args(t *testing.T, h testRegistry, args ...string) []string {
	t.Helper()
	all := append([]string{"fetch", "reference", "--contact", "ops@example.com", "--backoff", "1ms"}, h.flags()...)
	for _, source := range reference.Sources() {
		address := ""
		if name := path.Base(source.URL); s.files[name] != "" {
			address = s.URL + "/" + name
		}
		all = append(all, "--source-url", source.Name+"="+address)
	}
	return append(all, args...)
}

func mustFetchReference(t *testing.T, args []string) (code int, out, errs string) {
	t.Helper()
	c := command(args...)
	var stdout, stderr output
	c.Stdout, c.Stderr = &stdout, &stderr
	c.Run()
	return c.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// TestFetchReference fetches a permit list and a file of processing times, and then fetches them
// again after the second file is removed.
func TestFetchReference(t *testing.T) {
	t.Parallel()
	for kind, empty := range map[string]func(*testing.T) testRegistry{"sqlite": embedded, "postgres": onPostgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := empty(t)
			web := newReferenceSite(t, map[string]string{
				"FRL_All_Permits.json": `{"Definitions":["Permit_Number","Owner_Name"],"Permit Data":[["CA-W-1","A"],["","B"],["CA-W-2","C"]]}`,
				"form_stats.csv":       "application_type,processing_time,processing_new,creation_date\nWine,5,11/14/2026,11/20/2026\n",
			})
			code, out, errs := mustFetchReference(t, web.args(t, h, "--dry-run"))
			if code != 0 || web.requests.Load() != 0 || !strings.Contains(out, web.URL+"/form_stats.csv") {
				t.Errorf("dry run: code %d, %d requests\n%s%s", code, web.requests.Load(), out, errs)
			}
			code, out, errs = mustFetchReference(t, web.args(t, h))
			if code != 0 || lastLine(out) != "sources=2 imported=2 skipped=0 failed=0 requests=2" ||
				!strings.Contains(out, "permits: read=3 added=2 changed=0 unchanged=0 rejected=1\n") ||
				!strings.Contains(out, "\nread=4 added=3 changed=0 unchanged=0 rejected=1\n") || !strings.Contains(out, "rejected: ") {
				t.Errorf("first run: code %d\n%s%s", code, out, errs)
			}
			web.remove("form_stats.csv")
			args := append(web.args(t, h), "--source-url", "formula-times="+web.URL+"/form_stats.csv")
			code, out, errs = mustFetchReference(t, args)
			if code != exitFailed || lastLine(out) != "sources=2 imported=0 skipped=1 failed=1 requests=2" ||
				!strings.Contains(errs, "failed: formula-times: ") || !strings.Contains(errs, "source-url formula-times=") {
				t.Errorf("with a missing file: code %d\n%s%s", code, out, errs)
			}
			code, out, _ = mustFetchReference(t, append(args, "--source", "permits", "--force"))
			if code != 0 || lastLine(out) != "sources=1 imported=1 skipped=0 failed=0 requests=1" {
				t.Errorf("one source: code %d\n%s", code, out)
			}
			checkReferenceStatus(t, h)
		})
	}
}

// checkReferenceStatus checks the status and the import history after TestFetchReference.
func checkReferenceStatus(t *testing.T, h testRegistry) {
	t.Helper()
	status := fetchStatusOf(t, h).Reference
	if len(status) != 2 || status[0].Source != "formula-times" || status[0].Failure == nil || status[0].CheckedAt == nil ||
		status[1].Source != "permits" || status[1].Failure != nil || status[1].URL == nil || status[1].ImportedAt == nil {
		t.Errorf("status = %+v", status)
	}
	text := mustRun(t, append([]string{"fetch", "status"}, h.flags()...)...)
	if !strings.Contains(text, "permits: checked 20") || !strings.Contains(text, "failed:       formula-times") {
		t.Errorf("status:\n%s", text)
	}
	st := mustOpen(t, h)
	defer st.Close()
	last, err := st.LastImports(t.Context())
	if err != nil || len(last) != 2 || last[0].Kind != "formula-processing-times" || last[1].Kind != "permittees" || last[1].Unchanged != 2 {
		t.Errorf("last imports = %+v, %v", last, err)
	}
}

// TestFetchReferenceRealFormats fetches files in the formats of their publishers.
func TestFetchReferenceRealFormats(t *testing.T) {
	t.Parallel()
	files, avas := map[string]string{}, ""
	for _, file := range shareddata.Files(t, "ttb/reference_formats/*") {
		files[filepath.Base(file)] = mustReadFile(t, file)
	}
	for _, file := range shareddata.Files(t, "ava/*.geojson") {
		avas += mustReadFile(t, file) + "\n"
	}
	files["avas_allboundaries.geojson"] = avas
	for _, source := range reference.Sources() { // the publication date is part of the file name
		if source.Name == "spirits-producers" {
			files[path.Base(source.URL)] = files["2012-2024_Report_DistillersProduction.json"]
		}
	}
	for kind, empty := range map[string]func(*testing.T) testRegistry{"sqlite": embedded, "postgres": onPostgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := empty(t)
			web := newReferenceSite(t, files)
			code, out, errs := mustFetchReference(t, web.args(t, h))
			if code != 0 || !strings.Contains(out, "rejected=0\nsources=7 imported=7 skipped=0 failed=0 requests=7") {
				t.Errorf("code %d\n%s%s", code, out, errs)
			}
			st := mustOpen(t, h)
			defer st.Close()
			sets, err := st.AllReferences(t.Context())
			if err != nil || len(sets.AVAs) < 10 || len(sets.ProductionReports) != 4 || len(sets.ProcessingTimes) != 1 || len(sets.FormulaProcessingTimes) != 2 {
				t.Errorf("%d AVAs, %d production reports, %d and %d processing times, %v", len(sets.AVAs), len(sets.ProductionReports),
					len(sets.ProcessingTimes), len(sets.FormulaProcessingTimes), err)
			}
			if sizes, err := st.Sizes(t.Context()); err != nil || sizes[store.ItemPermittee] != 2 {
				t.Errorf("%d permittees, %v, want 2", sizes[store.ItemPermittee], err)
			}
		})
	}
}

func mustReadFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReferenceSources checks which sources and addresses the flags select.
func TestReferenceSources(t *testing.T) {
	for _, test := range []struct {
		names, addresses []string
		want             []string // NAME=URL of some sources; nil for an error
	}{
		{nil, []string{"permits=https://example.com/a=b", "avas="}, []string{"permits=https://example.com/a=b", "avas=", "registration-times="}},
		{[]string{"avas", "permits"}, []string{"permits=http://127.0.0.1/a"}, []string{"permits=http://127.0.0.1/a"}},
		{[]string{"registration-times"}, []string{"registration-times=https://example.com/a"}, []string{"registration-times=https://example.com/a"}},
		{[]string{"registration-times"}, nil, nil},
		{[]string{"avas"}, []string{"avas="}, nil},
		{[]string{"labels"}, nil, nil},
		{nil, []string{"labels=https://example.com/"}, nil},
		{nil, []string{"permits"}, nil},
		{nil, []string{"permits=file:///etc/passwd"}, nil},
		{nil, []string{"permits=https://user:secret@example.com/"}, nil},
	} {
		flags := referenceFlags{SourceURL: test.addresses}
		sources, err := flags.sources("--", test.names)
		if (err == nil) != (test.want != nil) || test.names != nil && err == nil && len(sources) != len(test.names) {
			t.Errorf("sources(%q) with %q = %v, %v", test.names, test.addresses, sources, err)
		}
		var got []string
		for _, s := range sources {
			got = append(got, s.Name+"="+s.URL)
		}
		for _, want := range test.want {
			if !slices.Contains(got, want) {
				t.Errorf("sources(%q) with %q = %q, want %q", test.names, test.addresses, got, want)
			}
		}
	}
}

// TestServeFetchReference checks that a server with --fetch fetches reference data, and that a
// restart doesn't fetch it again.
func TestServeFetchReference(t *testing.T) {
	t.Parallel()
	h, labels := embedded(t), recentTTBSite(t, 5).Start()
	defer labels.Close()
	web := newReferenceSite(t, map[string]string{
		"form_stats.csv": "application_type,processing_time,processing_new,creation_date\nWine,5,11/14/2026,11/20/2026\n",
	})
	args := fetchFlags(t, h, labels.URL)
	args[slices.Index(args, "--no-fetch-reference")] = "--fetch-reference"
	for _, flag := range web.args(t, h) {
		if strings.Contains(flag, "=") {
			args = append(args, "--fetch-source-url", flag)
		}
	}
	for range 2 {
		s := startServer(t, h, args...)
		await(t, "the processing times are imported", func() bool {
			list := fetchStatusOf(t, h).Reference
			return len(list) == 1 && list[0].Source == "formula-times" && list[0].ImportedAt != nil
		})
		s.stop(t)
	}
	if n := web.requests.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// TestFetchReferenceDemo checks that the command refuses a registry with demo data.
func TestFetchReferenceDemo(t *testing.T) {
	t.Parallel()
	h := seeded(t)
	web := newReferenceSite(t, nil)
	if code, out, _ := mustFetchReference(t, web.args(t, h)); code == 0 || web.requests.Load() != 0 {
		t.Errorf("code %d\n%s", code, out)
	}
	st := mustOpen(t, h)
	defer st.Close()
	if sizes, err := st.Sizes(t.Context()); err != nil || sizes[store.ItemFetchSource] != 0 {
		t.Errorf("%d sources were claimed, %v", sizes[store.ItemFetchSource], err)
	}
}
