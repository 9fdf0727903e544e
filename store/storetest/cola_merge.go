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
		{"patch keeps other fields", patchKeepsOtherFields},
		{"incomplete labels are rejected individually", rejectIncompleteLabels},
		{"later patches see earlier ones", laterPatchesSeeEarlier},
		{"dry run", dryRun},
		{"unchanged label keeps its revision", unchangedKeepsRevision},
		{"random patches match the model", mergeMatchesModel},
	})
}

func diffLabels(want, got cola.Cola) string { return cmp.Diff(want, got) }

func patchKeepsOtherFields(t *testing.T, st store.Store, _ *clock) {
	want := fullLabel()
	mustAddColas(t, st, want)
	mustUpsert(t, st, []store.Outcome{store.Unchanged},
		only(cola.Cola{ColaSummary: cola.ColaSummary{TTBID: want.TTBID}}, "ttb_id"))
	checkEqual(t, "Cola after an empty patch", want, mustCola(t, st, want.TTBID))

	patch := cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID:             want.TTBID,
		BrandName:         "ignored",
		ApplicationStatus: "expired",
	}}
	mustUpsert(t, st, []store.Outcome{store.Changed},
		only(patch, "ttb_id", "application_status", "wine_vintage_year", "grape_varietals"))
	want.ApplicationStatus, want.WineVintageYear, want.GrapeVarietals = "expired", cola.Opt[int]{}, []string{}
	checkEqual(t, "Cola after a clearing patch", want, mustCola(t, st, want.TTBID))
}

func rejectIncompleteLabels(t *testing.T, st store.Store, _ *clock) {
	unnamed := label(1)
	unnamed.BrandName = ""
	partial := only(cola.Cola{ColaSummary: cola.ColaSummary{TTBID: firstID + 2, ApplicationStatus: "expired"}},
		"ttb_id", "application_status")
	mustUpsert(t, st, []store.Outcome{store.Added, store.Rejected, store.Rejected, store.Added},
		patchOf(label(0)), patchOf(unnamed), partial, patchOf(label(3)))
	stored, _ := indexRecords(t, st, 0)
	if len(stored) != 2 {
		t.Errorf("%d labels stored, want 2", len(stored))
	}

	clears := only(cola.Cola{ColaSummary: cola.ColaSummary{TTBID: firstID, ProductName: "NEW"}}, "brand_name",
		"product_name")
	mustUpsert(t, st, []store.Outcome{store.Rejected}, clears)
	checkEqual(t, "Cola after a rejected patch", label(0), mustCola(t, st, firstID))
	mustUpsert(t, st, []store.Outcome{store.Rejected}, patchOf(cola.Cola{}))
}

func laterPatchesSeeEarlier(t *testing.T, st store.Store, _ *clock) {
	c := label(0)
	name := func(s cola.Text) cola.Patch[cola.Cola] {
		return only(cola.Cola{ColaSummary: cola.ColaSummary{TTBID: c.TTBID, ProductName: s}}, "product_name")
	}
	mustUpsert(t, st, []store.Outcome{
		store.Rejected, store.Added, store.Changed, store.Unchanged, store.Changed,
		store.Rejected, store.Unchanged,
	},
		name("A"), patchOf(c), name("A"), name("A"), name("B"),
		only(cola.Cola{ColaSummary: cola.ColaSummary{TTBID: c.TTBID}}, "brand_name"), name("B"))
	c.ProductName = "B"
	checkEqual(t, "Cola", c, mustCola(t, st, c.TTBID))

	// Repeats are far apart, so that a backend that splits the call puts them into different
	// transactions.
	const n = 2_000
	var patches []cola.Patch[cola.Cola]
	var want []store.Outcome
	for i := range n {
		patches = append(patches, patchOf(label(1+i%(n/2))))
		want = append(want, store.Added)
	}
	for i := n / 2; i < n; i++ {
		patches[i] = only(cola.Cola{ColaSummary: cola.ColaSummary{
			TTBID:       patches[i].Record.TTBID,
			ProductName: "AGAIN",
		}}, "product_name")
		want[i] = store.Changed
	}
	mustUpsert(t, st, want, patches...)
	records, _ := indexRecords(t, st, 0)
	for i := range n / 2 {
		if got := records[label(1+i).TTBID].Summary.ProductName; got != "AGAIN" {
			t.Fatalf("label %d: product name = %q, want AGAIN", 1+i, got)
		}
	}
}

func dryRun(t *testing.T, st store.Store, _ *clock) {
	stored := fullLabel()
	mustAddColas(t, st, stored)
	before := mustRevision(t, st)
	patches := []cola.Patch[cola.Cola]{patchOf(stored)}
	want := []store.Outcome{store.Unchanged}
	for i := range 1_500 { // added, then repeated much later in the call, then changed
		patches = append(patches, patchOf(label(1+i)))
		want = append(want, store.Added)
	}
	changed := label(1)
	changed.PermitNumber = "CA-I-9"
	patches = append(patches, patchOf(label(1)), patchOf(changed), patchOf(changed), patchOf(cola.Cola{}))
	want = append(want, store.Unchanged, store.Changed, store.Unchanged, store.Rejected)
	for range 2 {
		got, err := st.UpsertColas(t.Context(), patches, store.DryRun)
		checkEqual(t, "UpsertColas outcomes", want, must(t, got, err))
	}
	if after := mustRevision(t, st); after != before {
		t.Errorf("revision after a dry run = %d, want %d", after, before)
	}
	if stored, _ := indexRecords(t, st, 0); len(stored) != 1 {
		t.Errorf("%d labels stored after a dry run, want 1", len(stored))
	}
	if got := permittees(t, st); len(got) != 1 {
		t.Errorf("permittees after a dry run = %v, want one", got)
	}
}

func unchangedKeepsRevision(t *testing.T, st store.Store, _ *clock) {
	a, b := label(0), label(1)
	mustAddColas(t, st, a, b)
	before := mustRevision(t, st)
	mustUpsert(t, st, []store.Outcome{store.Unchanged, store.Unchanged}, patchOf(a), patchOf(b))
	if after := mustRevision(t, st); after != before {
		t.Errorf("revision after an unchanged upsert = %d, want %d", after, before)
	}
	b.ProductName = "NEW"
	mustUpsert(t, st, []store.Outcome{store.Unchanged, store.Changed}, patchOf(a), patchOf(b))
	changed, after := indexRecords(t, st, before)
	if _, ok := changed[b.TTBID]; !ok || len(changed) != 1 || after <= before {
		t.Errorf("ColasSince(%d) = %v, %d; want only %s and a later revision", before, changed, after, b.TTBID)
	}
}

// mergeMatchesModel checks the outcomes and records of random calls against the merge rules of
// package cola.
func mergeMatchesModel(t *testing.T, st store.Store, _ *clock) {
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
				rt.Fatalf("UpsertColas outcomes (-want +got):\n%s", diff)
			}
		}
		for id, want := range model {
			got, err := st.Cola(t.Context(), id)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				rt.Fatalf("Cola(%s) error = %v (-want +got):\n%s", id, err, diff)
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
		return store.Rejected
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
// so that repeats are common.
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
		p := patchOf(c)
		if rapid.IntRange(0, 2).Draw(t, "part") == 0 {
			p.Fields = cola.Fields(rapid.Uint64().Draw(t, "fields")) & p.Fields
		}
		return p
	})
}
