package pgtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// programGrace is the time allowed for a program to exit after SIGTERM.
const programGrace = 10 * time.Second

// initialize creates a cluster in the data folder.
func initialize(ctx context.Context, s *Server) error {
	arguments := []string{
		"--pgdata=" + s.folder.data(), "--username=" + user, "--auth=trust", "--encoding=UTF8", "--no-sync",
	}
	err := s.runProgram(ctx, "initdb", append(arguments, "--locale=C.UTF-8")...)
	if err != nil && strings.Contains(err.Error(), "locale") {
		err = s.runProgram(ctx, "initdb", append(arguments, "--locale=C")...) // a system without C.UTF-8
	}
	return err
}

// runProgram runs a PostgreSQL program to completion. The error includes its output.
func (s *Server) runProgram(ctx context.Context, name string, arguments ...string) error {
	cmd := exec.CommandContext(ctx, s.programs.path(name), arguments...)
	s.prepare(cmd)
	// On SIGTERM, unlike SIGKILL, the program also terminates its children.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = programGrace
	// Pdeathsig kills the program when the OS thread that started it exits, so stay on that thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if output, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			err = errors.Join(err, context.Cause(ctx))
		}
		return fmt.Errorf("%s: %w\n%s", name, err, output)
	}
	return nil
}

// prepare sets a program's user, working directory and environment. It removes PG variables, which
// may be meant for other servers, and selects English messages.
func (s *Server) prepare(cmd *exec.Cmd) {
	cmd.Dir = s.folder.data()
	cmd.SysProcAttr = attributes(s.runAs)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "LC_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C")
}

// configure appends settings to the cluster's configuration. The last of duplicate settings wins.
func (s *Server) configure() error {
	f, err := os.OpenFile(filepath.Join(s.folder.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(settingLines(s.settings()) + settingLines(s.options.Settings))
	return errors.Join(err, f.Close())
}

// settings returns this package's settings. It picks an unusual time zone and date style, to expose
// code that depends on the defaults.
func (s *Server) settings() map[string]string {
	settings := map[string]string{
		"cluster_name":                s.name,
		"listen_addresses":            "127.0.0.1",
		"unix_socket_directories":     "",
		"max_connections":             "300",
		"shared_buffers":              "64MB",
		"dynamic_shared_memory_type":  "mmap", // in the data folder, so that a killed server leaves no files elsewhere
		"wal_retrieve_retry_interval": "200ms",
		"timezone":                    "America/Los_Angeles",
		"datestyle":                   "SQL, DMY",
		"lc_messages":                 "C",
		"log_timezone":                "UTC",
		"log_line_prefix":             "%m [%p] %q%u@%d ",
		"fsync":                       "off",
		"synchronous_commit":          "off",
		"full_page_writes":            "off",
	}
	if s.options.Durable {
		maps.Copy(settings, map[string]string{
			"shared_buffers": "128MB", "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
		})
	}
	return settings
}

// settingLines formats settings as lines of postgresql.conf, sorted by name.
func settingLines(settings map[string]string) string {
	quote := strings.NewReplacer(`\`, `\\`, `'`, `''`, "\n", `\n`)
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&lines, "%s = '%s'\n", name, quote.Replace(settings[name]))
	}
	return lines.String()
}
