package barcode

import (
	"bytes"
	"image"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/internal/labelart"
	"github.com/google/go-cmp/cmp"
)

func TestDescribe(t *testing.T) {
	box := image.Rect(10, 20, 110, 70)
	barcodes, qrcodes, url := Describe("a", []Code{
		{UPCA, "036000291452", box, "vertical", "bottom right"},
		{Code128, "LOT 7", box, "horizontal", "top"},
		{QR, "WIFI:S:tasting room;;", box, "horizontal", "center"},
		{QR, "https://example.com/wine", box, "horizontal", "center"},
		{QR, "https://example.com/other", box, "horizontal", "center"},
	})
	want := []cola.Barcode{
		{
			BarcodeType: "UPC-A", BarcodeValue: "036000291452", TTBImageID: "a",
			WidthPixels: cola.Some(100), HeightPixels: cola.Some(50),
			Orientation: "vertical", RelativeImagePosition: "bottom right",
		},
		{
			BarcodeType: "CODE-128", BarcodeValue: "LOT 7", TTBImageID: "a",
			WidthPixels: cola.Some(100), HeightPixels: cola.Some(50),
			Orientation: "horizontal", RelativeImagePosition: "top",
		},
	}
	if diff := cmp.Diff(want, barcodes); diff != "" {
		t.Error(diff)
	}
	if qrcodes != 3 || url != "https://example.com/wine" {
		t.Errorf("%d QR codes, URL %q", qrcodes, url)
	}
}

func TestWebAddress(t *testing.T) {
	for text, want := range map[string]cola.Text{
		"https://example.com/a?b=c#d": "https://example.com/a?b=c#d",
		"HTTP://EXAMPLE.COM":          "HTTP://EXAMPLE.COM",
		"www.example.com":             "http://www.example.com",
		"www.":                        "",
		"example.com":                 "",
		"ftp://example.com":           "",
		"javascript:alert(1)":         "",
		"https://":                    "",
		"https:///path":               "",
		"https://user:pw@example.com": "",
		"https://example.com/a b":     "",
		"http://example.com\nhttp://": "",
		"mailto:wine@example.com":     "",
		"":                            "",
	} {
		if got := webAddress(text); got != want {
			t.Errorf("webAddress(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestReadDemoLabels compares the codes read from drawn images of demo labels with the codes in
// their records.
func TestReadDemoLabels(t *testing.T) {
	count := make(map[cola.Text]int)
	for c := range demo.Labels(demo.Options{Colas: 4000, Seed: 1, AsOf: cola.NewDate(2026, 11, 1)}) {
		for i := range c.Images {
			img := &c.Images[i]
			var want []string
			for _, b := range c.Barcodes {
				if b.TTBImageID == cola.Text(img.TTBImageID) && vocabulary.ValidGTIN(b.BarcodeValue) {
					want = append(want, b.BarcodeValue)
				}
			}
			kind := cola.Text("none")
			if len(want) > 0 {
				kind = c.Barcodes[0].BarcodeType
			}
			if count[kind]++; count[kind] > 4 {
				continue
			}
			var got []string
			for _, code := range Read(drawLabel(t, c, img)) {
				got = append(got, code.Value)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s: %s", img.TTBImageID, kind, diff)
			}
		}
	}
	for _, kind := range []Type{UPCA, EAN13, UPCE} {
		if count[cola.Text(kind)] == 0 {
			t.Errorf("no demo label has a %s", kind)
		}
	}
}

func drawLabel(t *testing.T, c *cola.Cola, img *cola.Image) image.Image {
	t.Helper()
	var b bytes.Buffer
	if err := labelart.Draw(&b, labelart.FormatOf(img), c, img); err != nil {
		t.Fatal(err)
	}
	m, _, err := image.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
