package main

import "github.com/colaregistry/colaregistry/cola"

// Limits on each plan, and on the average over all plans.
const (
	maxPlanCalls     = 3
	maxPlanTokens    = 6_000
	maxAverageTokens = 2_000
)

// request is a user's request to an assistant, with a plan for answering it and the facts that an
// answer must contain.
type request struct {
	id  string
	ask string

	// plan is the shortest known sequence of calls that answers the request.
	plan  []call
	facts []fact

	// saved lists the account's saved searches before the request.
	saved []cola.SavedSearchParams
	// effect checks the account's saved searches after the request; it may be nil.
	effect func([]cola.SavedSearch) error
}

// call is one tool call in a plan. A string argument such as $1/data/0/ttb_id stands for the value
// at the path data/0/ttb_id in the result of the first call.
type call struct {
	tool string
	args args
}

// args contains a call's arguments, by name.
type args = map[string]any

// fact is a value that a plan's results and a model's answer must contain.
type fact struct {
	at   string // number of the call and path in its result, such as 1/data/0/count; see lookUp
	want any
	kind factKind
	said []string // an answer must contain one of these strings, usually want; empty if any answer passes
}

// factKind determines how the value at a fact's path is compared with want.
type factKind int

// Kinds of facts.
const (
	exact    factKind = iota
	sum               // the numbers add up to want
	anyOrder          // the list has the elements of want
	computed          // not in the results: an answer must compute it from other facts
)

// is returns the fact that the value at a path is want.
func is(at string, want any) fact { return fact{at: at, want: want, said: texts(want)} }

// adds returns the fact that the numbers at a path add up to want.
func adds(at string, want any) fact { return fact{at: at, want: want, kind: sum, said: texts(want)} }

// lists returns the fact that a path has the given values, in any order. An answer need not contain
// them.
func lists[T any](at string, want []T) fact { return fact{at: at, want: want, kind: anyOrder} }

// derived returns the fact that an answer contains a value computed from other facts.
func derived(want any) fact { return fact{want: want, kind: computed, said: texts(want)} }

// unsaid returns the fact without the requirement that an answer contain it.
func (f fact) unsaid() fact {
	f.said = nil
	return f
}

// saying returns the fact with different strings, one of which an answer must contain.
func (f fact) saying(texts ...string) fact {
	f.said = texts
	return f
}

// texts returns a value as the text that an answer must contain, or nil for a list or an object.
func texts(v any) []string {
	text, err := textOf(v)
	if err != nil {
		return nil
	}
	return []string{text}
}

// requests returns all of the evaluation's requests, with facts computed from the records.
func requests(w *world) (all []request) {
	for _, part := range []func(*world) []request{
		countRequests, labelRequests, brandRequests, companyRequests, referenceRequests, alertRequests,
	} {
		all = append(all, part(w)...)
	}
	return all
}
