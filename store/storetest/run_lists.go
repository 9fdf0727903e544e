package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func runListChecks() []check {
	return []check{
		{"list runs newest first, in pages", listRuns},
		{"list matches latest first, in pages", listMatches},
		{"latest run with matches for each search", listLatestMatches},
		{"runs after an ID", listAfter},
		{"another account and another search", listRunsErrors},
	}
}

// runWeekly runs a search once for each list of labels, a week apart, and returns the run IDs.
func runWeekly(t *testing.T, st store.Store, runs ...[]int) (ids []int64) {
	t.Helper()
	for i, labels := range runs {
		at := duePast.Add(time.Duration(i) * week)
		claimed, err := st.ClaimDue(t.Context(), at, 1, anHour)
		if len(must(t, claimed, err)) != 1 {
			t.Fatal("no search is due, want one")
		}
		run := runOf(t, st, claimed[0], labels...)
		run.Mark.At, run.Next = at, cola.TimestampOf(at.Add(week))
		ids = append(ids, mustRecord(t, st, run).Run)
	}
	return ids
}

func listRuns(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	s := mustCreate(t, st, newSearch(a.ID, 1))
	list, total, err := st.RunsOf(t.Context(), a.ID, s.UUID, store.Slice{Limit: 2})
	if must(t, list, err); total != 0 || len(list) != 0 {
		t.Errorf("RunsOf(new search) = %+v, total %d; want no runs", list, total)
	}
	ids := runWeekly(t, st, []int{1}, []int{2}, nil, []int{3}, []int{4})
	for _, k := range []struct {
		page store.Slice
		want []int64
	}{
		{store.Slice{Limit: 2}, []int64{ids[4], ids[3]}},
		{store.Slice{Offset: 2, Limit: 2}, []int64{ids[2], ids[1]}},
		{store.Slice{Offset: 4, Limit: 2}, []int64{ids[0]}},
		{store.Slice{Offset: 5, Limit: 2}, nil},
		{store.Slice{}, nil},
		{store.Slice{Limit: 100}, []int64{ids[4], ids[3], ids[2], ids[1], ids[0]}},
	} {
		list, total, err := st.RunsOf(t.Context(), a.ID, s.UUID, k.page)
		var got []int64
		for _, r := range must(t, list, err) {
			got = append(got, r.ID)
		}
		checkEqual(t, "RunsOf", k.want, got)
		checkEqual(t, "total", 5, total)
	}
}

// listAfter checks that reading after the last ID, a few at a time, returns every run once.
func listAfter(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	s := mustCreate(t, st, newSearch(a.ID, 1))
	ids := runWeekly(t, st, []int{5, 1}, nil, []int{3, 2, 4})
	var runs []int64
	for after := int64(0); ; after = runs[len(runs)-1] {
		page, err := st.RunsAfter(t.Context(), a.ID, s.UUID, after, 2)
		if len(must(t, page, err)) == 0 {
			break
		}
		for _, r := range page {
			runs = append(runs, r.ID)
		}
	}
	checkEqual(t, "runs", ids, runs)
	if _, err := st.RunsAfter(t.Context(), b.ID, s.UUID, 0, 2); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another account: error = %v, want ErrNotFound", err)
	}
}

// listLatestMatches checks that each search is listed with its newest run that has matches, even if
// later runs have none, and that searches without matches and other accounts' searches are omitted.
func listLatestMatches(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	type row struct {
		Search string
		Run    int64
		Count  int
	}
	latest := func(account cola.AccountID, limit int) (rows []row) {
		list, err := st.LatestMatches(t.Context(), account, limit)
		for _, m := range must(t, list, err) {
			rows = append(rows, row{m.Name, m.ID, m.MatchCount})
			if run, err := st.RunOf(t.Context(), account, m.Search, m.ID); must(t, run, err) != m.SavedSearchRun {
				t.Errorf("LatestMatches = %+v, want the run %+v", m.SavedSearchRun, run)
			}
		}
		return rows
	}
	mustCreate(t, st, newSearch(a.ID, 1))
	checkEqual(t, "new search", []row(nil), latest(a.ID, 10))
	first := runWeekly(t, st, []int{1}, []int{2, 3}, nil)
	pause := func(s cola.SavedSearch) (cola.SavedSearch, error) { s.Schedule.Active = false; return s, nil }
	mustChange(t, st, a.ID, newSearch(a.ID, 1).Search.UUID, pause)
	mustCreate(t, st, newSearch(a.ID, 2))
	second := runWeekly(t, st, []int{1, 2, 3})
	mustChange(t, st, a.ID, newSearch(a.ID, 2).Search.UUID, pause)
	mustCreate(t, st, newSearch(a.ID, 3))
	runWeekly(t, st, nil)
	want := []row{{"search 2", second[0], 3}, {"search 1", first[1], 2}}
	for limit, rows := range map[int][]row{10: want, 1: want[:1], 0: nil, -1: nil} {
		checkEqual(t, "LatestMatches", rows, latest(a.ID, limit))
	}
	checkEqual(t, "another account", []row(nil), latest(b.ID, 10))
	checkEqual(t, "unknown account", []row(nil), latest(b.ID+100, 10))
}

func listMatches(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	s := mustCreate(t, st, newSearch(a.ID, 1))
	ids := runWeekly(t, st, []int{9, -1, 5}, nil, []int{7, 5, 2})
	match := func(run, n int, late bool) cola.SavedSearchMatch {
		return cola.SavedSearchMatch{RunID: ids[run], TTBID: firstID + cola.TTBID(n), Late: late}
	}
	all := []cola.SavedSearchMatch{
		match(2, 2, false), match(2, 7, false), match(0, 1, true), match(0, 5, false),
		match(0, 9, false),
	}
	for _, k := range []struct {
		run   int64
		page  store.Slice
		want  []cola.SavedSearchMatch
		total int
	}{
		{0, store.Slice{Limit: 100}, all, 5},
		{0, store.Slice{Offset: 1, Limit: 2}, all[1:3], 5},
		{0, store.Slice{Offset: 5, Limit: 2}, nil, 5},
		{ids[0], store.Slice{Limit: 2}, all[2:4], 3},
		{ids[0], store.Slice{Offset: 2, Limit: 2}, all[4:], 3},
		{ids[1], store.Slice{Limit: 2}, nil, 0},
		{ids[2], store.Slice{Limit: 100}, all[:2], 2},
	} {
		list, total, err := st.MatchesOf(t.Context(), a.ID, s.UUID, k.run, k.page)
		checkEqual(t, "MatchesOf", k.want, append([]cola.SavedSearchMatch(nil), must(t, list, err)...))
		checkEqual(t, "total", k.total, total)
	}
}

func listRunsErrors(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	s := mustCreate(t, st, newSearch(a.ID, 1))
	run := runWeekly(t, st, []int{1})[0]
	other := mustCreate(t, st, newSearch(b.ID, 2))
	page := store.Slice{Limit: 10}
	for _, k := range []struct {
		account cola.AccountID
		uuid    string
		run     int64
	}{
		{b.ID, s.UUID, run}, {b.ID, s.UUID, 0}, {a.ID, other.UUID, 0}, {a.ID + 100, s.UUID, 0}, {a.ID, "x", 0},
		{a.ID, "", 0},
		{a.ID, s.UUID + "\x00", 0}, {a.ID, "\xff", 0}, {b.ID, other.UUID, run}, {a.ID, s.UUID, run + 1},
		{a.ID, s.UUID, -1},
	} {
		list, total, err := st.MatchesOf(t.Context(), k.account, k.uuid, k.run, page)
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("MatchesOf(%d, %q, %d) = %v, total %d, %v; want ErrNotFound", k.account, k.uuid, k.run, list,
				total, err)
		}
		if k.account == a.ID && k.uuid == s.UUID || k.account == b.ID && k.uuid == other.UUID {
			continue // a search of this account: RunsOf succeeds
		}
		if list, total, err := st.RunsOf(t.Context(), k.account, k.uuid, page); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("RunsOf(%d, %q) = %v, total %d, %v; want ErrNotFound", k.account, k.uuid, list, total, err)
		}
	}
	if list, total, err := st.RunsOf(t.Context(), b.ID, other.UUID, page); err != nil || total != 0 {
		t.Errorf("RunsOf(another search) = %v, total %d, %v; want no runs", list, total, err)
	}
}
