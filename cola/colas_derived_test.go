package cola

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestDeriveImagesAndBarcodes checks that required fields of images and barcodes are derived from
// the record.
func TestDeriveImagesAndBarcodes(t *testing.T) {
	const id TTBID = 11054001000049
	counted := func(n int) Image { return Image{TTBImageID: "b", ExtensionType: "png", BarcodeCount: Some(n)} }
	for name, tt := range map[string]struct {
		label    Cola
		images   []Image
		barcodes []Barcode
	}{
		"position and extension": {
			label:  Cola{Images: []Image{{TTBImageID: "a", ImageURL: "https://e.example/x.JPEG?size=l"}}},
			images: []Image{{TTBImageID: "a", ImageURL: "https://e.example/x.JPEG?size=l", ContainerPosition: "other", ExtensionType: "jpeg"}},
		},
		"extension in a parameter": {
			label: Cola{Images: []Image{{TTBImageID: "a", ContainerPosition: "neck", ImageURL: "https://ttb.example/view.do?filename=front.tif&filetype=l"}}},
			images: []Image{{
				TTBImageID: "a", ContainerPosition: "neck", ExtensionType: "tif", ImageURL: "https://ttb.example/view.do?filename=front.tif&filetype=l",
			}},
		},
		"unknown extension": {
			label:  Cola{Images: []Image{{TTBImageID: "a", ImageURL: "/images/a"}, {TTBImageID: "b", ImageURL: "/b.exe"}}},
			images: []Image{{TTBImageID: "a", ImageURL: "/images/a", ContainerPosition: "other", ExtensionType: "unknown"}, {TTBImageID: "b", ImageURL: "/b.exe", ContainerPosition: "other", ExtensionType: "unknown"}},
		},
		"placeholders are replaced": {
			label: Cola{
				Images:   []Image{{TTBImageID: "a", ExtensionType: "unknown", ImageURL: "/a.png"}},
				Barcodes: []Barcode{{BarcodeValue: "036000291452", BarcodeType: "unknown", TTBImageID: Text(id.String())}},
			},
			images:   []Image{{TTBImageID: "a", ContainerPosition: "other", ExtensionType: "png", ImageURL: "/a.png"}},
			barcodes: []Barcode{{BarcodeValue: "036000291452", BarcodeType: "UPC-A", TTBImageID: "a"}},
		},
		"types by digits": {
			label: Cola{Barcodes: []Barcode{
				{BarcodeValue: "0 36000-29145 2"}, {BarcodeValue: "4006381333931"}, {BarcodeValue: "96385074"}, {BarcodeValue: "04252614"},
				{BarcodeValue: "10036000291459"}, {BarcodeValue: "QR-7"}, {BarcodeValue: "123456789"},
			}},
			barcodes: []Barcode{
				{BarcodeValue: "0 36000-29145 2", BarcodeType: "UPC-A", TTBImageID: "11054001000049"},
				{BarcodeValue: "4006381333931", BarcodeType: "EAN-13", TTBImageID: "11054001000049"},
				{BarcodeValue: "96385074", BarcodeType: "EAN-8", TTBImageID: "11054001000049"},
				{BarcodeValue: "04252614", BarcodeType: "UPC-E", TTBImageID: "11054001000049"},
				{BarcodeValue: "10036000291459", BarcodeType: "ITF-14", TTBImageID: "11054001000049"},
				{BarcodeValue: "QR-7", BarcodeType: "unknown", TTBImageID: "11054001000049"},
				{BarcodeValue: "123456789", BarcodeType: "unknown", TTBImageID: "11054001000049"},
			},
		},
		"the only image with a barcode": {
			label:    Cola{Images: []Image{{TTBImageID: "a", ContainerPosition: "front", ExtensionType: "jpg"}, counted(2)}, Barcodes: []Barcode{{BarcodeValue: "1", BarcodeType: "X"}}},
			images:   []Image{{TTBImageID: "a", ContainerPosition: "front", ExtensionType: "jpg"}, {TTBImageID: "b", ContainerPosition: "other", ExtensionType: "png", BarcodeCount: Some(2)}},
			barcodes: []Barcode{{BarcodeValue: "1", BarcodeType: "X", TTBImageID: "b"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tt.label.TTBID = id
			before := append([]Image(nil), tt.label.Images...)
			shared := tt.label.Images
			tt.label.Derive()
			if tt.images != nil && !cmp.Equal(tt.images, tt.label.Images) || tt.barcodes != nil && !cmp.Equal(tt.barcodes, tt.label.Barcodes) {
				t.Errorf("images (-want +got):\n%s\nbarcodes (-want +got):\n%s", cmp.Diff(tt.images, tt.label.Images), cmp.Diff(tt.barcodes, tt.label.Barcodes))
			}
			if !cmp.Equal(before, shared) {
				t.Error("Derive changed a shared list")
			}
		})
	}
}

// TestDerivedPartsNotNull checks that required fields of random images and barcodes are never null.
func TestDerivedPartsNotNull(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "unknown", "other", "jpg", "11054001000049", "036000291452", "/a.png", "x"})
	rapid.Check(t, func(t *rapid.T) {
		c := Cola{ColaSummary: ColaSummary{TTBID: 11054001000049}}
		for range rapid.IntRange(0, 3).Draw(t, "images") {
			c.Images = append(c.Images, Image{
				TTBImageID: "x", ContainerPosition: Text(text.Draw(t, "position")), ExtensionType: Text(text.Draw(t, "extension")), ImageURL: Text(text.Draw(t, "url")),
			})
		}
		for range rapid.IntRange(0, 3).Draw(t, "barcodes") {
			c.Barcodes = append(c.Barcodes, Barcode{BarcodeValue: text.Draw(t, "value"), BarcodeType: Text(text.Draw(t, "type")), TTBImageID: Text(text.Draw(t, "image"))})
		}
		c.Derive()
		b, err := json.Marshal(c)
		var got struct {
			ImageCount       *int `json:"image_count"`
			Images, Barcodes []map[string]any
		}
		if err != nil || json.Unmarshal(b, &got) != nil || got.ImageCount == nil {
			t.Fatalf("%s: %v", b, err)
		}
		for _, m := range got.Images {
			if m["ttb_image_id"] == nil || m["container_position"] == nil || m["extension_type"] == nil {
				t.Fatalf("image %v has a null field", m)
			}
		}
		for _, m := range got.Barcodes {
			if m["barcode_value"] == nil || m["barcode_type"] == nil || m["ttb_image_id"] == nil {
				t.Fatalf("barcode %v has a null field", m)
			}
		}
	})
}
