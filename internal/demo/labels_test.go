package demo

import (
	"slices"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var testDay = cola.NewDate(2026, 11, 20)

// ordinary contains the options that most tests use.
var ordinary = Options{Colas: DefaultColas, Seed: 1, AsOf: testDay}

func TestLabels(t *testing.T) {
	n := 0
	for c := range Labels(ordinary) {
		n++
		if err := cola.CheckNew(c); err != nil {
			t.Fatalf("%s: %v", c.TTBID, err)
		}
		if err := cola.CheckCola(c); err != nil {
			t.Fatalf("%s: %v", c.TTBID, err)
		}
		if kind, ok := vocabulary.ProductTypeOfClass(string(c.ClassID)); !ok || kind != c.ProductType {
			t.Fatalf("%s: class %s belongs to %q, the label to %q", c.TTBID, c.ClassID, kind, c.ProductType)
		}
		if c.ClassName == "" || c.OriginName == "" {
			t.Fatalf("%s: class %q %q, origin %q %q", c.TTBID, c.ClassID, c.ClassName, c.OriginID, c.OriginName)
		}
		if vocabulary.PermitteeTypeOf(c.PermitNumber) == "" {
			t.Fatalf("%s: permit %q has an unknown kind", c.TTBID, c.PermitNumber)
		}
		derived := *c
		derived.Derive()
		if !cmp.Equal(derived, *c) {
			t.Fatalf("%s: derived fields are wrong: %s", c.TTBID, cmp.Diff(*c, derived))
		}
	}
	if n != ordinary.Colas {
		t.Fatalf("%d labels, want %d", n, ordinary.Colas)
	}
}

func TestIDs(t *testing.T) {
	const n = 200_000
	seen := make(map[cola.TTBID]bool, n)
	var last cola.TTBID
	for c := range Labels(Options{Colas: n, Seed: 9, AsOf: testDay}) {
		if seen[c.TTBID] || c.TTBID <= last {
			t.Fatalf("%s follows %s, want unique ascending IDs", c.TTBID, last)
		}
		seen[c.TTBID], last = true, c.TTBID
		id := c.TTBID.String()
		day := c.ApplicationDate.Time()
		if want := padded(day.Year()%100, 2) + padded(day.YearDay(), 3) + "001"; id[:8] != want {
			t.Fatalf("%s was received on %s; want an ID that starts with %s", id, c.ApplicationDate, want)
		}
		if c.IsResubmission.V != (c.ForResubmissionTTBID != 0) {
			t.Fatalf("%s: resubmission %v of %q", id, c.IsResubmission, c.ForResubmissionTTBID)
		}
		if c.ForResubmissionTTBID != 0 && (!seen[c.ForResubmissionTTBID] || c.ForResubmissionTTBID == c.TTBID) {
			t.Fatalf("%s is a resubmission of %s, which is not an earlier label", id, c.ForResubmissionTTBID)
		}
	}
	if len(seen) != n {
		t.Fatalf("%d labels, want %d", len(seen), n)
	}
}

func TestResubmissionChains(t *testing.T) {
	byID := map[cola.TTBID]*cola.Cola{}
	longest := 0
	for c := range Labels(ordinary) {
		byID[c.TTBID] = c
		length := 0
		for at := c; at.ForResubmissionTTBID != 0; length++ {
			before := byID[at.ForResubmissionTTBID]
			if before.BrandName != at.BrandName || before.PermitNumber != at.PermitNumber ||
				before.ProductName != at.ProductName {
				t.Fatalf("%s (%s, %s) resubmits %s (%s, %s)",
					at.TTBID, at.BrandName, at.PermitNumber, before.TTBID, before.BrandName, before.PermitNumber)
			}
			at = before
		}
		longest = max(longest, length)
	}
	if longest < 2 {
		t.Errorf("longest chain has %d resubmissions, want at least 2", longest)
	}
}

func TestDates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{
			Colas: rapid.IntRange(0, 300).Draw(t, "colas"),
			Seed:  rapid.Uint64().Draw(t, "seed"),
			AsOf:  cola.NewDate(2006, 1, 1).AddDays(rapid.IntRange(0, 34_000).Draw(t, "day")),
		}
		n, recent := 0, 0
		for c := range Labels(o) {
			n++
			for _, d := range []cola.Date{c.ApplicationDate, c.ApprovalDate, c.ExpirationDate, c.LatestUpdateDate} {
				if d > o.AsOf || d != 0 && d < firstReceipt {
					t.Fatalf("%s has the date %s, want %s to %s", c.TTBID, d, firstReceipt, o.AsOf)
				}
			}
			if c.ApprovalDate != 0 && (c.ApprovalDate < c.ApplicationDate || c.LatestUpdateDate < c.ApprovalDate) {
				t.Fatalf("%s: applied %s, approved %s, updated %s",
					c.TTBID, c.ApplicationDate, c.ApprovalDate, c.LatestUpdateDate)
			}
			if (c.ApplicationStatus == vocabulary.StatusExpired) != (c.ExpirationDate != 0) {
				t.Fatalf("%s: status %s, expiration %q", c.TTBID, c.ApplicationStatus, c.ExpirationDate)
			}
			if c.WineVintageYear.OK && c.WineVintageYear.V > yearOf(c.ApplicationDate) {
				t.Fatalf("%s: vintage %d in %s", c.TTBID, c.WineVintageYear.V, c.ApplicationDate)
			}
			if c.LLMBrandEstablishedYear.OK && c.LLMBrandEstablishedYear.V > yearOf(c.ApplicationDate) {
				t.Fatalf("%s: established in %d, application received on %s",
					c.TTBID, c.LLMBrandEstablishedYear.V, c.ApplicationDate)
			}
			if c.ApprovalDate >= o.AsOf-365 {
				recent++
			}
		}
		if n != o.Colas {
			t.Fatalf("%d labels, want %d", n, o.Colas)
		}
		if n > 0 && recent == 0 {
			t.Fatalf("none of %d labels was approved in the year before %s", n, o.AsOf)
		}
	})
}

func TestBarcodes(t *testing.T) {
	carriers := map[string]int{}
	kinds := map[cola.Text]int{}
	lengths := map[cola.Text]int{upcA: 12, ean13: 13, ean8: 8, upcE: 8}
	for c := range Labels(ordinary) {
		if c.BarcodeValue != "" {
			if len(c.BarcodeValue) != lengths[c.BarcodeType] {
				t.Fatalf("%s: %s %s has the wrong length", c.TTBID, c.BarcodeType, c.BarcodeValue)
			}
			carriers[string(c.BarcodeValue)]++
			kinds[c.BarcodeType]++
			if !vocabulary.ValidGTIN(string(c.BarcodeValue)) {
				t.Fatalf("%s: %s %s has a wrong check digit", c.TTBID, c.BarcodeType, c.BarcodeValue)
			}
		}
		for _, b := range c.Barcodes {
			at := slices.IndexFunc(c.Images,
				func(img cola.Image) bool { return img.TTBImageID == string(b.TTBImageID) })
			if at < 0 {
				t.Fatalf("%s: barcode of unknown image %q", c.TTBID, b.TTBImageID)
			}
			img := c.Images[at]
			if img.BarcodeCount.V != 1 || b.WidthPixels.V > img.WidthPixels.V ||
				b.HeightPixels.V > img.HeightPixels.V || b.WidthPixels.V <= 0 || b.HeightPixels.V <= 0 {
				t.Fatalf("%s: barcode of %d by %d pixels on image %+v", c.TTBID, b.WidthPixels.V, b.HeightPixels.V, img)
			}
		}
	}
	for kind := range lengths {
		if kinds[kind] == 0 {
			t.Errorf("no barcode of type %s", kind)
		}
	}
	shared, widest := 0, 0
	for _, n := range carriers {
		widest = max(widest, n)
		if n > 1 {
			shared++
		}
	}
	if shared*10 < len(carriers)*3 || widest < 4 {
		t.Errorf("%d of %d barcodes are shared, one by %d labels; want at least 30%%, and one by at least 4 labels",
			shared, len(carriers), widest)
	}
}

func TestUPCE(t *testing.T) {
	for company := range 90 {
		c := upceCode(company, company*37)
		if numbers := vocabulary.GTINs(c.value); len(c.value) != 8 || len(numbers) != 2 {
			t.Errorf("%q does not expand to a UPC-A number: %v", c.value, numbers)
		}
	}
}

func TestImages(t *testing.T) {
	positions := map[cola.Text]int{}
	most := 0
	for c := range Labels(ordinary) {
		if len(c.Images) == 0 {
			continue
		}
		most = max(most, len(c.Images))
		codes := 0
		for i, img := range c.Images {
			positions[img.ContainerPosition]++
			if want := c.TTBID.String() + "-" + string(rune('1'+i)); img.TTBImageID != want || img.ImageIndex != i ||
				string(img.ImageURL) != "/images/"+want {
				t.Fatalf("image %d = %+v, want ID %s", i, img, want)
			}
			dpi := float64(img.WidthPixels.V) / img.WidthInches.V
			if got := float64(img.HeightPixels.V) / img.HeightInches.V; got-dpi > 1e-6 || dpi-got > 1e-6 ||
				dpi < 99.99 || dpi > 300.01 {
				t.Fatalf("%s: %d by %d pixels, %v by %v inches",
					img.TTBImageID, img.WidthPixels.V, img.HeightPixels.V, img.WidthInches.V, img.HeightInches.V)
			}
			if img.FileSizeMB.V <= 0 || img.FileSizeMB.V > 20 {
				t.Fatalf("%s: file size %v MB, want up to 20", img.TTBImageID, img.FileSizeMB.V)
			}
			codes += img.QRCodeCount.V
		}
		if (c.QRCodeURL != "") != (codes == 1) {
			t.Fatalf("%s: QR code %q, %d in its images", c.TTBID, c.QRCodeURL, codes)
		}
	}
	for _, p := range cola.ContainerPositions() {
		if positions[cola.Text(p)] == 0 {
			t.Errorf("no image with position %s", p)
		}
	}
	if most != 5 && most != 4 {
		t.Errorf("the label with the most images has %d, want 4 or 5", most)
	}
}
