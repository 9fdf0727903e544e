package registry

import (
	"context"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
	"github.com/colaregistry/colaregistry/search"
)

const (
	suggestionsPerSecond = 20     // per account and process
	suggestionBurst      = 60     // requests at once
	maxSuggestionLimits  = 20_000 // accounts remembered
)

// ReasonSuggestions is the details.reason of the error for too many suggestion requests.
const ReasonSuggestions = "suggestions"

// suggestionLimit limits each account's requests for suggestions. A form field sends one for every
// few characters typed, so they don't count toward the account's rate limit.
type suggestionLimit struct {
	*ratelimit.Limiter[cola.AccountID]
	states *lru.Cache[cola.Sender, cola.QuotaState] // as of the latest granted request
}

func newSuggestionLimit(now cola.Clock) suggestionLimit {
	states, err := lru.New[cola.Sender, cola.QuotaState](maxSuggestionLimits)
	if err != nil {
		panic(err) // only a size below one fails
	}
	return suggestionLimit{ratelimit.New[cola.AccountID](
		suggestionBurst, time.Second/suggestionsPerSecond, maxSuggestionLimits, now), states}
}

// Suggestions is the result of Suggest.
type Suggestions struct {
	Values []cola.Suggestion
	Notes  []string // if no value completes the text: the text that was completed instead, if any
}

// Suggest completes a field's value. If no value completes the text, it completes the most similar
// text that has values, and adds a note. It is free and exempt from the rate limit, but each
// account has a separate limit on suggestions.
func (s *Service) Suggest(
	ctx context.Context, c cola.Caller, p cola.SuggestParams,
) (Suggestions, cola.QuotaState, error) {
	if err := s.checkIndexBuilt(); err != nil {
		return Suggestions{}, cola.QuotaState{}, err
	}
	state, err := s.admitSuggestion(ctx, c)
	if err != nil {
		return Suggestions{}, state, err
	}
	q, err := p.Normalize()
	if err != nil {
		return Suggestions{}, state, err
	}
	start := time.Now()
	found := s.suggest(q)
	s.metrics.observeSearch(suggestions, start)
	return found, state, nil
}

// admitSuggestion checks the credential and counts the request toward the suggestion limit. If it
// rejects the request, it returns the state of the sender's latest granted request, so that a
// client in a tight loop doesn't cost a transaction per request. A sender's first request counts
// only if its credential is accepted, so that a rejected key can't use up the limit.
func (s *Service) admitSuggestion(ctx context.Context, c cola.Caller) (cola.QuotaState, error) {
	if isSample(c) {
		return cola.QuotaState{}, nil
	}
	last, known := s.suggests.states.Get(c.Sender())
	if known {
		if wait := s.suggests.Take(c.Account, 1); wait > 0 {
			return last, tooManySuggestions(wait)
		}
	}
	state, err := s.Standing(ctx, c)
	if err != nil {
		return state, err
	}
	s.suggests.states.Add(c.Sender(), state)
	if !known {
		if wait := s.suggests.Take(c.Account, 1); wait > 0 {
			return state, tooManySuggestions(wait)
		}
	}
	return state, nil
}

func tooManySuggestions(wait time.Duration) error {
	return cola.TooMany(ReasonSuggestions, suggestionsPerSecond, wait,
		fmt.Sprintf("Suggestions are limited to %d requests a second.", suggestionsPerSecond))
}

// suggest completes a query or, if it has no completions, its correction.
func (s *Service) suggest(q cola.SuggestSearch) Suggestions {
	suggest, correct := s.completions(q.Field)
	found := Suggestions{Values: suggest(q)}
	if len(found.Values) > 0 || q.Q == "" {
		return found
	}
	given := q.Q
	if q.Q = correct(given); q.Q != "" {
		found.Values = suggest(q)
	}
	hint := "Try fewer letters."
	if len(found.Values) > 0 {
		hint = "These are the values for " + cola.Quoted(q.Q) + "."
	}
	found.Notes = []string{fmt.Sprintf("No value has a word that begins with %s. %s", cola.Quoted(given), hint)}
	return found
}

// completions returns the functions that complete and correct a field's value.
func (s *Service) completions(
	field string,
) (suggest func(cola.SuggestSearch) []cola.Suggestion, correct func(q string) string) {
	var valueOf func(*cola.ProductionReport) string
	switch field {
	case cola.SuggestCommodity:
		valueOf = func(r *cola.ProductionReport) string { return r.Commodity }
	case cola.SuggestReportType:
		valueOf = func(r *cola.ProductionReport) string { return r.ReportType }
	case cola.SuggestStatisticalGroup:
		valueOf = func(r *cola.ProductionReport) string { return string(r.StatisticalGroup) }
	default:
		view := s.index.View()
		return view.Suggest, func(q string) string { return view.Correct(field, q) }
	}
	rows, counts := s.references.Load().ProductionReports, map[string]int{}
	for i := range rows {
		counts[valueOf(&rows[i])]++
	}
	delete(counts, "")
	values := make([]cola.Suggestion, 0, len(counts))
	for value, n := range counts {
		values = append(values, cola.Suggestion{Value: value, Count: n})
	}
	list := search.NewValueList(values)
	return list.Suggest, list.Correct
}
