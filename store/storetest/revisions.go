package storetest

import (
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

func testRevisions(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"they are the time, and rise whatever the clock does", revisionsRise},
		{"those of the past are known, and no others", pastIsKnown},
		{"what was the latest lately is known however old it is", oldLatestIsKnown},
		{"one is taken by every kind of change, and by nothing else", everyChangeTakesOne},
	})
}

// mustKnow holds a store to what is in its past.
func mustKnow(t *testing.T, st store.Store, rev cola.Revision, want bool) {
	t.Helper()
	has, err := st.HasRevision(t.Context(), rev)
	if must(t, has, err) != want {
		t.Errorf("revision %d is in the store's past: %v, want %v", rev, has, want)
	}
}

func revisionsRise(t *testing.T, st store.Store, c *clock) {
	same(t, "revision of an empty store", cola.Revision(0), mustRevision(t, st))
	var last cola.Revision
	for i, step := range []time.Duration{0, 0, time.Microsecond, time.Second, -time.Hour, 0, 2 * time.Hour, 0} {
		c.advance(step)
		mustKeep(t, st, label(i))
		want := max(last+1, cola.Revision(c.now().UnixMicro()))
		same(t, "revision", want, mustRevision(t, st))
		mustKnow(t, st, want, true)
		last = want
	}
}

func pastIsKnown(t *testing.T, st store.Store, c *clock) {
	mustKnow(t, st, 0, true)
	mustKnow(t, st, cola.Revision(c.now().UnixMicro()), false)
	var past []cola.Revision
	for i := range 5 {
		mustKeep(t, st, label(i))
		past = append(past, mustRevision(t, st))
		c.advance(time.Second)
	}
	mustUpsert(t, st, []store.Outcome{store.Unchanged}, whole(label(0))) // which takes none
	mustKnow(t, st, 0, true)
	mustKnow(t, st, 1, false)
	mustKnow(t, st, cola.Revision(c.now().UnixMicro()), false)
	for _, rev := range past {
		mustKnow(t, st, rev, true)
		mustKnow(t, st, rev-1, false)
		mustKnow(t, st, rev+1, false)
	}
}

// oldLatestIsKnown: after a quiet time a follower still stands where the last change left it, and must not be told that this
// was never so.
func oldLatestIsKnown(t *testing.T, st store.Store, c *clock) {
	mustKeep(t, st, label(0))
	quiet := mustRevision(t, st)
	c.advance(400 * 24 * time.Hour)
	for i := range 20 {
		mustKeep(t, st, label(i+1))
		mustKnow(t, st, quiet, true)
		c.advance(24 * time.Hour)
	}
}

func everyChangeTakesOne(t *testing.T, st store.Store, c *clock) {
	past := map[cola.Revision]bool{0: true}
	took := func(what string, want bool) {
		t.Helper()
		rev := mustRevision(t, st)
		if past[rev] == want {
			t.Errorf("%s took a revision: %v, want %v", what, !past[rev], want)
		}
		mustKnow(t, st, rev, true)
		past[rev] = true
		c.advance(time.Second)
	}
	for _, want := range []bool{true, false} {
		outcomes, err := st.UpsertColas(t.Context(), wholes(label(0)), store.Commit)
		must(t, outcomes, err)
		took("a label", want)
		outcomes, err = st.UpsertPermittees(t.Context(), []cola.Patch[cola.Permittee]{wholePermittee(cola.Permittee{PermitNumber: "CA-W-1"})}, store.Commit)
		must(t, outcomes, err)
		took("a permittee", want)
		outcomes, err = st.UpsertCategoryAliases(t.Context(), []vocabulary.CategoryAlias{{Alias: "a", Path: "b"}}, store.Commit)
		must(t, outcomes, err)
		took("reference data", want)
		outcomes, err = st.UpsertColas(t.Context(), wholes(label(1)), store.DryRun)
		must(t, outcomes, err)
		took("a dry run", false)
	}
	mustAccount(t, st, "a@example.com", cola.TierFree)
	took("an account", false)
}
