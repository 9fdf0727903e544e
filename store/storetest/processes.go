package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Backend describes a backend for RunProcesses. A DSN, which is a path or a URL, identifies the
// database to other processes.
type Backend struct {
	// Open opens the database at dsn, creating it or its schema if necessary. The caller closes it.
	Open func(ctx context.Context, dsn string) (Database, error)
	// Empty returns a DSN whose database does not exist or has no schema. It remains usable until
	// the test ends.
	Empty func(t testing.TB) string
	// New returns a DSN for one test. The database may exist but has no records or accounts.
	New func(t testing.TB) string
	// Check looks for database corruption after a process is killed. It may be nil.
	Check func(t *testing.T, db Database)
}

// RunProcesses tests a backend with several processes on one database, and kills some of them. The
// backend's TestMain must call RunChild.
func RunProcesses(t *testing.T, b Backend) {
	for _, k := range []struct {
		name string
		run  func(t *testing.T, b Backend)
	}{
		{"concurrent open creates one database", concurrentOpen},
		{"charge limit", chargeAcrossProcesses},
		{"concurrent sign-ups", signUpAcrossProcesses},
		{"concurrent sign-ups and AddIdentity", addIdentityAcrossProcesses},
		{"key limit", keysAcrossProcesses},
		{"sign-in link is used once", useLinksAcrossProcesses},
		{"sessions survive a killed process", killedSessions},
		{"refusals add up", refusalsAcrossProcesses},
		{"active search limit on create", createAcrossProcesses},
		{"active search limit on resume", resumeAcrossProcesses},
		{"destination limit", addAcrossProcesses},
		{"confirmation limit", confirmAcrossProcesses},
		{"due searches run once", running.runTogether},
		{"ledger survives a killed process", killedLedger},
		{"runs of a killed process are taken over", running.killed},
		{"messages are delivered once", delivering.runTogether},
		{"deliveries of a killed process are taken over", delivering.killed},
		{"windows and labels are fetched once", fetching.runTogether},
		{"fetches of a killed process are taken over", fetching.killed},
		{"requests are spaced apart", reserveAcrossProcesses},
		{"account is deleted by several processes", deleteAcrossProcesses},
		{"deletion of a killed process is taken over", killedDeletion},
		{"account email is sent once", emailAcrossProcesses},
		{"killed import with the database open elsewhere", killedImportShared},
		{"killed import and reopened database", killedImportReopened},
		{"concurrent import and charges", importAndLedger},
	} {
		t.Run(k.name, func(t *testing.T) { k.run(t, b) })
	}
}

// mustOpen opens a store and closes it when the test ends.
func (b Backend) mustOpen(t *testing.T, dsn string) Database {
	t.Helper()
	db, err := b.Open(context.Background(), dsn)
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

// concurrentOpen checks that exactly one of several concurrent processes creates the database and
// that all open the same one.
func concurrentOpen(t *testing.T, b Backend) {
	dsn := b.Empty(t)
	var mu sync.Mutex
	seen := map[string]int{}
	note := func(opened string) {
		mu.Lock()
		defer mu.Unlock()
		seen[opened]++
	}
	var wg sync.WaitGroup
	for range 3 {
		p := launch(t, "open", dsn)
		wg.Go(func() {
			line, ok := p.Next()
			if !ok {
				t.Error("child process ended before it opened the database")
			}
			note(line)
			p.wait(t)
		})
		wg.Go(func() {
			db, err := b.Open(t.Context(), dsn)
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			note(openedLine(db.Created(), db.ID()))
			if err := db.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	wg.Wait()
	id := b.mustOpen(t, dsn).ID()
	if created, found := seen[openedLine(true, id)], seen[openedLine(false, id)]; created != 1 || found != 5 {
		t.Errorf("opens = %v, want one that created database %s and five that found it", seen, id)
	}
}

// chargeAcrossProcesses checks that two processes, and goroutines of a third, charge exactly up to
// the limit.
func chargeAcrossProcesses(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	account := mustAccount(t, db, chargedAccount, cola.TierFree)
	var total atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		p := start(t, "charge", dsn)
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
		t.Errorf("ledger has %d list records (error %v), granted %d; want %d", usage.Used.ListRecords, err,
			total.Load(), chargeLimit)
	}
}

// killedLedger checks that the ledger has every charge that a killed process reported, and at most
// one more.
func killedLedger(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	account := mustAccount(t, db, chargedAccount, cola.TierFree)
	reported := 0
	for round := range 3 {
		p := start(t, "charge", dsn)
		granted := 0
		for range 50 + 20*round {
			granted = p.number(t, "granted %d")
		}
		_ = p.cmd.Process.Kill()
		reported += max(granted, p.lastNumber(t, "granted %d")) // includes output from before the kill
		p.Kill()
		usage, err := db.AccountUsage(t.Context(), account.ID)
		if err != nil || usage.Used.ListRecords < reported || usage.Used.ListRecords > reported+1 {
			t.Fatalf("ledger has %d list records (error %v), want %d or one more", usage.Used.ListRecords, err,
				reported)
		}
		reported = usage.Used.ListRecords
	}
}

// killedImportShared checks that a process with the database open throughout finds every
// label complete.
func killedImportShared(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	for round := range 3 {
		reported := importAndKill(t, dsn, round)
		b.checkKilledImport(t, db, reported)
	}
}

// killedImportReopened checks that the next process to open the database finds every label complete
// if no other process had it open when the import was killed.
func killedImportReopened(t *testing.T, b Backend) {
	dsn := b.New(t)
	for round := range 3 {
		reported := importAndKill(t, dsn, round)
		db := b.mustOpen(t, dsn)
		b.checkKilledImport(t, db, reported)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// importAndKill kills an import midway, at a later point each round, and returns how many labels
// the import reported.
func importAndKill(t *testing.T, dsn string, round int) (reported int) {
	t.Helper()
	p := StartImport(t, dsn)
	for range 1 + 2*round {
		reported = p.number(t, "imported %d")
	}
	p.Kill()
	return reported
}

// checkKilledImport checks that every reported label exists, that every label is complete and has
// its permittee, and that the import can be repeated.
func (b Backend) checkKilledImport(t *testing.T, db Database, reported int) {
	t.Helper()
	stored := CheckSamples(t, db)
	if stored < reported {
		t.Errorf("%d labels stored, want at least the %d reported", stored, reported)
	}
	if b.Check != nil {
		b.Check(t, db)
	}
	outcomes, err := db.UpsertColas(t.Context(), Samples(stored-1, 2), store.Commit)
	checkEqual(t, "outcomes of repeating the import", []store.Outcome{store.Unchanged, store.Added},
		must(t, outcomes, err))
}

// importAndLedger checks that charges and a continuous import in another process both make
// progress.
func importAndLedger(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	account := mustAccount(t, db, chargedAccount, cola.TierFree)
	p := StartImport(t, dsn)
	for range 3 {
		for range 100 {
			if granted, err := chargeNext(t.Context(), db, account.ID); err != nil || granted != 1 {
				t.Fatalf("chargeNext = %d, %v; want 1, nil", granted, err)
			}
		}
		p.Line(t) // the import has progressed
	}
}
