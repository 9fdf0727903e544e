package main

import (
	"fmt"
	"slices"
	"strings"
)

// entry is a check that is expected to fail or to warn.
type entry struct {
	scenario, check string
	reason          string // missing fixture that the check requires, or why a warning is accepted
}

func (e entry) String() string { return e.scenario + ":" + e.check }

// readBaseline reads a list of checks. The format is a subset of the suite's: one list, where each
// entry names a check and ends with a comment that gives the reason.
func readBaseline(file string) (entries []entry, err error) {
	content, err := committed.ReadFile("kit/" + file)
	if err != nil {
		return nil, err
	}
	if entries, err = parseBaseline(string(content)); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return entries, nil
}

func parseBaseline(content string) (entries []entry, err error) {
	started := false
	for i, line := range strings.Split(content, "\n") {
		text := strings.TrimSpace(line)
		switch {
		case text == "" || text[0] == '#':
		case !started && line == "server:":
			started = true
		case !started:
			return nil, fmt.Errorf(`line %d: the list must start with "server:"`, i+1)
		default:
			e, err := parseEntry(line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			if slices.ContainsFunc(entries, e.same) {
				return nil, fmt.Errorf("line %d: duplicate entry %s", i+1, e)
			}
			entries = append(entries, e)
		}
	}
	return entries, nil
}

func parseEntry(line string) (e entry, err error) {
	named, listed := strings.CutPrefix(line, "  - ")
	named, reason, reasoned := strings.Cut(named, " # ")
	scenario, check, one := strings.Cut(named, ":")
	e = entry{scenario, check, strings.TrimSpace(reason)}
	switch {
	case !listed || !one || scenario == "" || check == "" || strings.ContainsAny(named, " \t"):
		return e, fmt.Errorf(`%q is not "  - scenario:check # reason"`, line)
	case !reasoned || e.reason == "":
		return e, fmt.Errorf("%s has no reason", e)
	}
	return e, nil
}

func (e entry) same(other entry) bool { return e.scenario == other.scenario && e.check == other.check }

// formatBaseline returns entries in the suite's format.
func formatBaseline(entries []entry) string {
	var b strings.Builder
	b.WriteString("server:\n")
	for _, e := range entries {
		fmt.Fprintf(&b, "  - %s\n", e)
	}
	return b.String()
}
