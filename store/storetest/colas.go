package storetest

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testColas(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"every field comes back", everyFieldComesBack},
		{"what is unknown stays unknown", unknownStaysUnknown},
		{"any text comes back", anyTextComesBack},
		{"numbers and dates come back exactly", numbersComeBack},
		{"images and barcodes are replaced whole and in order", partsAreReplaced},
		{"an unknown id is not found", func(t *testing.T, st store.Store, _ *clock) {
			mustKeep(t, st, label(1))
			if _, err := st.Cola(t.Context(), firstID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("error = %v, want ErrNotFound", err)
			}
		}},
		{"nothing to do is no error", func(t *testing.T, st store.Store, _ *clock) {
			got, err := st.UpsertColas(t.Context(), nil, store.Commit)
			if err != nil || len(got) != 0 {
				t.Errorf("outcomes %v, error %v; want none", got, err)
			}
		}},
		{"an ended context keeps nothing", func(t *testing.T, st store.Store, _ *clock) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			got, err := st.UpsertColas(ctx, wholes(label(1)), store.Commit)
			if !errors.Is(err, context.Canceled) || len(got) != 0 {
				t.Errorf("outcomes %v, error %v; want none and context.Canceled", got, err)
			}
			mustKeep(t, st, label(1))
		}},
		{"a context that ends keeps a prefix", contextEndsHalfWay},
	})
}

func everyFieldComesBack(t *testing.T, st store.Store, _ *clock) {
	want := fullLabel()
	v := reflect.ValueOf(want)
	for _, f := range cola.FieldsOf[cola.Cola]() {
		if v.FieldByIndex(f.Index).IsZero() {
			t.Errorf("the full label lacks %s, so this test would not miss it", f.Name)
		}
	}
	mustKeep(t, st, want)
	same(t, "label", want, mustCola(t, st, want.TTBID))
}

func unknownStaysUnknown(t *testing.T, st store.Store, _ *clock) {
	c := label(0)
	mustKeep(t, st, c)
	got := mustCola(t, st, c.TTBID)
	same(t, "label", c, got)
	if got.Images == nil || got.Barcodes == nil || got.GrapeVarietals == nil || got.LLMLiquorGrains == nil {
		t.Error("a list is nil, want empty")
	}
	known := label(1) // a known zero differs from unknown
	known.ABV, known.LLMLiquorAgedYears = cola.Some(0.0), cola.Some(0)
	known.IsResubmission, known.HasFrontImage = cola.Some(false), cola.Some(false)
	mustKeep(t, st, known)
	same(t, "label of zeros", known, mustCola(t, st, known.TTBID))
}

// awkward contains texts that a careless backend would alter.
var awkward = []string{
	`100% O'BRIEN'S _RESERVE_ \ "No. 5"`, `%`, `_`, `\`, `''`, `"`, `a\%b`, `?1 $1 :x @y`, `NULL`, `null`, `0`, `007`, `1e3`, ` padded `,
	`Château d'Yquem`, "Cha\u0302teau", `ÅKVAVIT Ø`, `日本酒`, `שלום`, `🍷🍾`, "line\nbreak\ttab", `["a","b"]`, `{"a":1}`, `a,b;c|d`, "\u2028\u00a0\ufeff",
}

func anyTextComesBack(t *testing.T, st store.Store, _ *clock) {
	var labels []cola.Cola
	for i, s := range awkward {
		c := label(i)
		c.BrandName, c.ProductName, c.PermitNumber = s, cola.Text(s), s
		c.AddressRecipient, c.LLMProductDescription = cola.Text(s), cola.Text(s)
		c.GrapeVarietals = append([]string{""}, awkward[i:]...)
		c.Images = []cola.Image{{TTBImageID: s, ImageURL: cola.Text(s)}}
		c.Barcodes = []cola.Barcode{{BarcodeValue: s, Orientation: cola.Text(s)}}
		c.Derive()
		labels = append(labels, c)
	}
	mustKeep(t, st, labels...)
	made := permittees(t, st)
	for _, c := range labels {
		same(t, "label", c, mustCola(t, st, c.TTBID))
		if p := made[c.PermitNumber]; p.PermitNumber != c.PermitNumber || p.CompanyName != c.AddressRecipient {
			t.Errorf("permittee of %q = %+v", c.PermitNumber, p)
		}
	}
}

func numbersComeBack(t *testing.T, st store.Store, _ *clock) {
	var labels []cola.Cola
	for i, f := range []float64{0.1, 1.0 / 3, 1e-12, 1e300, 12.5, 750, 4503599627370497.5} {
		c := label(i)
		c.ABV, c.Volume, c.WineVintageYear = cola.Some(f), cola.Some(-f), cola.Some(1700+i)
		labels = append(labels, c)
	}
	for i, s := range []string{"0001-01-01", "1899-12-31", "1970-01-01", "2024-02-29", "9999-12-31"} {
		c := label(100 + i)
		c.ApprovalDate = mustDate(t, s)
		c.ExpirationDate = c.ApprovalDate
		labels = append(labels, c)
	}
	largest := label(200)
	largest.TTBID, largest.ForResubmissionTTBID = 99999999999999, 1
	labels = append(labels, largest)
	mustKeep(t, st, labels...)
	for _, c := range labels {
		same(t, "label", c, mustCola(t, st, c.TTBID))
	}
}

func mustDate(t tb, s string) cola.Date {
	t.Helper()
	d, err := cola.ParseDate(s)
	return must(t, d, err)
}

func partsAreReplaced(t *testing.T, st store.Store, _ *clock) {
	c := fullLabel()
	mustKeep(t, st, c)
	changes := []func(){
		func() { c.Images[0], c.Images[2] = c.Images[2], c.Images[0] },
		func() { c.Images = c.Images[:1] },
		func() { c.Images[0].FileSizeMB = cola.Some(0.43) },
		func() { c.Barcodes = append(c.Barcodes, c.Barcodes[0], cola.Barcode{BarcodeValue: "x"}) },
		func() { c.Barcodes = []cola.Barcode{}; c.Images = []cola.Image{} },
		func() { c.Barcodes = []cola.Barcode{{BarcodeValue: "y"}} },
	}
	for i, change := range changes {
		c.Images, c.Barcodes = append([]cola.Image{}, c.Images...), append([]cola.Barcode{}, c.Barcodes...)
		change()
		c.Derive()
		mustUpsert(t, st, []store.Outcome{store.Changed}, whole(c))
		mustUpsert(t, st, []store.Outcome{store.Unchanged}, whole(c))
		got := mustCola(t, st, c.TTBID)
		if diff := diffLabels(c, got); diff != "" {
			t.Fatalf("after change %d (-want +got):\n%s", i, diff)
		}
	}
}

// contextEndsHalfWay cancels the context when the reader sees the first label, in the middle of the
// call.
func contextEndsHalfWay(t *testing.T, st store.Store, _ *clock) {
	var labels []cola.Cola
	for i := range 5_000 {
		labels = append(labels, label(i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if rev, err := st.Revision(context.Background()); err != nil || rev > 0 {
				cancel()
			}
		}
	}()
	outcomes, err := st.UpsertColas(ctx, wholes(labels...), store.Commit)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatalf("error = %v, want context.Canceled or none", err)
	}
	if err == nil && len(outcomes) != len(labels) {
		t.Fatalf("%d outcomes without an error, want %d", len(outcomes), len(labels))
	}
	kept, _ := indexRecords(t, st, 0)
	if len(kept) != len(outcomes) {
		t.Errorf("%d labels are kept, %d outcomes were returned", len(kept), len(outcomes))
	}
	for i := range outcomes {
		if _, ok := kept[labels[i].TTBID]; !ok {
			t.Fatalf("label %d of the prefix of %d is missing", i, len(outcomes))
		}
	}
}

func testImages(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"labels have the main image that they are read with", func(t *testing.T, st store.Store, _ *clock) {
			stated, back, bare := label(1), label(2), label(3)
			stated.MainImageURL = "https://example.com/stated?a=1&b=<ü>"
			back.Images = []cola.Image{{TTBImageID: "1"}, {TTBImageID: "2", ImageIndex: 1, ContainerPosition: "back", ImageURL: "/images/2"}}
			mustKeep(t, st, fullLabel(), stated, back, bare)
			ids := []cola.TTBID{firstID + 3, firstID + 2, firstID + 99, firstID + 1, firstID, firstID + 1}
			want := map[cola.TTBID]string{}
			for _, id := range ids {
				if c, err := st.Cola(t.Context(), id); err == nil && c.MainImageURL != "" {
					want[id] = string(c.MainImageURL)
				}
			}
			if len(want) != 3 {
				t.Fatalf("labels are read with %v", want)
			}
			got, err := st.MainImages(t.Context(), ids)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("error %v (-read +got):\n%s", err, diff)
			}
		}},
		{"a main image follows the images", func(t *testing.T, st store.Store, _ *clock) {
			c := fullLabel()
			mustKeep(t, st, c)
			c.Images = []cola.Image{{TTBImageID: "9", ContainerPosition: "neck", ImageURL: "https://example.com/images/9"}}
			mustUpsert(t, st, []store.Outcome{store.Changed}, whole(c))
			got, err := st.MainImages(t.Context(), []cola.TTBID{c.TTBID})
			if err != nil || got[c.TTBID] != "https://example.com/images/9" {
				t.Errorf("%v, %v", got, err)
			}
		}},
		{"no labels have no images", func(t *testing.T, st store.Store, _ *clock) {
			if got, err := st.MainImages(t.Context(), nil); err != nil || len(got) != 0 {
				t.Errorf("%v, %v", got, err)
			}
		}},
	})
}

func testResubmissions(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"the labels that submit one again are told", resubmissionsAreTold},
		{"so many of them at most", resubmissionsAreBounded},
	})
}

func mustResubmissions(t *testing.T, st store.Store, id cola.TTBID) []cola.TTBID {
	t.Helper()
	list, err := st.Resubmissions(t.Context(), id)
	return must(t, list, err)
}

func resubmissionsAreTold(t *testing.T, st store.Store, _ *clock) {
	first, second, third, other := label(1), label(2), label(3), label(4)
	gone := cola.TTBID(other.TTBID + 1_000) // a resubmitted label that is not in the store
	second.ForResubmissionTTBID, third.ForResubmissionTTBID, other.ForResubmissionTTBID = first.TTBID, first.TTBID, gone
	mustKeep(t, st, third, other, second, first)
	same(t, "of a label", []cola.TTBID{second.TTBID, third.TTBID}, mustResubmissions(t, st, first.TTBID))
	same(t, "of one that there is not", []cola.TTBID{other.TTBID}, mustResubmissions(t, st, gone))
	for _, id := range []cola.TTBID{0, second.TTBID, 99_999_999_999_999} {
		same(t, "of one that nobody submits again", 0, len(mustResubmissions(t, st, id)))
	}
	third.ForResubmissionTTBID = second.TTBID
	mustUpsert(t, st, []store.Outcome{store.Changed}, whole(third))
	same(t, "after a change", []cola.TTBID{second.TTBID}, mustResubmissions(t, st, first.TTBID))
	same(t, "of the next in the chain", []cola.TTBID{third.TTBID}, mustResubmissions(t, st, second.TTBID))
}

func resubmissionsAreBounded(t *testing.T, st store.Store, _ *clock) {
	first := label(1)
	labels := []cola.Cola{first}
	for i := range store.MaxResubmissions + 5 {
		again := label(2 + i)
		again.ForResubmissionTTBID = first.TTBID
		labels = append(labels, again)
	}
	mustKeep(t, st, labels...)
	told := mustResubmissions(t, st, first.TTBID)
	same(t, "how many are told", store.MaxResubmissions, len(told))
	same(t, "the last of them", labels[store.MaxResubmissions].TTBID, told[len(told)-1])
}
