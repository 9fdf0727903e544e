package collect_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/collect"
	"github.com/colaregistry/colaregistry/internal/ttbsite"
	"github.com/colaregistry/colaregistry/store"
)

// TestRun collects everything, including a day that must be split, whichever way the site compares
// class/type codes. A second run has nothing to do.
func TestRun(t *testing.T) {
	for name, numeric := range map[string]bool{"text": false, "numbers": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mustSite(t, ttbsite.Options{Labels: 120, Busy: 60, Limit: 30, Ambiguous: 5, NumericClasses: numeric})
			st := mustStore(t)
			report := mustRun(t, st, s.options())
			s.checkLabels(t, st, true)
			checkEnded(t, st)
			s.checkRequests(t, 0)
			requests := int64(len(s.Log()))
			if report.Labels != 120 || report.Windows < 7 || report.Requests != requests || len(report.Rejections) != 5 {
				t.Errorf("report = %+v", report)
			}
			if arrivals(t, st) != 0 {
				t.Error("labels of an initial load counted as arrivals")
			}
			last := mustLastImport(t, st)
			if last.Failed || last.Read != 120 || last.Added != 5 || last.Kind != "colas" {
				t.Errorf("last import = %+v, want the import of the forms", last)
			}
			mustRun(t, st, s.options())
			if n := int64(len(s.Log())); n != report.Requests {
				t.Errorf("a second run sent %d requests", n-report.Requests)
			}
		})
	}
}

// TestDetails collects only exports, then the labels without detail. Labels whose rows can't be
// read stay in the queue in the meantime.
func TestDetails(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 60, Ambiguous: 4})
	st := mustStore(t)
	o := s.options()
	o.Details = collect.None
	mustRun(t, st, o)
	if n := s.count(ttbsite.Form); n != 0 || mustStatus(t, st).Labels[store.FetchPending] != 4 {
		t.Errorf("%d forms fetched, labels %v, want none fetched and 4 queued", n, mustStatus(t, st).Labels)
	}
	if last := mustLastImport(t, st); last.Failed || last.Read != 60 || last.Added != 56 {
		t.Errorf("last import = %+v, want the import of the windows", last)
	}
	o.Details = collect.New
	if report := mustRun(t, st, o); report.Labels != 4 {
		t.Errorf("%d labels fetched, want those whose rows could not be read", report.Labels)
	}
	o.Details = collect.All
	mustRun(t, st, o)
	s.checkLabels(t, st, true)
	checkEnded(t, st)
	s.checkRequests(t, 2) // two more sessions
}

// TestChangedLabel queries recent days again. Only labels with a changed completion date are
// fetched.
func TestChangedLabel(t *testing.T) {
	t.Parallel()
	today := cola.DateOf(time.Now())
	s := mustSite(t, ttbsite.Options{Labels: 50, First: today.AddDays(-6), Last: today})
	st := mustStore(t)
	o := s.options()
	mustRun(t, st, o)
	if n := arrivals(t, st); n != 0 {
		t.Errorf("%d labels of an initial load arrived", n)
	}
	forms, searches := s.count(ttbsite.Form), s.count(ttbsite.Search)
	mustRun(t, st, o)
	if n := s.count(ttbsite.Search); n != searches {
		t.Errorf("%d searches soon after the first run, want none", n-searches)
	}
	labels := s.Labels()
	changed := labels[slices.IndexFunc(labels, func(l ttbsite.Label) bool { return l.Completed < today })].ID
	s.Change(changed, func(l *ttbsite.Label) { l.Status, l.Completed = "SURRENDERED", today })
	o.Now = func() time.Time { return time.Now().Add(13 * time.Hour) }
	mustRun(t, st, o)
	if n := s.count(ttbsite.Search); n != searches+7 {
		t.Errorf("%d searches 13 hours later, want 7", n-searches)
	}
	if n := s.count(ttbsite.Form); n != forms+1 {
		t.Errorf("%d forms fetched 13 hours later, want 1", n-forms)
	}
	s.checkLabels(t, st, true)
	if label, err := st.Cola(t.Context(), changed); err != nil || label.ApplicationStatus != "surrendered" {
		t.Errorf("changed label has status %q, error %v", label.ApplicationStatus, err)
	}
}

// TestArrivals checks which labels arrive in a registry that already has labels.
func TestArrivals(t *testing.T) {
	today := cola.DateOf(time.Now())
	for name, test := range map[string]struct {
		age     int
		history bool
		want    int
	}{
		"new":     {age: 6, want: 20},
		"history": {age: 6, history: true},
		"old":     {age: collect.HistoryDays + 1 + 6},
	} {
		t.Run(name, func(t *testing.T) {
			first := today.AddDays(-test.age)
			s := mustSite(t, ttbsite.Options{Labels: 20, First: first, Last: first.AddDays(6)})
			st := mustStore(t)
			other := mustSite(t, ttbsite.Options{Labels: 1, Seed: 7})
			mustRun(t, st, other.options())
			o := s.options()
			o.History = test.history
			mustRun(t, st, o)
			if n := arrivals(t, st); n != test.want {
				t.Errorf("%d labels arrived, want %d", n, test.want)
			}
		})
	}
}

// TestFailures collects from a site with every kind of temporary failure.
func TestFailures(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 150, Busy: 60, Limit: 30, Faults: ttbsite.Faults{Rate: 0.1, ExpireAfter: 25}})
	s.Inject(ttbsite.ServerError, ttbsite.Unavailable, ttbsite.Truncated, ttbsite.None,
		ttbsite.Partial, ttbsite.ErrorPage, ttbsite.TooMany)
	st := mustStore(t)
	report := mustRun(t, st, s.options())
	s.checkLabels(t, st, true)
	checkEnded(t, st)
	sessions := s.count(ttbsite.SearchPage)
	s.checkRequests(t, 2*sessions) // if a session expires before the export, the search is repeated
	if len(report.Failed)+len(report.Incomplete) > 0 {
		t.Errorf("report = %+v", report)
	}
}

// TestIncomplete checks a day with labels that can't be listed, and a label without a page.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 30, Busy: 12, Limit: 10})
	for _, l := range s.Labels() {
		s.Change(l.ID, func(l *ttbsite.Label) { l.Class.ID, l.Class.Name = "80", "TABLE RED WINE" }) // can't be split
	}
	const missing cola.TTBID = 25001001009999
	st := mustStore(t)
	if err := st.QueueLabels(t.Context(), []store.FetchLabel{{TTBID: missing}}); err != nil {
		t.Fatal(err)
	}
	report := mustRun(t, st, s.options())
	if report.IncompleteDays != 1 || len(report.Incomplete) == 0 || report.Incomplete[0].Failure == "" {
		t.Errorf("incomplete windows = %+v", report.Incomplete)
	}
	if len(report.Failed) != 1 || report.Failed[0].TTBID != missing {
		t.Errorf("failed labels = %+v, want %s", report.Failed, missing)
	}
	if last := mustLastImport(t, st); !last.Failed {
		t.Errorf("last import = %+v, want a failed one", last)
	}
	searches := s.count(ttbsite.Search)
	mustRun(t, st, s.options())
	if s.count(ttbsite.Search) == searches {
		t.Error("a second run did not query the incomplete day again")
	}
}

// TestShortExport checks that a day is not complete until its export contains all rows.
func TestShortExport(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ short, incomplete int }{{short: 3}, {short: 1000, incomplete: 1}} {
		s := mustSite(t, ttbsite.Options{Labels: 20, First: cola.NewDate(2026, 1, 5), Last: cola.NewDate(2026, 1, 5)})
		short := test.short
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if short == 0 || !strings.HasSuffix(r.URL.Path, "publicSaveSearchResultsToFile.do") {
				s.ServeHTTP(w, r)
				return
			}
			short--
			r.Header.Del("Accept-Encoding")
			answer := httptest.NewRecorder()
			s.ServeHTTP(answer, r)
			rows := answer.Body.String()
			w.Write([]byte(rows[:strings.LastIndex(strings.TrimSpace(rows), "\n")+1]))
		}))
		defer server.Close()
		o := s.options()
		o.Site.BaseURL = server.URL + ttbsite.Path
		st := mustStore(t)
		report := mustRun(t, st, o)
		if report.IncompleteDays != test.incomplete || report.Windows != 1-test.incomplete {
			t.Errorf("%d short exports: report = %+v, want %d incomplete days", test.short, report, test.incomplete)
		}
		if report.Labels != 20-test.incomplete {
			t.Errorf("%d short exports: %d labels fetched, want %d", test.short, report.Labels, 20-test.incomplete)
		}
	}
}

// TestBacklogWithoutPage checks that a stored label that is missing from the site is tried only
// once per run.
func TestBacklogWithoutPage(t *testing.T) {
	t.Parallel()
	s, other := mustSite(t, ttbsite.Options{Labels: 3}), mustSite(t, ttbsite.Options{Labels: 8, Seed: 7})
	st := mustStore(t)
	o := other.options()
	o.Details = collect.None
	mustRun(t, st, o)
	o = s.options()
	o.Details = collect.All
	ctx := afterRequests(t, &o, 100) // in case the run never ends
	report, err := collect.Run(ctx, st, o)
	if err != nil || len(report.Failed) != 8 || report.Requests != 1+8*2+1 {
		t.Errorf("report = %+v, %v; want 8 failed labels after a session, 2 requests each and a probe", report, err)
	}
}

// mustBreak returns the URL of a server that responds like the site, except that the pages of some
// labels fail until repair is called.
func (s *site) mustBreak(t *testing.T, ids ...cola.TTBID) (url string, repair func()) {
	t.Helper()
	var repaired atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, ok := cola.ParseTTBID(r.URL.Query().Get("ttbid"))
		if ok && slices.Contains(ids, id) && !repaired.Load() {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + ttbsite.Path, func() { repaired.Store(true) }
}

// TestGivingUp checks that labels whose pages keep failing are not mistaken for a site outage. One
// run fetches all other labels and gives up on these; the next run retries them.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 30})
	broken := []cola.TTBID{s.Labels()[0].ID, s.Labels()[10].ID, s.Labels()[20].ID}
	st, o := mustStore(t), s.options()
	url, repair := s.mustBreak(t, broken...)
	o.Site.BaseURL = url
	report := mustRun(t, st, o)
	failed := mustStatus(t, st).Labels[store.FetchFailed]
	if len(report.Failed) != 3 || failed != 3 || report.Labels != 27 {
		t.Errorf("report = %+v, want 27 labels and 3 failed ones", report)
	}
	repair()
	o.Details = collect.None
	mustRun(t, st, o)
	if status := mustStatus(t, st); status.Labels[store.FetchFailed] != 3 {
		t.Errorf("labels = %v without details, want 3 failed ones", status.Labels)
	}
	o.Details = collect.New
	mustRun(t, st, o)
	s.checkLabels(t, st, true)
	checkEnded(t, st)
}

// TestSiteDown checks that a site outage doesn't fail any day or label, and that a run ends if the
// outage lasts.
func TestSiteDown(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 20})
	s.Inject(ttbsite.None)
	for range 25 {
		s.Inject(ttbsite.ServerError)
	}
	st := mustStore(t)
	o := s.options()
	o.Backoff, o.MaxBackoff = 50*time.Millisecond, 100*time.Millisecond // longer than it takes to make a claim
	report := mustRun(t, st, o)
	s.checkLabels(t, st, true)
	checkEnded(t, st)
	if len(report.Failed)+report.IncompleteDays > 0 {
		t.Errorf("report = %+v", report)
	}
	s, st = mustSite(t, ttbsite.Options{Labels: 20}), mustStore(t)
	for range 100 {
		s.Inject(ttbsite.ServerError)
	}
	o.Site = s.options().Site
	report, err := collect.Run(t.Context(), st, o)
	windows := mustStatus(t, st).Windows
	if n := len(s.Log()); err == nil || n > 60 || report.IncompleteDays > 0 || windows[store.FetchPending] != 7 {
		t.Errorf("Run ended after %d requests, error = %v, windows %v; want 7 pending ones", n, err, windows)
	}
}

// TestBlocked checks that a block page stops all collectors until one is started again.
func TestBlocked(t *testing.T) {
	for _, fault := range []ttbsite.Fault{ttbsite.Block, ttbsite.Challenge} {
		t.Run(string(fault), func(t *testing.T) {
			s := mustSite(t, ttbsite.Options{Labels: 40})
			for range 20 {
				s.Inject(ttbsite.None)
			}
			s.Inject(fault)
			st := mustStore(t)
			report, err := collect.Run(t.Context(), st, s.options())
			var blocked store.SiteBlockedError
			if !errors.As(err, &blocked) || report.Requests != 21 {
				t.Fatalf("Run sent %d requests, error = %v, want a SiteBlockedError after 21", report.Requests, err)
			}
			_, err = st.ReserveRequest(t.Context(), time.Second)
			if !errors.As(err, &blocked) || mustStatus(t, st).Blocked == "" {
				t.Errorf("another collector's request: %v", err)
			}
			if last := mustLastImport(t, st); !last.Failed {
				t.Errorf("last import = %+v, want a failed one", last)
			}
			mustRun(t, st, s.options())
			s.checkLabels(t, st, true)
			s.checkRequests(t, 1)
		})
	}
}

// TestBlockedWhileIdle checks that a collector waiting for others to finish stops when the site
// blocks them.
func TestBlockedWhileIdle(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 5, Last: cola.NewDate(2026, 1, 5), First: cola.NewDate(2026, 1, 5)})
	st := mustStore(t)
	if _, err := st.PlanWindows(t.Context(), s.first, s.last, time.Now(), false); err != nil {
		t.Fatal(err)
	}
	if _, err := st.ClaimWindow(t.Context(), s.first, s.last, time.Hour); err != nil {
		t.Fatal(err)
	}
	o := s.options()
	o.Progress = func(collect.Progress) {
		if err := st.BlockSite(t.Context(), "blocked"); err != nil {
			t.Error(err)
		}
	}
	_, err := collect.Run(t.Context(), st, o)
	if !errors.As(err, new(store.SiteBlockedError)) || len(s.Log()) > 0 {
		t.Errorf("Run = %v after %d requests, want a SiteBlockedError", err, len(s.Log()))
	}
}

// TestStop checks that a stopped run releases its claim and that the next run continues.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{1, 3, 8, 20} {
		s := mustSite(t, ttbsite.Options{Labels: 40})
		st := mustStore(t)
		o := s.options()
		report, err := collect.Run(afterRequests(t, &o, n), st, o)
		if err != nil || report.Requests < n || report.Requests > n+2 {
			t.Fatalf("stopped run sent %d requests, error = %v, want about %d", report.Requests, err, n)
		}
		mustRun(t, st, s.options()) // would wait for a claim that was not released
		s.checkLabels(t, st, true)
		s.checkRequests(t, 1)
	}
}

// TestStopWhileWaiting checks that a stop doesn't wait for a request's slot.
func TestStopWhileWaiting(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 5})
	st := mustStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o, sent := s.options(), 0
	o.Progress = func(collect.Progress) {
		if sent > 0 {
			return
		}
		sent = len(s.Log())
		if err := st.PauseRequests(t.Context(), time.Hour); err != nil {
			t.Error(err)
		}
		time.AfterFunc(50*time.Millisecond, cancel)
	}
	report, err := collect.Run(ctx, st, o)
	if err != nil || report.Requests != int64(sent) || len(s.Log()) != sent {
		t.Errorf("Run = %+v, %v, want %d requests", report, err, sent)
	}
	if _, err := st.ClaimWindow(t.Context(), s.first, s.last, time.Minute); err != nil {
		t.Errorf("ClaimWindow after the stop: %v", err)
	}
}

// TestStartKeepsPause checks that a new run waits for the end of a pause, such as another process's
// quiet hours. If the site is blocked, the run clears both the block and the pause.
func TestStartKeepsPause(t *testing.T) {
	t.Parallel()
	for _, blocked := range []bool{false, true} {
		s := mustSite(t, ttbsite.Options{Labels: 5})
		st := mustStore(t)
		if err := st.PauseRequests(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		if blocked {
			if err := st.BlockSite(t.Context(), "blocked"); err != nil {
				t.Fatal(err)
			}
			mustRun(t, st, s.options())
			s.checkLabels(t, st, true)
			continue
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o := s.options()
		o.Logger = slog.New(slog.NewTextHandler(writerFunc(func(line string) {
			if strings.Contains(line, "requests are paused") {
				cancel()
			}
		}), nil))
		if _, err := collect.Run(ctx, st, o); err != nil || len(s.Log()) > 0 {
			t.Errorf("Run = %v after %d requests during a pause", err, len(s.Log()))
		}
		if !mustStatus(t, st).PausedUntil.After(time.Now()) {
			t.Error("the run ended the pause")
		}
	}
}

type writerFunc func(string)

func (f writerFunc) Write(b []byte) (int, error) {
	f(string(b))
	return len(b), nil
}

// TestCompletedDate checks that fetching the page of a label queued with an older date doesn't
// replace a later stored date.
func TestCompletedDate(t *testing.T) {
	t.Parallel()
	s, st := mustSite(t, ttbsite.Options{Labels: 5}), mustStore(t)
	mustRun(t, st, s.options())
	label, err := st.Cola(t.Context(), s.Labels()[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.QueueLabels(t.Context(), []store.FetchLabel{{TTBID: label.TTBID, Completed: label.LatestUpdateDate}}); err != nil {
		t.Fatal(err)
	}
	patch := cola.Patch[cola.Cola]{Record: label}
	later := label.LatestUpdateDate.AddDays(3)
	patch.Record.LatestUpdateDate = later
	patch.Fields = patch.Fields.With(cola.FieldIndex[cola.Cola]("latest_update_date"))
	if _, err := st.UpsertColas(t.Context(), []cola.Patch[cola.Cola]{patch}, store.Commit); err != nil {
		t.Fatal(err)
	}
	mustRun(t, st, s.options())
	if label, err = st.Cola(t.Context(), label.TTBID); err != nil || label.LatestUpdateDate != later {
		t.Errorf("completion date = %s, %v, want %s", label.LatestUpdateDate, err, later)
	}
	checkEnded(t, st)
}

// TestFollowOutage checks that a follower outlasts an outage that ends other runs.
func TestFollowOutage(t *testing.T) {
	t.Parallel()
	today := cola.DateOf(time.Now())
	s, st := mustSite(t, ttbsite.Options{Labels: 10, First: today.AddDays(-6), Last: today}), mustStore(t)
	for range 100 {
		s.Inject(ttbsite.ServerError)
	}
	o := s.options()
	o.First, o.Last, o.Follow = 0, 0, true
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Progress = func(collect.Progress) {
		status := mustStatus(t, st)
		if status.Windows[store.FetchPending]+status.Labels[store.FetchPending] == 0 {
			cancel()
		}
	}
	if _, err := collect.Run(ctx, st, o); err != nil {
		t.Fatal(err)
	}
	s.checkLabels(t, st, true)
	checkEnded(t, st)
}

// TestMaintenance checks that days stay pending while the site redirects to another host or
// responds with status 404.
func TestMaintenance(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://maintenance.invalid/", http.StatusFound)
		},
		"not found": http.NotFound,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(answer)
			defer server.Close()
			s, st := mustSite(t, ttbsite.Options{Labels: 3}), mustStore(t)
			o := s.options()
			o.Site.BaseURL = server.URL + ttbsite.Path
			report, err := collect.Run(t.Context(), st, o)
			status := mustStatus(t, st)
			if err == nil || report.IncompleteDays > 0 || status.Windows[store.FetchPending] != 7 || status.PausedUntil.IsZero() {
				t.Errorf("error %v, status %+v; want 7 pending days after pauses", err, status)
			}
		})
	}
}

// TestTwoCollectors shares the work between two collectors, on each database.
func TestTwoCollectors(t *testing.T) {
	for name, open := range map[string]func(*testing.T) store.Store{"sqlite": mustStore, "postgres": mustPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mustSite(t, ttbsite.Options{Labels: 150, Busy: 60, Limit: 30})
			st := open(t)
			var reports [2]collect.Report
			var wg sync.WaitGroup
			for i := range reports {
				wg.Go(func() {
					var err error
					if reports[i], err = collect.Run(t.Context(), st, s.options()); err != nil {
						t.Errorf("Run: %v", err)
					}
				})
			}
			wg.Wait()
			s.checkLabels(t, st, true)
			checkEnded(t, st)
			s.checkRequests(t, 1) // a second session
			if sum := reports[0].Labels + reports[1].Labels; sum != 150 || reports[0].Labels == 0 || reports[1].Labels == 0 {
				t.Errorf("collectors fetched %d and %d labels, want 150 in all", reports[0].Labels, reports[1].Labels)
			}
		})
	}
}

// TestTakeOver takes over the work of a collector that was killed, once its claims have expired.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 10})
	st := mustStore(t)
	if _, err := st.PlanWindows(t.Context(), s.first, s.last, time.Now(), false); err != nil {
		t.Fatal(err)
	}
	if _, err := st.ClaimWindow(t.Context(), s.first, s.last, 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	mustRun(t, st, s.options())
	s.checkLabels(t, st, true)
	checkEnded(t, st)
}

// TestLongWork checks that a claim doesn't end during work that takes longer than the hold.
func TestLongWork(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 3, Faults: ttbsite.Faults{Slow: 600 * time.Millisecond}})
	s.Inject(ttbsite.None, ttbsite.Slow)
	st := mustStore(t)
	o := s.options()
	o.Hold = 200 * time.Millisecond
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if _, err := collect.Run(t.Context(), st, o); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
	wg.Wait()
	s.checkLabels(t, st, true)
	s.checkRequests(t, 1)
}

// faultyStore fails one call to a method, before or after its effect. From then on, it releases no
// claims, as if the process had been killed.
type faultyStore struct {
	store.Store
	method string
	calls  int // calls left until the failure
	after  bool
	err    error
	failed bool
}

func (f *faultyStore) call(method string, do func() error) error {
	if method != f.method || f.failed {
		return do()
	}
	if f.calls--; f.calls > 0 {
		return do()
	}
	f.failed = true
	if f.after {
		if err := do(); err != nil {
			return err
		}
	}
	return f.err
}

func (f *faultyStore) UpsertColas(
	ctx context.Context, p []cola.Patch[cola.Cola], m store.Mode,
) (outcomes []store.Outcome, err error) {
	err = f.call("UpsertColas", func() error {
		outcomes, err = f.Store.UpsertColas(ctx, p, m)
		return err
	})
	return outcomes, err
}

func (f *faultyStore) QueueLabels(ctx context.Context, l []store.FetchLabel) error {
	return f.call("QueueLabels", func() error { return f.Store.QueueLabels(ctx, l) })
}

func (f *faultyStore) SplitWindow(ctx context.Context, w store.FetchWindow, n int, parts []store.ClassRange) error {
	return f.call("SplitWindow", func() error { return f.Store.SplitWindow(ctx, w, n, parts) })
}

func (f *faultyStore) CompleteWindow(ctx context.Context, w store.FetchWindow, n int) error {
	return f.call("CompleteWindow", func() error { return f.Store.CompleteWindow(ctx, w, n) })
}

func (f *faultyStore) FinishLabel(ctx context.Context, l store.FetchLabel) error {
	return f.call("FinishLabel", func() error { return f.Store.FinishLabel(ctx, l) })
}

func (f *faultyStore) ReleaseWindow(ctx context.Context, w store.FetchWindow) error {
	if f.failed {
		return f.err
	}
	return f.Store.ReleaseWindow(ctx, w)
}

func (f *faultyStore) ReleaseLabel(ctx context.Context, l store.FetchLabel) error {
	if f.failed {
		return f.err
	}
	return f.Store.ReleaseLabel(ctx, l)
}

// TestCrash ends a run before and after each write. The next run loses nothing and repeats at most
// the requests for one day or label.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"QueueLabels", "UpsertColas", "SplitWindow", "CompleteWindow", "FinishLabel"} {
		for _, after := range []bool{false, true} {
			s := mustSite(t, ttbsite.Options{Labels: 25, Busy: 12, Limit: 10})
			ahead := time.Duration(0)
			st := mustStoreAt(t, &ahead)
			o := s.options()
			calls := 3
			if method == "SplitWindow" {
				calls = 1
			}
			faulty := &faultyStore{Store: st, method: method, calls: calls, after: after, err: errFull}
			if _, err := collect.Run(t.Context(), faulty, o); !errors.Is(err, errFull) {
				t.Fatalf("Run that fails in %s: %v", method, err)
			}
			ahead = o.Hold // claims expire
			mustRun(t, st, o)
			s.checkLabels(t, st, true)
			checkEnded(t, st)
			s.checkRequests(t, 3) // a session and a window
		}
	}
}

// TestInterruptedLoad ends an initial load after its first labels. The rest of the load is also
// history, including labels whose rows can't be read. A label that appears later is not.
func TestInterruptedLoad(t *testing.T) {
	t.Parallel()
	today := cola.DateOf(time.Now())
	s := mustSite(t, ttbsite.Options{
		Labels: 30, Busy: 12, Limit: 10, Ambiguous: 3, First: today.AddDays(-6), Last: today,
	})
	later := s.Labels()[0]
	s.Change(later.ID, func(l *ttbsite.Label) { l.Completed = today.AddDays(-50) })
	ahead := time.Duration(0)
	st := mustStoreAt(t, &ahead)
	o := s.options()
	faulty := &faultyStore{Store: st, method: "UpsertColas", calls: 2, after: true, err: errFull}
	if _, err := collect.Run(t.Context(), faulty, o); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	ahead = o.Hold // claims expire
	if report := mustRun(t, st, o); report.Added < 5 {
		t.Fatalf("the second run added %d labels, want most of them", report.Added)
	}
	checkEnded(t, st)
	if n := arrivals(t, st); n != 0 {
		t.Errorf("%d labels of an interrupted initial load arrived, want none", n)
	}
	s.Change(later.ID, func(l *ttbsite.Label) { l.Completed = later.Completed })
	o.Now = func() time.Time { return time.Now().Add(13 * time.Hour) }
	mustRun(t, st, o)
	if n := arrivals(t, st); n != 1 {
		t.Errorf("%d labels arrived after the initial load, want 1", n)
	}
}

// TestUnavailableStore checks that a run continues once the database is available again.
func TestUnavailableStore(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"UpsertColas", "CompleteWindow", "FinishLabel"} {
		s := mustSite(t, ttbsite.Options{Labels: 5})
		st := mustStore(t)
		o := s.options()
		o.Hold = 300 * time.Millisecond
		mustRun(t, &faultyStore{Store: st, method: method, calls: 2, err: store.ErrUnavailable}, o)
		s.checkLabels(t, st, true)
		checkEnded(t, st)
	}
}

// TestProgress checks the last progress report of a run.
func TestProgress(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 5})
	var last collect.Progress
	o := s.options()
	o.Progress = func(p collect.Progress) { last = p }
	report := mustRun(t, mustStore(t), o)
	rated := last.Rate > 0
	last.Rate = 0
	want := collect.Progress{Windows: 7, WindowsTotal: 7, Labels: 5, Requests: report.Requests}
	if diff := cmp.Diff(want, last); diff != "" || !rated {
		t.Errorf("progress has a rate: %t (-want +got):\n%s", rated, diff)
	}
}

// TestFollowAfterOutage checks that a follower plans all days since the latest complete one.
func TestFollowAfterOutage(t *testing.T) {
	t.Parallel()
	st := mustStore(t)
	today := cola.DateOf(time.Now())
	o := collect.Options{Follow: true, Details: collect.None}
	for _, first := range []cola.Date{today.AddDays(-8), today.AddDays(-30)} {
		plan, err := collect.PlanOf(t.Context(), st, o)
		if err != nil || plan.First != first || plan.Last != today {
			t.Errorf("plan = %+v, %v, want days from %s", plan, err, first)
		}
		last := today.AddDays(-30)
		if _, err := st.PlanWindows(t.Context(), last, last, time.Now(), false); err != nil {
			t.Fatal(err)
		}
		w, err := st.ClaimWindow(t.Context(), last, last, time.Minute)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err := errors.Join(err, st.CompleteWindow(t.Context(), w, 1)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPlan checks the plan of a registry with complete days and labels without detail.
func TestPlan(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 20})
	st := mustStore(t)
	o := s.options()
	o.Details, o.Interval = collect.None, time.Second
	check := func(want collect.Plan) {
		t.Helper()
		got, err := collect.PlanOf(t.Context(), st, o)
		want.First, want.Last = o.First, o.Last
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("plan: error %v (-want +got):\n%s", err, diff)
		}
	}
	check(collect.Plan{Days: 7, Requests: 14, Duration: 14 * time.Second})
	o.Interval = time.Microsecond
	mustRun(t, st, o)
	o.Details, o.Interval, o.Last = collect.All, time.Second, o.Last.AddDays(1)
	want := collect.Plan{Days: 1, Stored: 20, New: 410, Requests: 432, Duration: 432 * time.Second}
	check(want)
	var labels []store.FetchLabel
	for _, l := range s.Labels() {
		labels = append(labels, store.FetchLabel{TTBID: l.ID})
	}
	if err := st.QueueLabels(t.Context(), labels); err != nil {
		t.Fatal(err)
	}
	check(want) // a queued label without detail counts once
	o.Follow = true
	before, err := collect.PlanOf(t.Context(), st, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.PlanWindows(t.Context(), before.First.AddDays(-3), before.First.AddDays(-1), time.Time{}, false); err != nil {
		t.Fatal(err)
	}
	if after, err := collect.PlanOf(t.Context(), st, o); err != nil || after.Days != before.Days+3 {
		t.Errorf("plan of a follower = %+v, %v, want %d days", after, err, before.Days+3)
	}
}

// TestFollow checks that a follower plans the trailing days once a day and finishes older plans.
func TestFollow(t *testing.T) {
	t.Parallel()
	today := cola.DateOf(time.Now())
	s := mustSite(t, ttbsite.Options{Labels: 30, First: today.AddDays(-6), Last: today})
	st := mustStore(t)
	noon := time.Until(today.Time().Add(12 * time.Hour)) // so that 25 hours later is the next day
	days, later := 0, noon
	now := func() time.Time { return time.Now().Add(later) }
	old := today.AddDays(-100)
	if _, err := st.PlanWindows(t.Context(), old, old, now(), false); err != nil {
		t.Fatal(err)
	}
	o := s.options()
	o.First, o.Last, o.Follow, o.Now = 0, 0, true, now
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(collect.Progress) {
		status := mustStatus(t, st)
		if status.Windows[store.FetchPending]+status.Labels[store.FetchPending] > 0 {
			return
		}
		if days++; days == 1 {
			later = noon + 25*time.Hour
			return
		}
		if s.count(ttbsite.Search) > 10 {
			cancel()
		}
	}
	if _, err := collect.Run(ctx, st, o); err != nil {
		t.Fatal(err)
	}
	s.checkLabels(t, st, true)
	want := map[string]int{store.FetchComplete: 11} // 9 trailing days, one later day, and the old day
	if diff := cmp.Diff(want, mustStatus(t, st).Windows); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	if n := s.count(ttbsite.Search); n < 19 || n > 20 {
		t.Errorf("%d searches, want one for the old day and 9 on each of two days", n)
	}
}
