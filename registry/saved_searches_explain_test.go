package registry_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/golden"
	"github.com/colaregistry/colaregistry/store"
)

func (f flaky) Trace(ctx context.Context, a cola.AccountID, uuid string, label cola.TTBID) (store.Trace, error) {
	if f.w.down.Load() {
		return store.Trace{}, errFull
	}
	if t := f.w.trace.Load(); t != nil {
		return *t, nil
	}
	return f.Store.Trace(ctx, a, uuid, label)
}

func (f flaky) RequestRun(ctx context.Context, a cola.AccountID, uuid string, due time.Time, limit int) (cola.SavedSearch, error) {
	if f.w.full.Load() {
		return cola.SavedSearch{}, errFull
	}
	return f.Store.RequestRun(ctx, a, uuid, due, limit)
}

// bottle returns a label for a bottled domestic wine.
func bottle(id cola.TTBID, brand string, approved cola.Date) cola.Cola {
	c := cola.Cola{DomesticOrImported: vocabulary.Domestic, LLMContainerType: "bottle", ABV: cola.Some(13.0)}
	c.TTBID, c.BrandName, c.ProductType, c.PermitNumber, c.ApprovalDate = id, brand, vocabulary.Wine, "CA-W-1", approved
	return c
}

// mustImport stores labels and waits until the index has them.
func (w *world) mustImport(t *testing.T, mode store.Mode, labels ...cola.Cola) {
	t.Helper()
	var patches []cola.Patch[cola.Cola]
	for _, c := range labels {
		patches = append(patches, cola.Patch[cola.Cola]{Record: c, Fields: cola.Fields(1)<<len(cola.FieldsOf[cola.Cola]()) - 1})
	}
	if _, err := w.store.UpsertColas(t.Context(), patches, mode); err != nil {
		t.Fatal(err)
	}
	revision, err := w.store.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for tries := 0; w.index.View().Marks().Labels < revision; tries++ {
		if tries == 1_000 {
			t.Fatal("timeout waiting for the labels in the index")
		}
		time.Sleep(10 * time.Millisecond) // polling interval
	}
}

func (w *world) mustExplain(t *testing.T, c cola.Caller, uuid string, label cola.TTBID) cola.Explanation {
	t.Helper()
	e, _, err := w.ExplainSavedSearch(t.Context(), c, uuid, label.String())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// traced returns the trace of a label that arrived on November 18, for a search that was created on
// the 2nd and last ran on the 16th, after applying change to the trace.
func traced(change func(*store.Trace)) store.Trace {
	ran := time.Date(2026, 11, 16, 6, 0, 0, 0, time.UTC)
	plan := cola.Schedule{Active: true, Cadence: cola.CadenceWeekly, Day: 1, NextRunAt: cola.Some(cola.TimestampOf(ran.AddDate(0, 0, 7)))}
	t := store.Trace{
		Search:  cola.SavedSearch{Filters: cola.SavedSearchFilters{BrandName: "oak"}, Schedule: &plan, CreatedAt: cola.TimestampOf(ran.AddDate(0, 0, -14))},
		Mark:    store.Mark{At: ran, Revision: revisionOn(16)},
		Arrived: revisionOn(18),
	}
	change(&t)
	return t
}

// revisionOn returns a revision on a day in November, for a mark or an arrival.
func revisionOn(day int) cola.Revision {
	return cola.Revision(time.Date(2026, 11, day, 6, 0, 0, 0, time.UTC).UnixMicro())
}

// TestVerdicts checks the verdict on a label for each approval date and trace.
func TestVerdicts(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustCaller(t, "verdicts@example.com", cola.TierPro)
	ids := map[string]cola.TTBID{}
	messages := golden.Load(t, "verdicts")
	for i, tt := range verdictCases() {
		id, known := ids[tt.approved]
		if !known {
			id = cola.TTBID(26001001000001 + len(ids))
			date, err := cola.ParseDate(tt.approved)
			if err != nil {
				id += 998_000_000_000 // no receipt date, so it has no estimate either
			}
			w.mustImport(t, store.Commit, bottle(id, "OAK", date))
			ids[tt.approved] = id
		}
		trace := traced(tt.change)
		w.trace.Store(&trace)
		got := w.mustExplain(t, c, "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11", id)
		if got.Verdict != tt.verdict {
			t.Errorf("case %d, approved %s: verdict = %s, want %s", i, tt.approved, got.Verdict, tt.verdict)
		}
		messages.Check(t, fmt.Sprintf("%02d %s, approved %s", i, tt.verdict, tt.approved), got.Message)
	}
}

type verdictCase struct {
	approved string
	change   func(*store.Trace)
	verdict  string
}

func verdictCases() []verdictCase { return slices.Concat(foundCases(), idleCases(), timedCases()) }

// foundCases returns cases in which a label was found or does not match the filters.
func foundCases() []verdictCase {
	filtered := func(f cola.SavedSearchFilters, found *cola.SavedSearchMatch) func(*store.Trace) {
		return func(t *store.Trace) { t.Search.Filters, t.Match = f, found }
	}
	oak, on := cola.SavedSearchFilters{BrandName: "oak"}, cola.Some(true)
	return []verdictCase{
		{"2026-11-17", filtered(oak, &cola.SavedSearchMatch{RunID: 7}), "found"},
		{"2026-11-17", filtered(oak, &cola.SavedSearchMatch{RunID: 7, Late: true}), "found"},
		{"2026-11-17", filtered(cola.SavedSearchFilters{BrandName: "elm"}, &cola.SavedSearchMatch{RunID: 7}), "found"},
		{"2026-11-17", filtered(cola.SavedSearchFilters{BrandName: "elm"}, nil), "filters"},
		{"2026-11-17", filtered(cola.SavedSearchFilters{BrandName: "oak", TypeWine: on, OriginImported: on, ABVMin: cola.Some(14.0), ContainerCan: on, ContainerKeg: on, ContainerJug: on}, nil), "filters"},
	}
}

// planned returns a change to the search's schedule.
func planned(change func(*cola.Schedule)) func(*store.Trace) {
	return func(t *store.Trace) { change(t.Search.Schedule) }
}

// idleCases returns cases in which a search has no active schedule.
func idleCases() []verdictCase {
	return []verdictCase{
		{"2026-11-17", func(t *store.Trace) { t.Search.Schedule = nil }, "not_scheduled"},
		{"2026-11-17", planned(func(s *cola.Schedule) { s.Active, s.NextRunAt = false, cola.Opt[cola.Timestamp]{} }), "not_scheduled"},
		{"2026-11-17", planned(func(s *cola.Schedule) { s.Active = false }), "next_run"},
		{"2026-11-17", planned(func(s *cola.Schedule) { s.PausedBecause = cola.Some(cola.PausedDowngraded) }), "not_scheduled"},
		{"2026-11-17", planned(func(s *cola.Schedule) { s.PausedBecause = cola.Some(cola.PausedSuspended) }), "not_scheduled"},
		{"2026-08-17", func(t *store.Trace) { t.Search.Schedule = nil }, "not_scheduled"},
	}
}

// timedCases returns cases that differ in when a label was approved and arrived, and which runs
// followed.
func timedCases() []verdictCase {
	unchanged := func(*store.Trace) {}
	seen := func(arrived, ran, from int) func(*store.Trace) {
		return func(t *store.Trace) {
			t.Arrived, t.Seen, t.SeenFrom = revisionOn(arrived), time.UnixMicro(int64(revisionOn(ran))), cola.NewDate(2026, 11, from)
		}
	}
	return []verdictCase{
		{"2026-11-17", func(t *store.Trace) { t.Arrived = 0 }, "initial_import"},
		{"", func(t *store.Trace) { t.Arrived = 0 }, "not_yet"},
		{"2026-11-21", unchanged, "not_yet"},
		{"2026-11-20", unchanged, "next_run"},
		{"2026-11-20", planned(func(s *cola.Schedule) { s.NextRunAt = cola.Some(cola.TimestampOf(testNow)) }), "next_run"},
		{"2026-11-16", seen(5, 9, 2), "next_run"},
		{"2026-08-18", unchanged, "next_run"},

		{"2026-08-17", unchanged, "too_old"},
		{"2026-08-03", seen(5, 9, 2), "too_old"},
		{"2026-08-04", seen(5, 9, 2), "passed"},
		{"2026-11-03", seen(5, 9, 2), "passed"},
		{"2026-11-15", seen(16, 16, 9), "passed"},
		{"2026-11-12", seen(5, 9, 2), "passed"},
		{"2026-11-12", func(t *store.Trace) { t.Arrived = revisionOn(5) }, "passed"},
		{"2026-11-01", seen(1, 9, 2), "before_search"},
		{"2026-11-02", seen(1, 9, 2), "passed"},
		{"2026-11-01", func(t *store.Trace) { t.Mark.At, t.Mark.Revision = t.Search.CreatedAt.Time(), t.Arrived }, "before_search"},
	}
}

// TestExplanations checks the explanations for labels after a search is created, run and changed.
func TestExplanations(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "explain@example.com", cola.TierPro)
	const early, oak, elm, old = cola.TTBID(26001001000001), cola.TTBID(26001001000002), cola.TTBID(26001001000003), cola.TTBID(26001001000004)
	day := func(d int) cola.Date { return cola.NewDate(2026, 11, d) }
	w.mustImport(t, store.Commit, bottle(early, "OAK", day(15)))
	w.advance(time.Hour)
	params := alert("oaks")
	params.Filters.TypeWine, params.Filters.TypeMaltBeverage = cola.Some(true), cola.Some(true)
	id := w.mustSave(t, c, params).Search.UUID
	w.advance(time.Hour)
	w.mustImport(t, store.Commit, bottle(oak, "OAK", day(18)), bottle(elm, "ELM", day(20)))
	w.mustImport(t, store.History, bottle(old, "OAK", day(20)))
	expect := func(when string, want map[cola.TTBID]string) {
		t.Helper()
		for label, verdict := range want {
			if got := w.mustExplain(t, c, id, label); got.Verdict != verdict {
				t.Errorf("%s, %v: verdict = %s (%s), want %s", when, label, got.Verdict, got.Message, verdict)
			}
		}
	}
	expect("before the run", map[cola.TTBID]string{early: "before_search", oak: "next_run", elm: "filters", old: "initial_import"})

	w.advance(3 * 24 * time.Hour)
	met := cola.FilterSetOf("brand_name", "type_wine")
	w.mustRecord(t, store.RunMatch{TTBID: oak, Late: true, Met: met})
	w.mustImport(t, store.Commit, bottle(elm, "OAK ELM", day(20)))
	expect("after the run", map[cola.TTBID]string{early: "before_search", oak: "found", elm: "passed", old: "initial_import"})
	got := w.mustExplain(t, c, id, oak)
	want := cola.Explanation{
		TTBID: oak, Label: bottle(oak, "OAK", day(18)).ColaSummary, Matches: true,
		Filters: []cola.FilterFinding{
			{Filter: "brand_name", Value: "oak", Met: true},
			{Filter: "type_malt_beverage", Group: cola.Some("type"), Value: true},
			{Filter: "type_wine", Group: cola.Some("type"), Value: true, Met: true},
		},
		Found: &cola.SavedSearchMatch{RunID: got.Found.RunID, TTBID: oak, Late: true, Met: met}, Verdict: "found", Message: got.Message,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("matched label (-want +got):\n%s", diff)
	}

	w.mustChange(t, c, id, setActive(false))
	expect("while paused", map[cola.TTBID]string{oak: "found", elm: "not_scheduled"})
	w.mustChange(t, c, id, cola.SavedSearchChangeParams{Filters: &cola.SavedSearchFilters{}, Nulled: cola.Nulled{Nulls: []string{"schedule"}}})
	if got := w.mustExplain(t, c, id, elm); !got.Matches || len(got.Filters) != 0 || got.Filters == nil {
		t.Errorf("without filters: explanation = %+v", got)
	}
}

// mustRecord records a run of the due search and its matches.
func (w *world) mustRecord(t *testing.T, found ...store.RunMatch) {
	t.Helper()
	claimed, err := w.store.ClaimDue(t.Context(), w.now(), 10, time.Minute)
	if err != nil || len(claimed) != 1 {
		t.Fatalf("%d searches are due, %v, want 1", len(claimed), err)
	}
	due := claimed[0]
	revision, err := w.store.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	record := store.RunRecord{Due: due, Mark: store.Mark{At: w.now(), Revision: revision}, From: cola.DateOf(due.Mark.At), To: cola.DateOf(w.now()), Matches: found}
	if plan := due.Search.Schedule; plan != nil && plan.Active {
		record.Next = cola.TimestampOf(plan.Next(w.now()))
	}
	if outcomes, err := w.store.RecordRuns(t.Context(), []store.RunRecord{record}); err != nil || !outcomes[0].Recorded {
		t.Fatalf("RecordRuns = %+v, %v", outcomes, err)
	}
}

// TestExplanationCharge checks that an explanation costs a list record, and that "not found"
// errors of any kind are free.
func TestExplanationCharge(t *testing.T) {
	w := mustWorld(t, 0)
	c, other := w.mustWriter(t, "charged@example.com", cola.TierFree), w.mustWriter(t, "other@example.com", cola.TierPro)
	w.mustImport(t, store.Commit, bottle(26001001000001, "OAK", cola.DateOf(testNow)))
	id := w.mustSave(t, c, alert("oaks")).Search.UUID
	c = w.mustReader(t, c) // any of the account's credentials may read
	for _, tt := range []struct {
		caller    cola.Caller
		id, label string
		message   string // empty if found
	}{
		{c, id, "26001001000001", ""}, {c, strings.ToUpper(id), " 26001001000001 ", ""},
		{c, id, "26001001000002", "26001001000002"}, {c, id, "oak", "14 digits"}, {c, id, "", "14 digits"},
		{c, "nonsense", "26001001000001", "UUID"}, {c, "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11", "26001001000001", "no saved search"},
		{other, id, "26001001000001", "no saved search"}, {other, id, "nonsense", "no saved search"},
	} {
		before, _, _ := w.Usage(t.Context(), tt.caller)
		e, state, err := w.ExplainSavedSearch(t.Context(), tt.caller, tt.id, tt.label)
		cost := 0
		if tt.message == "" {
			cost = 1
		}
		if state.Used.ListRecords-before.ListRecords.Used != cost || state.Charged != cost || state.Used.DetailViews != 0 {
			t.Errorf("ExplainSavedSearch(%q of %q): used %+v after %+v", tt.label, tt.id, state.Used, before.ListRecords)
		}
		if tt.message == "" && (err != nil || e.Verdict == "") || tt.message != "" && (code(err) != cola.CodeNotFound || !strings.Contains(err.Error(), tt.message) || e.Verdict != "") {
			t.Errorf("ExplainSavedSearch(%q of %q) = %+v, %v", tt.label, tt.id, e, err)
		}
		w.advance(time.Minute)
	}
	w.spend(t, c, cola.TierFree.Limits().ListRecords-2)
	if e, _, err := w.ExplainSavedSearch(t.Context(), c, id, "26001001000001"); code(err) != cola.CodeQuotaExceeded || e.Verdict != "" {
		t.Errorf("quota exhausted: ExplainSavedSearch = %+v, %v, want quota_exceeded", e, err)
	}
	w.down.Store(true)
	if _, _, err := w.ExplainSavedSearch(t.Context(), other, id, "26001001000001"); code(err) != cola.CodeUnavailable {
		t.Errorf("database unavailable: error = %v, want unavailable", err)
	}
}
