package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

func testChanges(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"an index record is what its label says", indexRecordsAreLabels},
		{"followers are given what changed, once", followersAreGivenChanges},
		{"an error of the follower ends the reading", followersErrorEnds},
		{"an ended context ends the reading", endedContextEndsReading},
		{"a follower misses nothing of concurrent writers", followerMissesNothing},
		{"writers at once lose nothing of each other", writersLoseNothing},
		{"labels are always seen whole", labelsAreSeenWhole},
	})
}

func indexRecordsAreLabels(t *testing.T, st store.Store, _ *clock) {
	full, again := fullLabel(), fullLabel()
	again.TTBID, again.BarcodeValue, again.BarcodeType = firstID+7, "", "" // so the first barcode becomes the main one
	again.Derive()
	bare := label(3)
	onlyParts := label(9)
	onlyParts.Barcodes = []cola.Barcode{{BarcodeValue: "1"}, {BarcodeValue: "2", BarcodeType: "X"}, {BarcodeValue: "1", BarcodeType: "Y"}}
	onlyParts.Derive()
	mustKeep(t, st, onlyParts, full, bare, again)
	for name, after := range map[string]cola.Revision{"all": 0, "changed": mustRevision(t, st) - 1} {
		got, rev := indexRecords(t, st, after)
		if rev != mustRevision(t, st) {
			t.Errorf("%s: complete up to %d, want %d", name, rev, mustRevision(t, st))
		}
		want := map[cola.TTBID]cola.IndexRecord{}
		for _, c := range []cola.Cola{full, again, bare, onlyParts} {
			if _, ok := got[c.TTBID]; ok || after == 0 {
				r := c.IndexRecord()
				want[c.TTBID] = cloneRecord(&r)
			}
		}
		same(t, name, want, got)
	}
}

func followersAreGivenChanges(t *testing.T, st store.Store, _ *clock) {
	if got, rev := indexRecords(t, st, 0); len(got) != 0 || rev != 0 {
		t.Errorf("an empty store gives %v up to %d, want nothing up to 0", got, rev)
	}
	mustKeep(t, st, label(0), label(1), label(2))
	_, first := indexRecords(t, st, 0)
	changed := label(1)
	changed.Barcodes = []cola.Barcode{{BarcodeValue: "9"}} // changing a part changes the label
	changed.Derive()
	mustUpsert(t, st, []store.Outcome{store.Changed, store.Added}, whole(changed), whole(label(5)))
	got, second := indexRecords(t, st, first)
	if len(got) != 2 || second <= first || len(got[changed.TTBID].Barcodes) != 1 {
		t.Errorf("changed after %d: %v up to %d; want labels 1 and 5", first, got, second)
	}
	if got, rev := indexRecords(t, st, second); len(got) != 0 || rev != second {
		t.Errorf("changed after %d: %v up to %d; want nothing", second, got, rev)
	}
}

var errEnough = errors.New("enough")

func followersErrorEnds(t *testing.T, st store.Store, _ *clock) {
	mustKeep(t, st, label(0), label(1))
	calls := 0
	if _, err := st.ColasSince(t.Context(), 0, func(*cola.IndexRecord) error { calls++; return errEnough }); !errors.Is(err, errEnough) || calls != 1 {
		t.Errorf("ColasSince: %v after %d calls, want the follower's error after one", err, calls)
	}
	if _, err := st.PermitteesSince(t.Context(), 0, func(*cola.Permittee) error { return errEnough }); !errors.Is(err, errEnough) {
		t.Errorf("PermitteesSince: %v, want the follower's error", err)
	}
	mustKeep(t, st, label(2)) // the store still accepts writes
}

func endedContextEndsReading(t *testing.T, st store.Store, _ *clock) {
	var labels []cola.Cola
	for i := range 3_000 {
		labels = append(labels, label(i))
	}
	mustKeep(t, st, labels...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := st.ColasSince(ctx, 0, func(*cola.IndexRecord) error { cancel(); return ctx.Err() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
	mustKeep(t, st, label(5_000))
}

// followerMissesNothing checks that a follower sees every change while several writers each change
// their own labels.
func followerMissesNothing(t *testing.T, st store.Store, _ *clock) {
	const writers, rounds, each = 4, 30, 5
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var written atomic.Int64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for round := range rounds {
				var labels []cola.Cola
				for i := range each {
					c := label(w*each + i)
					c.ProductName = cola.Text(fmt.Sprint("ROUND ", round))
					labels = append(labels, c)
				}
				if _, err := st.UpsertColas(ctx, wholes(labels...), store.Commit); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				written.Add(1)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	seen := map[cola.TTBID]cola.IndexRecord{}
	for rev, last := cola.Revision(0), false; !last; {
		select {
		case <-done:
			last = true // read once more for the last writes
		default:
		}
		changed, next := indexRecords(t, st, rev)
		if next < rev || next == rev && len(changed) > 0 {
			t.Fatalf("went from revision %d to %d with %d changes", rev, next, len(changed))
		}
		maps.Copy(seen, changed)
		rev = next
	}
	all, _ := indexRecords(t, st, 0)
	if len(all) != writers*each || written.Load() != writers*rounds {
		t.Fatalf("%d labels by %d writes, want %d by %d", len(all), written.Load(), writers*each, writers*rounds)
	}
	same(t, "what the follower knows", all, seen)
}

// writersLoseNothing has two writers patch different fields of the same labels repeatedly, in calls
// that a backend may split.
func writersLoseNothing(t *testing.T, st store.Store, _ *clock) {
	const labels, rounds = 3, 700
	for i := range labels {
		mustKeep(t, st, label(i))
	}
	var wg sync.WaitGroup
	for _, field := range []string{"product_name", "class_name"} {
		var patches []cola.Patch[cola.Cola]
		for n := range labels * rounds {
			text := cola.Text(fmt.Sprint("ROUND ", n/labels))
			record := cola.Cola{ColaSummary: cola.ColaSummary{TTBID: label(n % labels).TTBID, ProductName: text, ClassName: text}}
			patches = append(patches, only(record, field))
		}
		wg.Go(func() {
			if _, err := st.UpsertColas(t.Context(), patches, store.Commit); err != nil {
				t.Errorf("writer of %s: %v", field, err)
			}
		})
	}
	wg.Wait()
	for i := range labels {
		want := label(i)
		want.ProductName, want.ClassName = cola.Text(fmt.Sprint("ROUND ", rounds-1)), cola.Text(fmt.Sprint("ROUND ", rounds-1))
		same(t, "label", want, mustCola(t, st, want.TTBID))
	}
}

// labelsAreSeenWhole switches a label between two states while others read it.
func labelsAreSeenWhole(t *testing.T, st store.Store, _ *clock) {
	states := [2]cola.Cola{label(0), fullLabel()}
	states[1].TTBID = states[0].TTBID
	mustKeep(t, st, states[0])
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	wg.Go(func() {
		defer stop()
		for i := range 60 {
			if _, err := st.UpsertColas(t.Context(), wholes(states[(i+1)%2]), store.Commit); err != nil {
				t.Errorf("write: %v", err)
				return
			}
		}
	})
	readers := 0
	for ctx.Err() == nil {
		readers++
		got := mustCola(t, st, states[0].TTBID)
		if !cmp.Equal(got, states[0]) && !cmp.Equal(got, states[1]) {
			t.Fatalf("a label was seen half changed: %+v", got)
		}
		records, _ := indexRecords(t, st, 0)
		r := records[states[0].TTBID]
		a, b := states[0].IndexRecord(), states[1].IndexRecord()
		if !cmp.Equal(r, cloneRecord(&a)) && !cmp.Equal(r, cloneRecord(&b)) {
			t.Fatalf("an index record was seen half changed: %+v", r)
		}
	}
	wg.Wait()
	if readers == 0 {
		t.Error("nobody read")
	}
}

func testRevisions(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"they are the time, and rise whatever the clock does", revisionsRise},
		{"those of the past are known, and no others", pastIsKnown},
		{"what was the latest lately is known however old it is", oldLatestIsKnown},
		{"one is taken by every kind of change, and by nothing else", everyChangeTakesOne},
	})
}

// mustKnow checks whether a store knows a revision.
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
	mustUpsert(t, st, []store.Outcome{store.Unchanged}, whole(label(0))) // creates no revision
	mustKnow(t, st, 0, true)
	mustKnow(t, st, 1, false)
	mustKnow(t, st, cola.Revision(c.now().UnixMicro()), false)
	for _, rev := range past {
		mustKnow(t, st, rev, true)
		mustKnow(t, st, rev-1, false)
		mustKnow(t, st, rev+1, false)
	}
}

// oldLatestIsKnown checks that a store still knows the latest revision after a long quiet time,
// because followers resume from it.
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
