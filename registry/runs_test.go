package registry_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

// mustRun records a run of the only due search for each of the given numbers of matches, a week
// apart.
func (w *world) mustRun(t *testing.T, found ...int) {
	t.Helper()
	label := cola.TTBID(26001001000000)
	at := testNow
	for _, n := range found {
		at = at.AddDate(0, 0, 7)
		claimed, err := w.store.ClaimDue(t.Context(), at, 10, time.Minute)
		if err != nil || len(claimed) != 1 {
			t.Fatalf("%d searches are due, %v, want 1", len(claimed), err)
		}
		due := claimed[0]
		record := store.RunRecord{
			Due: due, Mark: store.Mark{At: at, Revision: due.Mark.Revision}, Next: cola.TimestampOf(due.Search.Schedule.Next(at)),
			From: cola.DateOf(due.Mark.At), To: cola.DateOf(at), MaxNamed: cola.MaxMessageLabels, MaxNamedPerAccount: cola.MaxDailyMessageLabels,
		}
		for i := range n {
			label++
			record.Matches = append(record.Matches, store.RunMatch{TTBID: label, Late: i == 0})
		}
		outcomes, err := w.store.RecordRuns(t.Context(), []store.RunRecord{record})
		if err != nil || !outcomes[0].Recorded || outcomes[0].New != n {
			t.Fatalf("RecordRuns = %+v, %v", outcomes, err)
		}
	}
}

func TestRuns(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "runs@example.com", cola.TierFree)
	id := w.mustSave(t, c, alert("Oaks")).Search.UUID
	reader := w.mustReader(t, c) // any of the account's credentials may read
	if none, _, err := w.SavedSearchRuns(t.Context(), reader, id, cola.SavedSearchListParams{}); err != nil || len(none.Rows) != 0 || none.Meta.Total != 0 {
		t.Errorf("before the first run: SavedSearchRuns = %+v, %v", none, err)
	}
	w.mustRun(t, 2, 0, 3)
	runs, state, err := w.SavedSearchRuns(t.Context(), reader, id, cola.SavedSearchListParams{PerPage: cola.Some(2)})
	if err != nil || state.Used != (cola.Used{}) || !state.Known() {
		t.Fatalf("SavedSearchRuns = %+v, %v", state, err)
	}
	var got []string
	for _, r := range runs.Rows {
		got = append(got, fmt.Sprintf("%s %s %s %d %d", r.RanAt.Time().Format(time.DateOnly), r.DateFrom, r.DateTo, r.MatchCount, r.LateCount))
	}
	if diff := cmp.Diff([]string{"2026-12-11 2026-12-04 2026-12-11 3 1", "2026-12-04 2026-11-27 2026-12-04 0 0"}, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if want := (cola.PageMeta{Total: 3, Page: 1, PerPage: 2, HasMore: true}); runs.Meta != want {
		t.Errorf("meta = %+v, want %+v", runs.Meta, want)
	}
	w.checkMatches(t, c, id, fmt.Sprint(runs.Rows[0].ID))
}

// checkMatches checks the matches of all runs and of the latest one.
func (w *world) checkMatches(t *testing.T, c cola.Caller, id, latest string) {
	t.Helper()
	ids := func(l registry.PageList[cola.SavedSearchMatch]) (ids []string) {
		for _, m := range l.Rows {
			ids = append(ids, fmt.Sprint(m.TTBID, m.Late))
		}
		return ids
	}
	first, second := []string{"26001001000001 true", "26001001000002 false"}, []string{"26001001000003 true", "26001001000004 false", "26001001000005 false"}
	all, _, err := w.SavedSearchMatches(t.Context(), c, id, cola.SavedSearchListParams{})
	if diff := cmp.Diff(slices.Concat(second, first), ids(all)); diff != "" || err != nil || all.Meta.Total != 5 || all.Meta.HasMore {
		t.Errorf("all matches: %+v, %v (-want +got):\n%s", all.Meta, err, diff)
	}
	page := cola.SavedSearchListParams{Page: cola.Some(2), PerPage: cola.Some(2)}
	one, _, err := w.RunMatches(t.Context(), c, id, latest, page)
	if diff := cmp.Diff(second[2:], ids(one)); diff != "" || err != nil || one.Meta.Total != 3 || one.Meta.HasMore {
		t.Errorf("matches of the latest run: %+v, %v (-want +got):\n%s", one.Meta, err, diff)
	}
	beyond, _, err := w.RunMatches(t.Context(), c, id, latest, cola.SavedSearchListParams{Page: cola.Some(1 << 30), PerPage: cola.Some(100)})
	if err != nil || len(beyond.Rows) != 0 || beyond.Meta.HasMore || beyond.Meta.Total != 3 {
		t.Errorf("page beyond the last: %+v, %v", beyond, err)
	}
}

// TestMatchCharge checks that each returned match costs a list record, and that a page is truncated
// to the remaining quota.
func TestMatchCharge(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "matches@example.com", cola.TierFree)
	id := w.mustSave(t, c, alert("Oaks")).Search.UUID
	w.mustRun(t, 9)
	read := func(p cola.SavedSearchListParams) (registry.PageList[cola.SavedSearchMatch], cola.QuotaState, error) {
		return w.RunMatches(t.Context(), c, id, "1", p)
	}
	limit := cola.TierFree.Limits().ListRecords
	w.spend(t, c, limit-7)
	list, state, err := read(cola.SavedSearchListParams{PerPage: cola.Some(4), Page: cola.Some(3)})
	if err != nil || len(list.Rows) != 1 || list.Meta.TruncatedByQuota || state.ListRecordsRemaining() != 6 || state.Charged != 1 {
		t.Errorf("%d rows, %+v, %v", len(list.Rows), state, err)
	}
	list, state, err = read(cola.SavedSearchListParams{})
	if err != nil || len(list.Rows) != 6 || !list.Meta.HasMore || !list.Meta.TruncatedByQuota || list.Meta.Total != 9 || state.ListRecordsRemaining() != 0 {
		t.Errorf("truncated page: %d rows, %+v, %+v, %v", len(list.Rows), list.Meta, state, err)
	}
	if _, state, err := read(cola.SavedSearchListParams{}); code(err) != cola.CodeQuotaExceeded || !state.Known() {
		t.Errorf("matches of a run, quota exhausted: error = %v, want quota_exceeded", err)
	}
	if _, _, err := w.SavedSearchMatches(t.Context(), c, id, cola.SavedSearchListParams{}); code(err) != cola.CodeQuotaExceeded {
		t.Errorf("all matches, quota exhausted: error = %v, want quota_exceeded", err)
	}
	if _, _, err := w.SavedSearchRuns(t.Context(), c, id, cola.SavedSearchListParams{}); err != nil {
		t.Errorf("runs, quota exhausted: error = %v", err)
	}
}

// TestRunsNotFound checks that runs that do not exist or belong to another account return "not
// found".
func TestRunsNotFound(t *testing.T) {
	w := mustWorld(t, 0)
	c, other := w.mustWriter(t, "runs@example.com", cola.TierPro), w.mustWriter(t, "other@example.com", cola.TierPro)
	id := w.mustSave(t, c, alert("Oaks")).Search.UUID
	w.mustRun(t, 1)
	runs, _, err := w.SavedSearchRuns(t.Context(), c, id, cola.SavedSearchListParams{})
	if err != nil {
		t.Fatal(err)
	}
	run := fmt.Sprint(runs.Rows[0].ID)
	for _, tt := range []struct {
		caller  cola.Caller
		id, run string
	}{
		{other, id, run}, {c, "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11", run}, {c, "nonsense", run}, {c, "{" + id + "}", run}, {c, "", run},
		{c, id, "0"}, {c, id, "-1"}, {c, id, "+" + run}, {c, id, "0" + run}, {c, id, "99999999999999999999"}, {c, id, "one"}, {c, id, run + "00"},
	} {
		_, state, err := w.RunMatches(t.Context(), tt.caller, tt.id, tt.run, cola.SavedSearchListParams{})
		if code(err) != cola.CodeNotFound || !state.Known() {
			t.Errorf("search %q, run %q: error = %v, want not_found", tt.id, tt.run, err)
		}
		if tt.run != run {
			continue
		}
		if _, _, err := w.SavedSearchRuns(t.Context(), tt.caller, tt.id, cola.SavedSearchListParams{}); code(err) != cola.CodeNotFound {
			t.Errorf("SavedSearchRuns(%q): error = %v, want not_found", tt.id, err)
		}
		if _, _, err := w.SavedSearchMatches(t.Context(), tt.caller, tt.id, cola.SavedSearchListParams{}); code(err) != cola.CodeNotFound {
			t.Errorf("SavedSearchMatches(%q): error = %v, want not_found", tt.id, err)
		}
	}
	bad := cola.SavedSearchListParams{Page: cola.Some(0), PerPage: cola.Some(101)}
	if _, state, err := w.SavedSearchRuns(t.Context(), other, id, bad); code(err) != cola.CodeValidation || !state.Known() {
		t.Errorf("invalid parameters: error = %v, want validation_error", err)
	}
}

// TestRunNow checks that a manual run makes a search due immediately, even if it has no schedule or
// a paused one, and leaves the schedule unchanged.
func TestRunNow(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "run@example.com", cola.TierPro)
	weekly := w.mustSave(t, c, alert("weekly")).Search
	paused := w.mustSave(t, c, alert("paused")).Search
	w.mustChange(t, c, paused.UUID, setActive(false))
	params := alert("never")
	params.Schedule = nil
	unscheduled := w.mustSave(t, c, params).Search
	for _, s := range []cola.SavedSearch{weekly, paused, unscheduled} {
		w.advance(time.Hour)
		requested, state, err := w.RunSavedSearch(t.Context(), c, strings.ToUpper(s.UUID))
		if err != nil || state.Used != (cola.Used{}) || !state.Known() || requested.UUID != s.UUID || requested.ManageURL != s.ManageURL {
			t.Fatalf("%s: RunSavedSearch = %+v, %+v, %v", s.Name, requested, state, err)
		}
		if (requested.Schedule == nil) != (s.Schedule == nil) || requested.Schedule != nil && requested.Schedule.NextRunAt != cola.Some(cola.TimestampOf(w.now())) {
			t.Errorf("%s: schedule = %+v, want due now", s.Name, requested.Schedule)
		}
		if _, _, err := w.RunSavedSearch(t.Context(), c, s.UUID); err != nil {
			t.Errorf("%s: second request: %v", s.Name, err)
		}
		w.mustRecord(t)
		after, _, err := w.SavedSearch(t.Context(), c, s.UUID, "")
		if err != nil {
			t.Fatal(err)
		}
		if plan := after.Value.Schedule; s.Name == "weekly" && (plan.NextRunAt != weekly.Schedule.NextRunAt || plan.LastRunAt != cola.Some(cola.TimestampOf(w.now()))) ||
			s.Name == "paused" && (plan.NextRunAt.OK || plan.Active) || s.Name == "never" && plan != nil {
			t.Errorf("%s: schedule after the run = %+v", s.Name, plan)
		}
	}
	if claimed, err := w.store.ClaimDue(t.Context(), w.now(), 10, time.Minute); err != nil || len(claimed) != 0 {
		t.Errorf("%d searches are still due, %v, want 0", len(claimed), err)
	}
}

// TestManualRunLimit checks the limit on manual runs per UTC day and its Retry-After.
func TestManualRunLimit(t *testing.T) {
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
			t.Fatalf("run %d: error = %v", n, err)
		}
		w.advance(10 * time.Second)
	}
	err := run()
	var refusal *cola.Error
	tomorrow := (cola.DateOf(w.now()) + 1).Time()
	if !errors.As(err, &refusal) || refusal.Code != cola.CodeQuotaExceeded || refusal.Details["reason"] != "manual_runs" || refusal.RetryAfter != tomorrow.Sub(w.now()) {
		t.Fatalf("run beyond the limit: error = %+v, want quota_exceeded until tomorrow", err)
	}
	w.advance(refusal.RetryAfter)
	if err := run(); err != nil {
		t.Errorf("run after Retry-After: error = %v", err)
	}
}

// TestRejectedRuns checks that each rejected request is free and starts no run.
func TestRejectedRuns(t *testing.T) {
	w := mustWorld(t, 0)
	c, other := w.mustWriter(t, "refused@example.com", cola.TierPro), w.mustWriter(t, "other@example.com", cola.TierPro)
	reader := w.mustReader(t, c)
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
			t.Errorf("%s: error = %v, %+v, want %s", tt.id, err, state, tt.want)
			continue
		}
		if reason, _ := refusal.Details["reason"].(string); reason != tt.reason {
			t.Errorf("%s: details = %v", tt.id, refusal.Details)
		}
	}
	w.full.Store(true)
	if _, _, err := w.RunSavedSearch(t.Context(), c, id); code(err) != cola.CodeUnavailable {
		t.Errorf("disk full: error = %v, want unavailable", err)
	}
	w.full.Store(false)
	if claimed, err := w.store.ClaimDue(t.Context(), w.now(), 10, time.Minute); err != nil || len(claimed) != 0 {
		t.Errorf("%d searches are due, %v, want 0", len(claimed), err)
	}
}

// TestSuspendedAccount checks that every operation is rejected with the operator's reason and is
// free, and that operations work again a second after the account is restored.
func TestSuspendedAccount(t *testing.T) {
	const reason = "The October invoice is unpaid."
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "suspended@example.com", cola.TierPro)
	w.mustImport(t, store.Commit, bottle(26001001000001, "OAK", cola.DateOf(testNow)))
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
	if err := w.store.Suspend(t.Context(), c.Account, reason); err != nil {
		t.Fatal(err)
	}
	for name, request := range operations {
		state, err := request()
		var refusal *cola.Error
		if !errors.As(err, &refusal) || refusal.Code != cola.CodeAccountSuspended || refusal.Details["reason"] != reason {
			t.Errorf("%s: error = %v, want account_suspended", name, err)
		}
		if !state.Known() || state.Used != (cola.Used{}) {
			t.Errorf("%s: state = %+v, want no charge", name, state)
		}
	}
	w.mustHaveSaved(t, c, "oaks")
	if err := w.store.Restore(t.Context(), c.Account); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // a rejection is cached
	e := w.mustExplain(t, c, id, 26001001000001)
	if diff := cmp.Diff("next_run", e.Verdict); diff != "" {
		t.Errorf("after restoring the account (-want +got):\n%s", diff)
	}
}
