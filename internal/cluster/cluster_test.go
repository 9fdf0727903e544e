package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/internal/loadtest"
)

// TestShortRun runs a short version of make cluster-test with every act.
func TestShortRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	var out bytes.Buffer
	ok, err := run(t.Context(),
		options{duration: 16 * time.Second, outage: 1500 * time.Millisecond, accounts: 40, labels: 2_000}, &out)
	if err != nil || !ok {
		t.Errorf("%v", err)
	}
	t.Logf("\n%s", out.String())
}

// TestReportFailures checks that each possible problem fails a run.
func TestReportFailures(t *testing.T) {
	good := func() *report {
		return &report{
			tallies: []loadtest.Tally{{OK: 1}, {OK: 1, Unavailable: 9, Unknown: 3}},
			statements: []loadtest.Statement{
				{Account: &loadtest.Account{}, Verdict: loadtest.Exact},
				{Account: &loadtest.Account{}, Verdict: loadtest.Bounds},
			},
		}
	}
	for name, spoil := range map[string]func(*report){
		"lost":         func(r *report) { r.statements[1].Verdict = loadtest.Lost },
		"over":         func(r *report) { r.statements[1].Verdict = loadtest.Over },
		"none exact":   func(r *report) { r.statements[0].Verdict = loadtest.Bounds },
		"a fault":      func(r *report) { r.tallies[1].Faults = []string{"500"} },
		"no successes": func(r *report) { r.tallies[0].OK = 0 },
	} {
		r := good()
		if !r.ok() {
			t.Fatal("run without problems failed")
		}
		spoil(r)
		if r.ok() {
			t.Errorf("run passed, want a failure: %s", name)
		}
		r.print(&bytes.Buffer{}, true)
	}
}
