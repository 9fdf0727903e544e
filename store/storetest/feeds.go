package storetest

import (
	"errors"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testFeeds(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"run contents", runContents},
		{"labels per message", firstLabels},
		{"latest runs with matches", feedRuns},
		{"has feed", hasFeed},
		{"unknown and suspended feeds", feedByHash},
	})
}

// latestRun returns the latest run of a search with the matches whose labels are still stored.
func latestRun(t *testing.T, st store.Store, account cola.AccountID, search cola.SavedSearch) store.RunLabels {
	t.Helper()
	runs, _, err := st.RunsOf(t.Context(), account, search.UUID, store.Slice{Limit: 1})
	if len(must(t, runs, err)) != 1 {
		t.Fatal("no runs, want one")
	}
	matches, _, err := st.MatchesOf(t.Context(), account, search.UUID, runs[0].ID, store.Slice{Limit: noLimit})
	found := store.RunLabels{Run: runs[0]}
	for _, m := range must(t, matches, err) {
		label, err := st.Cola(t.Context(), m.TTBID)
		if !errors.Is(err, store.ErrNotFound) {
			found.Labels = append(found.Labels, store.MatchedLabel{Match: m, Label: must(t, label, err).ColaSummary})
		}
	}
	return found
}

func runContents(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	mustAddColas(t, st, fullLabel(), dated(1, dayOne), dated(2, dayOne), dated(7, dayOne))
	claimed := mustClaimOne(t, st)
	run := runOf(t, st, claimed, 7, -1, 3) // label 3 is not in the store
	run.Matches = append(run.Matches, store.RunMatch{
		TTBID: firstID,
		Met:   cola.FilterSetOf("brand_name", "type_wine", "container_jug"),
	})
	id := mustRecord(t, st, run).Run
	renamed := dated(7, dayOne)
	renamed.ProductName = "NEW"
	mustUpsert(t, st, []store.Outcome{store.Changed}, patchOf(renamed))

	want := latestRun(t, st, a.ID, search)
	if len(want.Labels) != 3 || want.Labels[0].Match.Met != run.Matches[3].Met ||
		want.Labels[2].Label.ProductName != "NEW" || !want.Labels[0].Label.HasBarcode {
		t.Fatalf("labels of the run = %+v, want 3 with current data", want.Labels)
	}
	checkEqual(t, "MatchCount", 4, want.Run.MatchCount)
	now, err := st.SavedSearch(t.Context(), a.ID, search.UUID)
	content, cerr := st.RunContent(t.Context(), id)
	checkEqual(t, "RunContent", store.RunContent{Account: a.ID, Search: must(t, now, err), RunLabels: want},
		must(t, content, cerr))

	empty := runOf(t, st, mustRequestRun(t, st, a.ID, search))
	content, err = st.RunContent(t.Context(), mustRecord(t, st, empty).Run)
	checkEqual(t, "number of labels in an empty run", 0, len(must(t, content, err).Labels))
	checkEqual(t, "run in RunContent", latestRun(t, st, a.ID, search).Run, content.Run)
	for _, unknown := range []int64{0, -1, id + 100} {
		if content, err := st.RunContent(t.Context(), unknown); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("RunContent(%d) = %+v, %v; want ErrNotFound", unknown, content, err)
		}
	}
	mustDo(t, st.DeleteSavedSearch(t.Context(), a.ID, search.UUID))
	if _, err := st.RunContent(t.Context(), id); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("RunContent(run of a deleted search) error = %v, want ErrNotFound", err)
	}
}

func firstLabels(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	var labels []cola.Cola
	var found []int
	const each = 30 // matches per run; a third of their labels are not stored
	for n := range 5 * each {
		if found = append(found, n); n%3 > 0 {
			labels = append(labels, dated(n, dayOne))
		}
	}
	mustAddColas(t, st, labels...)
	for n, limit := range []int{0, 1, 7, 20, 100} {
		run := runOf(t, st, mustRequestRun(t, st, a.ID, search), found[n*each:(n+1)*each]...)
		run.MaxNamed = limit
		id := mustRecord(t, st, run).Run
		all := latestRun(t, st, a.ID, search)
		checkEqual(t, "number of stored matches", 20, len(all.Labels))
		content, err := st.RunContent(t.Context(), id)
		checkEqual(t, "first labels", append([]store.MatchedLabel(nil), all.Labels[:min(limit, 20)]...),
			must(t, content, err).Labels)
		checkEqual(t, "MatchCount", each, content.Run.MatchCount)
	}
}

func feedRuns(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search, other := mustCreate(t, st, newSearch(a.ID, 1)), mustCreate(t, st, newSearch(a.ID, 2))
	hash := store.FeedHash{1}
	mustDo(t, st.SetFeed(t.Context(), a.ID, search.UUID, &hash))
	feed, err := st.Feed(t.Context(), hash, 10, 10)
	checkEqual(t, "number of runs of a new search", 0, len(must(t, feed, err).Runs))
	checkEqual(t, "search of the feed", search, feed.Search)
	mustAddColas(t, st, dated(1, dayOne), dated(2, dayOne), dated(3, dayOne), dated(4, dayOne))
	var want []store.RunLabels
	for _, labels := range [][]int{{2, 1}, nil, {-3, 9}, {1, 2}, {4}} { // the second and fourth run have no new matches
		mustRun(t, st, search, labels...)
		mustRun(t, st, other, 1, 2)
		if ran := latestRun(t, st, a.ID, search); ran.Run.MatchCount > 0 {
			want = append([]store.RunLabels{ran}, want...)
		}
	}
	checkEqual(t, "number of runs with matches", 3, len(want))
	feed, err = st.Feed(t.Context(), hash, 10, 10)
	now, serr := st.SavedSearch(t.Context(), a.ID, search.UUID)
	checkEqual(t, "Feed", store.Feed{Search: must(t, now, serr), Runs: want}, must(t, feed, err))
	feed, err = st.Feed(t.Context(), hash, 2, 10)
	checkEqual(t, "latest two runs", want[:2], must(t, feed, err).Runs)
	feed, err = st.Feed(t.Context(), hash, 3, 2)
	var labels []int
	for _, run := range must(t, feed, err).Runs {
		labels = append(labels, len(run.Labels))
	}
	checkEqual(t, "labels per run with a limit of two", []int{1, 1, 0}, labels)
}

func hasFeed(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	for _, hash := range []*store.FeedHash{nil, {1}, {2}, nil} {
		mustDo(t, st.SetFeed(t.Context(), a.ID, search.UUID, hash))
		has, err := st.HasFeed(t.Context(), a.ID, search.UUID)
		checkEqual(t, "HasFeed", hash != nil, must(t, has, err))
	}
	for _, k := range []struct {
		account cola.AccountID
		uuid    string
	}{{b.ID, search.UUID}, {a.ID, "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"}, {a.ID, ""}} {
		if has, err := st.HasFeed(t.Context(), k.account, k.uuid); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("HasFeed(search %q, account %d) = %v, %v; want ErrNotFound", k.uuid, k.account, has, err)
		}
	}
}

func feedByHash(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	hash := store.FeedHash{1}
	mustDo(t, st.SetFeed(t.Context(), a.ID, search.UUID, &hash))
	find := func(desc string, hash store.FeedHash, want error) {
		t.Helper()
		if feed, err := st.Feed(t.Context(), hash, 1, 1); !errors.Is(err, want) {
			t.Errorf("%s: Feed = %+v, %v; want %v", desc, feed, err, want)
		}
	}
	find("feed", hash, nil)
	find("unknown feed", store.FeedHash{2}, store.ErrNotFound)
	find("zero hash", store.FeedHash{}, store.ErrNotFound)
	mustDo(t, st.Suspend(t.Context(), a.ID, "unpaid"))
	find("suspended account", hash, store.ErrNotFound)
	mustDo(t, st.Restore(t.Context(), a.ID))
	find("restored account", hash, nil)
	mustDo(t, st.DeleteSavedSearch(t.Context(), a.ID, search.UUID))
	find("deleted search", hash, store.ErrNotFound)
}
