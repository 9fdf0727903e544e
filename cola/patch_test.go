package cola

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func mustField[T any](t interface{ Fatalf(string, ...any) }, name string) int {
	i := FieldIndex[T](name)
	if i < 0 {
		t.Fatalf("field %s is missing", name)
	}
	return i
}

func TestPatchPresentFields(t *testing.T) {
	stored := Cola{
		ColaSummary:    ColaSummary{TTBID: 1, BrandName: "OLD", ProductName: "KEPT", ImageCount: 2},
		GrapeVarietals: []string{"Merlot"},
		ClassID:        "80",
	}
	p := Patch[Cola]{Record: Cola{ColaSummary: ColaSummary{TTBID: 1, BrandName: "NEW", ProductName: "ignored"}, ABV: Some(12.5)}}
	for _, name := range []string{"ttb_id", "brand_name", "abv", "grape_varietals", "image_count"} {
		p.Fields = p.Fields.With(mustField[Cola](t, name))
	}
	p.Apply(&stored)
	want := Cola{ColaSummary: ColaSummary{TTBID: 1, BrandName: "NEW", ProductName: "KEPT"}, ClassID: "80", ABV: Some(12.5)}
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("patched label (-want +got):\n%s", diff)
	}
}

func TestEmptyPatch(t *testing.T) {
	c := Cola{ColaSummary: exampleSummary(), WineVintageYear: Some(2009)}
	before := c
	(&Patch[Cola]{Record: Cola{ClassID: "x"}}).Apply(&c)
	if diff := cmp.Diff(before, c); diff != "" {
		t.Errorf("empty patch changed the label (-before +after):\n%s", diff)
	}
}

func TestPatchIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Cola{ColaSummary: summaryGenerator().Draw(t, "stored")}
		p := Patch[Cola]{
			Record: Cola{ColaSummary: summaryGenerator().Draw(t, "patch"), ABV: Some(40.0)},
			Fields: Fields(rapid.Uint64().Draw(t, "fields")),
		}
		p.Apply(&c)
		once := c
		p.Apply(&c)
		if diff := cmp.Diff(once, c); diff != "" {
			t.Fatalf("second Apply (-once +twice):\n%s", diff)
		}
	})
}

func TestFieldsOfJSON(t *testing.T) {
	seen := map[string]bool{}
	for i, f := range FieldsOf[Cola]() {
		if seen[f.Name] {
			t.Errorf("duplicate field %s", f.Name)
		}
		seen[f.Name] = true
		if got := FieldIndex[Cola](f.Name); got != i {
			t.Errorf("FieldIndex(%s) = %d, want %d", f.Name, got, i)
		}
		if got := reflect.TypeFor[Cola]().FieldByIndex(f.Index); got.Type != f.Type || !strings.HasPrefix(got.Tag.Get("json"), f.Name) {
			t.Errorf("field %s has the index of %s", f.Name, got.Name)
		}
	}
	if first := FieldsOf[Cola]()[0].Name; first != "ttb_id" {
		t.Errorf("first field = %s, want ttb_id of the embedded summary", first)
	}
	for _, name := range []string{"barcodes", "volume_unit", "has_barcode"} {
		if !seen[name] {
			t.Errorf("field %s is missing", name)
		}
	}
	if i := FieldIndex[Permittee]("-"); i >= 0 {
		t.Errorf("FieldIndex(-) = %d, want -1", i)
	}
	if i := FieldIndex[Cola]("color"); i >= 0 {
		t.Errorf("FieldIndex(unknown name) = %d, want -1", i)
	}
}

func TestFields(t *testing.T) {
	f := Fields(0).With(0).With(63)
	for i := range 64 {
		if got, want := f.Has(i), i == 0 || i == 63; got != want {
			t.Errorf("Has(%d) = %t, want %t", i, got, want)
		}
	}
}

// patchOf returns a patch with the named fields of a label.
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
		change func(*Cola) // effect on the stored label
	}{
		{"empty patch", patchOf(t, Cola{}), func(*Cola) {}},
		{"images null", patchOf(t, Cola{}, "images"), noImages},
		{"images empty", patchOf(t, Cola{Images: []Image{}}, "images"), noImages},
		{"derived fields in the patch", patchOf(t, Cola{ColaSummary: ColaSummary{ImageCount: 3}, HasNeckImage: Some(true)},
			"images", "image_count", "has_neck_image"),
			func(c *Cola) { noImages(c); c.ImageCount, c.HasNeckImage = 3, Some(true) }},
		{"values without their fields", patchOf(t, Cola{ColaSummary: ColaSummary{ImageCount: 9}, MainImageURL: "x"}, "images"), noImages},
		{"other images", patchOf(t, Cola{Images: []Image{image}}, "images"), func(c *Cola) {
			c.Images, c.ImageCount, c.MainImageURL = []Image{image}, 1, image.ImageURL
			c.HasFrontImage, c.HasBackImage = Some(false), Some(true)
		}},
		{"image_count alone", patchOf(t, Cola{}, "image_count"), func(*Cola) {}}, // derived from the images
		{"barcode_value null, other rows", patchOf(t, Cola{Barcodes: []Barcode{{BarcodeValue: "12", BarcodeType: "EAN", TTBImageID: "11054001000049-1"}}}, "barcode_value", "barcodes"),
			func(c *Cola) {
				c.BarcodeValue, c.BarcodeType, c.Barcodes = "12", "EAN", []Barcode{{BarcodeValue: "12", BarcodeType: "EAN", TTBImageID: "11054001000049-1"}}
			}},
		{"barcode_value null, no rows", patchOf(t, Cola{}, "barcode_value", "barcodes"),
			func(c *Cola) { c.BarcodeValue, c.BarcodeType, c.HasBarcode, c.Barcodes = "", "", false, []Barcode{} }},
		{"barcode_value null, type given", patchOf(t, Cola{BarcodeType: "ITF"}, "barcode_value", "barcodes", "barcode_type"),
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

func TestCompletePatchIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Patch[Cola]{Record: Cola{ColaSummary: summaryGenerator().Draw(t, "patch")}, Fields: Fields(rapid.Uint64().Draw(t, "fields"))}
		before := p.Fields
		CompletePatch(&p)
		once := p
		CompletePatch(&p)
		if diff := cmp.Diff(once, p); diff != "" || once.Fields&before != before {
			t.Fatalf("second CompletePatch: fields %b, then %b (-once +twice):\n%s", before, p.Fields, diff)
		}
	})
}
