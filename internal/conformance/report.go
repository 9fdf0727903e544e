package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// report is the result of a part.
type report struct {
	name  string
	title string
	took  time.Duration
	lines []string // summary of the run
	notes []string // remarks that do not fail the part
	done  []string // passed checks
	fails []string
}

func newReport(name, title string) *report { return &report{name: name, title: title} }

// check records a check, which failed if err is not nil, and reports whether it passed.
func (r *report) check(name string, err error) bool {
	if err != nil {
		r.fails = append(r.fails, name+": "+err.Error())
		return false
	}
	r.done = append(r.done, name)
	return true
}

// expect records a check and reports whether it passed. format and args describe the failure.
func (r *report) expect(name string, passed bool, format string, args ...any) bool {
	if !passed {
		return r.check(name, fmt.Errorf(format, args...))
	}
	return r.check(name, nil)
}

// fail records a failed check.
func (r *report) fail(name, format string, args ...any) { r.expect(name, false, format, args...) }

// say adds a line to the summary.
func (r *report) say(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// note adds a remark.
func (r *report) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// ok reports whether at least one check ran and all passed.
func (r *report) ok() bool { return len(r.fails) == 0 && len(r.done) > 0 }

func (r *report) print(out io.Writer, verbose bool) {
	fmt.Fprintf(out, "%s: %s", r.name, r.title)
	if r.took > 0 {
		fmt.Fprintf(out, " (%.1f s)", r.took.Seconds())
	}
	fmt.Fprintln(out)
	if verbose {
		printLines(out, "ok", r.done)
	}
	printLines(out, "", r.lines)
	printLines(out, "note", r.notes)
	printLines(out, "FAIL", r.fails)
	verdict := "as expected"
	if !r.ok() {
		verdict = "NOT as expected"
	}
	fmt.Fprintf(out, "  %d checks, %d failed: %s\n\n", len(r.done)+len(r.fails), len(r.fails), verdict)
}

func printLines(out io.Writer, mark string, lines []string) {
	for _, line := range lines {
		if mark != "" {
			line = mark + "  " + line
		}
		fmt.Fprintf(out, "  %s\n", strings.ReplaceAll(line, "\n", "\n    "))
	}
}

// printAll prints the reports and returns whether all of them passed. An empty list does not pass.
func printAll(out io.Writer, reports []*report, verbose bool) (ok bool) {
	ok = len(reports) > 0
	for _, r := range reports {
		r.print(out, verbose)
		ok = ok && r.ok()
	}
	return ok
}
