package collect_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/collect"
	"github.com/colaregistry/colaregistry/collect/ttb"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/internal/sqlitetest"
	"github.com/colaregistry/colaregistry/internal/ttbsite"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/postgres"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// site is a simulated TTB site, with its URL and the days to collect.
type site struct {
	*ttbsite.Site
	first, last cola.Date
	url         string
}

func mustSite(t *testing.T, o ttbsite.Options) *site {
	t.Helper()
	if o.First == 0 {
		o.First, o.Last = cola.NewDate(2026, 1, 5), cola.NewDate(2026, 1, 11)
	}
	s, err := ttbsite.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := s.Start()
	t.Cleanup(server.Close)
	return &site{s, o.First, o.Last, server.URL + ttbsite.Path}
}

// options returns options for quickly collecting all of the site's labels.
func (s *site) options() collect.Options {
	return collect.Options{
		Site:  ttb.Options{BaseURL: s.url, UserAgent: "test (+ops@example.com)"},
		First: s.first, Last: s.last, Details: collect.New,
		Interval: time.Microsecond, Backoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond, Hold: time.Minute,
	}
}

func mustStore(t *testing.T) store.Store {
	t.Helper()
	return mustStoreAt(t, new(time.Duration))
}

// mustStoreAt returns a store whose clock is ahead by *ahead.
func mustStoreAt(t *testing.T, ahead *time.Duration) store.Store {
	t.Helper()
	return sqlitetest.Open(t, sqlite.Options{Now: func() time.Time { return time.Now().Add(*ahead) }})
}

func mustPostgres(t *testing.T) store.Store {
	t.Helper()
	st, err := postgres.Open(t.Context(), pgtest.NewDatabase(t), postgres.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

func mustRun(t *testing.T, st collect.Store, o collect.Options) collect.Report {
	t.Helper()
	report, err := collect.Run(t.Context(), st, o)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return report
}

// checkLabels checks that the store has exactly the site's labels, with the site's dates and with
// or without detail.
func (s *site) checkLabels(t *testing.T, st store.Store, detail bool) {
	t.Helper()
	want, got := map[cola.TTBID]cola.Date{}, map[cola.TTBID]cola.Date{}
	for _, l := range s.Labels() {
		want[l.ID] = l.Completed
	}
	_, err := st.ColasSince(t.Context(), 0, func(r *cola.IndexRecord) error {
		label, err := st.Cola(t.Context(), r.Summary.TTBID)
		if (label.ApplicationStatus != "") != detail {
			t.Errorf("label %s has status %q, want detail %t", label.TTBID, label.ApplicationStatus, detail)
		}
		got[label.TTBID] = label.LatestUpdateDate
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored labels (-want +got):\n%s", diff)
	}
}

// checkRequests checks that the number of requests exceeds the minimum by at most extra, not
// counting requests for the forms of labels that have no form.
func (s *site) checkRequests(t *testing.T, extra int) {
	t.Helper()
	for _, l := range s.Labels() {
		if l.Paper && s.count(ttbsite.Form) > 0 {
			extra++
		}
	}
	tally := s.Tally()
	if tally.Extra() > extra || tally.Extra() < 0 {
		t.Errorf("%d requests, %d of them failed; the minimum is %d: %d more than needed, want at most %d",
			tally.Requests, tally.Failed, tally.Minimum, tally.Extra(), extra)
	}
}

// count returns the number of requests of a kind.
func (s *site) count(kind ttbsite.Kind) (n int) {
	for _, r := range s.Log() {
		if r.Kind == kind {
			n++
		}
	}
	return n
}

func mustStatus(t *testing.T, st store.Fetches) store.FetchStatus {
	t.Helper()
	status, err := st.FetchStatus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// checkEnded checks that no window or label is pending or failed.
func checkEnded(t *testing.T, st store.Fetches) {
	t.Helper()
	status := mustStatus(t, st)
	for _, n := range []int{
		status.Windows[store.FetchPending], status.Windows[store.FetchSplit], status.Windows[store.FetchIncomplete],
		status.Labels[store.FetchPending], status.Labels[store.FetchFailed],
	} {
		if n != 0 {
			t.Fatalf("windows %v, labels %v, want all complete", status.Windows, status.Labels)
		}
	}
}

// arrivals returns the number of labels that arrived.
func arrivals(t *testing.T, st store.Store) (n int) {
	t.Helper()
	if _, err := st.ArrivedSince(t.Context(), 0, func(store.Arrival) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

func mustLastImport(t *testing.T, st store.Store) cola.LastImport {
	t.Helper()
	all, err := st.LastImports(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("LastImports = %v, %v, want one", all, err)
	}
	return all[0]
}

// afterRequests returns a context that is canceled after a number of requests, as counted by the
// run's progress.
func afterRequests(t *testing.T, o *collect.Options, n int64) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(p collect.Progress) {
		if p.Requests >= n {
			cancel()
		}
	}
	return ctx
}

var errFull = errors.New("disk full")
