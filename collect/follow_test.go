package collect_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/collect"
	"github.com/colaregistry/colaregistry/internal/sqlitetest"
	"github.com/colaregistry/colaregistry/internal/ttbsite"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

// following is a follower in the background, with its log.
type following struct {
	cancel, stop func() // stop also waits until the follower has ended

	mu  sync.Mutex
	log bytes.Buffer
}

func (f *following) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.Write(b)
}

// logged reports whether the log contains text.
func (f *following) logged(text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Contains(f.log.String(), text)
}

func follow(t *testing.T, st collect.Store, o collect.Options, metrics prometheus.Registerer) *following {
	ctx, cancel := context.WithCancel(t.Context())
	f, done := &following{}, make(chan struct{})
	o.Logger = slog.New(slog.NewTextHandler(f, nil))
	go func() {
		defer close(done)
		collect.NewFollower(st, o, metrics).Run(ctx)
	}()
	f.cancel, f.stop = cancel, func() { cancel(); <-done }
	t.Cleanup(f.stop)
	return f
}

// await waits until ok returns true.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for started := time.Now(); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Since(started) > time.Minute {
			t.Fatalf("timed out after a minute waiting until %s", what)
		}
	}
}

// recentSite returns a site with labels from the last seven days, and options to follow it.
func recentSite(t *testing.T, o ttbsite.Options) (*site, collect.Options) {
	t.Helper()
	today := cola.DateOf(time.Now())
	o.First, o.Last = today.AddDays(-6), today
	s := mustSite(t, o)
	options := s.options()
	options.First, options.Last = 0, 0
	return s, options
}

// ended reports whether a follower has fetched all labels of a site.
func (s *site) ended(t *testing.T, st store.Store) bool {
	status := mustStatus(t, st)
	return status.Windows[store.FetchComplete] > 0 && status.Windows[store.FetchPending]+status.Windows[store.FetchSplit] == 0 &&
		status.Labels[store.FetchPending] == 0
}

// TestFollowerBlocked checks that a blocked follower makes no requests, even after a restart, until
// the block is cleared, and that it warns in the meantime that labels are out of date.
func TestFollowerBlocked(t *testing.T) {
	t.Parallel()
	s, o := recentSite(t, ttbsite.Options{Labels: 40})
	for range 20 {
		s.Inject(ttbsite.None)
	}
	s.Inject(ttbsite.Block)
	st := mustStore(t)
	var later atomic.Int64
	o.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	registry := prometheus.NewPedanticRegistry()
	first := follow(t, st, o, registry)
	await(t, "the site blocks the follower", func() bool { return first.logged("fetch resume") })
	later.Store(int64(10 * 24 * time.Hour))
	await(t, "the follower warns", func() bool { return first.logged("out of date") })
	first.stop()
	second := follow(t, st, o, nil)
	await(t, "the second follower waits", func() bool { return second.logged("fetch resume") })
	if mustStatus(t, st).Blocked == "" || len(s.Log()) != 21 {
		t.Errorf("%d requests to a site that blocked the 21st; status %+v", len(s.Log()), mustStatus(t, st))
	}
	if n := testutil.CollectAndCount(registry); n != 5 {
		t.Errorf("%d samples, want 5", n)
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(
		"# HELP colaregistry_fetch_failures_total Failed attempts to fetch a day or label: "+
			"the site failed, its content was wrong or could not be stored, or it blocked the process.\n"+
			"# TYPE colaregistry_fetch_failures_total counter\n"+
			"colaregistry_fetch_failures_total{kind=\"block\"} 1\n"+
			"colaregistry_fetch_failures_total{kind=\"content\"} 0\n"+
			"colaregistry_fetch_failures_total{kind=\"site\"} 0\n"), "colaregistry_fetch_failures_total"); err != nil {
		t.Error(err)
	}
	later.Store(0)
	if err := st.UnblockSite(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, "all labels are fetched", func() bool { return s.ended(t, st) })
	second.stop()
	s.checkLabels(t, st, true)
	s.checkRequests(t, 2)
}

// TestFollowerKeepsPause checks that a follower doesn't cut a pause short.
func TestFollowerKeepsPause(t *testing.T) {
	t.Parallel()
	s, o := recentSite(t, ttbsite.Options{Labels: 5})
	st := mustStore(t)
	if err := st.PauseRequests(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	f := follow(t, st, o, nil)
	await(t, "the follower waits", func() bool { return f.logged("requests are paused") })
	f.stop()
	if n := len(s.Log()); n > 0 {
		t.Errorf("%d requests during a pause", n)
	}
}

// TestFollowerWarns checks that a follower that is not blocked warns that labels are out of date.
func TestFollowerWarns(t *testing.T) {
	t.Parallel()
	_, o := recentSite(t, ttbsite.Options{Labels: 5})
	st := mustStore(t)
	old := cola.DateOf(time.Now()).AddDays(-20)
	if _, err := st.PlanWindows(t.Context(), old, old, time.Now(), false); err != nil {
		t.Fatal(err)
	}
	w, err := st.ClaimWindow(t.Context(), old, old, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.CompleteWindow(t.Context(), w, 1); err != nil {
		t.Fatal(err)
	}
	f := follow(t, st, o, nil)
	await(t, "the follower warns", func() bool { return f.logged("out of date") && f.logged(old.String()) })
}

// brokenStore panics in the first call to ClaimLabel and fails the next two.
type brokenStore struct {
	store.Store
	failures atomic.Int64
}

func (b *brokenStore) ClaimLabel(ctx context.Context, images bool, hold time.Duration) (store.FetchLabel, error) {
	switch b.failures.Add(1) {
	case 1:
		panic("broken")
	case 2, 3:
		return store.FetchLabel{}, errFull
	}
	return b.Store.ClaimLabel(ctx, images, hold)
}

// TestFollowerErrors checks that a follower starts again after errors and panics.
func TestFollowerErrors(t *testing.T) {
	t.Parallel()
	s, o := recentSite(t, ttbsite.Options{Labels: 20})
	o.Hold = 300 * time.Millisecond
	st := mustStore(t)
	f := follow(t, &brokenStore{Store: st}, o, nil)
	await(t, "all labels are fetched", func() bool { return s.ended(t, st) })
	f.stop()
	if !f.logged("broken") || !f.logged(errFull.Error()) {
		t.Error("the log lacks the panic or the error")
	}
	s.checkLabels(t, st, true)
}

// poisonedStore fails or panics whenever the page of a label is stored.
type poisonedStore struct {
	store.Store
	id     cola.TTBID // 0 for all labels
	panics bool
	stored atomic.Int64 // attempts to store a poisoned label
}

func (p *poisonedStore) UpsertColas(
	ctx context.Context, patches []cola.Patch[cola.Cola], m store.Mode,
) ([]store.Outcome, error) {
	for i := range patches {
		label := &patches[i].Record
		if label.ApplicationStatus == "" || p.id != 0 && label.TTBID != p.id {
			continue
		}
		p.stored.Add(1)
		if p.panics {
			panic("poison")
		}
		return nil, errFull
	}
	return p.Store.UpsertColas(ctx, patches, m)
}

// TestFollowerPoison checks that a follower gives up after MaxAttempts on a label that always fails
// or causes a panic, and fetches the other labels in the meantime.
func TestFollowerPoison(t *testing.T) {
	t.Parallel()
	for _, panics := range []bool{false, true} {
		s, o := recentSite(t, ttbsite.Options{Labels: 20})
		st := mustStore(t)
		poisoned := &poisonedStore{Store: st, id: s.Labels()[0].ID, panics: panics}
		registry := prometheus.NewPedanticRegistry()
		f := follow(t, poisoned, o, registry)
		await(t, "all other labels are fetched", func() bool { return s.ended(t, st) })
		f.stop()
		status := mustStatus(t, st)
		if len(status.Failed) != 1 || status.Failed[0].TTBID != poisoned.id || status.LastFailure == "" {
			t.Errorf("panics %t: failed labels %v, last failure %q, want label %s",
				panics, status.Failed, status.LastFailure, poisoned.id)
		}
		if n := poisoned.stored.Load(); n != collect.MaxAttempts {
			t.Errorf("panics %t: %d attempts, want %d", panics, n, collect.MaxAttempts)
		}
		if n := failures(t, registry, "content"); n != collect.MaxAttempts {
			t.Errorf("panics %t: %g failures counted, want %d", panics, n, collect.MaxAttempts)
		}
	}
}

// failures returns the value of colaregistry_fetch_failures_total.
func failures(t *testing.T, registry prometheus.Gatherer, kind string) float64 {
	t.Helper()
	all, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range all {
		for _, m := range family.GetMetric() {
			if family.GetName() == "colaregistry_fetch_failures_total" && m.GetLabel()[0].GetValue() == kind {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// TestRunPanic checks that a page that causes a panic fails its label, not the run.
func TestRunPanic(t *testing.T) {
	t.Parallel()
	s, st := mustSite(t, ttbsite.Options{Labels: 5}), mustStore(t)
	report := mustRun(t, &poisonedStore{Store: st, id: s.Labels()[0].ID, panics: true}, s.options())
	if len(report.Failed) != 1 || report.Labels != 4 {
		t.Errorf("%d labels, failed %v, want 4 and 1 failed", report.Labels, report.Failed)
	}
}

// TestFollowerBrokenStore checks that a run ends if all labels fail, so that a store that rejects
// all of them costs few requests.
func TestFollowerBrokenStore(t *testing.T) {
	t.Parallel()
	s, o := recentSite(t, ttbsite.Options{Labels: 30})
	o.Backoff, o.MaxBackoff = time.Hour, time.Hour // the wait is a random fraction of this
	poisoned := &poisonedStore{Store: mustStore(t)}
	f := follow(t, poisoned, o, nil)
	await(t, "the run ends", func() bool { return f.logged("restarting") })
	f.stop()
	if n := poisoned.stored.Load(); n != 5 {
		t.Errorf("%d labels requested, want 5 of %d", n, len(s.Labels()))
	}
}

// restartingStore ends the run when the first label has failed for good: the next ClaimLabel
// returns an error.
type restartingStore struct {
	poisonedStore
	retries, givenUp, idle atomic.Int64
}

func (r *restartingStore) RetryFailedLabels(ctx context.Context) error {
	r.retries.Add(1)
	return r.Store.RetryFailedLabels(ctx)
}

func (r *restartingStore) FailLabel(ctx context.Context, l store.FetchLabel, failure string, wait time.Duration) error {
	if wait < 0 {
		r.givenUp.Add(1)
	}
	return r.Store.FailLabel(ctx, l, failure, wait)
}

func (r *restartingStore) ClaimLabel(ctx context.Context, images bool, hold time.Duration) (store.FetchLabel, error) {
	if r.givenUp.CompareAndSwap(1, 2) {
		return store.FetchLabel{}, errFull
	}
	l, err := r.Store.ClaimLabel(ctx, images, hold)
	if r.givenUp.Load() >= 2 && errors.Is(err, store.ErrNotFound) {
		r.idle.Add(1)
	}
	return l, err
}

// TestFollowerRestart checks that a run after a failed one continues its plan and backlog, and
// doesn't retry failed labels.
func TestFollowerRestart(t *testing.T) {
	t.Parallel()
	s, o := recentSite(t, ttbsite.Options{Labels: 10})
	st := mustStore(t)
	load := s.options()
	load.Details = collect.None
	mustRun(t, st, load)
	o.Details = collect.All
	restarting := &restartingStore{poisonedStore: poisonedStore{Store: st, id: s.Labels()[0].ID}}
	f := follow(t, restarting, o, nil)
	await(t, "the second run has done everything", func() bool { return restarting.idle.Load() >= 2 && s.ended(t, st) })
	f.stop()
	if n := restarting.stored.Load(); n != collect.MaxAttempts || !f.logged("restarting") {
		t.Errorf("%d attempts for the failed label, want %d", n, collect.MaxAttempts)
	}
	if n := restarting.retries.Load(); n != 1 {
		t.Errorf("failed labels retried %d times, want once", n)
	}
}

// failingBlockStore fails the first calls to BlockSite.
type failingBlockStore struct {
	store.Store
	err   error
	calls atomic.Int64
}

func (f *failingBlockStore) BlockSite(ctx context.Context, reason string) error {
	if f.calls.Add(1) <= 3 {
		return f.err
	}
	return f.Store.BlockSite(ctx, reason)
}

// TestFollowerBlockNotStored checks that a follower makes no requests after a block page, even if
// the store fails to record the block at first.
func TestFollowerBlockNotStored(t *testing.T) {
	t.Parallel()
	for _, err := range []error{store.ErrUnavailable, errFull} {
		s, o := recentSite(t, ttbsite.Options{Labels: 40})
		for range 20 {
			s.Inject(ttbsite.None)
		}
		s.Inject(ttbsite.Block)
		st := &failingBlockStore{Store: mustStore(t), err: err}
		registry := prometheus.NewPedanticRegistry()
		f := follow(t, st, o, registry)
		await(t, "the block is stored", func() bool { return mustStatus(t, st).Blocked != "" })
		f.stop()
		if n := len(s.Log()); n != 21 || failures(t, registry, "block") != 1 {
			t.Errorf("%v: %d requests to a site that blocked the 21st, %g blocks counted", err, n, failures(t, registry, "block"))
		}
	}
}

// failingImages is an image store that goes down when the first image is saved.
type failingImages struct {
	savedImages
	failed atomic.Bool
}

func (f *failingImages) CheckWritable(context.Context) error {
	if f.failed.Load() {
		return errFull
	}
	return nil
}

func (f *failingImages) SaveImage(context.Context, cola.TTBID, *cola.Image, []byte) (usable bool, err error) {
	f.failed.Store(true)
	return false, errFull
}

// TestFollowerImageStoreDown checks that an outage of the image store doesn't count as a failed
// attempt.
func TestFollowerImageStoreDown(t *testing.T) {
	t.Parallel()
	_, o := recentSite(t, ttbsite.Options{Labels: 10})
	o.Images, o.ImageStore = collect.New, &failingImages{}
	st := mustStore(t)
	f := follow(t, st, o, nil)
	await(t, "the run ends", func() bool { return f.logged("restarting") })
	f.stop()
	if status := mustStatus(t, st); status.Labels[store.FetchFailed] > 0 || status.LastFailure != "" {
		t.Errorf("labels %v, last failure %q, want none", status.Labels, status.LastFailure)
	}
}

// TestFollowersShareWork follows a site with two followers, as two servers would.
func TestFollowersShareWork(t *testing.T) {
	t.Parallel()
	s, o := recentSite(t, ttbsite.Options{Labels: 60})
	st := mustStore(t)
	followers := []*following{follow(t, st, o, nil), follow(t, st, o, nil)}
	await(t, "all labels are fetched", func() bool { return s.ended(t, st) })
	for _, f := range followers {
		f.stop()
	}
	s.checkLabels(t, st, true)
	s.checkRequests(t, 1) // a session each
}

// TestFollowerStops checks that a stopped follower finishes the request in flight and stores its
// result.
func TestFollowerStops(t *testing.T) {
	t.Parallel()
	s, o := recentSite(t, ttbsite.Options{Labels: 10})
	arrived, answer := make(chan struct{}), make(chan struct{})
	var forms atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.RawQuery, "publicFormDisplay") && forms.Add(1) == 3 {
			close(arrived)
			<-answer
		}
		s.ServeHTTP(w, r)
	}))
	defer server.Close()
	o.Site.BaseURL = server.URL + ttbsite.Path
	st := mustStore(t)
	f := follow(t, st, o, nil)
	<-arrived
	f.cancel()
	close(answer)
	f.stop()
	if n := mustStatus(t, st).Labels[store.FetchPending]; forms.Load() != 3 || n != 7 {
		t.Errorf("%d labels queued after %d forms, want 7 after 3", n, forms.Load())
	}
	for range 7 { // none is claimed
		if _, err := st.ClaimLabel(t.Context(), true, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
}

// testClock is a clock that can be set.
type testClock struct{ offset atomic.Int64 }

func (c *testClock) now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

func (c *testClock) set(now time.Time) { c.offset.Store(int64(time.Until(now))) }

func (c *testClock) mustStore(t *testing.T) store.Store {
	t.Helper()
	return sqlitetest.Open(t, sqlite.Options{Now: c.now})
}

// TestQuietHours starts quiet hours in the middle of the requests for a day or a label. The run
// releases its claim, makes no requests until the quiet hours end, and then finishes.
func TestQuietHours(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, time.January, 12, 12, 0, 0, 0, time.UTC)
	for name, kind := range map[string]ttbsite.Kind{"day": ttbsite.Search, "label": ttbsite.Form} {
		t.Run(name, func(t *testing.T) {
			s := mustSite(t, ttbsite.Options{Labels: 20})
			var clock testClock
			clock.set(noon)
			quiet := noon.Add(time.Hour) // 13:00
			var requests atomic.Int64    // number of requests before the quiet hours
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				before := s.count(kind)
				s.ServeHTTP(w, r)
				if before < 3 && s.count(kind) == 3 {
					requests.Store(int64(len(s.Log())))
					clock.set(quiet)
				}
			}))
			defer server.Close()
			st := clock.mustStore(t)
			o := s.options()
			o.Site.BaseURL, o.Now = server.URL+ttbsite.Path, clock.now
			if err := o.QuietHours.UnmarshalText([]byte("13:00-21:00")); err != nil {
				t.Fatal(err)
			}
			steps := 0
			o.Progress = func(p collect.Progress) {
				if p.QuietUntil.IsZero() {
					return
				}
				if steps++; steps == 2 { // the first was interrupted
					status := mustStatus(t, st)
					if want := quiet.Add(8 * time.Hour); !p.QuietUntil.Equal(want) || status.PausedUntil.Sub(want).Abs() > time.Minute {
						t.Errorf("quiet until %v, paused until %v, want %v", p.QuietUntil, status.PausedUntil, want)
					}
					if p.Left < 8*time.Hour {
						t.Errorf("%v left, want more than the quiet hours", p.Left)
					}
					checkUnclaimed(t, st, s)
				}
				if steps == 10 {
					clock.set(quiet.Add(8 * time.Hour))
					if n := int64(len(s.Log())) - requests.Load(); n != 0 {
						t.Errorf("%d requests during quiet hours", n)
					}
				}
			}
			mustRun(t, st, o)
			if steps < 10 {
				t.Errorf("%d steps during quiet hours, want 10", steps)
			}
			s.checkLabels(t, st, true)
			checkEnded(t, st)
		})
	}
}

// checkUnclaimed checks that some work is pending and none is claimed.
func checkUnclaimed(t *testing.T, st store.Store, s *site) {
	t.Helper()
	status, n := mustStatus(t, st), 0
	for ; ; n++ {
		w, err := st.ClaimWindow(t.Context(), s.first, s.last, time.Minute)
		if errors.Is(err, store.ErrNotFound) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		defer st.ReleaseWindow(t.Context(), w)
	}
	for ; ; n++ {
		l, err := st.ClaimLabel(t.Context(), true, time.Minute)
		if errors.Is(err, store.ErrNotFound) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		defer st.ReleaseLabel(t.Context(), l)
	}
	if want := status.Windows[store.FetchPending] + status.Labels[store.FetchPending]; n != want || n == 0 {
		t.Errorf("%d days and labels can be claimed, want %d", n, want)
	}
}

// TestQuietHoursInPause checks that a request waiting for its slot doesn't hold its claim through
// quiet hours.
func TestQuietHoursInPause(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 5})
	var clock testClock
	quiet := time.Date(2026, time.January, 12, 13, 0, 0, 0, time.UTC)
	clock.set(quiet.Add(-time.Second))
	st := clock.mustStore(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := st.PauseRequests(r.Context(), time.Hour); err != nil {
			t.Error(err)
		}
		s.ServeHTTP(w, r)
	}))
	defer server.Close()
	o := s.options()
	o.Site.BaseURL, o.Now = server.URL+ttbsite.Path, clock.now
	if err := o.QuietHours.UnmarshalText([]byte("13:00-13:01")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	released := false
	o.Progress = func(p collect.Progress) {
		if !p.QuietUntil.IsZero() {
			released = true
			checkUnclaimed(t, st, s)
			cancel()
		}
	}
	if _, err := collect.Run(ctx, st, o); err != nil || !released {
		t.Errorf("Run = %v, released the claim: %t", err, released)
	}
}
