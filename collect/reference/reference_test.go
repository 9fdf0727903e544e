package reference

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/ingest"
	"github.com/colaregistry/colaregistry/internal/sqlitetest"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

// Files in TTB's formats.
const (
	permitList = "Permit_Number,Owner_Name,Operating_Name,Street,City,State,Prem_Zip,Prem_County,Industry_Type,New_Permit_Flag\n" +
		"CA-W-1,ESTATE LLC,,1 ST,NAPA,CA,94558,NAPA,Wine Producer,0\n"
	longerList = permitList + "CA-W-2,\"SECOND, INC.\",,2 ST,NAPA,CA,94558,NAPA,Wine Producer,1\n"
	formStats  = "application_type,processing_time,processing_new,creation_date\nWine,5,11/14/2026,11/20/2026\n"
)

// site is a website with one file at each path. It logs requests.
type site struct {
	*httptest.Server
	mu    sync.Mutex
	files map[string]http.HandlerFunc
	log   []http.Header
}

func newSite(t *testing.T, files map[string]http.HandlerFunc) *site {
	t.Helper()
	s := &site{files: files}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.log = append(s.log, r.Header)
		serve := s.files[r.URL.Path]
		s.mu.Unlock()
		if serve == nil {
			http.NotFound(w, r)
			return
		}
		serve(w, r)
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(s.Close)
	return s
}

// requests returns the headers of the requests since the last call.
func (s *site) requests() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

func (s *site) set(path string, serve http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = serve
}

// text serves content without validators.
func text(content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, content) }
}

// versioned serves content with an ETag.
func versioned(content, etag string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", etag)
		http.ServeContent(w, r, "file", time.Time{}, strings.NewReader(content))
	}
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

func (s *site) source(name string, kind ingest.Kind, path string) Source {
	return Source{Name: name, Kind: kind, URL: s.URL + path, Page: "https://example.com/"}
}

func mustOpen(t *testing.T) *sqlite.Store {
	t.Helper()
	return sqlitetest.Open(t, sqlite.Options{})
}

// run fetches sources and returns the report and the result of each.
func run(t *testing.T, st Store, o Options) (Report, map[string]Result) {
	t.Helper()
	results := map[string]Result{}
	o.UserAgent, o.Pause, o.Backoff = "test (+ops@example.com)", time.Nanosecond, time.Nanosecond
	o.Done = func(r Result) { results[r.Source.Name] = r }
	report, err := Run(t.Context(), st, o)
	if err != nil {
		t.Fatal(err)
	}
	return report, results
}

// state returns the stored state of a source.
func state(t *testing.T, st Store, source string) store.ReferenceFetch {
	t.Helper()
	list, err := st.ReferenceFetches(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(f store.ReferenceFetch) bool { return f.Source == source })
	if i < 0 {
		t.Fatalf("no state for %s in %+v", source, list)
	}
	return list[i]
}

// imports returns the number of recorded imports.
func imports(t *testing.T, st *sqlite.Store) int {
	t.Helper()
	sizes, err := st.Sizes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return sizes[store.ItemImport]
}

// TestUnchanged checks that a file is downloaded and imported again only if it has changed.
func TestUnchanged(t *testing.T) {
	st := mustOpen(t)
	web := newSite(t, map[string]http.HandlerFunc{"/list.csv": versioned(permitList, `"1"`), "/form.csv": text(formStats)})
	o := Options{Sources: []Source{
		web.source("permits", ingest.Permittees, "/list.csv"),
		{Name: "disabled", Kind: ingest.AVAs},
		web.source("times", ingest.FormulaProcessingTimes, "/form.csv"),
	}}
	report, results := run(t, st, o)
	want := Report{Sources: 2, Imported: 2, Requests: 2, Rows: ingest.Counts{Read: 2, Added: 2}}
	if diff := cmp.Diff(want, report); diff != "" || len(results) != 2 {
		t.Errorf("first run: %d results, (-want +got):\n%s", len(results), diff)
	}
	for _, h := range web.requests() {
		if h.Get("User-Agent") != "test (+ops@example.com)" || h.Get("If-None-Match") != "" {
			t.Errorf("headers of the first run: %v", h)
		}
	}
	if f := state(t, st, "permits"); f.ETag != `"1"` || f.URL != web.URL+"/list.csv" || f.ImportedAt.IsZero() {
		t.Errorf("state = %+v", f)
	}

	checked := map[string]time.Time{"permits": state(t, st, "permits").CheckedAt, "times": state(t, st, "times").CheckedAt}
	report, results = run(t, st, o)
	if diff := cmp.Diff(Report{Sources: 2, Unchanged: 2, Requests: 2}, report); diff != "" || imports(t, st) != 2 {
		t.Errorf("second run: %d imports, (-want +got):\n%s", imports(t, st), diff)
	}
	for name, at := range checked {
		if !state(t, st, name).CheckedAt.After(at) {
			t.Errorf("%s: the second check isn't recorded", name)
		}
	}
	if !results["permits"].NotModified || results["times"].NotModified {
		t.Errorf("results = %+v, want status 304 only for permits", results)
	}
	if h := web.requests(); h[0].Get("If-None-Match") != `"1"` {
		t.Errorf("headers of the second run: %v", h)
	}

	web.set("/list.csv", versioned(longerList, `"2"`))
	report, results = run(t, st, o)
	want = Report{Sources: 2, Imported: 1, Unchanged: 1, Requests: 2, Rows: ingest.Counts{Read: 2, Added: 1, Unchanged: 1}}
	if diff := cmp.Diff(want, report); diff != "" || !results["permits"].Imported || state(t, st, "permits").ETag != `"2"` {
		t.Errorf("third run (-want +got):\n%s", diff)
	}

	o.Force = true
	web.requests()
	report, _ = run(t, st, o)
	if h := web.requests(); report.Imported != 2 || h[0].Get("If-None-Match") != "" {
		t.Errorf("with Force: %+v, headers %v", report, h)
	}
}

// TestLastModified checks conditional requests for a file with a Last-Modified header but no ETag.
func TestLastModified(t *testing.T) {
	st := mustOpen(t)
	at := time.Date(2026, time.November, 20, 6, 0, 0, 0, time.UTC)
	web := newSite(t, map[string]http.HandlerFunc{"/a": func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "file", at, strings.NewReader(permitList))
	}})
	o := Options{Sources: []Source{web.source("permits", ingest.Permittees, "/a")}}
	run(t, st, o)
	if _, results := run(t, st, o); !results["permits"].NotModified {
		t.Errorf("results = %+v, want status 304", results)
	}
}

// TestCompressed checks that archives, compressed files and compressed responses are imported.
func TestCompressed(t *testing.T) {
	var zipped, packed bytes.Buffer
	archive, stream := zip.NewWriter(&zipped), gzip.NewWriter(&packed)
	f, err := archive.Create("lists/a.csv")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, longerList)
	fmt.Fprint(stream, longerList)
	if err := errors.Join(archive.Close(), stream.Close()); err != nil {
		t.Fatal(err)
	}
	for name, serve := range map[string]http.HandlerFunc{
		"zip": text(zipped.String()), "gzip": text(packed.String()),
		"Content-Encoding": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(packed.Bytes())
		},
	} {
		web := newSite(t, map[string]http.HandlerFunc{"/a": serve})
		report, results := run(t, mustOpen(t), Options{Sources: []Source{web.source("permits", ingest.Permittees, "/a")}})
		if report.Rows != (ingest.Counts{Read: 2, Added: 2}) {
			t.Errorf("%s: %+v, %v", name, report, results["permits"].Err)
		}
	}
}

// TestOtherAddress checks that validators from one address are not sent to another.
func TestOtherAddress(t *testing.T) {
	st := mustOpen(t)
	web := newSite(t, map[string]http.HandlerFunc{"/a": versioned(permitList, `"1"`), "/b": versioned(longerList, `"1"`)})
	run(t, st, Options{Sources: []Source{web.source("permits", ingest.Permittees, "/a")}})
	report, _ := run(t, st, Options{Sources: []Source{web.source("permits", ingest.Permittees, "/b")}})
	if report.Imported != 1 || state(t, st, "permits").URL != web.URL+"/b" {
		t.Errorf("report = %+v, want an import", report)
	}
}

// TestFailures checks that a failing source imports nothing, stores no validators and doesn't
// affect other sources, and that it is imported once it works.
func TestFailures(t *testing.T) {
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	}
	for name, test := range map[string]struct {
		serve    http.HandlerFunc
		requests int
	}{
		"web page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, permitList) // rejected for its type, although the content is valid
		}, 1},
		"web page without a type": {text("\n<!DOCTYPE html><html><body>Not found</body></html>"), 1},
		"empty":                   {text(""), 1},
		"whitespace":              {text("\n\n"), 1},
		"no rows":                 {text(strings.SplitAfter(permitList, "\n")[0]), 1},
		"other columns":           {text("a,b\n1,2\n"), 1},
		"other format":            {text(`{"Definitions":["Permit_Number"],"Permit Data":[["CA-W-1"]]}`), 1},
		"truncated JSON":          {text(`{"Definitions":["Permit_Number","Owner_Name"],"Permit Data":[["CA-W-1","A"],["CA-W-2","B`), 1},
		"invalid rows":            {text(longerList + ",A,,,,,,,,\n,B,,,,,,,,\n,C,,,,,,,,\n"), 1},
		"too large":               {text(permitList + strings.Repeat("CA-W-1,A,,,,,,,,\n", 1000)), 1},
		"aborted": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			fmt.Fprint(w, permitList)
		}, maxAttempts},
		"aborted, unknown length": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, permitList)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, maxAttempts},
		"gzip that ends early": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"))
		}, maxAttempts},
		"closed":              {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, maxAttempts},
		"404":                 {status(404), 1},
		"410":                 {status(410), 1},
		"403":                 {status(403), 1},
		"204":                 {status(204), 1},
		"unexpected 304":      {status(304), 1},
		"500":                 {status(500), maxAttempts},
		"429":                 {status(429), maxAttempts},
		"long Retry-After":    {status(503, "Retry-After", "3600"), 1},
		"redirect loop":       {redirect("/bad.csv"), maxRedirects + 1},
		"redirect to a file":  {redirect("file:///etc/passwd"), 1},
		"redirect to nowhere": {status(302), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := mustOpen(t)
			web := newSite(t, map[string]http.HandlerFunc{"/good.csv": text(formStats)})
			web.set("/bad.csv", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"1"`)
				w.Header().Set("Last-Modified", "Fri, 20 Nov 2026 06:00:00 GMT")
				test.serve(w, r)
			})
			o := Options{MaxBytes: 4 << 10, Sources: []Source{
				web.source("bad", ingest.Permittees, "/bad.csv"), web.source("good", ingest.FormulaProcessingTimes, "/good.csv"),
			}}
			report, results := run(t, st, o)
			if report.Failed != 1 || report.Imported != 1 || results["bad"].Err == nil || results["good"].Err != nil {
				t.Errorf("report = %+v, errors: %v and %v", report, results["bad"].Err, results["good"].Err)
			}
			if got := len(web.requests()) - 1; got != test.requests {
				t.Errorf("%d requests, want %d", got, test.requests)
			}
			f := state(t, st, "bad")
			if f.Failure == "" || f.FailedAt.IsZero() || !cmp.Equal(f.ReferenceContent, store.ReferenceContent{}) {
				t.Errorf("state = %+v", f)
			}
			if sizes, err := st.Sizes(t.Context()); err != nil || sizes[store.ItemPermittee] != 0 || imports(t, st) != 1 {
				t.Errorf("%d permittees, %d imports, want 0 and 1; %v",
					sizes[store.ItemPermittee], imports(t, st), err)
			}
			web.set("/bad.csv", versioned(permitList, `"1"`))
			if report, _ := run(t, st, o); report.Imported != 1 || state(t, st, "bad").Failure != "" {
				t.Errorf("once it works: %+v", report)
			}
		})
	}
}

// TestFailureKeepsContent checks that a failure keeps the validators of the last import.
func TestFailureKeepsContent(t *testing.T) {
	st := mustOpen(t)
	web := newSite(t, map[string]http.HandlerFunc{"/a": versioned(permitList, `"1"`)})
	o := Options{Sources: []Source{web.source("permits", ingest.Permittees, "/a")}}
	run(t, st, o)
	want := state(t, st, "permits").ReferenceContent
	web.set("/a", versioned("", `"2"`))
	run(t, st, o)
	if diff := cmp.Diff(want, state(t, st, "permits").ReferenceContent); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
}

// TestSomeRowsRejected checks that a few invalid rows don't prevent the import of the others.
func TestSomeRowsRejected(t *testing.T) {
	st := mustOpen(t)
	web := newSite(t, map[string]http.HandlerFunc{"/a": text(longerList + ",A,,,,,,,,\n")})
	report, _ := run(t, st, Options{Sources: []Source{web.source("permits", ingest.Permittees, "/a")}})
	want := Report{Sources: 1, Imported: 1, Requests: 1, Rows: ingest.Counts{Read: 3, Added: 2, Rejected: 1}}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// TestRetry checks that requests are retried after temporary failures, and that redirects are
// followed.
func TestRetry(t *testing.T) {
	st := mustOpen(t)
	failures := []http.HandlerFunc{status(503, "Retry-After", "0"), status(500), status(429)}
	web := newSite(t, map[string]http.HandlerFunc{
		"/a": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/b", http.StatusFound) },
		"/b": func(w http.ResponseWriter, r *http.Request) {
			if len(failures) > 0 {
				failures[0](w, r)
				failures = failures[1:]
				return
			}
			versioned(permitList, `"1"`)(w, r)
		},
	})
	o := Options{Sources: []Source{web.source("permits", ingest.Permittees, "/a")}}
	if report, results := run(t, st, o); report.Imported != 1 || report.Requests != 4 {
		t.Errorf("report = %+v, %v, want success after 4 attempts", report, results["permits"].Err)
	}
	if _, results := run(t, st, o); !results["permits"].NotModified {
		t.Errorf("results = %+v, want conditional requests after a redirect", results)
	}
}

// TestMinAge checks that a source is fetched at most once per MinAge, even after a failure.
func TestMinAge(t *testing.T) {
	st := mustOpen(t)
	web := newSite(t, map[string]http.HandlerFunc{"/a": text(permitList)})
	o := Options{MinAge: time.Hour, Sources: []Source{
		web.source("permits", ingest.Permittees, "/a"), web.source("missing", ingest.Permittees, "/b"),
	}}
	for i, want := range []Report{{Sources: 2, Imported: 1, Failed: 1, Requests: 2, Rows: ingest.Counts{Read: 1, Added: 1}}, {}} {
		if report, _ := run(t, st, o); report != want {
			t.Errorf("run %d: %+v, want %+v", i, report, want)
		}
	}
	o.MinAge = 0
	if report, _ := run(t, st, o); report.Sources != 2 {
		t.Errorf("without a minimum age: %+v, want 2 sources", report)
	}
}

// TestCancel checks that a canceled run ends at once and records no failure.
func TestCancel(t *testing.T) {
	for name, serve := range map[string]http.HandlerFunc{
		"while waiting to retry": status(503, "Retry-After", "60"),
		"while downloading": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, permitList)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			st := mustOpen(t)
			web := newSite(t, map[string]http.HandlerFunc{"/a": func(w http.ResponseWriter, r *http.Request) {
				time.AfterFunc(50*time.Millisecond, cancel)
				serve(w, r)
			}})
			_, err := Run(ctx, st, Options{
				UserAgent: "test", Sources: []Source{web.source("permits", ingest.Permittees, "/a")},
			})
			if f := state(t, st, "permits"); !errors.Is(err, context.Canceled) || f.Failure != "" || !f.CheckedAt.IsZero() {
				t.Errorf("Run = %v, state %+v", err, f)
			}
		})
	}
}

// brokenStore fails to record imports or to save fetches.
type brokenStore struct {
	Store
	record, save error
}

func (b brokenStore) SaveReferenceFetch(ctx context.Context, source string, c store.ReferenceContent, imported bool) error {
	if b.save != nil {
		return b.save
	}
	return b.Store.SaveReferenceFetch(ctx, source, c, imported)
}

func (b brokenStore) RecordImport(context.Context, cola.Import) error { return b.record }

// TestStoreFails checks that a store that is unavailable or can't save the validators ends the run,
// unlike an import that fails, and that the next run imports the file again.
func TestStoreFails(t *testing.T) {
	st := mustOpen(t)
	web := newSite(t, map[string]http.HandlerFunc{"/a": versioned(permitList, `"1"`)})
	source := web.source("permits", ingest.Permittees, "/a")
	o := Options{UserAgent: "test", Pause: time.Nanosecond, Sources: []Source{source, web.source("other", ingest.Permittees, "/a")}}
	broken := errors.New("broken")
	for want, b := range map[error]brokenStore{
		broken: {Store: st, save: broken}, store.ErrUnavailable: {Store: st, record: store.ErrUnavailable},
	} {
		if report, err := Run(t.Context(), b, o); !errors.Is(err, want) || report.Sources != 1 {
			t.Errorf("Run = %+v, %v, want %v", report, err, want)
		}
	}
	if report, err := Run(t.Context(), brokenStore{Store: st, record: broken}, o); err != nil || report.Failed != 2 {
		t.Errorf("imports that fail: %+v, %v, want 2 failures", report, err)
	}
	report, results := run(t, st, Options{Sources: []Source{source}})
	if report.Imported != 1 || results["permits"].Report.Unchanged != 1 {
		t.Errorf("next run: %+v, want an import without changes", report)
	}
}

// TestRedirects checks which redirects are allowed: from http to https, but not back.
func TestRedirects(t *testing.T) {
	request := func(url string) *http.Request { return httptest.NewRequest(http.MethodGet, url, nil) }
	for _, test := range []struct {
		from, to string
		allowed  bool
	}{
		{"https://a.example/", "https://b.example/", true},
		{"http://a.example/", "https://b.example/", true},
		{"http://a.example/", "http://b.example/", true},
		{"https://a.example/", "http://a.example/", false},
		{"https://a.example/", "ftp://a.example/", false},
	} {
		err := checkRedirect(request(test.to), []*http.Request{request(test.from)})
		if (err == nil) != test.allowed || err != nil && !errors.Is(err, errRedirect) {
			t.Errorf("redirect from %s to %s: %v, want allowed: %t", test.from, test.to, err, test.allowed)
		}
	}
}

// TestStalled checks that a stalled download is retried.
func TestStalled(t *testing.T) {
	web := newSite(t, map[string]http.HandlerFunc{"/a": func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, permitList)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}})
	o := Options{UserAgent: "test", Backoff: time.Nanosecond}
	o.setDefaults()
	c := newClient(&o)
	c.idle = 20 * time.Millisecond
	_, err := c.download(t.Context(), web.source("a", ingest.Permittees, "/a"), store.ReferenceContent{}, t.TempDir())
	if !errors.Is(err, errStalled) || c.requests != maxAttempts {
		t.Errorf("error = %v after %d requests", err, c.requests)
	}
}

// TestValidators checks that validators that are unsafe to send back are not stored.
func TestValidators(t *testing.T) {
	for value, want := range map[string]string{
		`"1"`: `"1"`, `W/"a b"`: `W/"a b"`, "": "", "\"\xff\"": "", "\"ü\"": "", strings.Repeat("x", maxValidator+1): "",
	} {
		r := &http.Response{Header: http.Header{"Etag": {value}}}
		if got := validator(r, "ETag"); got != want {
			t.Errorf("validator(%q) = %q, want %q", value, got, want)
		}
	}
}

// TestSources checks the table of sources.
func TestSources(t *testing.T) {
	names, urls := map[string]bool{}, map[string]bool{}
	for _, s := range Sources() {
		if names[s.Name] || urls[s.URL] && s.URL != "" {
			t.Errorf("%s occurs twice", s.Name)
		}
		names[s.Name], urls[s.URL] = true, true
		if !slices.Contains(ingest.Kinds(), s.Kind) {
			t.Errorf("%s: unknown kind %q", s.Name, s.Kind)
		}
		if s.URL != "" && (CheckURL(s.URL) != nil || !strings.HasPrefix(s.URL, "https://")) || CheckURL(s.Page) != nil {
			t.Errorf("%s: bad address %q or page %q", s.Name, s.URL, s.Page)
		}
	}
	for _, kind := range ingest.Kinds() {
		has := slices.ContainsFunc(Sources(), func(s Source) bool { return s.Kind == kind })
		if want := kind != ingest.Colas && kind != ingest.CategoryAliases; has != want {
			t.Errorf("source for %s: %t, want %t", kind, has, want)
		}
	}
}

func TestCheckURL(t *testing.T) {
	for address, want := range map[string]bool{
		"https://example.com/a.csv": true, "http://127.0.0.1:1/a?b=c": true,
		"": false, "a.csv": false, "ftp://example.com/a": false, "file:///a": false, "https://": false, "https://a b/": false,
		"https://user:password@example.com/": false, "//example.com/a": false,
	} {
		if err := CheckURL(address); (err == nil) != want {
			t.Errorf("CheckURL(%q) = %v, want valid: %t", address, err, want)
		}
	}
}
