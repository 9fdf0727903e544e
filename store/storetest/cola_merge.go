package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testColaMerge(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"a patch leaves what it does not carry", patchLeavesTheRest},
		{"a patch without what a new label needs is refused alone", refusedAlone},
		{"later patches of a call see earlier ones", laterSeesEarlier},
		{"a dry run tells the same and writes nothing", dryRun},
		{"an unchanged label keeps its revision", unchangedKeepsRevision},
		{"any sequence of patches merges like the model", mergesLikeTheModel},
	})
}

func diffLabels(want, got cola.Cola) string { return cmp.Diff(want, got) }

func patchLeavesTheRest(t *testing.T, st store.Store, _ *clock) {
	want := fullLabel()
	mustKeep(t, st, want)
	mustUpsert(t, st, []store.Outcome{store.Unchanged}, only(cola.Cola{ColaSummary: cola.ColaSummary{TTBID: want.TTBID}}, "ttb_id"))
	same(t, "label after an empty patch", want, mustCola(t, st, want.TTBID))

	patch := cola.Cola{ColaSummary: cola.ColaSummary{TTBID: want.TTBID, BrandName: "not carried", ApplicationStatus: "expired"}}
	mustUpsert(t, st, []store.Outcome{store.Changed}, only(patch, "ttb_id", "application_status", "wine_vintage_year", "grape_varietals"))
	want.ApplicationStatus, want.WineVintageYear, want.GrapeVarietals = "expired", cola.Opt[int]{}, []string{}
	same(t, "label after a patch that clears", want, mustCola(t, st, want.TTBID))
}

func refusedAlone(t *testing.T, st store.Store, _ *clock) {
	unnamed := label(1)
	unnamed.BrandName = ""
	partial := only(cola.Cola{ColaSummary: cola.ColaSummary{TTBID: firstID + 2, ApplicationStatus: "expired"}}, "ttb_id", "application_status")
	mustUpsert(t, st, []store.Outcome{store.Added, store.Refused, store.Refused, store.Added},
		whole(label(0)), whole(unnamed), partial, whole(label(3)))
	kept, _ := indexRecords(t, st, 0)
	if len(kept) != 2 {
		t.Errorf("%d labels are kept, want 2", len(kept))
	}

	clears := only(cola.Cola{ColaSummary: cola.ColaSummary{TTBID: firstID, ProductName: "NEW"}}, "brand_name", "product_name")
	mustUpsert(t, st, []store.Outcome{store.Refused}, clears)
	same(t, "label after a refused patch", label(0), mustCola(t, st, firstID))
	mustUpsert(t, st, []store.Outcome{store.Refused}, whole(cola.Cola{}))
}

func laterSeesEarlier(t *testing.T, st store.Store, _ *clock) {
	c := label(0)
	name := func(s cola.Text) cola.Patch[cola.Cola] {
		return only(cola.Cola{ColaSummary: cola.ColaSummary{TTBID: c.TTBID, ProductName: s}}, "product_name")
	}
	mustUpsert(t, st, []store.Outcome{store.Refused, store.Added, store.Changed, store.Unchanged, store.Changed, store.Refused, store.Unchanged},
		name("A"), whole(c), name("A"), name("A"), name("B"), only(cola.Cola{ColaSummary: cola.ColaSummary{TTBID: c.TTBID}}, "brand_name"), name("B"))
	c.ProductName = "B"
	same(t, "label", c, mustCola(t, st, c.TTBID))

	// Repeats are far apart, so that a backend that splits the call puts them into different
	// transactions.
	const n = 2_000
	var patches []cola.Patch[cola.Cola]
	var want []store.Outcome
	for i := range n {
		patches = append(patches, whole(label(1+i%(n/2))))
		want = append(want, store.Added)
	}
	for i := n / 2; i < n; i++ {
		patches[i] = only(cola.Cola{ColaSummary: cola.ColaSummary{TTBID: patches[i].Record.TTBID, ProductName: "AGAIN"}}, "product_name")
		want[i] = store.Changed
	}
	mustUpsert(t, st, want, patches...)
	records, _ := indexRecords(t, st, 0)
	for i := range n / 2 {
		if got := records[label(1+i).TTBID].Summary.ProductName; got != "AGAIN" {
			t.Fatalf("label %d has the product name %q, want AGAIN", 1+i, got)
		}
	}
}

func dryRun(t *testing.T, st store.Store, _ *clock) {
	stored := fullLabel()
	mustKeep(t, st, stored)
	before := mustRevision(t, st)
	patches := []cola.Patch[cola.Cola]{whole(stored)}
	want := []store.Outcome{store.Unchanged}
	for i := range 1_500 { // added, then repeated much later in the call, then changed
		patches = append(patches, whole(label(1+i)))
		want = append(want, store.Added)
	}
	changed := label(1)
	changed.PermitNumber = "CA-I-9"
	patches = append(patches, whole(label(1)), whole(changed), whole(changed), whole(cola.Cola{}))
	want = append(want, store.Unchanged, store.Changed, store.Unchanged, store.Refused)
	for range 2 {
		got, err := st.UpsertColas(t.Context(), patches, store.DryRun)
		same(t, "outcomes", want, must(t, got, err))
	}
	if after := mustRevision(t, st); after != before {
		t.Errorf("a dry run moved the revision from %d to %d", before, after)
	}
	if kept, _ := indexRecords(t, st, 0); len(kept) != 1 {
		t.Errorf("%d labels after a dry run, want 1", len(kept))
	}
	if got := permittees(t, st); len(got) != 1 {
		t.Errorf("permittees after a dry run: %v, want one", got)
	}
}

func unchangedKeepsRevision(t *testing.T, st store.Store, _ *clock) {
	a, b := label(0), label(1)
	mustKeep(t, st, a, b)
	before := mustRevision(t, st)
	mustUpsert(t, st, []store.Outcome{store.Unchanged, store.Unchanged}, whole(a), whole(b))
	if after := mustRevision(t, st); after != before {
		t.Errorf("revision moved from %d to %d without a change", before, after)
	}
	b.ProductName = "NEW"
	mustUpsert(t, st, []store.Outcome{store.Unchanged, store.Changed}, whole(a), whole(b))
	changed, after := indexRecords(t, st, before)
	if _, ok := changed[b.TTBID]; !ok || len(changed) != 1 || after <= before {
		t.Errorf("changed after %d: %v up to %d; want only %s and a later revision", before, changed, after, b.TTBID)
	}
}

// mergesLikeTheModel checks outcomes and records of arbitrary calls against the merge rules of
// package cola.
func mergesLikeTheModel(t *testing.T, st store.Store, _ *clock) {
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++ // each sequence has its own labels
		model := map[cola.TTBID]cola.Cola{}
		calls := rapid.SliceOfN(rapid.SliceOfN(patchGenerator(run), 1, 6), 1, 4).Draw(rt, "calls")
		for _, patches := range calls {
			want := make([]store.Outcome, len(patches))
			for i, p := range patches {
				want[i] = mergeInto(model, p)
			}
			got, err := st.UpsertColas(t.Context(), patches, store.Commit)
			if err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				rt.Fatalf("outcomes (-want +got):\n%s", diff)
			}
		}
		for id, want := range model {
			got, err := st.Cola(t.Context(), id)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				rt.Fatalf("label %s: %v (-want +got):\n%s", id, err, diff)
			}
		}
	})
}

func mergeInto(model map[cola.TTBID]cola.Cola, p cola.Patch[cola.Cola]) store.Outcome {
	old, exists := model[p.Record.TTBID]
	merged := old
	p.Apply(&merged)
	merged.TTBID = p.Record.TTBID
	merged.Derive()
	switch {
	case cola.CheckNew(&merged) != nil:
		return store.Refused
	case exists && cmp.Equal(old, merged):
		return store.Unchanged
	}
	model[p.Record.TTBID] = merged
	if exists {
		return store.Changed
	}
	return store.Added
}

// patchGenerator draws patches of a few labels, mostly complete ones. Values come from a small set,
// so that equal ones meet.
func patchGenerator(run int) *rapid.Generator[cola.Patch[cola.Cola]] {
	return rapid.Custom(func(t *rapid.T) cola.Patch[cola.Cola] {
		c := label(run*10 + rapid.IntRange(0, 2).Draw(t, "label"))
		if rapid.Bool().Draw(t, "full") {
			id := c.TTBID
			c = fullLabel()
			c.TTBID = id
		}
		c.BrandName = rapid.SampledFrom([]string{"", "A", "B", "B"}).Draw(t, "brand")
		c.ABV = rapid.SampledFrom([]cola.Opt[float64]{{}, cola.Some(0.0), cola.Some(13.5)}).Draw(t, "abv")
		c.Images = c.Images[:rapid.IntRange(0, len(c.Images)).Draw(t, "images")]
		c.Barcodes = c.Barcodes[:rapid.IntRange(0, len(c.Barcodes)).Draw(t, "barcodes")]
		c.BarcodeValue = cola.Text(rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "barcode"))
		p := whole(c)
		if rapid.IntRange(0, 2).Draw(t, "part") == 0 {
			p.Fields = cola.Fields(rapid.Uint64().Draw(t, "fields")) & p.Fields
		}
		return p
	})
}
