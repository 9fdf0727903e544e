package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const address = "127.0.0.1:18080"

// server is a running serve.
type server struct {
	cmd     *exec.Cmd
	toReady time.Duration
}

// serve starts the server and waits until it is ready.
func (b *bench) serve(ctx context.Context) (*server, error) {
	begun := time.Now()
	s := &server{cmd: exec.CommandContext(ctx, b.program, "serve", "--listen", address, "--data-dir", b.data, "--demo", "never")}
	log, err := os.OpenFile(b.data+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.cmd.Stderr = log
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for time.Since(begun) < 10*time.Minute {
		if resp, err := http.Get("http://" + address + "/readyz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				s.toReady = time.Since(begun)
				return s, nil
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil, fmt.Errorf("the server is not ready after ten minutes; see %s.log", b.data)
}

// stop ends the server in good order.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// memory returns the resident memory of the server in MiB, now and at its highest.
func (s *server) memory() (now, peak int) {
	return status(s.cmd.Process.Pid, "VmRSS"), status(s.cmd.Process.Pid, "VmHWM")
}

// status returns a size from /proc/PID/status in MiB; zero where there is none.
func status(pid int, field string) int {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), field+":"); ok {
			kib, _ := strconv.Atoi(strings.Fields(rest)[0])
			return kib / 1024
		}
	}
	return 0
}

// machine returns the processor's name.
func machine() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return "unknown processor"
}
