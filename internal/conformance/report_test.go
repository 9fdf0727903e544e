package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestReports checks that a run passes only if it has reports, and each has at least one check and
// no failures.
func TestReports(t *testing.T) {
	good := func() *report {
		r := newReport("good", "title")
		r.expect("something", true, "")
		return r
	}
	for _, tt := range []struct {
		name    string
		reports []*report
		ok      bool
	}{
		{"good", []*report{good(), good()}, true},
		{"none", nil, false},
		{"empty", []*report{good(), newReport("empty", "")}, false},
		{
			"bad",
			[]*report{func() *report { r := good(); r.check("more", errors.New("no")); return r }(), good()}, false,
		},
	} {
		if got := printAll(&bytes.Buffer{}, tt.reports, true); got != tt.ok {
			t.Errorf("%s: printAll = %t, want %t", tt.name, got, tt.ok)
		}
	}
}

func TestPrint(t *testing.T) {
	r := newReport("part", "title")
	r.took = 1500 * time.Millisecond
	r.say("%d tools", 3)
	r.note("odd")
	r.check("good", nil)
	r.fail("broke", "because\nof %s", "x")
	var out bytes.Buffer
	r.print(&out, false)
	const want = "part: title (1.5 s)\n  3 tools\n  note  odd\n  FAIL  broke: because\n    of x\n  2 checks, 1 failed: NOT as expected\n\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	if r.print(&out, true); !strings.Contains(out.String(), "  ok  good\n") {
		t.Errorf("verbose report lacks the passed check:\n%s", out.String())
	}
}

// TestServerReport checks that an error in the server's log, an unclean exit or a missing log fails
// a run even if no client complained.
func TestServerReport(t *testing.T) {
	for line, ok := range map[string]bool{
		"level=INFO msg=request code=not_found": true, "level=ERROR msg=request code=internal_error": false,
		"panic: x": false, "WARNING: DATA RACE": false,
	} {
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.WriteString(line + "\n"); err != nil {
			t.Fatal(err)
		}
		s := &server{log: log}
		r := s.report()
		if r.ok() != ok {
			t.Errorf("log line %s: failures %v, want pass = %t", line, r.fails, ok)
		}
		if passed := slices.Contains(r.done, "no errors in the log"); passed != ok || len(r.done)+len(r.fails) != 3 {
			t.Errorf("log line %s: passed %q, failed %q, want three checks", line, r.done, r.fails)
		}
		log.Close()
		s.stopped = errors.New("exit status 2")
		if s.report().ok() {
			t.Error("report passes although the server did not exit cleanly")
		}
		s.stopped = nil
		if err := os.Remove(log.Name()); err != nil {
			t.Fatal(err)
		}
		if r := s.report(); len(r.fails) != 1 || slices.Contains(r.done, "no errors in the log") {
			t.Errorf("without a log: passed %q, failed %q, want only an unreadable log", r.done, r.fails)
		}
	}
}
