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
	suggestionsPerSecond = 20     // of an account, in each process
	suggestionBurst      = 60     // at once
	maxSuggestionLimits  = 20_000 // accounts remembered
)

// ReasonSuggestions is details.reason of the error for too many requests for suggestions.
const ReasonSuggestions = "suggestions"

// suggestionLimit limits the requests of each account for suggestions. A field sends one for every
// few characters typed, so they don't count toward the account's rate limit.
type suggestionLimit struct {
	*ratelimit.Limiter[cola.AccountID]
	states *lru.Cache[cola.AccountID, cola.QuotaState] // as of the latest granted request
}

func newSuggestionLimit(now cola.Clock) suggestionLimit {
	states, err := lru.New[cola.AccountID, cola.QuotaState](maxSuggestionLimits)
	if err != nil {
		panic(err) // only a size below one fails
	}
	return suggestionLimit{ratelimit.New[cola.AccountID](
		suggestionBurst, time.Second/suggestionsPerSecond, maxSuggestionLimits, now), states}
}

// Suggest completes a value of a field. It is free and does not count toward the rate limit, but
// each account has a limit of its own.
func (s *Service) Suggest(
	ctx context.Context, c cola.Caller, p cola.SuggestParams,
) ([]cola.Suggestion, cola.QuotaState, error) {
	if err := s.checkIndexBuilt(); err != nil {
		return nil, cola.QuotaState{}, err
	}
	state, err := s.admitSuggestion(ctx, c)
	if err != nil {
		return nil, state, err
	}
	q, err := p.Normalize()
	if err != nil {
		return nil, state, err
	}
	start := time.Now()
	found := s.suggest(q)
	s.metrics.observeSearch(suggestions, start)
	return found, state, nil
}

// admitSuggestion checks the credential and counts the request toward the limit of suggestions. A
// rejection has the state of the account's latest request, so that a client in a tight loop doesn't
// cost a transaction per request.
func (s *Service) admitSuggestion(ctx context.Context, c cola.Caller) (cola.QuotaState, error) {
	wait := s.suggests.Take(c.Account, 1)
	if wait > 0 {
		if state, ok := s.suggests.states.Get(c.Account); ok {
			return state, tooManySuggestions(wait)
		}
	}
	state, err := s.Standing(ctx, c)
	if err != nil {
		return state, err
	}
	s.suggests.states.Add(c.Account, state)
	if wait > 0 {
		return state, tooManySuggestions(wait)
	}
	return state, nil
}

func tooManySuggestions(wait time.Duration) error {
	return cola.TooMany(ReasonSuggestions, suggestionsPerSecond, wait,
		fmt.Sprintf("Suggestions are limited to %d requests a second.", suggestionsPerSecond))
}

func (s *Service) suggest(q cola.SuggestSearch) []cola.Suggestion {
	var of func(*cola.ProductionReport) string
	switch q.Field {
	case cola.SuggestCommodity:
		of = func(r *cola.ProductionReport) string { return r.Commodity }
	case cola.SuggestReportType:
		of = func(r *cola.ProductionReport) string { return r.ReportType }
	case cola.SuggestStatisticalGroup:
		of = func(r *cola.ProductionReport) string { return string(r.StatisticalGroup) }
	default:
		return s.index.View().Suggest(q)
	}
	rows, counts := s.references.Load().ProductionReports, map[string]int{}
	for i := range rows {
		counts[of(&rows[i])]++
	}
	delete(counts, "")
	values := make([]cola.Suggestion, 0, len(counts))
	for value, n := range counts {
		values = append(values, cola.Suggestion{Value: value, Count: n})
	}
	return search.NewValueList(values).Suggest(q)
}
