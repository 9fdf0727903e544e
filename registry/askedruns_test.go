package registry_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestRunASavedSearch: one that is asked to run is due now, also without a schedule or while that is paused, and goes back to its schedule then.
func TestRunASavedSearch(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "run@example.com", cola.TierPro)
	weekly := w.mustSave(t, c, alert("weekly")).Search
	paused := w.mustSave(t, c, alert("paused")).Search
	w.mustChange(t, c, paused.UUID, setActive(false))
	never := alert("never")
	never.Schedule = nil
	unscheduled := w.mustSave(t, c, never).Search
	for _, s := range []cola.SavedSearch{weekly, paused, unscheduled} {
		w.advance(time.Hour)
		asked, state, err := w.RunSavedSearch(t.Context(), c, strings.ToUpper(s.UUID))
		if err != nil || state.Used != (cola.Used{}) || !state.Known() || asked.UUID != s.UUID || asked.ManageURL != s.ManageURL {
			t.Fatalf("%s: %+v, %+v, %v", s.Name, asked, state, err)
		}
		if (asked.Schedule == nil) != (s.Schedule == nil) || asked.Schedule != nil && asked.Schedule.NextRunAt != cola.Some(cola.TimestampOf(w.now())) {
			t.Errorf("%s is due: %+v", s.Name, asked.Schedule)
		}
		if _, _, err := w.RunSavedSearch(t.Context(), c, s.UUID); err != nil {
			t.Errorf("%s, asked for again: %v", s.Name, err)
		}
		w.mustRecord(t)
		after, _, err := w.SavedSearch(t.Context(), c, s.UUID, "")
		if err != nil {
			t.Fatal(err)
		}
		if plan := after.Value.Schedule; s.Name == "weekly" && (plan.NextRunAt != weekly.Schedule.NextRunAt || plan.LastRunAt != cola.Some(cola.TimestampOf(w.now()))) ||
			s.Name == "paused" && (plan.NextRunAt.OK || plan.Active) || s.Name == "never" && plan != nil {
			t.Errorf("%s after its run: %+v", s.Name, plan)
		}
	}
	if claimed, err := w.store.ClaimDue(t.Context(), w.now(), 10, time.Minute); err != nil || len(claimed) != 0 {
		t.Errorf("%d searches are still due, %v", len(claimed), err)
	}
}

// TestManualRunsADay checks the limit on manual runs per UTC day and its Retry-After.
func TestManualRunsADay(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "manual@example.com", cola.TierPro)
	run := func() error {
		p := alert("oaks")
		p.Schedule = nil
		id := w.mustSave(t, c, p).Search.UUID
		_, _, err := w.RunSavedSearch(t.Context(), c, id)
		if _, deleteErr := w.DeleteSavedSearch(t.Context(), c, id); deleteErr != nil {
			t.Fatal(deleteErr)
		}
		return err
	}
	for n := range cola.MaxDailyManualRuns {
		if err := run(); err != nil {
			t.Fatalf("run %d: %v", n, err)
		}
		w.advance(10 * time.Second)
	}
	err := run()
	var refusal *cola.Error
	tomorrow := (cola.DateOf(w.now()) + 1).Time()
	if !errors.As(err, &refusal) || refusal.Code != cola.CodeQuotaExceeded || refusal.Details["reason"] != "manual_runs" || refusal.RetryAfter != tomorrow.Sub(w.now()) {
		t.Fatalf("one more: %+v", err)
	}
	w.advance(refusal.RetryAfter)
	if err := run(); err != nil {
		t.Errorf("after the time to wait: %v", err)
	}
}

// TestRefusedRuns: each refusal costs nothing and has nothing run.
func TestRefusedRuns(t *testing.T) {
	w := mustWorld(t, 0)
	c, other := w.mustWriter(t, "refused@example.com", cola.TierPro), w.mustWriter(t, "other@example.com", cola.TierPro)
	reader := c
	reader.Scopes = nil
	id := w.mustSave(t, c, alert("first")).Search.UUID
	second := w.mustSave(t, c, alert("second")).Search.UUID
	broad := w.mustSave(t, c, cola.SavedSearchParams{Name: "broad", Filters: &cola.SavedSearchFilters{ApplicationStatus: "approved"}}).Search.UUID
	if err := w.store.SetActiveLimit(t.Context(), c.Account, 1); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		caller cola.Caller
		id     string
		want   cola.Code
		reason string
	}{
		{reader, id, cola.CodeInsufficientScope, ""}, {reader, "nonsense", cola.CodeInsufficientScope, ""},
		{c, "nonsense", cola.CodeNotFound, ""}, {c, "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11", cola.CodeNotFound, ""}, {other, id, cola.CodeNotFound, ""},
		{c, broad, cola.CodeSearchTooBroad, ""}, {c, second, cola.CodeNotActive, cola.PausedDowngraded},
	} {
		_, state, err := w.RunSavedSearch(t.Context(), tt.caller, tt.id)
		var refusal *cola.Error
		if !errors.As(err, &refusal) || refusal.Code != tt.want || !state.Known() || state.Used != (cola.Used{}) {
			t.Errorf("%s: %v, %+v, want %s", tt.id, err, state, tt.want)
			continue
		}
		if reason, _ := refusal.Details["reason"].(string); reason != tt.reason {
			t.Errorf("%s: %v", tt.id, refusal.Details)
		}
	}
	w.full.Store(true)
	if _, _, err := w.RunSavedSearch(t.Context(), c, id); code(err) != cola.CodeUnavailable {
		t.Errorf("without room: %v", err)
	}
	w.full.Store(false)
	if claimed, err := w.store.ClaimDue(t.Context(), w.now(), 10, time.Minute); err != nil || len(claimed) != 0 {
		t.Errorf("%d searches are due, %v", len(claimed), err)
	}
}

// TestSuspendedAccount: every operation is refused for the reason that the operator gave, costs nothing, and works again when the account is
// restored.
func TestSuspendedAccount(t *testing.T) {
	const because = "The invoice of October is not paid."
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "suspended@example.com", cola.TierPro)
	w.mustImport(t, store.Commit, bottle(26001001000001, "OAK", cola.DateOf(instant)))
	id := w.mustSave(t, c, alert("oaks")).Search.UUID
	operations := map[string]func() (cola.QuotaState, error){
		"standing": func() (cola.QuotaState, error) { return w.Standing(t.Context(), c) },
		"usage":    func() (cola.QuotaState, error) { _, s, err := w.Usage(t.Context(), c); return s, err },
		"search": func() (cola.QuotaState, error) {
			_, s, err := w.SearchColas(t.Context(), c, cola.SearchParams{})
			return s, err
		},
		"detail": func() (cola.QuotaState, error) {
			_, s, err := w.Cola(t.Context(), c, "26001001000001", "")
			return s, err
		},
		"missing": func() (cola.QuotaState, error) {
			_, s, err := w.Cola(t.Context(), c, "26001001000002", "")
			return s, err
		},
		"areas": func() (cola.QuotaState, error) { _, s, err := w.AVAs(t.Context(), c, cola.AVAParams{}); return s, err },
		"save": func() (cola.QuotaState, error) {
			_, s, err := w.CreateSavedSearch(t.Context(), c, alert("more"))
			return s, err
		},
		"run": func() (cola.QuotaState, error) { _, s, err := w.RunSavedSearch(t.Context(), c, id); return s, err },
		"explain": func() (cola.QuotaState, error) {
			_, s, err := w.ExplainSavedSearch(t.Context(), c, id, "26001001000001")
			return s, err
		},
		"refused": func() (cola.QuotaState, error) { return w.Refuse(t.Context(), c, errors.New("something else")) },
	}
	if err := w.store.Suspend(t.Context(), c.Account, because); err != nil {
		t.Fatal(err)
	}
	for name, ask := range operations {
		state, err := ask()
		var refusal *cola.Error
		if !errors.As(err, &refusal) || refusal.Code != cola.CodeAccountSuspended || refusal.Details["reason"] != because {
			t.Errorf("%s: %v", name, err)
		}
		if !state.Known() || state.Used != (cola.Used{}) {
			t.Errorf("%s: %+v", name, state)
		}
	}
	w.mustHaveSaved(t, c, "oaks")
	if err := w.store.Restore(t.Context(), c.Account); err != nil {
		t.Fatal(err)
	}
	e := w.mustExplain(t, c, id, 26001001000001)
	if diff := cmp.Diff("next_run", e.Verdict); diff != "" {
		t.Errorf("when it is restored (-want +got):\n%s", diff)
	}
}
