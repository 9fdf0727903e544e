package alerts

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/internal/sqlitetest"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/postgres"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// opener opens the test's database with the given clock. Each call acts as a separate process.
type opener func(t testing.TB, now func() time.Time) store.Store

// onBackends runs a test or benchmark on each kind of database.
func onBackends[T interface {
	testing.TB
	Run(string, func(T)) bool
}](t T, test func(T, opener)) {
	quiet := slog.New(slog.DiscardHandler)
	t.Run("sqlite", func(t T) {
		path := sqlitetest.NewFile(t)
		test(t, func(t testing.TB, now func() time.Time) store.Store {
			st, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: now, Logger: quiet})
			return opened(t, st, err)
		})
	})
	t.Run("postgres", func(t T) {
		url := pgtest.NewDatabase(t)
		test(t, func(t testing.TB, now func() time.Time) store.Store {
			st, err := postgres.Open(t.Context(), url, postgres.Options{Now: now, Logger: quiet})
			return opened(t, st, err)
		})
	})
}

func opened(t testing.TB, st store.Store, err error) store.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

func mustAccount(t testing.TB, st store.Store) cola.AccountID {
	t.Helper()
	account, err := st.CreateAccount(t.Context(), "alerts@example.com", cola.TierFree)
	if err == nil {
		err = st.SetActiveLimit(t.Context(), account.ID, 1_000_000)
	}
	if err != nil {
		t.Fatal(err)
	}
	return account.ID
}

func searchUUID(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }

func mustSave(
	t testing.TB, st store.Store, account cola.AccountID, i int, f cola.SavedSearchFilters, schedule cola.Schedule,
	now time.Time,
) {
	t.Helper()
	schedule.Active, schedule.NextRunAt = true, cola.Some(cola.TimestampOf(schedule.Next(now)))
	search := cola.SavedSearch{UUID: searchUUID(i), Name: "n", Filters: f, Schedule: &schedule}
	if _, _, err := st.CreateSavedSearch(t.Context(), store.NewSavedSearch{Account: account, Search: search, MaxActive: 1_000_000}); err != nil {
		t.Fatal(err)
	}
}

// mustWrite writes a complete label.
func mustWrite(t testing.TB, st store.Store, label cola.IndexRecord, mode store.Mode) {
	t.Helper()
	patch := cola.Patch[cola.Cola]{Record: cola.Cola{ColaSummary: label.Summary}}
	for i := range cola.FieldsOf[cola.Cola]() {
		patch.Fields = patch.Fields.With(i)
	}
	if outcomes, err := st.UpsertColas(t.Context(), []cola.Patch[cola.Cola]{patch}, mode); err != nil ||
		outcomes[0] == store.Rejected {
		t.Fatalf("write %v: %v, %v", label.Summary.TTBID, outcomes, err)
	}
}

// TestBackendsMatchFake applies the same random events to a real store and to fakeStore, and
// compares the results of the ticks.
func TestBackendsMatchFake(t *testing.T) {
	onBackends(t, func(t *testing.T, open opener) {
		fake := newFakeStore(at(3, 1, 0))
		real := open(t, func() time.Time { return fake.clock })
		account, r := mustAccount(t, real), rand.New(rand.NewPCG(7, 7))
		searches, ticks := 0, 0
		for range 400 {
			switch r.IntN(7) {
			case 0, 1, 2:
				writeBoth(t, r, fake, real)
			case 3:
				f := cola.SavedSearchFilters{BrandName: []string{"oak", "hill", "elm", "l"}[r.IntN(4)]}
				if r.IntN(2) == 0 {
					f.TypeWine, f.TypeMaltBeverage = cola.Some(true), cola.Some(true)
				}
				schedule := []cola.Schedule{
					daily, {Cadence: cola.CadenceWeekly, Day: 1}, {Cadence: cola.CadenceMonthly, Day: 5},
				}[r.IntN(3)]
				fake.save(searchUUID(searches), f, schedule)
				mustSave(t, real, account, searches, f, schedule, fake.clock)
				searches++
			case 4:
				fake.clock = fake.clock.Add(time.Duration(r.IntN(100)) * time.Hour)
			case 5:
				o := Options{Batch: 1 + r.IntN(20)}
				o.Store = fake
				want := mustTick(t, New(o), fake.clock)
				o.Store = real
				if diff := cmp.Diff(want, mustTick(t, New(o), fake.clock)); diff != "" {
					t.Fatalf("tick %d (-fake +real):\n%s", ticks, diff)
				}
				ticks++
			case 6:
				if searches > 0 {
					uuid := searchUUID(r.IntN(searches))
					fake.request(uuid)
					if _, err := real.RequestRun(t.Context(), account, uuid, fake.clock, 1_000); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		checkSameMatches(t, fake, real, account)
	})
}

// writeBoth writes a label to both stores. A known approval date never changes; an estimated one
// may be replaced by a known date.
func writeBoth(t *testing.T, r *rand.Rand, fake *fakeStore, real store.Store) {
	t.Helper()
	label := oak(1+r.IntN(60), cola.DateOf(fake.clock).AddDays(3-r.IntN(100)))
	label.Summary.ProductType = vocabulary.ProductType(vocabulary.ProductTypes()[r.IntN(3)])
	label.Summary.BrandName = brands[r.IntN(len(brands))]
	if l := fake.labels[label.Summary.TTBID]; l != nil {
		if s, _ := l.latest(fake.revision); s.label.Summary.ApprovalDate != 0 || r.IntN(2) == 0 {
			label.Summary.ApprovalDate = s.label.Summary.ApprovalDate
		}
	} else if r.IntN(5) == 0 {
		label.Summary.ApprovalDate = 0
	}
	label.Summary.SetEstimate(cola.EstimateApproval(label.Summary.TTBID, 0, cola.DateOf(fake.clock),
		func(cola.Date) int { return cola.DefaultProcessingDays }))
	history := r.IntN(6) == 0
	fake.write(label, history)
	mode := store.Commit
	if history {
		mode = store.History
	}
	mustWrite(t, real, label, mode)
}

func checkSameMatches(t *testing.T, fake *fakeStore, real store.Store, account cola.AccountID) {
	t.Helper()
	found := 0
	for i := range len(fake.searches) {
		want := map[cola.TTBID]store.RunMatch{}
		for _, r := range fake.recorded {
			for _, m := range r.new {
				if r.Due.Search.UUID == searchUUID(i) {
					want[m.TTBID] = m
				}
			}
		}
		list, _, err := real.MatchesOf(t.Context(), account, searchUUID(i), 0, store.Slice{Limit: 1_000})
		if err != nil {
			t.Fatal(err)
		}
		got := map[cola.TTBID]store.RunMatch{}
		for _, m := range list {
			got[m.TTBID] = store.RunMatch{TTBID: m.TTBID, Late: m.Late, Met: m.Met}
		}
		if diff := cmp.Diff(want, got); diff != "" || len(list) != len(got) {
			t.Errorf("search %d (-fake +real):\n%s", i, diff)
		}
		found += len(got)
	}
	if found < 100 {
		t.Errorf("found %d labels, want at least 100 for a meaningful comparison", found)
	}
}

// TestConcurrentRunners checks that concurrent runners in two processes find every label
// exactly once per search while labels arrive.
func TestConcurrentRunners(t *testing.T) {
	onBackends(t, func(t *testing.T, open opener) {
		const searches, rounds = 60, 12
		clock := at(11, 9, 12)
		var mu sync.Mutex
		now := func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return clock
		}
		st, other := open(t, now), open(t, now)
		account := mustAccount(t, st)
		for i := range searches {
			mustSave(t, st, account, i, oaks, daily, now())
		}
		for round := range rounds {
			mu.Lock()
			clock = clock.Add(24 * time.Hour)
			mu.Unlock()
			var all sync.WaitGroup
			all.Go(func() { mustWrite(t, st, wineOak(round, now()), store.Commit) })
			for _, from := range []store.Store{st, other, st} {
				all.Go(func() {
					if _, err := New(Options{Store: from, Batch: 7}).Tick(t.Context(), now()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		mustTick(t, New(Options{Store: st}), now().Add(24*time.Hour))
		for i := range searches {
			checkFoundOnce(t, st, account, i, rounds, rounds+1)
		}
	})
}

func wineOak(number int, approved time.Time) cola.IndexRecord {
	label := oak(number, cola.DateOf(approved))
	label.Summary.ProductType = vocabulary.Wine
	return label
}

// checkFoundOnce checks the number of labels and runs of a search, and that each run's window
// starts on the last day of the previous run's window.
func checkFoundOnce(t *testing.T, st store.Store, account cola.AccountID, search, labels, runs int) {
	t.Helper()
	list, total, err := st.RunsOf(t.Context(), account, searchUUID(search), store.Slice{Limit: 1_000})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	slices.Reverse(list)
	for i, r := range list {
		found += r.MatchCount
		if i > 0 && r.DateFrom != list[i-1].DateTo {
			t.Errorf("search %d: run starts at %v, want %v", search, r.DateFrom, list[i-1].DateTo)
		}
	}
	if found != labels || total != runs {
		t.Errorf("search %d found %d labels in %d runs, want %d in %d", search, found, total, labels, runs)
	}
}
