package main

import "github.com/colaregistry/colaregistry/cola"

// Limits on the plan of a request, and on the average of all plans.
const (
	maxPlanCalls     = 3
	maxPlanTokens    = 6_000
	maxAverageTokens = 2_000
)

// request is something that a user asks an assistant, with a plan that answers it and the facts that
// any answer must contain.
type request struct {
	id  string
	ask string

	// plan is the shortest sequence of calls known to answer the request.
	plan  []call
	facts []fact

	// saved are the searches that the account has beforehand.
	saved []cola.SavedSearchParams
	// effect checks the searches that the account has afterwards.
	effect func([]cola.SavedSearch) error
}

// call is one tool call of a plan. A string argument such as $1/data/0/ttb_id is the value at that
// path in the result of the first call.
type call struct {
	tool string
	args args
}

// args are the arguments of a call.
type args = map[string]any

// fact is a value that the results of a plan and the answer of a model must contain.
type fact struct {
	at   string // path in the results of the plan: the number of the call and the path in its result
	want any
	kind factKind
	said []string // texts, one of which an answer contains; default: want. Empty: not expected there
}

// factKind is how the values at the path of a fact are compared.
type factKind int

// Kinds of facts.
const (
	exact    factKind = iota
	sum               // the numbers add up to want
	anyOrder          // the list has the elements of want
	computed          // an answer computes it from other facts
)

// is returns the fact that a path has a value.
func is(at string, want any) fact { return fact{at: at, want: want, said: texts(want)} }

// adds returns the fact that the numbers at a path have a total.
func adds(at string, want any) fact { return fact{at: at, want: want, kind: sum, said: texts(want)} }

// lists returns the fact that a path has values, in any order. An answer need not contain them.
func lists[T any](at string, want []T) fact { return fact{at: at, want: want, kind: anyOrder} }

// derived returns the fact that an answer contains a value computed from other facts.
func derived(want any) fact { return fact{want: want, kind: computed, said: texts(want)} }

// unsaid returns the fact without the requirement that an answer contains it.
func (f fact) unsaid() fact {
	f.said = nil
	return f
}

// saying returns the fact with other texts, one of which an answer contains.
func (f fact) saying(texts ...string) fact {
	f.said = texts
	return f
}

// texts returns the value as the text that an answer contains.
func texts(v any) []string {
	text, err := textOf(v)
	if err != nil {
		return nil // a list: its elements are facts of their own
	}
	return []string{text}
}

// requests returns the requests of the evaluation, with facts from the records.
func requests(w *world) (all []request) {
	for _, part := range []func(*world) []request{
		countRequests, labelRequests, brandRequests, companyRequests, referenceRequests, alertRequests,
	} {
		all = append(all, part(w)...)
	}
	return all
}
