package cola

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// patchOf returns a patch that carries fields of a label.
func patchOf(t *testing.T, record Cola, names ...string) Patch[Cola] {
	t.Helper()
	p := Patch[Cola]{Record: record}
	for _, name := range names {
		p.Fields = p.Fields.With(mustField[Cola](t, name))
	}
	return p
}

func TestCompletePatch(t *testing.T) {
	image := Image{TTBImageID: "x-1", ContainerPosition: "back", ExtensionType: "jpg", ImageURL: "https://example.com/back"}
	noImages := func(c *Cola) {
		c.Images, c.ImageCount, c.MainImageURL = []Image{}, 0, ""
		c.HasFrontImage, c.HasBackImage, c.HasNeckImage, c.HasStripImage = Opt[bool]{}, Opt[bool]{}, Opt[bool]{}, Opt[bool]{}
	}
	for _, tt := range []struct {
		name   string
		patch  Patch[Cola]
		change func(*Cola) // what it does to the stored label
	}{
		{"nothing carried", patchOf(t, Cola{}), func(*Cola) {}},
		{"images null", patchOf(t, Cola{}, "images"), noImages},
		{"images empty", patchOf(t, Cola{Images: []Image{}}, "images"), noImages},
		{"what the patch states itself", patchOf(t, Cola{ColaSummary: ColaSummary{ImageCount: 3}, HasNeckImage: Some(true)},
			"images", "image_count", "has_neck_image"),
			func(c *Cola) { noImages(c); c.ImageCount, c.HasNeckImage = 3, Some(true) }},
		{"what the patch holds and does not carry", patchOf(t, Cola{ColaSummary: ColaSummary{ImageCount: 9}, MainImageURL: "x"}, "images"), noImages},
		{"other images", patchOf(t, Cola{Images: []Image{image}}, "images"), func(c *Cola) {
			c.Images, c.ImageCount, c.MainImageURL = []Image{image}, 1, image.ImageURL
			c.HasFrontImage, c.HasBackImage = Some(false), Some(true)
		}},
		{"image_count alone", patchOf(t, Cola{}, "image_count"), func(*Cola) {}}, // follows from the images
		{"barcode_value null, other rows", patchOf(t, Cola{Barcodes: []Barcode{{BarcodeValue: "12", BarcodeType: "EAN", TTBImageID: "11054001000049-1"}}}, "barcode_value", "barcodes"),
			func(c *Cola) {
				c.BarcodeValue, c.BarcodeType, c.Barcodes = "12", "EAN", []Barcode{{BarcodeValue: "12", BarcodeType: "EAN", TTBImageID: "11054001000049-1"}}
			}},
		{"barcode_value null, no rows", patchOf(t, Cola{}, "barcode_value", "barcodes"),
			func(c *Cola) { c.BarcodeValue, c.BarcodeType, c.HasBarcode, c.Barcodes = "", "", false, []Barcode{} }},
		{"barcode_value null, type stated", patchOf(t, Cola{BarcodeType: "ITF"}, "barcode_value", "barcodes", "barcode_type"),
			func(c *Cola) { c.BarcodeValue, c.BarcodeType, c.HasBarcode, c.Barcodes = "", "ITF", false, []Barcode{} }},
		{"another category", patchOf(t, Cola{LLMCategoryPath: "Beer > Ale > Porter"}, "llm_category_path"),
			func(c *Cola) { c.LLMCategoryPath, c.LLMCategory = "Beer > Ale > Porter", "Porter" }},
		{"no category", patchOf(t, Cola{}, "llm_category_path"), func(c *Cola) { c.LLMCategoryPath, c.LLMCategory = "", "" }},
		{"another barcode_value", patchOf(t, Cola{BarcodeValue: "12"}, "barcode_value"), func(c *Cola) { c.BarcodeValue = "12" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, want := *fullCola(), *fullCola()
			tt.change(&want)
			CompletePatch(&tt.patch)
			tt.patch.Apply(&got)
			got.Derive()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("label (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompletingTwiceIsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Patch[Cola]{Record: Cola{ColaSummary: summaryGenerator().Draw(t, "patch")}, Fields: Fields(rapid.Uint64().Draw(t, "fields"))}
		before := p.Fields
		CompletePatch(&p)
		once := p
		CompletePatch(&p)
		if diff := cmp.Diff(once, p); diff != "" || once.Fields&before != before {
			t.Fatalf("fields %b, then %b (-once +twice):\n%s", before, p.Fields, diff)
		}
	})
}
