// Package measure contains the shared parts of programs that measure the service: processes,
// accounts, clients, and latency statistics.
package measure

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Build compiles the program into a folder and returns its path.
func Build(ctx context.Context, dir string) (program string, err error) {
	program = filepath.Join(dir, "colaregistry")
	build := exec.CommandContext(ctx, "go", "build", "-o", program,
		"github.com/colaregistry/colaregistry/cmd/colaregistry")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build: %w", err)
	}
	return program, nil
}

// Import generates demo labels and imports them as in the README, by piping the demo command into
// the import command. flags select the database.
func Import(ctx context.Context, program string, labels, seed int, flags ...string) error {
	demo := exec.CommandContext(ctx, program, "demo", "--colas", strconv.Itoa(labels), "--seed", strconv.Itoa(seed))
	load := exec.CommandContext(ctx, program, append(append([]string{"import"}, flags...), "colas", "-")...)
	pipe, err := demo.StdoutPipe()
	if err != nil {
		return err
	}
	load.Stdin, demo.Stderr, load.Stderr = pipe, os.Stderr, os.Stderr
	if err := demo.Start(); err != nil {
		return err
	}
	if err := load.Run(); err != nil {
		pipe.Close() // nothing reads the remaining labels; demo must not block on a full pipe
		return fmt.Errorf("import: %w", errors.Join(err, demo.Wait()))
	}
	return demo.Wait()
}

// Timeout returns a context that ends after d and then releases its timer.
func Timeout(ctx context.Context, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(ctx, d)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// Machine describes the machine that runs the measurements: its CPU model, number of CPUs and Go
// version.
func Machine() string {
	return fmt.Sprintf("%s, %d processors, %s", processor(), runtime.NumCPU(), runtime.Version())
}

func processor() string {
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

// OwnCPUTime returns the CPU time that this process has used, or zero if it is not available.
func OwnCPUTime() time.Duration { return cpuTime(os.Getpid()) }

// TreeCPUTime returns the CPU time of a process and its running children, or zero if it is not
// available.
func TreeCPUTime(pid int) time.Duration {
	sum := cpuTime(pid)
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		child, _ := strconv.Atoi(filepath.Base(folder))
		if fields := stat(child); len(fields) > parentField && fields[parentField] == strconv.Itoa(pid) {
			sum += cpuTime(child)
		}
	}
	return sum
}

// cpuTime returns the CPU time that a process has used, or zero if it is not available.
func cpuTime(pid int) time.Duration {
	fields := stat(pid)
	if len(fields) <= systemField {
		return 0
	}
	user, _ := strconv.Atoi(fields[userField])
	system, _ := strconv.Atoi(fields[systemField])
	return time.Duration(user+system) * (time.Second / 100) // the kernel reports hundredths
}

// Indexes of the fields that stat returns.
const (
	parentField = 1
	userField   = 11
	systemField = 12
)

// stat returns the fields of /proc/PID/stat after the program's name, which may contain spaces. It
// returns nil if the file can't be read.
func stat(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
}

// status returns a size from /proc/PID/status in MiB, or zero if it is not available.
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
