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

// optional summarizes the scenarios that are not scored.
func (t tally) optional() string {
	if t.extra == 0 {
		return ""
	}
	return fmt.Sprintf("; %d optional, pending or newer scenarios, %d of them passed", t.extra, t.extra-t.extraFailed)
}

// check checks that each baseline entry is justified by the results of all revisions. The suite
// itself reports unlisted failures and listed checks that passed.
func (b baseline) check(r *report, results []result, requests []exchange) {
	for _, e := range b.failures {
		r.check(e.String(), e.checkFailure(results, requests))
	}
	for _, e := range b.warnings {
		found := e.found(results)
		if len(found) == 0 {
			r.fail(e.String(), "this warning no longer occurs; remove it from the list")
		}
		for _, f := range found {
			r.expect(e.String(), f.Status == "WARNING", "status %s, want WARNING: %s", f.Status, f.Message)
		}
		r.note("%s warns: %s", e, e.reason)
	}
	r.say("%d checks are expected to fail without the suite's own tools, prompts and resources", len(b.failures))
}

// checkFailure returns an error if an expected failure did not occur or has a cause other than its
// missing fixture.
func (e entry) checkFailure(results []result, requests []exchange) error {
	found := e.found(results)
	if len(found) == 0 {
		return errors.New("this failure no longer occurs; remove it from the list")
	}
	for _, f := range found {
		if strings.Contains(f.Message, e.reason) {
			continue
		}
		if !wasRequested(e.reason, requests) {
			return fmt.Errorf("not caused by the missing %s, which was never requested: %s", e.reason, f.Message)
		}
	}
	return nil
}

// found returns the failures and warnings of the check that an entry names.
func (e entry) found(results []result) (found []result) {
	for _, r := range results {
		if r.scenario == e.scenario && r.ID == e.check && r.bad() {
			found = append(found, r)
		}
	}
	return found
}

// wasRequested reports whether a message requested one of the suite's fixtures.
func wasRequested(fixture string, requests []exchange) bool {
	for _, x := range requests {
		if x.target == fixture {
			return true
		}
	}
	return false
}
