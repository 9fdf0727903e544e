package main

import (
	"errors"
	"fmt"
	"strings"
)

// tally is a run of the suite in numbers.
type tally struct {
	scenarios, passed, failed int // that count for the revision
	extra, extraFailed        int // scenarios that do not
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

// beside tells of the scenarios that do not count.
func (t tally) beside() string {
	if t.extra == 0 {
		return ""
	}
	return fmt.Sprintf("; %d more that are optional, pending or newer than the revision, %d of them passed", t.extra, t.extra-t.extraFailed)
}

// hold holds the lists against what came of all revisions. The suite itself has failed the run for whatever failed beside them and
// for what they hold in vain; here it is seen that they hold only what they may.
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

// holdFailure tells what is wrong with an expected failure: it has not come, or is of something else than its fixture.
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

// found returns the results of the check that an entry names, which did not succeed.
func (e entry) found(results []result) (found []result) {
	for _, r := range results {
		if r.scenario == e.scenario && r.ID == e.check && r.bad() {
			found = append(found, r)
		}
	}
	return found
}

// wasAsked reports whether a message asked for a fixture of the suite.
func wasAsked(fixture string, asked []exchange) bool {
	for _, x := range asked {
		if x.about == fixture {
			return true
		}
	}
	return false
}
