package registry_test

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/quota"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

// switching simulates a store that is restored from a backup while it is being followed: reads
// switch from one database to another. The ledger does not switch.
type switching struct {
	*sqlite.Store
	other *sqlite.Store
	after string        // the method after which the store switches, once armed
	hold  chan struct{} // if not nil, blocks the full reread after the switch until closed
	armed atomic.Bool
	back  atomic.Bool
	ahead atomic.Int64 // clock offset in nanoseconds, for both databases
}

func (s *switching) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

func (s *switching) current() *sqlite.Store {
	if s.back.Load() {
		return s.other
	}
	return s.Store
}

func (s *switching) did(method string) {
	if s.armed.Load() && method == s.after {
		s.back.Store(true)
	}
}

func (s *switching) Revision(ctx context.Context) (cola.Revision, error) {
	defer s.did("Revision")
	return s.current().Revision(ctx)
}

func (s *switching) HasRevision(ctx context.Context, rev cola.Revision) (bool, error) {
	defer s.did("HasRevision")
	return s.current().HasRevision(ctx, rev)
}

func (s *switching) ColasSince(ctx context.Context, after cola.Revision, yield func(*cola.IndexRecord) error) (cola.Revision, error) {
	defer s.did("ColasSince")
	if s.back.Load() && after == 0 && s.hold != nil {
		<-s.hold
	}
	return s.current().ColasSince(ctx, after, yield)
}

func (s *switching) PermitteesSince(ctx context.Context, after cola.Revision, yield func(*cola.Permittee) error) (cola.Revision, error) {
	defer s.did("PermitteesSince")
	return s.current().PermitteesSince(ctx, after, yield)
}

func (s *switching) ReferenceRevision(ctx context.Context) (cola.Revision, error) {
	defer s.did("ReferenceRevision")
	return s.current().ReferenceRevision(ctx)
}

func (s *switching) AllReferences(ctx context.Context) (store.ReferenceSets, error) {
	defer s.did("AllReferences")
	return s.current().AllReferences(ctx)
}

// mustForkBackup creates two databases from one backup. The first has changes written after the
// backup and then lost. The second has changes written after the restore; it has more of them, so
// its revision is higher.
func mustForkBackup(t *testing.T) *switching {
	t.Helper()
	s, dir := &switching{}, t.TempDir()
	open := func(name string) *sqlite.Store {
		st, err := sqlite.Open(t.Context(), filepath.Join(dir, name), sqlite.Options{Now: s.now, Logger: slog.New(slog.DiscardHandler)})
		must(t, func() error { return err })
		t.Cleanup(func() { st.Close() })
		return st
	}
	st := open("first.db")
	account, err := st.CreateAccount(t.Context(), "past@example.com", cola.TierPro)
	must(t, func() error { return err })
	_, err = st.CreateKey(t.Context(), store.Key{AccountID: account.ID, Name: "test"}, sha256.Sum256(nil), 0)
	must(t, func() error { return err })
	mustName(t, st, "COMMON", 1, 2, 3)
	must(t, st.Close)
	backup, err := os.ReadFile(filepath.Join(dir, "first.db"))
	must(t, func() error { return err })
	must(t, func() error { return os.WriteFile(filepath.Join(dir, "other.db"), backup, 0o600) })

	s.Store, s.other = open("first.db"), open("other.db")
	mustName(t, s.Store, "LOST", 2, 4)
	mustTime(t, s.Store, "Lost")
	mustName(t, s.other, "LATER", 3, 5, 6, 7, 8, 9)
	first, err := s.Store.Revision(t.Context())
	must(t, func() error { return err })
	other, err := s.other.Revision(t.Context())
	must(t, func() error { return err })
	if s.Store.ID() != s.other.ID() || other <= first {
		t.Fatalf("databases %s at %d and %s at %d must share an ID, the second at a later revision", s.Store.ID(), first, s.other.ID(), other)
	}
	return s
}

// mustName writes labels with a brand name, each in a separate change, and gives their permittee
// the same name.
func mustName(t *testing.T, st store.Store, name string, ids ...cola.TTBID) {
	t.Helper()
	for _, id := range ids {
		label := cola.Patch[cola.Cola]{Record: cola.Cola{ColaSummary: cola.ColaSummary{
			TTBID: 11054001000000 + id, BrandName: name, ProductType: vocabulary.Wine, PermitNumber: "NJ-I-721",
		}}, Fields: ^cola.Fields(0)}
		_, err := st.UpsertColas(t.Context(), []cola.Patch[cola.Cola]{label}, store.Commit)
		must(t, func() error { return err })
	}
	permittee := cola.Patch[cola.Permittee]{Record: cola.Permittee{PermitNumber: "NJ-I-721", CompanyName: cola.Text(name)}, Fields: ^cola.Fields(0)}
	_, err := st.UpsertPermittees(t.Context(), []cola.Patch[cola.Permittee]{permittee}, store.Commit)
	must(t, func() error { return err })
}

// mustTime writes a processing time.
func mustTime(t *testing.T, st store.Store, commodity string) {
	t.Helper()
	_, err := st.UpsertProcessingTimes(t.Context(), []cola.ProcessingTime{{Commodity: commodity, SnapshotDate: cola.DateOf(testNow)}}, store.Commit)
	must(t, func() error { return err })
}

// content contains the records of each kind by key.
type content struct {
	brands     map[cola.TTBID]string
	permittees map[string]cola.Text
	times      []cola.ProcessingTime
}

func stored(t *testing.T, st store.Store) content {
	t.Helper()
	c := content{brands: map[cola.TTBID]string{}, permittees: map[string]cola.Text{}}
	_, err := st.ColasSince(t.Context(), 0, func(r *cola.IndexRecord) error {
		c.brands[r.Summary.TTBID] = r.Summary.BrandName
		return nil
	})
	must(t, func() error { return err })
	_, err = st.PermitteesSince(t.Context(), 0, func(p *cola.Permittee) error { c.permittees[p.PermitNumber] = p.CompanyName; return nil })
	must(t, func() error { return err })
	sets, err := st.AllReferences(t.Context())
	must(t, func() error { return err })
	c.times = append(c.times, sets.ProcessingTimes...)
	return c
}

// followedService is a service and its follower.
type followedService struct {
	*registry.Service
	index *search.Index
	build registry.Build // how the index was first built

	store  *switching
	caller cola.Caller
	stop   func() // stops the follower, which saves the snapshot
}

// observe starts a follower that runs until the test ends, and waits until the service is ready.
func observe(t *testing.T, s *switching, snapshot string) *followedService {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	o := &followedService{store: s, index: search.New(search.Options{}), caller: cola.Caller{
		Account: 1, Credential: cola.Credential{Kind: cola.CredentialKey, ID: 1}, Channel: cola.ChannelREST,
	}}
	ledger := quota.New(s, quota.Options{Logger: quiet})
	o.Service = registry.New(registry.Options{Store: s, Index: o.index, Ledger: ledger, PublicURL: publicURL, Now: time.Now, Logger: quiet})
	built := make(chan struct{})
	follower := registry.NewFollower(o.Service, registry.FollowerOptions{Snapshot: snapshot, Built: func(b registry.Build) { o.build = b; close(built) }})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- follower.Run(ctx) }()
	var stopped bool
	o.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ledger.Close()
		o.index.Close()
	}
	t.Cleanup(o.stop)
	<-built
	return o
}

// indexed returns the content that the service returns. It advances the clock so that waiting never
// exhausts the rate limit.
func (o *followedService) indexed(t *testing.T) content {
	t.Helper()
	c := content{brands: map[cola.TTBID]string{}, permittees: map[string]cola.Text{}}
	view := o.index.View()
	for _, row := range view.Search(cola.ColaSearch{Page: 1, PerPage: 100}).Rows {
		c.brands[row.TTBID] = row.BrandName
	}
	for _, row := range view.Permittees(cola.PermitteeSearch{Page: 1, PerPage: 100, Today: cola.DateOf(testNow)}).Rows {
		c.permittees[row.PermitNumber] = row.CompanyName
	}
	o.store.ahead.Add(int64(time.Second))
	times, _, err := o.ProcessingTimes(t.Context(), o.caller, cola.ProcessingTimeParams{})
	if code(err) == cola.CodeUnavailable {
		return content{} // not ready
	}
	must(t, func() error { return err })
	c.times = append(c.times, times.Rows...)
	return c
}

func (o *followedService) eventuallyShows(t *testing.T, want content) {
	t.Helper()
	var diff string
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(20 * time.Millisecond) {
		if diff = cmp.Diff(want, o.indexed(t), cmp.AllowUnexported(content{})); diff == "" {
			return
		}
	}
	t.Errorf("index differs from the store (-want +got):\n%s", diff)
}

// TestSnapshotAfterRestore checks that the follower ignores a snapshot that was saved before the
// database was restored from a backup.
func TestSnapshotAfterRestore(t *testing.T) {
	t.Parallel()
	s, snapshot := mustForkBackup(t), filepath.Join(t.TempDir(), "registry.index")
	for _, step := range []struct {
		what     string
		back     bool
		restored bool
	}{
		{"a first start", false, false},
		{"a second start", false, true},
		{"a start after the switch to the backup", true, false},
		{"the next start", true, true},
		{"another start on the original database", false, false},
	} {
		s.back.Store(step.back)
		o := observe(t, s, snapshot)
		if o.build.Restored != step.restored {
			t.Errorf("%s: restored from the snapshot = %v, want %v", step.what, o.build.Restored, step.restored)
		}
		if diff := cmp.Diff(stored(t, s.current()), o.indexed(t), cmp.AllowUnexported(content{})); diff != "" {
			t.Errorf("%s: index differs from the store (-want +got):\n%s", step.what, diff)
		}
		o.stop()
	}
}

// TestStoreRollbackWhileFollowing checks that the index follows a database that is restored from a
// backup, at any step of the first build or of an update.
func TestStoreRollbackWhileFollowing(t *testing.T) {
	for _, method := range []string{"Revision", "ColasSince", "PermitteesSince", "ReferenceRevision", "AllReferences", "HasRevision"} {
		for when, building := range map[string]bool{"during the first build": true, "during an update": false} {
			t.Run(method+" "+when, func(t *testing.T) {
				t.Parallel()
				s := mustForkBackup(t)
				s.after = method
				s.armed.Store(building)
				o := observe(t, s, "")
				if !building {
					s.armed.Store(true)
					mustName(t, s.Store, "NEWS", 1, 10)
					mustTime(t, s.Store, "News")
				}
				o.eventuallyShows(t, stored(t, s.other))
				if !s.back.Load() {
					t.Error("store was not rolled back")
				}
				mustName(t, s.other, "NEWS", 1, 11)
				mustTime(t, s.other, "News")
				o.eventuallyShows(t, stored(t, s.other))
			})
		}
	}
}

// TestReadinessDuringRebuild checks that requests fail while the index is being rebuilt.
func TestReadinessDuringRebuild(t *testing.T) {
	t.Parallel()
	s := mustForkBackup(t)
	s.hold, s.after = make(chan struct{}), "Revision"
	o := observe(t, s, "")
	must(t, func() error { return o.Ready(t.Context()) })
	s.armed.Store(true)
	eventually(t, "the service to become unready", func() bool { return o.Ready(t.Context()) != nil })
	if _, _, err := o.SearchColas(t.Context(), o.caller, cola.SearchParams{}); code(err) != cola.CodeUnavailable {
		t.Errorf("SearchColas during a rebuild: error = %v, want unavailable", err)
	}
	close(s.hold)
	eventually(t, "the service to become ready again", func() bool { return o.Ready(t.Context()) == nil })
	o.eventuallyShows(t, stored(t, s.other))
}
