package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/colaregistry/colaregistry/internal/loadtest"
	"github.com/colaregistry/colaregistry/internal/perf/measure"
)

// maxFaultsPrinted is the maximum number of faults per phase that are printed.
const maxFaultsPrinted = 5

// report contains the results of a run.
type report struct {
	log            *loadtest.Log
	started, ended time.Time
	tallies        []loadtest.Tally
	statements     []loadtest.Statement
	mostInDoubt    int // maximum number of in-doubt batches at one time
}

// ok reports whether the run met every guarantee and was meaningful: every phase had successful
// responses, and for some accounts every outcome is known.
func (r *report) ok() bool {
	verdicts := r.verdicts()
	ok := verdicts[loadtest.Lost] == 0 && verdicts[loadtest.Over] == 0 && verdicts[loadtest.Exact] > 0
	for _, t := range r.tallies {
		ok = ok && len(t.Faults) == 0 && t.OK > 0
	}
	return ok
}

func (r *report) verdicts() map[loadtest.Verdict]int {
	counts := map[loadtest.Verdict]int{}
	for _, s := range r.statements {
		counts[s.Verdict]++
	}
	return counts
}

func (r *report) print(out io.Writer, verbose bool) {
	r.printPhases(out)
	if verbose {
		r.printAccounts(out)
	}
	r.printProblems(out)
	r.printSum(out)
}

func (r *report) printPhases(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer w.Flush()
	fmt.Fprintln(w,
		"phase\trequests\t200\t400, 404\t429\t503\tunresolved 503\tnot started\tunknown\tfaults\tlongest without 200\tp50\tp99\t")
	for _, t := range r.tallies {
		took := measure.Latencies(slices.Sorted(slices.Values(t.Took)))
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f s\t%s\t%s\t\n", t.Name, t.Requests, t.OK,
			t.ClientErrors, t.TooMany, t.Unavailable, t.Unresolved, t.NotStarted, t.Unknown, len(t.Faults), t.Longest.Seconds(),
			measure.Milliseconds(took.At(0.5)), measure.Milliseconds(took.At(0.99)))
	}
}

func (r *report) printAccounts(out io.Writer) {
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer w.Flush()
	fmt.Fprintln(w, "account (views/records/requests)\tspent before\tanswered\tunknown, at most\tcharged\t\t")
	for _, s := range r.statements {
		fmt.Fprintf(w, "%s\t%d/%d\t%v\t%v\t%v\t%v\t\n", s.Account.Email, s.Account.Spent.DetailViews, s.Account.Spent.ListRecords,
			s.Answered, s.Open, s.Charged, s.Verdict)
	}
}

func (r *report) printProblems(out io.Writer) {
	for _, t := range r.tallies {
		for i, fault := range t.Faults {
			if i == maxFaultsPrinted {
				fmt.Fprintf(out, "%s: %d more\n", t.Name, len(t.Faults)-i)
				break
			}
			fmt.Fprintf(out, "%s: %s\n", t.Name, fault)
		}
	}
	for _, s := range r.statements {
		for _, p := range s.Problems {
			fmt.Fprintf(out, "%s: %s\n", s.Account.Email, p)
		}
	}
}

func (r *report) printSum(out io.Writer) {
	var answered, charged, open loadtest.Cost
	unknown, unresolved := 0, 0
	for _, s := range r.statements {
		answered, charged, open = answered.Plus(s.Answered), charged.Plus(s.Charged), open.Plus(s.Open)
		unknown, unresolved = unknown+s.Unknown, unresolved+s.Unresolved
	}
	verdicts := r.verdicts()
	fmt.Fprintf(out, "\n%.0f s of load. Detail views/list records/requests: answered %v, charged %v.\n",
		r.ended.Sub(r.started).Seconds(), answered, charged)
	fmt.Fprintf(out, "Unknown outcomes from killed processes: %d requests without a response and %d with 503, charged at most %v.\n",
		unknown, unresolved, open)
	fmt.Fprintf(out, "In-doubt batches: at most %d at once, 0 at the end.\n", r.mostInDoubt)
	fmt.Fprintf(out, "Accounts: %d checked, %d exact, %d within bounds, %d lost, %d over.\n",
		len(r.statements), verdicts[loadtest.Exact], verdicts[loadtest.Bounds], verdicts[loadtest.Lost], verdicts[loadtest.Over])
}
