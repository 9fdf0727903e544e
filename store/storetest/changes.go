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
		{"index records match labels", indexRecordsMatchLabels},
		{"changes since a revision", changesSince},
		{"callback error", changesCallbackError},
		{"canceled context", changesCanceled},
		{"follower with concurrent writers", followerWithConcurrentWriters},
		{"no lost updates", noLostUpdates},
		{"atomic reads", atomicReads},
	})
}

func indexRecordsMatchLabels(t *testing.T, st store.Store, _ *clock) {
	full, noMainBarcode := fullLabel(), fullLabel()
	noMainBarcode.TTBID, noMainBarcode.BarcodeValue, noMainBarcode.BarcodeType = firstID+7, "", "" // so the first barcode becomes the main one
	noMainBarcode.Derive()
	bare := label(3)
	onlyParts := label(9)
	onlyParts.Barcodes = []cola.Barcode{
		{BarcodeValue: "1"},
		{BarcodeValue: "2", BarcodeType: "X"},
		{BarcodeValue: "1", BarcodeType: "Y"},
	}
	onlyParts.Derive()
	mustAddColas(t, st, onlyParts, full, bare, noMainBarcode)
	for name, after := range map[string]cola.Revision{"all": 0, "changed": mustRevision(t, st) - 1} {
		got, rev := indexRecords(t, st, after)
		if rev != mustRevision(t, st) {
			t.Errorf("%s: ColasSince revision = %d, want %d", name, rev, mustRevision(t, st))
		}
		want := map[cola.TTBID]cola.IndexRecord{}
		for _, c := range []cola.Cola{full, noMainBarcode, bare, onlyParts} {
			if _, ok := got[c.TTBID]; ok || after == 0 {
				r := c.IndexRecord()
				want[c.TTBID] = cloneRecord(&r)
			}
		}
		checkEqual(t, "ColasSince, "+name, want, got)
	}
}

func changesSince(t *testing.T, st store.Store, _ *clock) {
	if got, rev := indexRecords(t, st, 0); len(got) != 0 || rev != 0 {
		t.Errorf("ColasSince(0) in an empty store = %v, %d; want no records, 0", got, rev)
	}
	mustAddColas(t, st, label(0), label(1), label(2))
	_, first := indexRecords(t, st, 0)
	changed := label(1)
	changed.Barcodes = []cola.Barcode{{BarcodeValue: "9"}} // changing a part changes the label
	changed.Derive()
	mustUpsert(t, st, []store.Outcome{store.Changed, store.Added}, patchOf(changed), patchOf(label(5)))
	got, second := indexRecords(t, st, first)
	if len(got) != 2 || second <= first || len(got[changed.TTBID].Barcodes) != 1 {
		t.Errorf("ColasSince(%d) = %v, %d; want labels 1 and 5 and a later revision", first, got, second)
	}
	if got, rev := indexRecords(t, st, second); len(got) != 0 || rev != second {
		t.Errorf("ColasSince(%d) = %v, %d; want no records and the same revision", second, got, rev)
	}
}

var errCallback = errors.New("enough")

func changesCallbackError(t *testing.T, st store.Store, _ *clock) {
	mustAddColas(t, st, label(0), label(1))
	calls := 0
	if _, err := st.ColasSince(t.Context(), 0,
		func(*cola.IndexRecord) error { calls++; return errCallback }); !errors.Is(err, errCallback) || calls != 1 {
		t.Errorf("ColasSince error = %v after %d calls, want the callback's error after 1", err, calls)
	}
	_, err := st.PermitteesSince(t.Context(), 0, func(*cola.Permittee) error { return errCallback })
	if !errors.Is(err, errCallback) {
		t.Errorf("PermitteesSince error = %v, want the callback's error", err)
	}
	mustAddColas(t, st, label(2)) // the store still accepts writes
}

func changesCanceled(t *testing.T, st store.Store, _ *clock) {
	var labels []cola.Cola
	for i := range 3_000 {
		labels = append(labels, label(i))
	}
	mustAddColas(t, st, labels...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := st.ColasSince(ctx, 0, func(*cola.IndexRecord) error { cancel(); return ctx.Err() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ColasSince error = %v, want context.Canceled", err)
	}
	mustAddColas(t, st, label(5_000))
}

// followerWithConcurrentWriters checks that a follower sees every change while several writers each
// change their own labels.
func followerWithConcurrentWriters(t *testing.T, st store.Store, _ *clock) {
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
				if _, err := st.UpsertColas(ctx, patchesOf(labels...), store.Commit); err != nil {
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
			t.Fatalf("revision went from %d to %d with %d changes, want a later revision", rev, next, len(changed))
		}
		maps.Copy(seen, changed)
		rev = next
	}
	all, _ := indexRecords(t, st, 0)
	if len(all) != writers*each || written.Load() != writers*rounds {
		t.Fatalf("got %d labels from %d writes, want %d from %d", len(all), written.Load(), writers*each,
			writers*rounds)
	}
	checkEqual(t, "records seen by the follower", all, seen)
}

// noLostUpdates checks that no update is lost when two writers repeatedly patch different fields of
// the same labels, in calls that a backend may split.
func noLostUpdates(t *testing.T, st store.Store, _ *clock) {
	const labels, rounds = 3, 700
	for i := range labels {
		mustAddColas(t, st, label(i))
	}
	var wg sync.WaitGroup
	for _, field := range []string{"product_name", "class_name"} {
		var patches []cola.Patch[cola.Cola]
		for n := range labels * rounds {
			text := cola.Text(fmt.Sprint("ROUND ", n/labels))
			record := cola.Cola{ColaSummary: cola.ColaSummary{
				TTBID:       label(n % labels).TTBID,
				ProductName: text,
				ClassName:   text,
			}}
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
		want.ProductName = cola.Text(fmt.Sprint("ROUND ", rounds-1))
		want.ClassName = cola.Text(fmt.Sprint("ROUND ", rounds-1))
		checkEqual(t, "Cola after concurrent patches", want, mustCola(t, st, want.TTBID))
	}
}

// atomicReads checks that a reader never sees a mix of two states while a writer switches a label
// between them.
func atomicReads(t *testing.T, st store.Store, _ *clock) {
	states := [2]cola.Cola{label(0), fullLabel()}
	states[1].TTBID = states[0].TTBID
	mustAddColas(t, st, states[0])
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	wg.Go(func() {
		defer stop()
		for i := range 60 {
			if _, err := st.UpsertColas(t.Context(), patchesOf(states[(i+1)%2]), store.Commit); err != nil {
				t.Errorf("UpsertColas: %v", err)
				return
			}
		}
	})
	reads := 0
	for ctx.Err() == nil {
		reads++
		got := mustCola(t, st, states[0].TTBID)
		if !cmp.Equal(got, states[0]) && !cmp.Equal(got, states[1]) {
			t.Fatalf("Cola = %+v, want one of the two written states", got)
		}
		records, _ := indexRecords(t, st, 0)
		r := records[states[0].TTBID]
		a, b := states[0].IndexRecord(), states[1].IndexRecord()
		if !cmp.Equal(r, cloneRecord(&a)) && !cmp.Equal(r, cloneRecord(&b)) {
			t.Fatalf("index record = %+v, want one of the two written states", r)
		}
	}
	wg.Wait()
	if reads == 0 {
		t.Error("no reads during the writes")
	}
}

func testRevisions(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"follow the clock and always increase", revisionsIncrease},
		{"known revisions", knownRevisions},
		{"old latest revision stays known", oldLatestRevision},
		{"which writes create revisions", writesCreateRevisions},
	})
}

// checkKnown checks whether a revision is in a store's history.
func checkKnown(t *testing.T, st store.Store, rev cola.Revision, want bool) {
	t.Helper()
	has, err := st.HasRevision(t.Context(), rev)
	if must(t, has, err) != want {
		t.Errorf("HasRevision(%d) = %v, want %v", rev, has, want)
	}
}

func revisionsIncrease(t *testing.T, st store.Store, c *clock) {
	checkEqual(t, "revision of an empty store", cola.Revision(0), mustRevision(t, st))
	var last cola.Revision
	for i, step := range []time.Duration{0, 0, time.Microsecond, time.Second, -time.Hour, 0, 2 * time.Hour, 0} {
		c.advance(step)
		mustAddColas(t, st, label(i))
		want := max(last+1, cola.Revision(c.now().UnixMicro()))
		checkEqual(t, "revision", want, mustRevision(t, st))
		checkKnown(t, st, want, true)
		last = want
	}
}

func knownRevisions(t *testing.T, st store.Store, c *clock) {
	checkKnown(t, st, 0, true)
	checkKnown(t, st, cola.Revision(c.now().UnixMicro()), false)
	var past []cola.Revision
	for i := range 5 {
		mustAddColas(t, st, label(i))
		past = append(past, mustRevision(t, st))
		c.advance(time.Second)
	}
	mustUpsert(t, st, []store.Outcome{store.Unchanged}, patchOf(label(0))) // creates no revision
	checkKnown(t, st, 0, true)
	checkKnown(t, st, 1, false)
	checkKnown(t, st, cola.Revision(c.now().UnixMicro()), false)
	for _, rev := range past {
		checkKnown(t, st, rev, true)
		checkKnown(t, st, rev-1, false)
		checkKnown(t, st, rev+1, false)
	}
}

// oldLatestRevision checks that the latest revision before a long quiet period remains in the
// history after later writes, because followers resume from it.
func oldLatestRevision(t *testing.T, st store.Store, c *clock) {
	mustAddColas(t, st, label(0))
	quiet := mustRevision(t, st)
	c.advance(400 * 24 * time.Hour)
	for i := range 20 {
		mustAddColas(t, st, label(i+1))
		checkKnown(t, st, quiet, true)
		c.advance(24 * time.Hour)
	}
}

func writesCreateRevisions(t *testing.T, st store.Store, c *clock) {
	past := map[cola.Revision]bool{0: true}
	checkCreated := func(desc string, want bool) {
		t.Helper()
		rev := mustRevision(t, st)
		if past[rev] == want {
			t.Errorf("%s: new revision = %v, want %v", desc, !past[rev], want)
		}
		checkKnown(t, st, rev, true)
		past[rev] = true
		c.advance(time.Second)
	}
	for _, want := range []bool{true, false} {
		outcomes, err := st.UpsertColas(t.Context(), patchesOf(label(0)), store.Commit)
		must(t, outcomes, err)
		checkCreated("UpsertColas", want)
		outcomes, err = st.UpsertPermittees(t.Context(),
			[]cola.Patch[cola.Permittee]{permitteePatch(cola.Permittee{PermitNumber: "CA-W-1"})}, store.Commit)
		must(t, outcomes, err)
		checkCreated("UpsertPermittees", want)
		outcomes, err = st.UpsertCategoryAliases(t.Context(), []vocabulary.CategoryAlias{{Alias: "a", Path: "b"}},
			store.Commit)
		must(t, outcomes, err)
		checkCreated("UpsertCategoryAliases", want)
		outcomes, err = st.UpsertColas(t.Context(), patchesOf(label(1)), store.DryRun)
		must(t, outcomes, err)
		checkCreated("dry run", false)
	}
	mustAccount(t, st, "a@example.com", cola.TierFree)
	checkCreated("CreateAccount", false)
}
