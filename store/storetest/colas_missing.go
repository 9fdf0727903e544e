package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testColasMissing(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"each kind of missing data", missingData},
		{"newest receipt first", missingOrder},
		{"more than one page", missingPages},
		{"callback error", func(t *testing.T, st store.Store, _ *clock) {
			mustAddColas(t, st, label(1), label(2))
			calls := 0
			err := st.ColasMissing(t.Context(), store.MissingDetail, func(cola.TTBID) error { calls++; return errCallback })
			if !errors.Is(err, errCallback) || calls != 1 {
				t.Errorf("error = %v after %d calls, want the callback's error after 1", err, calls)
			}
		}},
		{"unknown kind", func(t *testing.T, st store.Store, _ *clock) {
			err := st.ColasMissing(t.Context(), "x", func(cola.TTBID) error { return nil })
			if !errors.Is(err, store.ErrMalformed) {
				t.Errorf("error = %v, want ErrMalformed", err)
			}
		}},
	})
}

func mustMissing(t tb, st store.Store, missing store.Missing) (ids []cola.TTBID) {
	t.Helper()
	mustDo(t, st.ColasMissing(context.Background(), missing, func(id cola.TTBID) error {
		ids = append(ids, id)
		return nil
	}))
	return ids
}

func missingData(t *testing.T, st store.Store, _ *clock) {
	status, date, images, barcode, none := label(1), label(2), label(3), label(4), label(5)
	status.ApplicationStatus = "approved"
	date.ApprovalDate = mustDate(t, "2026-01-02")
	images.Images = []cola.Image{ // the first has a file, so it is the main image
		{TTBImageID: "1", ContainerPosition: "front", ImageURL: "/images/1"}, {TTBImageID: "2", ImageIndex: 1},
	}
	images.ImageCount = 2
	barcode.Barcodes = []cola.Barcode{{BarcodeValue: "036000291452"}}
	for _, c := range []*cola.Cola{&status, &date, &images, &barcode} {
		c.Derive()
	}
	full := fullLabel()
	mustAddColas(t, st, status, date, images, barcode, none, full)
	all := []cola.TTBID{none.TTBID, barcode.TTBID, images.TTBID, date.TTBID, status.TTBID}
	without := func(one cola.Cola) (ids []cola.TTBID) {
		for _, id := range all {
			if id != one.TTBID {
				ids = append(ids, id)
			}
		}
		return ids
	}
	for missing, has := range map[store.Missing]cola.Cola{
		store.MissingDetail: status, store.MissingApprovalDate: date,
		store.MissingImages: images, store.MissingBarcodes: barcode,
	} {
		checkEqual(t, "labels without "+string(missing), without(has), mustMissing(t, st, missing))
	}
	checkEqual(t, "labels without image files", []cola.TTBID{images.TTBID, full.TTBID},
		mustMissing(t, st, store.MissingImageFiles))
	// A label that gains the data leaves the list.
	none.ApplicationStatus = "expired"
	mustUpsert(t, st, []store.Outcome{store.Changed}, patchOf(none))
	checkEqual(t, "labels without detail after the change",
		[]cola.TTBID{barcode.TTBID, images.TTBID, date.TTBID}, mustMissing(t, st, store.MissingDetail))
}

func missingOrder(t *testing.T, st store.Store, _ *clock) {
	want := []cola.TTBID{79_001_001_000_001, 26_320_001_000_002, 26_320_001_000_001, 26_001_001_000_001, 1,
		99_365_001_000_001, 80_001_001_000_001}
	var labels []cola.Cola
	for _, id := range want {
		c := label(1)
		c.TTBID = id
		labels = append([]cola.Cola{c}, labels...)
	}
	mustAddColas(t, st, labels...)
	checkEqual(t, "labels without detail", want, mustMissing(t, st, store.MissingDetail))
}

func missingPages(t *testing.T, st store.Store, _ *clock) {
	const count = 2_000 // exactly two pages
	var labels []cola.Cola
	var want []cola.TTBID
	for i := range count {
		labels = append(labels, label(i))
		want = append([]cola.TTBID{label(i).TTBID}, want...)
	}
	mustAddColas(t, st, labels...)
	checkEqual(t, "labels without images", want, mustMissing(t, st, store.MissingImages))
}
