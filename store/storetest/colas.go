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
		{"all fields round trip", allFieldsRoundTrip},
		{"unknown values stay unknown", unknownValues},
		{"text round trip", textRoundTrip},
		{"numbers and dates round trip", numbersRoundTrip},
		{"replace images and barcodes", replaceParts},
		{"unknown ID", func(t *testing.T, st store.Store, _ *clock) {
			mustAddColas(t, st, label(1))
			if _, err := st.Cola(t.Context(), firstID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("Cola(unknown ID) error = %v, want ErrNotFound", err)
			}
		}},
		{"empty upsert", func(t *testing.T, st store.Store, _ *clock) {
			got, err := st.UpsertColas(t.Context(), nil, store.Commit)
			if err != nil || len(got) != 0 {
				t.Errorf("UpsertColas(nil) = %v, %v; want no outcomes, nil", got, err)
			}
		}},
		{"canceled context", func(t *testing.T, st store.Store, _ *clock) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			got, err := st.UpsertColas(ctx, patchesOf(label(1)), store.Commit)
			if !errors.Is(err, context.Canceled) || len(got) != 0 {
				t.Errorf("UpsertColas(canceled) = %v, %v; want no outcomes, context.Canceled", got, err)
			}
			mustAddColas(t, st, label(1))
		}},
		{"context canceled during the call", cancelDuringUpsert},
	})
}

func allFieldsRoundTrip(t *testing.T, st store.Store, _ *clock) {
	want := fullLabel()
	v := reflect.ValueOf(want)
	for _, f := range cola.FieldsOf[cola.Cola]() {
		if estimated := f.Name == "approval_date_estimate" || f.Name == "date_is_estimated"; estimated {
			continue // never present with an approval date; see testEstimates
		}
		if v.FieldByIndex(f.Index).IsZero() {
			t.Errorf("fullLabel has no %s; the test needs every field", f.Name)
		}
	}
	mustAddColas(t, st, want)
	checkEqual(t, "Cola", want, mustCola(t, st, want.TTBID))
}

func unknownValues(t *testing.T, st store.Store, _ *clock) {
	c := label(0)
	mustAddColas(t, st, c)
	got := mustCola(t, st, c.TTBID)
	checkEqual(t, "Cola", c, got)
	if got.Images == nil || got.Barcodes == nil || got.GrapeVarietals == nil || got.LLMLiquorGrains == nil {
		t.Error("Cola has a nil list, want an empty one")
	}
	known := label(1) // a known zero differs from unknown
	known.ABV, known.LLMLiquorAgedYears = cola.Some(0.0), cola.Some(0)
	known.IsResubmission, known.HasFrontImage = cola.Some(false), cola.Some(false)
	mustAddColas(t, st, known)
	checkEqual(t, "Cola with zeros", known, mustCola(t, st, known.TTBID))
}

// awkward contains strings that a careless backend would alter.
var awkward = []string{
	`100% O'BRIEN'S _RESERVE_ \ "No. 5"`, `%`, `_`, `\`, `''`, `"`, `a\%b`, `?1 $1 :x @y`, `NULL`, `null`,
	`0`, `007`, `1e3`, ` padded `,
	`Château d'Yquem`, "Cha\u0302teau", `ÅKVAVIT Ø`, `日本酒`, `שלום`, `🍷🍾`, "line\nbreak\ttab",
	`["a","b"]`, `{"a":1}`, `a,b;c|d`, "\u2028\u00a0\ufeff",
}

func textRoundTrip(t *testing.T, st store.Store, _ *clock) {
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
	mustAddColas(t, st, labels...)
	stored := permittees(t, st)
	for _, c := range labels {
		checkEqual(t, "Cola", c, mustCola(t, st, c.TTBID))
		if p := stored[c.PermitNumber]; p.PermitNumber != c.PermitNumber || p.CompanyName != c.AddressRecipient {
			t.Errorf("permittee %q = %+v, want company name %q", c.PermitNumber, p, c.AddressRecipient)
		}
	}
}

func numbersRoundTrip(t *testing.T, st store.Store, _ *clock) {
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
	mustAddColas(t, st, labels...)
	for _, c := range labels {
		checkEqual(t, "Cola", c, mustCola(t, st, c.TTBID))
	}
}

func mustDate(t tb, s string) cola.Date {
	t.Helper()
	d, err := cola.ParseDate(s)
	return must(t, d, err)
}

func replaceParts(t *testing.T, st store.Store, _ *clock) {
	c := fullLabel()
	mustAddColas(t, st, c)
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
		mustUpsert(t, st, []store.Outcome{store.Changed}, patchOf(c))
		mustUpsert(t, st, []store.Outcome{store.Unchanged}, patchOf(c))
		got := mustCola(t, st, c.TTBID)
		if diff := diffLabels(c, got); diff != "" {
			t.Fatalf("Cola after change %d (-want +got):\n%s", i, diff)
		}
	}
}

// cancelDuringUpsert checks that an UpsertColas call that is canceled midway stores exactly the
// labels it reports. It cancels the context as soon as a reader sees the first write.
func cancelDuringUpsert(t *testing.T, st store.Store, _ *clock) {
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
	outcomes, err := st.UpsertColas(ctx, patchesOf(labels...), store.Commit)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatalf("UpsertColas error = %v, want nil or context.Canceled", err)
	}
	if err == nil && len(outcomes) != len(labels) {
		t.Fatalf("UpsertColas = %d outcomes, nil; want %d", len(outcomes), len(labels))
	}
	stored, _ := indexRecords(t, st, 0)
	if len(stored) != len(outcomes) {
		t.Errorf("%d labels stored, want %d, one per outcome", len(stored), len(outcomes))
	}
	for i := range outcomes {
		if _, ok := stored[labels[i].TTBID]; !ok {
			t.Fatalf("label %d of %d reported as stored is missing", i, len(outcomes))
		}
	}
}

func testImages(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"MainImages matches Cola", func(t *testing.T, st store.Store, _ *clock) {
			stated, back, bare := label(1), label(2), label(3)
			stated.MainImageURL = "https://example.com/stated?a=1&b=<ü>"
			back.Images = []cola.Image{
				{TTBImageID: "1"},
				{TTBImageID: "2", ImageIndex: 1, ContainerPosition: "back", ImageURL: "/images/2"},
			}
			mustAddColas(t, st, fullLabel(), stated, back, bare)
			ids := []cola.TTBID{firstID + 3, firstID + 2, firstID + 99, firstID + 1, firstID, firstID + 1}
			want := map[cola.TTBID]string{}
			for _, id := range ids {
				if c, err := st.Cola(t.Context(), id); err == nil && c.MainImageURL != "" {
					want[id] = string(c.MainImageURL)
				}
			}
			if len(want) != 3 {
				t.Fatalf("main images of Cola = %v, want 3", want)
			}
			got, err := st.MainImages(t.Context(), ids)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("MainImages error = %v (-want +got):\n%s", err, diff)
			}
		}},
		{"main image after an image change", func(t *testing.T, st store.Store, _ *clock) {
			c := fullLabel()
			mustAddColas(t, st, c)
			c.Images = []cola.Image{{
				TTBImageID:        "9",
				ContainerPosition: "neck",
				ImageURL:          "https://example.com/images/9",
			}}
			mustUpsert(t, st, []store.Outcome{store.Changed}, patchOf(c))
			got, err := st.MainImages(t.Context(), []cola.TTBID{c.TTBID})
			if err != nil || got[c.TTBID] != "https://example.com/images/9" {
				t.Errorf("MainImages = %v, %v; want the new image", got, err)
			}
		}},
		{"no IDs", func(t *testing.T, st store.Store, _ *clock) {
			if got, err := st.MainImages(t.Context(), nil); err != nil || len(got) != 0 {
				t.Errorf("MainImages(nil) = %v, %v; want no images, nil", got, err)
			}
		}},
	})
}

func testResubmissions(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"list", listResubmissions},
		{"at most MaxResubmissions", resubmissionLimit},
	})
}

func mustResubmissions(t *testing.T, st store.Store, id cola.TTBID) []cola.TTBID {
	t.Helper()
	list, err := st.Resubmissions(t.Context(), id)
	return must(t, list, err)
}

func listResubmissions(t *testing.T, st store.Store, _ *clock) {
	first, second, third, other := label(1), label(2), label(3), label(4)
	missing := cola.TTBID(other.TTBID + 1_000) // a resubmitted label that is not in the store
	second.ForResubmissionTTBID, third.ForResubmissionTTBID, other.ForResubmissionTTBID = first.TTBID, first.TTBID, missing
	mustAddColas(t, st, third, other, second, first)
	checkEqual(t, "Resubmissions", []cola.TTBID{second.TTBID, third.TTBID}, mustResubmissions(t, st, first.TTBID))
	checkEqual(t, "Resubmissions of a missing label", []cola.TTBID{other.TTBID}, mustResubmissions(t, st, missing))
	for _, id := range []cola.TTBID{0, second.TTBID, 99_999_999_999_999} {
		checkEqual(t, "number of resubmissions of a label without any", 0, len(mustResubmissions(t, st, id)))
	}
	third.ForResubmissionTTBID = second.TTBID
	mustUpsert(t, st, []store.Outcome{store.Changed}, patchOf(third))
	checkEqual(t, "Resubmissions after a change", []cola.TTBID{second.TTBID}, mustResubmissions(t, st, first.TTBID))
	checkEqual(t, "Resubmissions of the next label in the chain", []cola.TTBID{third.TTBID},
		mustResubmissions(t, st, second.TTBID))
}

func resubmissionLimit(t *testing.T, st store.Store, _ *clock) {
	first := label(1)
	labels := []cola.Cola{first}
	for i := range store.MaxResubmissions + 5 {
		resubmission := label(2 + i)
		resubmission.ForResubmissionTTBID = first.TTBID
		labels = append(labels, resubmission)
	}
	mustAddColas(t, st, labels...)
	list := mustResubmissions(t, st, first.TTBID)
	checkEqual(t, "number of resubmissions", store.MaxResubmissions, len(list))
	checkEqual(t, "last resubmission", labels[store.MaxResubmissions].TTBID, list[len(list)-1])
}
