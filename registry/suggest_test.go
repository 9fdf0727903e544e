package registry_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// TestSuggestionsAreFilters checks that using a suggestion as a filter finds as many records as the
// suggestion states.
func TestSuggestionsAreFilters(t *testing.T) {
	w := mustWorld(t, 2_000)
	c := w.mustCaller(t, "filters@example.com", cola.TierPro)
	labels := func(p cola.SearchParams) (int, error) {
		p.DateRange, p.PerPage = cola.AllDates, cola.Some(1)
		page, _, err := w.SearchColas(t.Context(), c, p)
		return page.Pagination.Total, err
	}
	rows := func(p cola.ProductionReportParams) (int, error) {
		list, _, err := w.ProductionReports(t.Context(), c, p)
		return list.Meta.Total, err
	}
	counts := map[string]func(v cola.Suggestion) (int, error){
		cola.SuggestBrand: func(v cola.Suggestion) (int, error) {
			return labels(cola.SearchParams{BrandName: `"` + v.Value + `"`})
		},
		cola.SuggestCompany: func(v cola.Suggestion) (int, error) {
			return labels(cola.SearchParams{PermitNumber: v.PermitNumber})
		},
		cola.SuggestCategory: func(v cola.Suggestion) (int, error) {
			return labels(cola.SearchParams{DerivedSubcategory: v.Value})
		},
		cola.SuggestClass: func(v cola.Suggestion) (int, error) {
			return labels(cola.SearchParams{Class: strings.ToLower(v.Value)})
		},
		cola.SuggestAppellation: func(v cola.Suggestion) (int, error) {
			return labels(cola.SearchParams{Appellation: v.Value})
		},
		cola.SuggestOrigin: func(v cola.Suggestion) (int, error) { return labels(cola.SearchParams{Origin: v.Value}) },
		cola.SuggestGrape:  func(v cola.Suggestion) (int, error) { return labels(cola.SearchParams{Grape: v.Value}) },
		cola.SuggestCommodity: func(v cola.Suggestion) (int, error) {
			return rows(cola.ProductionReportParams{Commodity: v.Value})
		},
		cola.SuggestReportType: func(v cola.Suggestion) (int, error) {
			return rows(cola.ProductionReportParams{ReportType: v.Value})
		},
		cola.SuggestStatisticalGroup: func(v cola.Suggestion) (int, error) {
			return rows(cola.ProductionReportParams{StatisticalGroup: v.Value})
		},
	}
	for field, count := range counts {
		q := map[string]string{cola.SuggestBrand: "r", cola.SuggestCompany: "v", cola.SuggestAppellation: "v"}[field]
		found, _, err := w.Suggest(t.Context(), c, cola.SuggestParams{Field: field, Q: q, Limit: cola.Some(10)})
		if err != nil || len(found.Values) < 2 || found.Notes != nil {
			t.Fatalf("Suggest(%s) = %+v, %v, want at least two values", field, found, err)
		}
		for _, v := range found.Values {
			w.advance(time.Minute)
			if n, err := count(v); err != nil || n != v.Count {
				t.Errorf("%s %+v: its filter finds %d, %v", field, v, n, err)
			}
		}
	}
}

// TestSuggestCorrections checks that the response for text without completions has a correction's
// completions, if there is a correction, and a note.
func TestSuggestCorrections(t *testing.T) {
	w := mustWorld(t, 500)
	c := w.mustCaller(t, "corrections@example.com", cola.TierFree)
	for _, tt := range []struct {
		field, q, like string // like has the same completions; empty if there are none
	}{
		{cola.SuggestOrigin, "french", "france"},
		{cola.SuggestOrigin, "frnace", "france"},
		{cola.SuggestCommodity, "wime", "wine"},
		{cola.SuggestBrand, "zzzzzz", ""},
	} {
		got, _, err := w.Suggest(t.Context(), c, cola.SuggestParams{Field: tt.field, Q: tt.q})
		if err != nil || len(got.Notes) != 1 || (len(got.Values) > 0) != (tt.like != "") {
			t.Errorf("%s %q: %+v, %v, want a note", tt.field, tt.q, got, err)
		}
		if tt.like == "" {
			continue
		}
		want, _, err := w.Suggest(t.Context(), c, cola.SuggestParams{Field: tt.field, Q: tt.like})
		if diff := cmp.Diff(registry.Suggestions{Values: got.Values}, want); err != nil || diff != "" {
			t.Errorf("%s %q: error = %v, values (-got +want):\n%s", tt.field, tt.q, err, diff)
		}
	}
}

// TestSuggestLimit checks that suggestions use no quota and have a separate limit per account: they
// don't count toward the rate limit, and other requests don't count toward theirs.
func TestSuggestLimit(t *testing.T) {
	w := mustWorld(t, 50)
	c, other := w.mustCaller(t, "typing@example.com", cola.TierFree), w.mustCaller(t, "other@example.com", cola.TierFree)
	ask := func(c cola.Caller) (cola.QuotaState, error) {
		_, state, err := w.Suggest(t.Context(), c, cola.SuggestParams{Field: cola.SuggestOrigin})
		return state, err
	}
	for range cola.TierFree.Limits().PerMinute {
		if _, err := w.Admit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 60 {
		if state, err := ask(c); err != nil || state.Used != (cola.Used{}) || !state.Known() {
			t.Fatalf("request %d: state = %+v, error = %v", i, state, err)
		}
	}
	state, err := ask(c)
	var refusal *cola.Error
	if !errors.As(err, &refusal) || refusal.Code != cola.CodeQuotaExceeded || refusal.RetryAfter != 50*time.Millisecond ||
		refusal.Details["reason"] != registry.ReasonSuggestions || !state.Known() {
		t.Errorf("request over the limit: state = %+v, error = %+v", state, err)
	}
	w.stuck.Store(true)
	if state, err := ask(c); code(err) != cola.CodeQuotaExceeded || !state.Known() {
		t.Errorf("over the limit while commits fail: state = %+v, error = %v, want quota_exceeded", state, err)
	}
	w.stuck.Store(false)
	if _, err := ask(other); err != nil {
		t.Errorf("another account: error = %v", err)
	}
	w.advance(50 * time.Millisecond)
	if _, err := ask(c); err != nil {
		t.Errorf("after 50 ms: error = %v", err)
	}
	if _, err := w.Admit(t.Context(), other); err != nil {
		t.Errorf("rate limit after a suggestion: error = %v", err)
	}
	days, err := w.store.DailyUsage(t.Context(), other.Account, cola.DateOf(testNow), cola.DateOf(testNow))
	if err != nil || len(days) != 1 || days[0].Requests != 1 {
		t.Errorf("usage = %+v, %v, want only the admitted request", days, err)
	}
}

// TestSuggestLimitConcurrent checks that exactly 60 of an account's concurrent requests succeed,
// and that every response has the quota state.
func TestSuggestLimitConcurrent(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustCaller(t, "atonce@example.com", cola.TierFree)
	var granted atomic.Int64
	var all sync.WaitGroup
	for range 150 {
		all.Go(func() {
			_, state, err := w.Suggest(t.Context(), c, cola.SuggestParams{Field: cola.SuggestOrigin})
			if err == nil {
				granted.Add(1)
			}
			if !state.Known() || err != nil && code(err) != cola.CodeQuotaExceeded {
				t.Errorf("state = %+v, error = %v", state, err)
			}
		})
	}
	all.Wait()
	if granted.Load() != 60 {
		t.Errorf("%d requests succeeded, want 60", granted.Load())
	}
}

func TestSuggestRefusals(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustCaller(t, "refused@example.com", cola.TierFree)
	for parameter, p := range map[string]cola.SuggestParams{
		"field": {Q: "oak"}, "q": {Field: cola.SuggestBrand}, "limit": {Field: cola.SuggestOrigin, Limit: cola.Some(0)},
	} {
		_, state, err := w.Suggest(t.Context(), c, p)
		var refusal *cola.Error
		if !errors.As(err, &refusal) || len(refusal.Details) != 1 || refusal.Details[parameter] == nil || !state.Known() {
			t.Errorf("%+v: state = %+v, error = %+v, want one problem with %s", p, state, err, parameter)
		}
	}
	if err := w.store.RevokeKey(t.Context(), 0, c.Credential.ID); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Suggest(t.Context(), c, cola.SuggestParams{Field: cola.SuggestOrigin}); code(err) != cola.CodeUnauthorized {
		t.Errorf("revoked key: error = %v, want unauthorized", err)
	}
}

// TestSuggestBeforeIndex checks the error before the index is built.
func TestSuggestBeforeIndex(t *testing.T) {
	s := registry.New(registry.Options{Now: func() time.Time { return testNow }})
	_, _, err := s.Suggest(t.Context(), cola.Caller{}, cola.SuggestParams{Field: cola.SuggestOrigin})
	if code(err) != cola.CodeUnavailable {
		t.Errorf("Suggest = %v, want unavailable", err)
	}
}
