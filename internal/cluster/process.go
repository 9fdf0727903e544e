package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/colaregistry/colaregistry/internal/loadtest"
)

const (
	// restartPause is the delay before restarting a process that exited, for example because the
	// database was down.
	restartPause = 500 * time.Millisecond
	// drainDelay is how long a stopping process continues to serve, long enough for the balancer to
	// notice.
	drainDelay = 500 * time.Millisecond
	// maxLogTail is the length of log excerpts in errors.
	maxLogTail = 4 << 10
)

// process is a supervised process of the cluster, with fixed addresses and a fixed folder. An
// instance that exits unexpectedly is replaced by a new one.
type process struct {
	number  int
	program string
	dir     string
	flags   []string
	listen  string // host and port
	admin   string
	log     *slog.Logger

	mu          sync.Mutex
	running     *instance
	keepRunning bool              // restart an instance that exits
	endings     []loadtest.Ending // exits of past instances
	faults      []error           // unexpected exits and unclean shutdowns
}

// instance is one run of the program.
type instance struct {
	cmd       *exec.Cmd
	exited    chan struct{} // closed once the instance has exited or failed to start and err is set
	err       error         // start or exit error
	started   time.Time
	signaled  time.Time // time of the signal to stop
	lastClear time.Time // last time with no batch in doubt; zero if the instance never served
}

// newProcess prepares a process. Call start to run it.
func newProcess(number int, program, dir, database, keyFile string, log *slog.Logger) (p *process, err error) {
	p = &process{number: number, program: program, dir: dir, log: log.With("process", number+1)}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if p.listen, err = loadtest.QuietAddress(); err != nil {
		return nil, err
	}
	if p.admin, err = loadtest.QuietAddress(); err != nil {
		return nil, err
	}
	p.flags = []string{
		"serve", "--demo", "never", "--log-level", "warn", "--drain-delay", drainDelay.String(),
		"--listen", p.listen, "--admin-listen", p.admin, "--data-dir", dir,
		"--database-url", database, "--secret-key-file", keyFile,
	}
	return p, nil
}

func (p *process) address() string { return "http://" + p.listen }

// start starts the process and keeps it running until end or close is called.
func (p *process) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keepRunning = true
	p.launch()
}

// launch starts an instance. A failed start is retried like an exit.
func (p *process) launch() {
	r := &instance{cmd: exec.Command(p.program, p.flags...), exited: make(chan struct{}), started: time.Now()}
	p.running = r
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		defer log.Close()
		r.cmd.Stdout, r.cmd.Stderr = log, log
		err = r.cmd.Start()
	}
	r.err = err
	go p.supervise(r)
}

// supervise waits for an instance to exit and starts another one unless the exit was intended.
func (p *process) supervise(r *instance) {
	if r.err == nil {
		r.err = r.cmd.Wait()
	}
	p.recordEnd(r)
	close(r.exited)
	time.Sleep(restartPause)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keepRunning && p.running == r {
		p.launch()
	}
}

// recordEnd records the exit of an instance. An unclean shutdown is a fault, and so is an unexpected
// exit of an instance that has served requests.
func (p *process) recordEnd(r *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := loadtest.Ending{Process: p.number, At: r.signaled, Gone: time.Now(), Killed: killed(r.cmd), Clear: r.lastClear}
	if !p.keepRunning {
		p.endings = append(p.endings, e)
		if r.err != nil && !e.Killed {
			p.faults = append(p.faults, fmt.Errorf("process %d: unclean shutdown: %w", p.number+1, r.err))
		}
		return
	}
	p.log.Info("process exited; restarting", "error", r.err)
	e.At, e.Killed = r.started, !r.lastClear.IsZero()
	p.endings = append(p.endings, e)
	if e.Killed {
		p.faults = append(p.faults, fmt.Errorf("process %d exited while serving: %w", p.number+1, r.err))
	}
}

func killed(cmd *exec.Cmd) bool {
	if cmd.ProcessState == nil {
		return false
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// end sends a signal to the current instance and waits until it has exited.
func (p *process) end(ctx context.Context, signal os.Signal) error {
	p.mu.Lock()
	p.keepRunning = false
	r := p.running
	r.signaled = time.Now()
	p.mu.Unlock()
	if r.cmd.Process == nil {
		return errors.New("no process to stop")
	}
	if err := r.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("stop process %d: %w", p.number+1, err)
	}
	select {
	case <-r.exited:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close kills the current instance.
func (p *process) close() {
	p.mu.Lock()
	p.keepRunning = false
	r := p.running
	p.mu.Unlock()
	if r != nil && r.cmd.Process != nil {
		_ = r.cmd.Process.Kill() // it may have exited already
		<-r.exited
	}
}

// history returns the exits of all instances, and an error if there were faults.
func (p *process) history() ([]loadtest.Ending, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.endings), errors.Join(p.faults...)
}

// current returns the current instance.
func (p *process) current() *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}

// recordClear records a time at which an instance had no batch in doubt.
func (p *process) recordClear(r *instance, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.After(r.lastClear) {
		r.lastClear = at
	}
}

func (p *process) logFile() string { return filepath.Join(p.dir, "log") }

// logged returns the end of the log.
func (p *process) logged() string {
	b, err := os.ReadFile(p.logFile())
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-maxLogTail):])
}
