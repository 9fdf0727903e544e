package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// report is the result of a run.
type report struct {
	Model string `json:"model,omitempty"`
	Tools struct {
		Count  int `json:"count"`
		Bytes  int `json:"bytes"`
		Tokens int `json:"tokens"`
	} `json:"tools_list"`
	Plans   []outcome `json:"plans"`
	Answers []outcome `json:"answers,omitempty"` // outcomes of the model's answers
}

// totals sums outcomes.
type totals struct{ requests, passed, failed, calls, tokens, short, planned int }

func totalsOf(outcomes []outcome) (t totals) {
	for _, o := range outcomes {
		t.requests++
		if o.Fault == "" {
			t.passed++
		} else {
			t.failed++
		}
		t.calls, t.tokens = t.calls+o.Calls, t.tokens+o.Tokens
		if o.Calls <= maxPlanCalls {
			t.short++
		}
		if o.AsPlanned {
			t.planned++
		}
	}
	return t
}

// average returns the average number of tokens per request.
func (t totals) average() int { return t.tokens / max(1, t.requests) }

// ok reports whether every request passed and the average is within its limit.
func (t totals) ok() bool { return t.failed == 0 && t.passed > 0 && t.average() <= maxAverageTokens }

// print prints the tables and reports whether the run passed. The average is limited only for the
// plans, because a model chooses its own calls.
func (r *report) print(out io.Writer) bool {
	plans := totalsOf(r.Plans)
	fmt.Fprintf(out, "Plans, without a model\n\n")
	printTable(out, r.Plans)
	fmt.Fprintf(out, "\n%d passed, %d failed: %d calls, %d tokens (average %d, limit %d)\n",
		plans.passed, plans.failed, plans.calls, plans.tokens, plans.average(), maxAverageTokens)
	fmt.Fprintf(out, "tools/list: %d tools, %d bytes, about %d tokens\n", r.Tools.Count, r.Tools.Bytes, r.Tools.Tokens)
	if r.Model == "" {
		return plans.ok()
	}
	answers := totalsOf(r.Answers)
	fmt.Fprintf(out, "\nAnswers from %s\n\n", r.Model)
	printTable(out, r.Answers)
	fmt.Fprintf(out, "\n%d passed, %d failed: %d calls, %d tokens in results\n",
		answers.passed, answers.failed, answers.calls, answers.tokens)
	fmt.Fprintf(out, "%d of %d with at most %d calls, %d with the planned tools\n",
		answers.short, answers.requests, maxPlanCalls, answers.planned)
	return plans.ok() && answers.failed == 0 && answers.passed > 0
}

func printTable(out io.Writer, outcomes []outcome) {
	fmt.Fprintf(out, "%-20s %5s %6s  %s\n", "request", "calls", "tokens", "result")
	for _, o := range outcomes {
		result := "pass"
		if o.Fault != "" {
			result = "FAIL " + strings.ReplaceAll(o.Fault, "\n", "\n  ")
		}
		for _, text := range o.Missing {
			result += "\n  missing: " + text
		}
		fmt.Fprintf(out, "%-20s %5d %6d  %s\n", o.ID, o.Calls, o.Tokens, result)
	}
}

// write writes the report as JSON.
func (r *report) write(file string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o600)
}
