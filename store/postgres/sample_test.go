package postgres

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// samplePatch returns the n-th of as many labels as are wanted, about as large as real ones: two images and a barcode each,
// and 150,000 permittees, few of which have most of the labels.
func samplePatch(n int) cola.Patch[cola.Cola] {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	c := cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: samplePatchID(n), BrandName: fmt.Sprintf("BRAND OF OAK CREEK %d", r.IntN(50_000)),
		ProductName: cola.Text(fmt.Sprintf("ESTATE RESERVE %d", r.IntN(1_000_000))), ProductType: cola.Wine,
		ClassName: "TABLE RED WINE", OriginName: "CALIFORNIA", PermitNumber: fmt.Sprintf("BWN-CA-%d", int(150_000*r.Float64()*r.Float64()*r.Float64())),
		ApplicationStatus: cola.StatusApproved, ApprovalDate: cola.Date(732_000 + n%7_000),
	}}
	c.ApplicationType, c.ApplicationDate, c.LatestUpdateDate = "LABEL APPROVAL", c.ApprovalDate-20, c.ApprovalDate+400
	c.ClassID, c.OriginID, c.DomesticOrImported = "80", "1B", cola.Domestic
	c.IsDistinctiveContainer, c.IsResubmission = cola.Some(false), cola.Some(false)
	c.AddressRecipient, c.AddressZipCode, c.AddressState = cola.Text(c.PermitNumber+" CELLARS LLC"), "94558", "CA"
	c.GrapeVarietals, c.WineVintageYear, c.WineAppellation = []string{"Cabernet Sauvignon", "Merlot"}, cola.Some(2019), "NAPA VALLEY"
	c.ABV, c.Volume, c.VolumeUnit = cola.Some(13.5), cola.Some(750.0), "milliliters"
	c.LLMContainerType, c.LLMCategoryPath = "bottle", "Wine > Red Wine > Cabernet Sauvignon"
	c.LLMProductDescription = "A full-bodied red wine with notes of black cherry, cedar and vanilla, aged in French oak for eighteen months."
	c.LLMTastingNoteFlavors = []string{"black cherry", "cedar", "vanilla"}
	for i, position := range []cola.Text{"front", "back"} {
		id := fmt.Sprintf("%s-%d", c.TTBID, i+1)
		c.Images = append(c.Images, cola.Image{TTBImageID: id, ImageIndex: i, ContainerPosition: position, ExtensionType: "jpg",
			WidthPixels: cola.Some(900), HeightPixels: cola.Some(1200), WidthInches: cola.Some(3.0), HeightInches: cola.Some(4.0),
			FileSizeMB: cola.Some(0.42), BarcodeCount: cola.Some(i), QRCodeCount: cola.Some(0), ImageURL: cola.Text("/images/" + id)})
	}
	c.Barcodes = []cola.Barcode{{BarcodeType: "UPC-A", BarcodeValue: fmt.Sprintf("%012d", n), TTBImageID: cola.Text(c.Images[1].TTBImageID),
		WidthPixels: cola.Some(210), HeightPixels: cola.Some(90), Orientation: "horizontal", RelativeImagePosition: "bottom right"}}
	p := cola.Patch[cola.Cola]{Record: c}
	for i := range cola.FieldsOf[cola.Cola]() {
		p.Fields = p.Fields.With(i)
	}
	return p
}

func samplePatches(from, n int) []cola.Patch[cola.Cola] {
	patches := make([]cola.Patch[cola.Cola], n)
	for i := range patches {
		patches[i] = samplePatch(from + i)
	}
	return patches
}

// childImport imports labels until it is killed, saying after each call how many there are.
func childImport(ctx context.Context, s *Store, out io.Writer) error {
	const batch = 500
	for n := 0; ; n += batch {
		if _, err := s.UpsertColas(ctx, samplePatches(n, batch), store.Commit); err != nil {
			return err
		}
		fmt.Fprintf(out, "kept %d\n", n+batch)
	}
}

func samplePatchID(n int) cola.TTBID { return cola.TTBID(11_001_001_000_000 + n*7) }
