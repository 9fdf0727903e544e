package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// Sample returns the nth sample label. The same n always returns the same label. Samples are about
// as large as real labels: each has two images and a barcode. Together, they have up to 150,000
// permittees, a few of which hold most of the labels.
func Sample(n int) cola.Patch[cola.Cola] {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	c := cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID:             SampleID(n),
		BrandName:         fmt.Sprintf("BRAND OF OAK CREEK %d", r.IntN(50_000)),
		ProductName:       cola.Text(fmt.Sprintf("ESTATE RESERVE %d", r.IntN(1_000_000))),
		ProductType:       vocabulary.Wine,
		ClassName:         "TABLE RED WINE",
		OriginName:        "CALIFORNIA",
		PermitNumber:      fmt.Sprintf("BWN-CA-%d", int(150_000*r.Float64()*r.Float64()*r.Float64())),
		ApplicationStatus: vocabulary.StatusApproved,
		ApprovalDate:      cola.Date(732_000 + n%7_000),
	}}
	c.ApplicationType, c.ApplicationDate, c.LatestUpdateDate = "LABEL APPROVAL", c.ApprovalDate-20, c.ApprovalDate+400
	c.DateEstimate = estimateOf(&c)
	c.ClassID, c.OriginID, c.DomesticOrImported = "80", "1B", vocabulary.Domestic
	c.IsDistinctiveContainer, c.IsResubmission = cola.Some(false), cola.Some(false)
	c.AddressRecipient, c.AddressZipCode, c.AddressState = cola.Text(c.PermitNumber+" CELLARS LLC"), "94558", "CA"
	c.GrapeVarietals = []string{"Cabernet Sauvignon", "Merlot"}
	c.WineVintageYear = cola.Some(2019)
	c.WineAppellation = "NAPA VALLEY"
	c.ABV, c.Volume, c.VolumeUnit = cola.Some(13.5), cola.Some(750.0), "milliliters"
	c.LLMContainerType = "bottle"
	if n%8 != 0 { // the other samples have the category of their class
		c.LLMCategoryPath = "Wine > Red Wine > Cabernet Sauvignon"
	}
	c.LLMProductDescription = "A full-bodied red wine with notes of black cherry, cedar and vanilla, aged in French oak for eighteen months."
	c.LLMTastingNoteFlavors = []string{"black cherry", "cedar", "vanilla"}
	for i, position := range []cola.Text{"front", "back"} {
		id := fmt.Sprintf("%s-%d", c.TTBID, i+1)
		c.Images = append(c.Images, cola.Image{
			TTBImageID:        id,
			ImageIndex:        i,
			ContainerPosition: position,
			FileName:          position + " label.jpg",
			ExtensionType:     "jpg",
			WidthPixels:       cola.Some(900),
			HeightPixels:      cola.Some(1200),
			WidthInches:       cola.Some(3.0),
			HeightInches:      cola.Some(4.0),
			FileSizeMB:        cola.Some(0.42),
			BarcodeCount:      cola.Some(i),
			QRCodeCount:       cola.Some(0),
			ImageURL:          cola.Text("/images/" + id),
		})
	}
	c.Barcodes = []cola.Barcode{{
		BarcodeType:           "UPC-A",
		BarcodeValue:          fmt.Sprintf("%012d", n),
		TTBImageID:            cola.Text(c.Images[1].TTBImageID),
		WidthPixels:           cola.Some(210),
		HeightPixels:          cola.Some(90),
		Orientation:           "horizontal",
		RelativeImagePosition: "bottom right",
	}}
	return patchOf(c)
}

// estimateOf returns the estimated approval date of a label without known processing times.
func estimateOf(c *cola.Cola) cola.Date {
	return cola.EstimateApproval(c.TTBID, c.LatestUpdateDate, cola.DateOf(epoch),
		func(cola.Date) int { return cola.DefaultProcessingDays })
}

// SampleID returns the ID of the nth sample.
func SampleID(n int) cola.TTBID { return cola.TTBID(11_001_001_000_000 + n*7) }

// Samples returns n consecutive samples.
func Samples(from, n int) []cola.Patch[cola.Cola] {
	patches := make([]cola.Patch[cola.Cola], n)
	for i := range patches {
		patches[i] = Sample(from + i)
	}
	return patches
}

// CheckSamples checks that the store contains the first samples, without gaps, and returns how many
// there are.
func CheckSamples(t testing.TB, st store.Store) (stored int) {
	t.Helper()
	byPermit := permittees(t, st)
	_, err := st.ColasSince(t.Context(), 0, func(r *cola.IndexRecord) error {
		want := Sample(stored).Record
		want.Derive()
		record := want.IndexRecord()
		if diff := cmp.Diff(&record, r); diff != "" {
			return fmt.Errorf("sample %d (-want +got):\n%s", stored, diff)
		}
		if _, ok := byPermit[r.Summary.PermitNumber]; !ok {
			return fmt.Errorf("sample %d has no permittee", stored)
		}
		stored++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := max(0, stored-100); n < stored; n++ { // the last ones, with images and barcodes
		want := Sample(n).Record
		want.Derive()
		got, err := st.Cola(t.Context(), want.TTBID)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("Cola(sample %d) error = %v (-want +got):\n%s", n, err, diff)
		}
	}
	return stored
}

// LegacyNulls returns statements that change stored labels to the form written by versions without
// derived values, with NULL in fields that are never null in responses.
func LegacyNulls() []string {
	return []string{
		"UPDATE colas SET image_count = NULL",
		"UPDATE cola_images SET container_position = NULL, extension_type = NULL",
		"UPDATE cola_barcodes SET barcode_type = NULL, ttb_image_id = NULL",
	}
}

// CheckLegacyNulls checks that a label changed by LegacyNulls is read without nulls and that
// storing it again completes its rows.
func CheckLegacyNulls(t *testing.T, st store.Store, patch cola.Patch[cola.Cola]) {
	t.Helper()
	id := patch.Record.TTBID
	c := mustCola(t, st, id)
	if c.ImageCount != len(patch.Record.Images) || c.Images[0].ContainerPosition != "other" ||
		c.Images[0].ExtensionType == "" {
		t.Errorf("Cola = %d images %+v, want %d with position \"other\" and an extension", c.ImageCount, c.Images,
			len(patch.Record.Images))
	}
	if b := c.Barcodes[0]; b.BarcodeType != "UPC-A" || b.TTBImageID != cola.Text(c.Images[1].TTBImageID) {
		t.Errorf("Cola barcode = %+v, want UPC-A with an image ID", b)
	}
	records, _ := indexRecords(t, st, 0)
	if r := records[id]; r.Summary.ImageCount != 0 || r.Barcodes[0].Type == "" {
		t.Errorf("index record = %+v, want no images and a barcode type", r)
	}
	mustUpsert(t, st, []store.Outcome{store.Changed}, patch)
	want := patch.Record
	want.Derive()
	checkEqual(t, "Cola after storing the label again", want, mustCola(t, st, id))
}

// firstID is the ID of label(0). It begins with a zero, like IDs from 2005 to 2009. It encodes no
// valid receipt date, so labels are undated unless they have an approval date.
const firstID cola.TTBID = 9400001000202

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

// fullLabel returns a label with all fields set.
func fullLabel() cola.Cola {
	date := func(s string) cola.Date { d, _ := cola.ParseDate(s); return d }
	c := cola.Cola{
		ColaSummary: cola.ColaSummary{
			TTBID:             firstID,
			BrandName:         "LENZ MOSER",
			ProductName:       "PRESTIGE",
			ProductType:       vocabulary.Wine,
			ClassName:         "TABLE RED WINE",
			OriginName:        "AUSTRIA",
			PermitNumber:      "NJ-I-721",
			ApplicationStatus: "surrendered",
			ApprovalDate:      date("2011-03-18"),
		},
		ApplicationType:         "LABEL APPROVAL",
		ApplicationDate:         date("2011-02-23"),
		ExpirationDate:          date("2025-10-23"),
		LatestUpdateDate:        date("2025-07-16"),
		ClassID:                 "80",
		OriginID:                "64",
		DomesticOrImported:      vocabulary.Imported,
		IsDistinctiveContainer:  cola.Some(true),
		ForDistinctiveCapacity:  "750 MILLILITERS",
		IsResubmission:          cola.Some(true),
		ForResubmissionTTBID:    11024001000092,
		ForExemptionState:       "NJ",
		AddressRecipient:        "NIEDERHOFF IMPORTS INC",
		AddressZipCode:          "07927",
		AddressState:            "NJ",
		TradeName:               "NIEDERHOFF WINES",
		SerialNumber:            "11NI11",
		Formula:                 "1007041",
		Qualifications:          "First condition.\nSecond condition.",
		GrapeVarietals:          []string{"Zweigelt", "Blaufränkisch"},
		WineVintageYear:         cola.Some(2009),
		WineAppellation:         "BURGENLAND",
		ABV:                     cola.Some(12.5),
		Volume:                  cola.Some(750.0),
		VolumeUnit:              "milliliters",
		LLMContainerType:        "bottle",
		LLMProductDescription:   "A dry red wine.",
		LLMBrandEstablishedYear: cola.Some(1849),
		LLMCategory:             "Zweigelt",
		LLMCategoryPath:         "Wine > Red Wine > Zweigelt",
		LLMTastingNoteFlavors:   []string{"cherry", "pepper"},
		LLMArtworkCredit:        "J. Huber",
		LLMWineDesignation:      "reserve",
		LLMBeerIBU:              "40-45",
		LLMBeerHopsVarieties:    []string{"Citra"},
		LLMLiquorAgedYears:      cola.Some(12),
		LLMLiquorFinishing:      "sherry cask",
		LLMLiquorGrains:         []string{"rye", "corn"},
		BarcodeType:             "UPC-A",
		BarcodeValue:            "036000291452",
		QRCodeURL:               "https://example.com/wine",
		Images: []cola.Image{
			{
				TTBImageID:        "09400001000202-2",
				ImageIndex:        1,
				ContainerPosition: "back",
				ExtensionType:     "jpg",
				WidthPixels:       cola.Some(900),
				HeightPixels:      cola.Some(1200),
				WidthInches:       cola.Some(3.0),
				HeightInches:      cola.Some(4.25),
				FileSizeMB:        cola.Some(0.42),
				BarcodeCount:      cola.Some(1),
				QRCodeCount:       cola.Some(0),
				ImageURL:          "https://example.com/images/2",
			},
			{TTBImageID: "09400001000202-1", ContainerPosition: "front", ImageURL: "https://example.com/images/1"},
			{TTBImageID: "09400001000202-3", ImageIndex: 2},
		},
		Barcodes: []cola.Barcode{
			{
				BarcodeType:           "EAN-13",
				BarcodeValue:          "4006381333931",
				TTBImageID:            "09400001000202-2",
				WidthPixels:           cola.Some(210),
				HeightPixels:          cola.Some(90),
				Orientation:           "horizontal",
				RelativeImagePosition: "bottom right",
			},
			{BarcodeValue: "036000291452"},
		},
	}
	c.Derive()
	return c
}

// patchOf returns a patch with all fields of a label.
func patchOf(c cola.Cola) cola.Patch[cola.Cola] { return allOf(c) }

func permitteePatch(p cola.Permittee) cola.Patch[cola.Permittee] { return allOf(p) }

func allOf[T any](record T) cola.Patch[T] {
	p := cola.Patch[T]{Record: record}
	for i := range cola.FieldsOf[T]() {
		p.Fields = p.Fields.With(i)
	}
	return p
}

// only returns a patch with the named fields of a record.
func only[T any](record T, fields ...string) cola.Patch[T] {
	p := cola.Patch[T]{Record: record}
	for _, name := range fields {
		p.Fields = p.Fields.With(cola.FieldIndex[T](name))
	}
	return p
}

func patchesOf(labels ...cola.Cola) []cola.Patch[cola.Cola] {
	patches := make([]cola.Patch[cola.Cola], len(labels))
	for i, c := range labels {
		patches[i] = patchOf(c)
	}
	return patches
}

// mustUpsert writes patches and checks their outcomes.
func mustUpsert(t tb, st store.Store, want []store.Outcome, patches ...cola.Patch[cola.Cola]) {
	t.Helper()
	got, err := st.UpsertColas(context.Background(), patches, store.Commit)
	if err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "UpsertColas outcomes", want, got)
}

// mustAddColas adds new labels.
func mustAddColas(t tb, st store.Store, labels ...cola.Cola) {
	t.Helper()
	want := make([]store.Outcome, len(labels))
	for i := range want {
		want[i] = store.Added
	}
	mustUpsert(t, st, want, patchesOf(labels...)...)
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

// permittees returns all permittees by permit number.
func permittees(t tb, st store.Store) map[string]cola.Permittee {
	t.Helper()
	all := map[string]cola.Permittee{}
	_, err := st.PermitteesSince(context.Background(), 0, func(p *cola.Permittee) error {
		all[p.PermitNumber] = *p
		return nil
	})
	return must(t, all, err)
}

// indexRecords returns the changes after a revision, by ID, and the revision they lead to.
func indexRecords(t tb, st store.Store, after cola.Revision) (map[cola.TTBID]cola.IndexRecord, cola.Revision) {
	t.Helper()
	all := map[cola.TTBID]cola.IndexRecord{}
	rev, err := st.ColasSince(context.Background(), after, func(r *cola.IndexRecord) error {
		if _, twice := all[r.Summary.TTBID]; twice {
			return fmt.Errorf("label %s reported twice", r.Summary.TTBID)
		}
		all[r.Summary.TTBID] = cloneRecord(r)
		return nil
	})
	return all, must(t, rev, err)
}

// cloneRecord copies a record that is only valid during a callback. A label without barcodes gets a
// nil list.
func cloneRecord(r *cola.IndexRecord) cola.IndexRecord {
	c := *r
	c.Barcodes = append([]cola.IndexBarcode(nil), r.Barcodes...)
	return c
}
