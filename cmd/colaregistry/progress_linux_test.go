package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestProgressWithoutWidth checks that progress is printed as lines, not as a bar, on a terminal
// without a known width.
func TestProgressWithoutWidth(t *testing.T) {
	for width, lines := range map[uint16]bool{0: true, 80: false} {
		screen, terminal := mustTerminal(t, width)
		p := newProgress(terminal, "Importing colas", "rows")
		p.set(7, 10)
		p.end()
		if _, err := terminal.WriteString("END"); err != nil {
			t.Fatal(err)
		}
		var shown []byte
		for b := make([]byte, 1024); !bytes.Contains(shown, []byte("END")); {
			n, err := screen.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			shown = append(shown, b[:n]...)
		}
		if !bytes.Contains(shown, []byte("Importing colas")) || bytes.Contains(shown, []byte("7 rows,")) != lines {
			t.Errorf("width %d: output %q, want progress as lines: %t", width, shown, lines)
		}
	}
}

// mustTerminal returns the two ends of a pseudo-terminal with the given number of columns.
func mustTerminal(t *testing.T, width uint16) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals: ", err)
	}
	t.Cleanup(func() { screen.Close() })
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width})
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skip("no terminals: ", err)
	}
	t.Cleanup(func() { terminal.Close() })
	return screen, terminal
}

// TestUnreadableFile checks that an unreadable file is reported once, even when the report lists
// rejected rows from another file.
func TestUnreadableFile(t *testing.T) {
	dir := t.TempDir()
	file, rejected := filepath.Join(dir, "labels.json"), filepath.Join(dir, "rejected.json")
	for name, content := range map[string]string{file: "no labels", rejected: `{"ttb_id":"24001001000001"}`} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, files := range [][]string{{file}, {file, rejected}} {
		var stdout, stderr strings.Builder
		p := program{
			args:  append([]string{"import", "colas", "--data-dir", dir}, files...),
			stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
		}
		if code := p.run(t.Context()); code != exitFailed {
			t.Errorf("exit code %d, want %d", code, exitFailed)
		}
		if output := stdout.String() + stderr.String(); strings.Count(output, file) != 1 ||
			!strings.Contains(stderr.String(), file) {
			t.Errorf("file is not named exactly once:\n%s", output)
		}
	}
}
