package main

import (
	"errors"
	"fmt"
	"strings"
)

// tally counts the results of a suite run.
type tally struct {
	scenarios, passed, failed int // required by the revision
	extra, extraFailed        int // not required
}

func tallyOf(results []result) (t tally) {
	counted, extra, extraBad := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range results {
		switch {
		case !r.scored:
			extra[r.scenario] = true
			if r.bad() {
				extraBad[r.scenario] = true
			}
			continue
		case r.bad():
			t.failed++
		case r.Status == "SUCCESS":
			t.passed++
		}
		counted[r.scenario] = true
	}
	t.scenarios, t.extra, t.extraFailed = len(counted), len(extra), len(extraBad)
	return t
}

// beside summarizes the scenarios that are not scored.
func (t tally) beside() string {
	if t.extra == 0 {
		return ""
	}
	return fmt.Sprintf("; %d more that are optional, pending or newer than the revision, %d of them passed", t.extra, t.extra-t.extraFailed)
}

// hold checks the baseline against the results of all revisions. The suite has already failed the
// run for failures that are missing from the baseline and for entries that did not fail. hold
// checks that each entry is justified.
func (b baseline) hold(r *report, results []result, asked []exchange) {
	for _, e := range b.failures {
		r.check(e.String(), e.holdFailure(results, asked))
	}
	for _, e := range b.warnings {
		found := e.found(results)
		if len(found) == 0 {
			r.fail(e.String(), "no revision has come to this warning: take it off the list")
		}
		for _, f := range found {
			r.expect(e.String(), f.Status == "WARNING", "it is a %s, not a warning: %s", f.Status, f.Message)
		}
		r.note("%s warns: %s", e, e.reason)
	}
	r.say("expected to fail for want of the suite's own tools, prompts and resources: %d checks", len(b.failures))
}

// holdFailure returns an error if an expected failure did not occur or has a cause other than its
// missing fixture.
func (e entry) holdFailure(results []result, asked []exchange) error {
	found := e.found(results)
	if len(found) == 0 {
		return errors.New("no revision has come to this failure: take it off the list")
	}
	for _, f := range found {
		if strings.Contains(f.Message, e.reason) {
			continue
		}
		if !wasAsked(e.reason, asked) {
			return fmt.Errorf("it has not to do with %s, which nothing asked for: %s", e.reason, f.Message)
		}
	}
	return nil
}

// found returns the failed results of the check that an entry names.
func (e entry) found(results []result) (found []result) {
	for _, r := range results {
		if r.scenario == e.scenario && r.ID == e.check && r.bad() {
			found = append(found, r)
		}
	}
	return found
}

// wasAsked reports whether a message requested a fixture of the suite.
func wasAsked(fixture string, asked []exchange) bool {
	for _, x := range asked {
		if x.about == fixture {
			return true
		}
	}
	return false
}
