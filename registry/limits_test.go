package registry_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestOwnLimit: an account with a lower limit is told that one, and its searches above it do not say when they run.
func TestOwnLimit(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "low@example.com", cola.TierPro)
	for _, name := range []string{"a", "b", "c"} {
		w.mustSave(t, c, alert(name))
	}
	for limit, says := range map[int]string{2: "An account may have 2 saved searches", 1: "This account may have one saved search", 0: "This account may have no saved search that runs"} {
		if err := w.store.SetActiveLimit(t.Context(), c.Account, limit); err != nil {
			t.Fatal(err)
		}
		_, _, err := w.CreateSavedSearch(t.Context(), c, alert("d"))
		var refusal *cola.Error
		if !errors.As(err, &refusal) || refusal.Code != cola.CodeWatchlistLimit || refusal.Details["limit"] != limit || !strings.Contains(refusal.Message, says) {
			t.Errorf("limit %d: %+v", limit, err)
		}
		list, _, err := w.SavedSearches(t.Context(), c, cola.SavedSearchListParams{})
		if err != nil || len(list.Rows) != 3 {
			t.Fatalf("%+v, %v", list, err)
		}
		for i, s := range list.Rows {
			runs := i < limit
			if paused := s.Schedule.PausedBecause == cola.Some(cola.PausedDowngraded); paused == runs || s.Schedule.NextRunAt.OK != runs || !s.Schedule.Active {
				t.Errorf("limit %d: search %d has %+v", limit, i, s.Schedule)
			}
			read, _, err := w.SavedSearch(t.Context(), c, s.UUID, "")
			if err != nil || read.Value.Schedule.NextRunAt != s.Schedule.NextRunAt {
				t.Errorf("limit %d: search %d is read as %+v, %v", limit, i, read.Value.Schedule, err)
			}
		}
	}
	if err := w.store.SetActiveLimit(t.Context(), c.Account, cola.MaxActiveSchedules); err != nil {
		t.Fatal(err)
	}
	list, _, _ := w.SavedSearches(t.Context(), c, cola.SavedSearchListParams{})
	for i, s := range list.Rows {
		if !s.Schedule.NextRunAt.OK || s.Schedule.PausedBecause.OK {
			t.Errorf("with room again: search %d has %+v", i, s.Schedule)
		}
	}
}

// TestSavedSearchesAreLimited: an account has so many in all, and is told what to do about it.
func TestSavedSearchesAreLimited(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "full@example.com", cola.TierPro)
	var last string
	for n := range cola.MaxSavedSearches {
		last = fmt.Sprintf("0b9f8c0e-6a55-4f0e-9a39-%012d", n)
		_, _, err := w.store.CreateSavedSearch(t.Context(), store.NewSavedSearch{Account: c.Account, Search: cola.SavedSearch{UUID: last, Name: "x"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	params := cola.SavedSearchParams{Name: "One more", Filters: &cola.SavedSearchFilters{BrandName: "oak"}}
	_, state, err := w.CreateSavedSearch(t.Context(), c, params)
	var refusal *cola.Error
	if !errors.As(err, &refusal) || refusal.Code != cola.CodeWatchlistLimit || refusal.Details["limit"] != 1000 || !strings.Contains(refusal.Message, "DELETE /saved-searches/{uuid}") || !state.Known() {
		t.Errorf("one more: %+v", err)
	}
	if _, err := w.DeleteSavedSearch(t.Context(), c, last); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.CreateSavedSearch(t.Context(), c, params); err != nil {
		t.Errorf("after one was deleted: %v", err)
	}
}
