package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// childRole, when set in the environment, makes the test binary play another process on the database at childPlace.
const (
	childRole  = "COLAREGISTRY_TEST_STORE_CHILD"
	childPlace = "COLAREGISTRY_TEST_STORE_PLACE"
)

// childRoles are what another process can do once it has said how it opened the database. Each says what it did.
var childRoles = map[string]func(ctx context.Context, st store.Store, out io.Writer) error{
	"open":        func(context.Context, store.Store, io.Writer) error { return nil },
	"charge":      childCharge,
	"import":      childImport,
	"enter":       childSignUp,
	"create":      childCreate,
	"run":         running.child(anHour),
	"run briefly": running.child(shortHold),
	"claim":       running.childClaim,
	"resume":      childResume,
	"keys":        childKeys,
	"use links":   childUseLinks,
	"keep":        childKeep,
	"note":        childNote,

	"deliver":          delivering.child(anHour),
	"deliver briefly":  delivering.child(shortHold),
	"claim deliveries": delivering.childClaim,
	"add":              childAdd,
	"ask":              childAsk,
}

// Database is a store that tells whether its opening made the database.
type Database interface {
	store.Store
	Created() bool
}

// PlayChild is what TestMain of a backend calls before all else: when a test started this process as another one on a
// database, it plays that one and exits. Otherwise it does nothing. Open is that of the Backend.
func PlayChild(open func(ctx context.Context, place string) (Database, error)) {
	role := os.Getenv(childRole)
	if role == "" {
		return
	}
	if err := play(context.Background(), role, os.Stdout, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func play(ctx context.Context, role string, out io.Writer, open func(ctx context.Context, place string) (Database, error)) error {
	act, known := childRoles[role]
	if !known {
		return fmt.Errorf("there is no role %q", role)
	}
	db, err := open(ctx, os.Getenv(childPlace))
	if err != nil {
		return err
	}
	fmt.Fprintln(out, opened(db.Created(), db.ID()))
	return errors.Join(act(ctx, db, out), db.Close())
}

// opened is what a process says of the database that it opened.
func opened(created bool, id string) string { return fmt.Sprintf("open created=%v id=%s", created, id) }

const (
	// chargedAccount is the email address of the account that processes charge, and chargeLimit what they charge it up to.
	chargedAccount = "a@example.com"
	chargeLimit    = 1_500
)

// chargeNext charges an account one list record, unless that is over the limit, and returns how many were granted.
func chargeNext(ctx context.Context, st store.Store, account cola.AccountID) (granted int, err error) {
	err = st.Settle(ctx, store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{account}},
		func(_ time.Time, states []store.AccountState) []store.Entry {
			granted = min(1, chargeLimit-states[0].Used.ListRecords)
			return []store.Entry{charge(account, 0, rest(1, cola.MeterListRecords, granted))}
		})
	return granted, err
}

// childCharge charges the account up to the limit, saying after each charge how many it has been granted.
func childCharge(ctx context.Context, st store.Store, out io.Writer) error {
	account, err := st.AccountByEmail(ctx, chargedAccount)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		granted, err := chargeNext(ctx, st, account.ID)
		if err != nil || granted == 0 {
			return err
		}
		fmt.Fprintf(out, "granted %d\n", n+1)
	}
}

// ImportBatch is how many labels a process that imports keeps in one call.
const ImportBatch = 500

// childImport imports samples until it is killed, saying after each call how many there are.
func childImport(ctx context.Context, st store.Store, out io.Writer) error {
	for n := 0; ; n += ImportBatch {
		if _, err := st.UpsertColas(ctx, Samples(n, ImportBatch), store.Commit); err != nil {
			return err
		}
		fmt.Fprintf(out, "kept %d\n", n+ImportBatch)
	}
}

// Process is another process on a database.
type Process struct {
	cmd  *exec.Cmd
	out  *bufio.Reader
	errs strings.Builder // to be read once it has ended
}

// StartImport starts another process that imports the samples from the first on, ImportBatch a call, and writes a line after
// each. It returns when the process has opened the database; the process goes on until it is killed, at the latest when the
// test ends.
func StartImport(t testing.TB, place string) *Process {
	t.Helper()
	return start(t, "import", place)
}

// start starts another process and returns when it has opened the database.
func start(t testing.TB, role, place string) *Process {
	t.Helper()
	p := launch(t, role, place)
	if line := p.Line(t); !strings.HasPrefix(line, "open ") {
		t.Fatalf("the process says %q; does TestMain call PlayChild?", line)
	}
	return p
}

// launch starts another process, which is killed when the test ends, if it still runs.
func launch(t testing.TB, role, place string) *Process {
	t.Helper()
	p := &Process{cmd: exec.Command(os.Args[0], "-test.run=^$")}
	p.cmd.Env = append(os.Environ(), childRole+"="+role, childPlace+"="+place)
	p.cmd.Stderr = &p.errs
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// Next returns the next line that the process writes; ok is false when it has ended.
func (p *Process) Next() (line string, ok bool) {
	s, err := p.out.ReadString('\n')
	return strings.TrimSpace(s), err == nil // what has no end of line was cut off
}

// Line returns the next line that the process writes. The test ends when there is none.
func (p *Process) Line(t testing.TB) string {
	t.Helper()
	line, ok := p.Next()
	if !ok {
		p.Kill()
		t.Fatalf("the process ended: %v: %s", p.cmd.ProcessState, p.errs.String())
	}
	return line
}

// number returns the number in the next line.
func (p *Process) number(t testing.TB, format string) (n int) {
	t.Helper()
	if line := p.Line(t); !scan(line, format, &n) {
		t.Fatalf("the process says %q, want %q", line, format)
	}
	return n
}

// lastNumber returns the number in the last line that the process writes before it is gone, or 0 when it writes none.
func (p *Process) lastNumber(t testing.TB, format string) (n int) {
	t.Helper()
	for line, ok := p.Next(); ok; line, ok = p.Next() {
		if !scan(line, format, &n) {
			t.Errorf("the process says %q, want %q", line, format)
		}
	}
	return n
}

func scan(line, format string, n *int) bool {
	_, err := fmt.Sscanf(line, format, n)
	return err == nil
}

// wait waits for the process to end well.
func (p *Process) wait(t testing.TB) {
	t.Helper()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("process: %v: %s", err, p.errs.String())
	}
}

// Kill ends the process as kill -9 does, and waits until it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may be gone
	_ = p.cmd.Wait()
}

// shortHold is how long a process holds what it claims that is to be killed. No other is at work beside it.
const shortHold = 2 * time.Second

// sharedWork is what processes claim from each other, do once, and leave to others when they are killed.
type sharedWork struct {
	jobs                 int
	work, briefly, claim string // names of what child processes do: all of it, all of it with short holds, and only claiming
	share                func(t *testing.T, db Database) cola.AccountID
	done                 func(t *testing.T, db Database, account cola.AccountID) // holds a database to everything having been done once
	// untilDone claims and does until nothing is due, calls told with how much it has done so far, and returns how much that is.
	untilDone func(ctx context.Context, st store.Store, hold time.Duration, told func(n int)) (int, error)
	claimAll  func(ctx context.Context, st store.Store) (int, error)  // with shortHold
	left      func(ctx context.Context, st store.Store) (bool, error) // whether anything is due, held or not
}

// child does what is due, with holds of a length, and says how much it has done.
func (w *sharedWork) child(hold time.Duration) func(ctx context.Context, st store.Store, out io.Writer) error {
	return func(ctx context.Context, st store.Store, out io.Writer) error {
		_, err := w.untilDone(ctx, st, hold, func(n int) { fmt.Fprintf(out, "done %d\n", n) })
		return err
	}
}

// childClaim claims what is due, says how much that is, and neither does it nor lets it go.
func (w *sharedWork) childClaim(ctx context.Context, st store.Store, out io.Writer) error {
	n, err := w.claimAll(ctx, st)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "claimed %d\n", n)
	time.Sleep(time.Hour)
	return errors.New("nobody has killed the process")
}

// together: two processes, and goroutines of a third, do everything once.
func (w *sharedWork) together(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	account := w.share(t, db)
	total := together(t, place, w.work, "done %d", func(int) (int, error) { return w.untilDone(t.Context(), db, anHour, func(int) {}) })
	if total != w.jobs {
		t.Errorf("%d were done, want %d", total, w.jobs)
	}
	w.done(t, db, account)
}

// killed: what a killed process held is done by others once its hold has passed, and what it has done is not done again.
func (w *sharedWork) killed(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	account := w.share(t, db)
	for round := range 3 {
		p := start(t, w.briefly, place)
		for p.number(t, "done %d") < 10+15*round {
		}
		p.Kill()
	}
	p := start(t, w.claim, place)
	if n := p.number(t, "claimed %d"); n == 0 {
		t.Error("there was nothing left to claim; the test shows nothing")
	}
	p.Kill()
	until, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		if _, err := w.untilDone(until, db, anHour, func(int) {}); err != nil {
			t.Fatal(err)
		}
		if left, err := w.left(until, db); !must(t, left, err) {
			break
		}
		time.Sleep(50 * time.Millisecond) // some are still held
	}
	w.done(t, db, account)
}

// together has two processes that play a role, and four goroutines of this one, at the same thing on one database, and returns how much they have
// done in all. A process says last how much it has.
func together(t *testing.T, place, role, says string, do func(i int) (int, error)) int {
	t.Helper()
	var total atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		p := start(t, role, place)
		wg.Go(func() {
			total.Add(int64(p.lastNumber(t, says)))
			p.wait(t)
		})
	}
	for i := range 4 {
		wg.Go(func() {
			n, err := do(i)
			if err != nil {
				t.Error(err)
			}
			total.Add(int64(n))
		})
	}
	wg.Wait()
	return int(total.Load())
}
