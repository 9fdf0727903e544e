package postgres

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/colaregistry/colaregistry/internal/pgtest"
)

// childRole, when set in the environment, makes the test binary play another process on the database of childURL.
const (
	childRole = "COLAREGISTRY_TEST_POSTGRES_CHILD"
	childURL  = "COLAREGISTRY_TEST_POSTGRES_URL"
)

// childRoles are what another process can do. Each says on standard output when it has begun, and what it did.
var childRoles = map[string]func(ctx context.Context, s *Store, out io.Writer) error{
	"open":   func(context.Context, *Store, io.Writer) error { return nil },
	"charge": childCharge,
	"import": childImport,
}

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		os.Exit(playRole(role))
	}
	code := pgtest.Main(m)
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func playRole(role string) int {
	ctx := context.Background()
	s, err := Open(ctx, os.Getenv(childURL), Options{Logger: quiet()})
	if err == nil {
		fmt.Printf("open created=%v id=%s\n", s.Created(), s.ID())
		err = childRoles[role](ctx, s, os.Stdout)
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// process is another process on a database.
type process struct {
	cmd  *exec.Cmd
	out  *bufio.Reader
	errs strings.Builder
}

// startProcess starts another process and returns when it has opened the database. It is killed when the test ends, if it
// still runs.
func startProcess(t testing.TB, role, url string) (p *process, opened string) {
	t.Helper()
	p = launchProcess(t, role, url)
	return p, p.line(t)
}

func launchProcess(t testing.TB, role, url string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], "-test.run=^$")}
	p.cmd.Env = append(os.Environ(), childRole+"="+role, childURL+"="+url)
	p.cmd.Stderr = &p.errs
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// line returns the next line that the process writes.
func (p *process) line(t testing.TB) string {
	t.Helper()
	s, err := p.out.ReadString('\n')
	if err != nil {
		p.kill()
		t.Fatalf("process ended: %v: %s", err, p.errs.String())
	}
	return strings.TrimSpace(s)
}

// wait waits for the process to end well.
func (p *process) wait(t testing.TB) {
	t.Helper()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("process: %v: %s", err, p.errs.String())
	}
}

// kill ends the process as kill -9 does, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be gone
	_ = p.cmd.Wait()
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
