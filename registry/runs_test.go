package registry_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

// mustRun has an account's due searches run weekly, so that each run finds so many labels.
func (w *world) mustRun(t *testing.T, found ...int) {
	t.Helper()
	label := cola.TTBID(26001001000000)
	at := instant
	for _, n := range found {
		at = at.AddDate(0, 0, 7)
		claimed, err := w.store.ClaimDue(t.Context(), at, 10, time.Minute)
		if err != nil || len(claimed) != 1 {
			t.Fatalf("%d searches are due, %v; want 1", len(claimed), err)
		}
		due := claimed[0]
		record := store.RunRecord{
			Due: due, Mark: store.Mark{At: at, Revision: due.Mark.Revision}, Next: cola.TimestampOf(due.Search.Schedule.Next(at)),
			From: cola.DateOf(due.Mark.At), To: cola.DateOf(at), MaxNamed: cola.MaxMessageLabels, MaxNamedOfAccount: cola.MaxDailyMessageLabels,
		}
		for i := range n {
			label++
			record.Matches = append(record.Matches, store.RunMatch{TTBID: label, Late: i == 0})
		}
		outcomes, err := w.store.RecordRuns(t.Context(), []store.RunRecord{record})
		if err != nil || !outcomes[0].Recorded || outcomes[0].New != n {
			t.Fatalf("recorded %+v, %v", outcomes, err)
		}
	}
}

func TestRunsOfASavedSearch(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "runs@example.com", cola.TierFree)
	id := w.mustSave(t, c, alert("Oaks")).Search.UUID
	reader := c
	reader.Scopes = nil // whoever acts for the account may read
	if none, _, err := w.SavedSearchRuns(t.Context(), reader, id, cola.SavedSearchListParams{}); err != nil || len(none.Rows) != 0 || none.Meta.Total != 0 {
		t.Errorf("before any run: %+v, %v", none, err)
	}
	w.mustRun(t, 2, 0, 3)
	runs, state, err := w.SavedSearchRuns(t.Context(), reader, id, cola.SavedSearchListParams{PerPage: cola.Some(2)})
	if err != nil || state.Used != (cola.Used{}) || !state.Known() {
		t.Fatalf("%+v, %v", state, err)
	}
	var shown []string
	for _, r := range runs.Rows {
		shown = append(shown, fmt.Sprintf("%s %s %s %d %d", r.RanAt.Time().Format(time.DateOnly), r.DateFrom, r.DateTo, r.MatchCount, r.LateCount))
	}
	if diff := cmp.Diff([]string{"2026-12-11 2026-12-04 2026-12-11 3 1", "2026-12-04 2026-11-27 2026-12-04 0 0"}, shown); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if want := (cola.PageMeta{Total: 3, Page: 1, PerPage: 2, HasMore: true}); runs.Meta != want {
		t.Errorf("%+v, want %+v", runs.Meta, want)
	}
	w.checkMatches(t, c, id, fmt.Sprint(runs.Rows[0].ID))
}

// checkMatches asks for what the runs found, in all and in the latest.
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
		t.Errorf("the latest run's: %+v, %v (-want +got):\n%s", one.Meta, err, diff)
	}
	beyond, _, err := w.RunMatches(t.Context(), c, id, latest, cola.SavedSearchListParams{Page: cola.Some(1 << 30), PerPage: cola.Some(100)})
	if err != nil || len(beyond.Rows) != 0 || beyond.Meta.HasMore || beyond.Meta.Total != 3 {
		t.Errorf("beyond the last page: %+v, %v", beyond, err)
	}
}

// TestMatchesCost: a match that is returned costs a list record, and a page is cut to those that are left.
func TestMatchesCost(t *testing.T) {
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
		t.Errorf("cut: %d rows, %+v, %+v, %v", len(list.Rows), list.Meta, state, err)
	}
	if _, state, err := read(cola.SavedSearchListParams{}); code(err) != cola.CodeQuotaExceeded || !state.Known() {
		t.Errorf("used up: %v", err)
	}
	if _, _, err := w.SavedSearchMatches(t.Context(), c, id, cola.SavedSearchListParams{}); code(err) != cola.CodeQuotaExceeded {
		t.Errorf("used up, of all runs: %v", err)
	}
	if _, _, err := w.SavedSearchRuns(t.Context(), c, id, cola.SavedSearchListParams{}); err != nil {
		t.Errorf("runs: %v", err)
	}
}

// TestRunsNotFound: what is not there, or another account's, costs one request and is not found.
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
			t.Errorf("search %q, run %q: %v, want not found", tt.id, tt.run, err)
		}
		if tt.run != run {
			continue
		}
		if _, _, err := w.SavedSearchRuns(t.Context(), tt.caller, tt.id, cola.SavedSearchListParams{}); code(err) != cola.CodeNotFound {
			t.Errorf("runs of %q: %v", tt.id, err)
		}
		if _, _, err := w.SavedSearchMatches(t.Context(), tt.caller, tt.id, cola.SavedSearchListParams{}); code(err) != cola.CodeNotFound {
			t.Errorf("matches of %q: %v", tt.id, err)
		}
	}
	bad := cola.SavedSearchListParams{Page: cola.Some(0), PerPage: cola.Some(101)}
	if _, state, err := w.SavedSearchRuns(t.Context(), other, id, bad); code(err) != cola.CodeValidation || !state.Known() {
		t.Errorf("bad parameters: %v", err)
	}
}
