package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
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
	again.TTBID, again.BarcodeValue, again.BarcodeType = firstID+7, "", "" // its main barcode is then its first one
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
	changed.Barcodes = []cola.Barcode{{BarcodeValue: "9"}} // a change of its parts is a change of the label
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
	mustKeep(t, st, label(2)) // nothing is left open
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

// followerMissesNothing has several writers change labels, each its own, while a follower goes from revision to revision.
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
			last = true // once more, for what was written since
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

// writersLoseNothing has two writers patch the same labels over and over, each a field of its own, in calls so long that a
// backend may split them.
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

// labelsAreSeenWhole changes a label to and fro between two states while others read it.
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
