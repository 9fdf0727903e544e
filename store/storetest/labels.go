package storetest

import (
	"context"
	"fmt"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// firstID is the id of label(0). It begins with a zero, as the ids of 2005 to 2009 do.
const firstID cola.TTBID = 9079001000202

// label returns a small label that a store accepts.
func label(n int) cola.Cola {
	var c cola.Cola
	c.TTBID = firstID + cola.TTBID(n)
	c.BrandName = fmt.Sprintf("BRAND %d", n)
	c.ProductType = vocabulary.Wine
	c.PermitNumber = "NJ-I-721"
	c.Derive()
	return c
}

// fullLabel returns a label with every field known.
func fullLabel() cola.Cola {
	date := func(s string) cola.Date { d, _ := cola.ParseDate(s); return d }
	c := cola.Cola{
		ColaSummary: cola.ColaSummary{
			TTBID: firstID, BrandName: "LENZ MOSER", ProductName: "PRESTIGE", ProductType: vocabulary.Wine, ClassName: "TABLE RED WINE",
			OriginName: "AUSTRIA", PermitNumber: "NJ-I-721", ApplicationStatus: "surrendered", ApprovalDate: date("2011-03-18"),
		},
		ApplicationType: "LABEL APPROVAL", ApplicationDate: date("2011-02-23"), ExpirationDate: date("2025-10-23"),
		LatestUpdateDate: date("2025-07-16"), ClassID: "80", OriginID: "64", DomesticOrImported: vocabulary.Imported,
		IsDistinctiveContainer: cola.Some(true), ForDistinctiveCapacity: "750 MILLILITERS", IsResubmission: cola.Some(true),
		ForResubmissionTTBID: 11024001000092, ForExemptionState: "NJ", AddressRecipient: "NIEDERHOFF IMPORTS INC",
		AddressZipCode: "07927", AddressState: "NJ", GrapeVarietals: []string{"Zweigelt", "Blaufränkisch"},
		WineVintageYear: cola.Some(2009), WineAppellation: "BURGENLAND", ABV: cola.Some(12.5), Volume: cola.Some(750.0),
		VolumeUnit: "milliliters", LLMContainerType: "bottle", LLMProductDescription: "A dry red wine.",
		LLMBrandEstablishedYear: cola.Some(1849), LLMCategory: "Zweigelt", LLMCategoryPath: "Wine > Red Wine > Zweigelt",
		LLMTastingNoteFlavors: []string{"cherry", "pepper"}, LLMArtworkCredit: "J. Huber", LLMWineDesignation: "reserve",
		LLMBeerIBU: "40-45", LLMBeerHopsVarieties: []string{"Citra"}, LLMLiquorAgedYears: cola.Some(12),
		LLMLiquorFinishing: "sherry cask", LLMLiquorGrains: []string{"rye", "corn"},
		BarcodeType: "UPC-A", BarcodeValue: "036000291452", QRCodeURL: "https://example.com/wine",
		Images: []cola.Image{
			{
				TTBImageID: "09079001000202-2", ImageIndex: 1, ContainerPosition: "back", ExtensionType: "jpg",
				WidthPixels: cola.Some(900), HeightPixels: cola.Some(1200), WidthInches: cola.Some(3.0),
				HeightInches: cola.Some(4.25), FileSizeMB: cola.Some(0.42), BarcodeCount: cola.Some(1),
				QRCodeCount: cola.Some(0), ImageURL: "https://example.com/images/2",
			},
			{TTBImageID: "09079001000202-1", ContainerPosition: "front", ImageURL: "https://example.com/images/1"},
			{TTBImageID: "09079001000202-3", ImageIndex: 2},
		},
		Barcodes: []cola.Barcode{
			{
				BarcodeType: "EAN-13", BarcodeValue: "4006381333931", TTBImageID: "09079001000202-2", WidthPixels: cola.Some(210),
				HeightPixels: cola.Some(90), Orientation: "horizontal", RelativeImagePosition: "bottom right",
			},
			{BarcodeValue: "036000291452"},
		},
	}
	c.Derive()
	return c
}

// whole returns a patch that carries every field of the label.
func whole(c cola.Cola) cola.Patch[cola.Cola] { return allOf(c) }

func wholePermittee(p cola.Permittee) cola.Patch[cola.Permittee] { return allOf(p) }

func allOf[T any](record T) cola.Patch[T] {
	p := cola.Patch[T]{Record: record}
	for i := range cola.FieldsOf[T]() {
		p.Fields = p.Fields.With(i)
	}
	return p
}

// only returns a patch that carries the named fields of the record.
func only[T any](record T, fields ...string) cola.Patch[T] {
	p := cola.Patch[T]{Record: record}
	for _, name := range fields {
		p.Fields = p.Fields.With(cola.FieldIndex[T](name))
	}
	return p
}

func wholes(labels ...cola.Cola) []cola.Patch[cola.Cola] {
	patches := make([]cola.Patch[cola.Cola], len(labels))
	for i, c := range labels {
		patches[i] = whole(c)
	}
	return patches
}

// mustUpsert keeps patches and holds the outcomes to what is expected.
func mustUpsert(t tb, st store.Store, want []store.Outcome, patches ...cola.Patch[cola.Cola]) {
	t.Helper()
	got, err := st.UpsertColas(context.Background(), patches, store.Commit)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "outcomes", want, got)
}

// mustKeep keeps labels that are new.
func mustKeep(t tb, st store.Store, labels ...cola.Cola) {
	t.Helper()
	want := make([]store.Outcome, len(labels))
	for i := range want {
		want[i] = store.Added
	}
	mustUpsert(t, st, want, wholes(labels...)...)
}

func mustCola(t tb, st store.Store, id cola.TTBID) cola.Cola {
	t.Helper()
	c, err := st.Cola(context.Background(), id)
	return must(t, c, err)
}

func mustRevision(t tb, st store.Store) cola.Revision {
	t.Helper()
	rev, err := st.Revision(context.Background())
	return must(t, rev, err)
}

// permittees returns all permittees by number.
func permittees(t tb, st store.Store) map[string]cola.Permittee {
	t.Helper()
	all := map[string]cola.Permittee{}
	_, err := st.PermitteesSince(context.Background(), 0, func(p *cola.Permittee) error {
		all[p.PermitNumber] = *p
		return nil
	})
	return must(t, all, err)
}

// indexRecords returns what changed after a revision, by id, and the revision that brings it up to.
func indexRecords(t tb, st store.Store, after cola.Revision) (map[cola.TTBID]cola.IndexRecord, cola.Revision) {
	t.Helper()
	all := map[cola.TTBID]cola.IndexRecord{}
	rev, err := st.ColasSince(context.Background(), after, func(r *cola.IndexRecord) error {
		if _, twice := all[r.Summary.TTBID]; twice {
			return fmt.Errorf("label %s was given twice", r.Summary.TTBID)
		}
		all[r.Summary.TTBID] = cloneRecord(r)
		return nil
	})
	return all, must(t, rev, err)
}

// cloneRecord copies a record that is only valid during a call. A label without barcodes has a nil list.
func cloneRecord(r *cola.IndexRecord) cola.IndexRecord {
	c := *r
	c.Barcodes = append([]cola.IndexBarcode(nil), r.Barcodes...)
	return c
}
