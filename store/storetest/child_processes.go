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

// If the childRole environment variable is set, the test binary acts as a child process on the
// database that childDSN names.
const (
	childRole = "COLAREGISTRY_TEST_STORE_CHILD"
	childDSN  = "COLAREGISTRY_TEST_STORE_DSN"
)

// childRoles maps roles to the code of a child process, which runs after the child has reported how
// it opened the database. Each role prints its progress.
var childRoles = map[string]func(ctx context.Context, st store.Store, out io.Writer) error{
	"open":          func(context.Context, store.Store, io.Writer) error { return nil },
	"charge":        childCharge,
	"import":        childImport,
	"sign up":       childSignUp,
	"create":        childCreate,
	"run":           running.child(anHour),
	"run briefly":   running.child(shortClaim),
	"claim":         running.childClaim,
	"resume":        childResume,
	"keys":          childKeys,
	"use links":     childUseLinks,
	"save sessions": childSaveSessions,
	"refusals":      childRefusals,

	"deliver":          delivering.child(anHour),
	"deliver briefly":  delivering.child(shortClaim),
	"claim deliveries": delivering.childClaim,
	"add":              childAdd,
	"confirm":          childConfirm,

	"fetch":         fetching.child(anHour),
	"fetch briefly": fetching.child(shortClaim),
	"claim fetches": fetching.childClaim,
	"reserve":       reserveSome,
	"delete":        childDelete,
	"email":         childEmail,
}

// Database is a store that reports whether opening it created the database.
type Database interface {
	store.Store
	Created() bool
}

// RunChild runs the role of a child process and exits. In the main test process, it does nothing.
// The backend's TestMain calls it first, with the Open function of its Backend.
func RunChild(open func(ctx context.Context, dsn string) (Database, error)) {
	role := os.Getenv(childRole)
	if role == "" {
		return
	}
	if err := runChild(context.Background(), role, os.Stdout, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runChild(ctx context.Context, role string, out io.Writer,
	open func(ctx context.Context, dsn string) (Database, error)) error {
	act, known := childRoles[role]
	if !known {
		return fmt.Errorf("unknown child role %q", role)
	}
	db, err := open(ctx, os.Getenv(childDSN))
	if err != nil {
		return err
	}
	fmt.Fprintln(out, openedLine(db.Created(), db.ID()))
	return errors.Join(act(ctx, db, out), db.Close())
}

// openedLine returns the line in which a child reports how it opened the database.
func openedLine(created bool, id string) string {
	return fmt.Sprintf("open created=%v id=%s", created, id)
}

const (
	// chargedAccount is the email address of the account that child processes charge up to
	// chargeLimit.
	chargedAccount = "a@example.com"
	chargeLimit    = 1_500
)

// chargeNext charges an account one list record unless it is at the limit, and returns the number
// of records charged.
func chargeNext(ctx context.Context, st store.Store, account cola.AccountID) (granted int, err error) {
	err = st.Settle(ctx, store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{account}},
		func(_ time.Time, states []store.AccountState) []store.Entry {
			granted = min(1, chargeLimit-states[0].Used.ListRecords)
			return []store.Entry{charge(account, 0, rest(1, cola.MeterListRecords, granted))}
		})
	return granted, err
}

// childCharge charges the account up to the limit and prints the running total after each charge.
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

// ImportBatch is the number of labels that an importing process writes per call.
const ImportBatch = 500

// childImport imports samples until it is killed and prints the running total after each call.
func childImport(ctx context.Context, st store.Store, out io.Writer) error {
	for n := 0; ; n += ImportBatch {
		if _, err := st.UpsertColas(ctx, Samples(n, ImportBatch), store.Commit); err != nil {
			return err
		}
		fmt.Fprintf(out, "imported %d\n", n+ImportBatch)
	}
}

// Process is a child process that works on a database.
type Process struct {
	cmd  *exec.Cmd
	out  *bufio.Reader
	errs strings.Builder // read only after the process has ended
}

// StartImport starts a process that imports the samples in order, ImportBatch per call, and prints
// a line after each call. It returns once the process has opened the database. The process runs
// until it is killed, no later than the end of the test.
func StartImport(t testing.TB, dsn string) *Process {
	t.Helper()
	return start(t, "import", dsn)
}

// start starts a process and returns once the process has opened the database.
func start(t testing.TB, role, dsn string) *Process {
	t.Helper()
	p := launch(t, role, dsn)
	if line := p.Line(t); !strings.HasPrefix(line, "open ") {
		t.Fatalf("child process printed %q, want \"open …\"; does TestMain call RunChild?", line)
	}
	return p
}

// launch starts a process. If it is still running when the test ends, it is killed.
func launch(t testing.TB, role, dsn string) *Process {
	t.Helper()
	p := &Process{cmd: exec.Command(os.Args[0], "-test.run=^$")}
	p.cmd.Env = append(os.Environ(), childRole+"="+role, childDSN+"="+dsn)
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

// Next returns the next line of output. It returns false when the process has ended.
func (p *Process) Next() (line string, ok bool) {
	s, err := p.out.ReadString('\n')
	return strings.TrimSpace(s), err == nil // a line without a newline was cut off
}

// Line returns the next line of output. It fails the test if there is none.
func (p *Process) Line(t testing.TB) string {
	t.Helper()
	line, ok := p.Next()
	if !ok {
		p.Kill()
		t.Fatalf("child process ended: %v: %s", p.cmd.ProcessState, p.errs.String())
	}
	return line
}

// number returns the number in the next line.
func (p *Process) number(t testing.TB, format string) (n int) {
	t.Helper()
	if line := p.Line(t); !scan(line, format, &n) {
		t.Fatalf("child process printed %q, want format %q", line, format)
	}
	return n
}

// lastNumber returns the number in the last line of output, or 0 if there is no output.
func (p *Process) lastNumber(t testing.TB, format string) (n int) {
	t.Helper()
	for line, ok := p.Next(); ok; line, ok = p.Next() {
		if !scan(line, format, &n) {
			t.Errorf("child process printed %q, want format %q", line, format)
		}
	}
	return n
}

func scan(line, format string, n *int) bool {
	_, err := fmt.Sscanf(line, format, n)
	return err == nil
}

// wait waits for the process and checks that it succeeds.
func (p *Process) wait(t testing.TB) {
	t.Helper()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("child process: %v: %s", err, p.errs.String())
	}
}

// Kill sends SIGKILL to the process and waits for it to exit.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	_ = p.cmd.Wait()
}

// shortClaim is the duration of claims in processes that will be killed. It is safe because no
// other process works at the same time.
const shortClaim = 2 * time.Second

// sharedWork is work that processes compete to claim. Each job is done once; other processes take
// over the jobs of a killed one.
type sharedWork struct {
	jobs                 int
	work, briefly, claim string // roles: do all work, do all work with short claims, only claim it
	// create creates the jobs and returns the account that done checks.
	create func(t *testing.T, db Database) cola.AccountID
	// done checks that all work was done exactly once.
	done func(t *testing.T, db Database, account cola.AccountID)
	// untilDone claims and does work until there is none left to claim, reporting the running total
	// to progress. It returns the total.
	untilDone func(ctx context.Context, st store.Store, hold time.Duration, progress func(n int)) (int, error)
	claimAll  func(ctx context.Context, st store.Store) (int, error)  // claims for shortClaim
	left      func(ctx context.Context, st store.Store) (bool, error) // reports whether any work is due, claimed or not
}

// child returns a role that does all due work, with claims of the given duration, and prints its
// progress.
func (w *sharedWork) child(hold time.Duration) func(ctx context.Context, st store.Store, out io.Writer) error {
	return func(ctx context.Context, st store.Store, out io.Writer) error {
		_, err := w.untilDone(ctx, st, hold, func(n int) { fmt.Fprintf(out, "done %d\n", n) })
		return err
	}
}

// childClaim claims all due work, prints the number of claims, and then waits to be killed.
func (w *sharedWork) childClaim(ctx context.Context, st store.Store, out io.Writer) error {
	n, err := w.claimAll(ctx, st)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "claimed %d\n", n)
	time.Sleep(time.Hour)
	return errors.New("process was not killed")
}

// runTogether checks that two processes, and goroutines of a third, do all work exactly once.
func (w *sharedWork) runTogether(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	account := w.create(t, db)
	total := runTogether(t, dsn, w.work, "done %d",
		func(int) (int, error) { return w.untilDone(t.Context(), db, anHour, func(int) {}) })
	if total != w.jobs {
		t.Errorf("%d jobs done, want %d", total, w.jobs)
	}
	w.done(t, db, account)
}

// killed checks that when the claims of a killed process expire, another process takes over its
// work, and that finished work is not repeated.
func (w *sharedWork) killed(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	account := w.create(t, db)
	for round := range 3 {
		p := start(t, w.briefly, dsn)
		for p.number(t, "done %d") < 10+15*round {
		}
		p.Kill()
	}
	p := start(t, w.claim, dsn)
	if n := p.number(t, "claimed %d"); n == 0 {
		t.Error("claimed no work; the test needs some")
	}
	p.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		if _, err := w.untilDone(ctx, db, anHour, func(int) {}); err != nil {
			t.Fatal(err)
		}
		if left, err := w.left(ctx, db); !must(t, left, err) {
			break
		}
		time.Sleep(50 * time.Millisecond) // some work is still claimed
	}
	w.done(t, db, account)
}

// runTogether runs two processes in a role and four goroutines of this process on one database. It
// returns how much work they did in all. Each process prints its total in its last line.
func runTogether(t *testing.T, dsn, role, format string, do func(i int) (int, error)) int {
	t.Helper()
	var total atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		p := start(t, role, dsn)
		wg.Go(func() {
			total.Add(int64(p.lastNumber(t, format)))
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
