package cola

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

func TestDeriveFromImages(t *testing.T) {
	c := Cola{
		ColaSummary:   ColaSummary{ImageCount: 9, HasBarcode: true},
		HasStripImage: Some(true), // contradicts the images
		Images: []Image{
			{TTBImageID: "1", ContainerPosition: "back", ImageURL: "/images/1"},
			{TTBImageID: "2", ContainerPosition: "front"},
			{TTBImageID: "3", ContainerPosition: "front", ImageURL: "/images/3"},
		},
	}
	c.Derive()
	if c.ImageCount != 3 {
		t.Errorf("image_count = %v, want 3", c.ImageCount)
	}
	got := []Opt[bool]{c.HasFrontImage, c.HasBackImage, c.HasNeckImage, c.HasStripImage}
	if diff := cmp.Diff([]Opt[bool]{Some(true), Some(true), Some(false), Some(false)}, got); diff != "" {
		t.Errorf("positions (-want +got):\n%s", diff)
	}
	if c.MainImageURL != "/images/3" {
		t.Errorf("main_image_url = %q, want the first front image with a URL", c.MainImageURL)
	}
	if c.HasBarcode {
		t.Error("has_barcode = true without a barcode")
	}
}

func TestDeriveWithoutImages(t *testing.T) {
	c := Cola{ColaSummary: ColaSummary{ImageCount: 2}, HasFrontImage: Some(true), MainImageURL: "https://example.com/1"}
	c.Derive()
	if c.ImageCount != 2 || c.HasFrontImage != Some(true) || c.HasBackImage.OK || c.MainImageURL != "https://example.com/1" {
		t.Errorf("derived %v, %v, %v, %q; want 2 images, a front image and its URL", c.ImageCount, c.HasFrontImage, c.HasBackImage, c.MainImageURL)
	}
}

func TestDeriveMainImage(t *testing.T) {
	for _, tt := range []struct {
		name   string
		images []Image
		want   Text
	}{
		{"first without a front image", []Image{{ContainerPosition: "back", ImageURL: "a"}, {ImageURL: "b"}}, "a"},
		{"first with a URL", []Image{{ContainerPosition: "front"}, {ContainerPosition: "neck", ImageURL: "b"}}, "b"},
		{"no URL", []Image{{ContainerPosition: "front"}}, ""},
	} {
		c := Cola{Images: tt.images}
		c.Derive()
		if c.MainImageURL != tt.want {
			t.Errorf("%s: main_image_url = %q, want %q", tt.name, c.MainImageURL, tt.want)
		}
	}
}

func TestDeriveMainBarcode(t *testing.T) {
	rows := []Barcode{{BarcodeType: "EAN-13", BarcodeValue: "4006381333931"}, {BarcodeType: "UPC-A", BarcodeValue: "036000291452"}}
	first := Cola{Barcodes: rows}
	first.Derive()
	if first.BarcodeValue != "4006381333931" || first.BarcodeType != "EAN-13" || !first.HasBarcode {
		t.Errorf("main barcode = %q, %q, %t; want the first row's", first.BarcodeType, first.BarcodeValue, first.HasBarcode)
	}
	stated := Cola{BarcodeType: "UPC-A", BarcodeValue: "036000291452", Barcodes: rows}
	stated.Derive()
	if stated.BarcodeValue != "036000291452" || stated.BarcodeType != "UPC-A" {
		t.Errorf("main barcode = %q, %q; want the stored one", stated.BarcodeType, stated.BarcodeValue)
	}
}

func TestDeriveCategory(t *testing.T) {
	c := Cola{LLMCategoryPath: "Wine > Red Wine > Zweigelt"}
	c.Derive()
	if c.LLMCategory != "Zweigelt" {
		t.Errorf("category = %q, want the last level of its path", c.LLMCategory)
	}
	c = Cola{LLMCategoryPath: "Wine > Red Wine", LLMCategory: "Rotwein"}
	c.Derive()
	if c.LLMCategory != "Rotwein" {
		t.Errorf("category = %q, want the stored one", c.LLMCategory)
	}
}

// TestEffectiveCategory checks that a label and its index record agree on the category, and that
// Derive doesn't set a category based on the class.
func TestEffectiveCategory(t *testing.T) {
	for _, tt := range []struct{ stored, id, name, want string }{
		{"Wine > Red Wine > Zweigelt", "101", "", "Wine > Red Wine > Zweigelt"},
		{"", "101", "ALE", "Liquor > Whiskey > Bourbon > Straight Bourbon"},
		{"", "", "ALE", "Beer > Ale"},
		{"", "990", "NON ALCOHOL MIXES", ""},
		{"", "", "", ""},
	} {
		c := Cola{ClassID: Text(tt.id), LLMCategoryPath: Text(tt.stored)}
		c.ClassName = Text(tt.name)
		c.Derive()
		r := c.IndexRecord()
		if c.EffectiveCategory() != tt.want || r.EffectiveCategory() != tt.want {
			t.Errorf("%+v: EffectiveCategory = %q, %q for the index record", tt, c.EffectiveCategory(), r.EffectiveCategory())
		}
		if string(c.LLMCategoryPath) != tt.stored || (c.LLMCategory == "") != (tt.stored == "") {
			t.Errorf("%+v: Derive sets path %q, category %q", tt, c.LLMCategoryPath, c.LLMCategory)
		}
	}
}

func TestDerivedArraysNotNull(t *testing.T) {
	var c Cola
	c.Derive()
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"grape_varietals", "llm_tasting_note_flavors", "llm_beer_hops_varieties", "llm_liquor_grains", "images", "barcodes",
	} {
		if !strings.Contains(string(b), `"`+name+`":[]`) {
			t.Errorf("%s is not an empty array: %s", name, b)
		}
	}
}

func TestDeriveIdempotent(t *testing.T) {
	position := rapid.SampledFrom(append(ContainerPositions(), ""))
	rapid.Check(t, func(t *rapid.T) {
		c := Cola{
			ColaSummary:     summaryGenerator().Draw(t, "summary"),
			BarcodeValue:    Text(rapid.SampledFrom([]string{"", "036000291452"}).Draw(t, "main")),
			LLMCategoryPath: Text(rapid.SampledFrom([]string{"", "Beer", "Wine > Red Wine", " > "}).Draw(t, "path")),
		}
		for range rapid.IntRange(0, 4).Draw(t, "images") {
			c.Images = append(c.Images, Image{
				ContainerPosition: Text(position.Draw(t, "position")),
				ImageURL:          Text(rapid.SampledFrom([]string{"", "/a", "/b"}).Draw(t, "url")),
			})
		}
		for range rapid.IntRange(0, 3).Draw(t, "barcodes") {
			c.Barcodes = append(c.Barcodes, Barcode{BarcodeValue: rapid.StringMatching(`[0-9]{8,14}`).Draw(t, "value")})
		}
		c.Derive()
		once := c
		c.Derive()
		if diff := cmp.Diff(once, c); diff != "" {
			t.Fatalf("second Derive (-once +twice):\n%s", diff)
		}
	})
}

func TestIndexRecord(t *testing.T) {
	c := Cola{
		ColaSummary:        exampleSummary(),
		ApplicationDate:    NewDate(2011, 2, 23),
		DomesticOrImported: vocabulary.Imported,
		AddressRecipient:   "NIEDERHOFF IMPORTS INC", AddressState: "NJ",
		LLMContainerType: "bottle", LLMCategoryPath: "Wine > Red Wine",
		ClassID: "80", OriginID: "64", ABV: Some(12.5), Volume: Some(750.0), VolumeUnit: "milliliters",
		BarcodeType: "UPC-A", BarcodeValue: "036000291452",
		Barcodes: []Barcode{
			{BarcodeType: "UPC-A", BarcodeValue: "036000291452"},
			{BarcodeType: "EAN-13", BarcodeValue: "4006381333931"},
			{BarcodeType: "EAN-13", BarcodeValue: ""},
			{BarcodeType: "EAN-13", BarcodeValue: "4006381333931"},
		},
	}
	want := IndexRecord{
		Summary: exampleSummary(), ApplicationDate: NewDate(2011, 2, 23), ClassID: "80", OriginID: "64", DomesticOrImported: "imported",
		AddressRecipient: "NIEDERHOFF IMPORTS INC", AddressState: "NJ", ContainerType: "bottle", CategoryPath: "Wine > Red Wine",
		ABV: Some(12.5), Volume: Some(750.0), VolumeUnit: "milliliters", MainBarcode: "036000291452",
		Barcodes: []IndexBarcode{{"036000291452", "UPC-A"}, {"4006381333931", "EAN-13"}},
	}
	if diff := cmp.Diff(want, c.IndexRecord()); diff != "" {
		t.Errorf("index record (-want +got):\n%s", diff)
	}
}
