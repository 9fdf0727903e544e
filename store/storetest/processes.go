package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Backend describes a backend to RunProcesses. A place is how another process finds the same
// database: a path or a URL.
type Backend struct {
	// Open opens the database at a place, creating it if necessary. The caller closes it.
	Open func(ctx context.Context, place string) (Database, error)
	// Empty returns a place without a database, which exists until the test ends.
	Empty func(t testing.TB) string
	// New returns a place for one test. The database may exist but has no records or accounts.
	New func(t testing.TB) string
	// Check looks for internal damage after a process was killed. It may be nil.
	Check func(t *testing.T, db Database)
}

// RunProcesses tests a backend with several processes on one database, some of which are killed.
// The backend's TestMain must call PlayChild.
func RunProcesses(t *testing.T, b Backend) {
	for _, k := range []struct {
		name string
		run  func(t *testing.T, b Backend)
	}{
		{"of several that open a new database together one makes it", openAtOnce},
		{"an account is shared", shareAccount},
		{"identities that come in together have one account", signUpTogether},
		{"identities that come in while they are given have the account", giveTogether},
		{"keys are limited", keysTogether},
		{"a link signs in once", useTogether},
		{"sessions outlive a killed process", killedSessions},
		{"refusals add up", noteTogether},
		{"active schedules are limited", createTogether},
		{"resumed schedules are limited", resumeTogether},
		{"destinations are limited", addTogether},
		{"people are asked as often as they may be", askTogether},
		{"searches that are due are run once", running.together},
		{"a killed ledger loses nothing", killedLedger},
		{"what a killed process was to run is run by another", running.killed},
		{"messages are delivered once", delivering.together},
		{"what a killed process was to deliver is delivered by another", delivering.killed},
		{"a killed import leaves whole labels to others", killedImportBesideOthers},
		{"a killed import leaves whole labels to the next", killedImportAlone},
		{"an import and the ledger take turns", importAndLedger},
	} {
		t.Run(k.name, func(t *testing.T) { k.run(t, b) })
	}
}

// mustOpen opens a store and closes it when the test ends.
func (b Backend) mustOpen(t *testing.T, place string) Database {
	t.Helper()
	db, err := b.Open(context.Background(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return db
}

// openAtOnce checks that exactly one of several concurrent processes creates the database and that
// all open the same one.
func openAtOnce(t *testing.T, b Backend) {
	place := b.Empty(t)
	var mu sync.Mutex
	seen := map[string]int{}
	note := func(opened string) {
		mu.Lock()
		defer mu.Unlock()
		seen[opened]++
	}
	var wg sync.WaitGroup
	for range 3 {
		p := launch(t, "open", place)
		wg.Go(func() {
			line, ok := p.Next()
			if !ok {
				t.Error("a process ended without having opened the database")
			}
			note(line)
			p.wait(t)
		})
		wg.Go(func() {
			db, err := b.Open(t.Context(), place)
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			note(opened(db.Created(), db.ID()))
			if err := db.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	wg.Wait()
	id := b.mustOpen(t, place).ID()
	if made, found := seen[opened(true, id)], seen[opened(false, id)]; made != 1 || found != 5 {
		t.Errorf("opened %v; want one that made the database %s and five that found it", seen, id)
	}
}

// shareAccount checks that two processes, and goroutines of a third, charge exactly up to the
// limit.
func shareAccount(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	account := mustAccount(t, db, chargedAccount, cola.TierFree)
	var total atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		p := start(t, "charge", place)
		wg.Go(func() {
			total.Add(int64(p.lastNumber(t, "granted %d")))
			p.wait(t)
		})
	}
	for range 4 {
		wg.Go(func() {
			for {
				granted, err := chargeNext(t.Context(), db, account.ID)
				total.Add(int64(granted))
				if err != nil {
					t.Errorf("charge: %v", err)
				}
				if err != nil || granted == 0 {
					return
				}
			}
		})
	}
	wg.Wait()
	usage, err := db.AccountUsage(t.Context(), account.ID)
	if err != nil || usage.Used.ListRecords != chargeLimit || total.Load() != chargeLimit {
		t.Errorf("%d records are in the ledger (%v), %d were granted; want %d", usage.Used.ListRecords, err, total.Load(), chargeLimit)
	}
}

// killedLedger checks that the ledger has every charge that a killed process reported, and at most
// one more.
func killedLedger(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	account := mustAccount(t, db, chargedAccount, cola.TierFree)
	told := 0
	for round := range 3 {
		p := start(t, "charge", place)
		granted := 0
		for range 50 + 20*round {
			granted = p.number(t, "granted %d")
		}
		_ = p.cmd.Process.Kill()
		told += max(granted, p.lastNumber(t, "granted %d")) // includes output from before the kill
		p.Kill()
		usage, err := db.AccountUsage(t.Context(), account.ID)
		if err != nil || usage.Used.ListRecords < told || usage.Used.ListRecords > told+1 {
			t.Fatalf("%d records are in the ledger (%v), the processes said %d", usage.Used.ListRecords, err, told)
		}
		told = usage.Used.ListRecords
	}
}

// killedImportBesideOthers checks that a process with the database open throughout finds every
// label complete.
func killedImportBesideOthers(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	for round := range 3 {
		told := importAndKill(t, place, round)
		b.checkKilledImport(t, db, told)
	}
}

// killedImportAlone checks that the next process to open the database finds every label complete if
// no other had it open when the import was killed.
func killedImportAlone(t *testing.T, b Backend) {
	place := b.New(t)
	for round := range 3 {
		told := importAndKill(t, place, round)
		db := b.mustOpen(t, place)
		b.checkKilledImport(t, db, told)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// importAndKill kills an import midway, later in each round, and returns how many labels it
// reported.
func importAndKill(t *testing.T, place string, round int) (told int) {
	t.Helper()
	p := StartImport(t, place)
	for range 1 + 2*round {
		told = p.number(t, "kept %d")
	}
	p.Kill()
	return told
}

// checkKilledImport checks that every reported label exists, that every label is complete and has
// its permittee, and that the import can be repeated.
func (b Backend) checkKilledImport(t *testing.T, db Database, told int) {
	t.Helper()
	kept := CheckSamples(t, db)
	if kept < told {
		t.Errorf("%d labels are kept, the process told of %d", kept, told)
	}
	if b.Check != nil {
		b.Check(t, db)
	}
	outcomes, err := db.UpsertColas(t.Context(), Samples(kept-1, 2), store.Commit)
	same(t, "importing again", []store.Outcome{store.Unchanged, store.Added}, must(t, outcomes, err))
}

// importAndLedger checks that charges and a continuous import in another process both make
// progress.
func importAndLedger(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	account := mustAccount(t, db, chargedAccount, cola.TierFree)
	p := StartImport(t, place)
	for range 3 {
		for range 100 {
			if granted, err := chargeNext(t.Context(), db, account.ID); err != nil || granted != 1 {
				t.Fatalf("granted %d, %v", granted, err)
			}
		}
		p.Line(t) // the import has progressed
	}
}
