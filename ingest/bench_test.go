package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// discardStore accepts labels and discards them.
type discardStore struct{ Target }

func (discardStore) UpsertColas(_ context.Context, patches []cola.Patch[cola.Cola], _ store.Mode) ([]store.Outcome, error) {
	return make([]store.Outcome, len(patches)), nil
}

func (discardStore) RecordImport(context.Context, cola.Import) error { return nil }

func (discardStore) HasColas(context.Context) (bool, error) { return true, nil }

func (discardStore) Cola(context.Context, cola.TTBID) (cola.Cola, error) { return cola.Cola{}, nil }

// fullLabel returns a wine label with images and a barcode, about 2.5 KB of JSON.
func fullLabel(n int) cola.Cola {
	c := cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: cola.TTBID(24001001000000 + n), BrandName: "CHÂTEAU D'OAK CREEK", ProductName: "RÉSERVE SPÉCIALE",
		ProductType: vocabulary.Wine, ClassName: "TABLE RED WINE", OriginName: "FRANCE", PermitNumber: "NJ-I-721",
		ApplicationStatus: vocabulary.StatusApproved, ApprovalDate: cola.NewDate(2024, 2, 1),
	}}
	c.ApplicationType, c.ApplicationDate, c.ClassID, c.OriginID = "LABEL APPROVAL", cola.NewDate(2024, 1, 1), "80", "51"
	c.DomesticOrImported, c.AddressRecipient, c.AddressState, c.AddressZipCode = vocabulary.Imported, "NIEDERHOFF IMPORTS", "NJ", "07927"
	c.GrapeVarietals, c.WineVintageYear, c.WineAppellation = []string{"Merlot", "Syrah"}, cola.Some(2019), "BORDEAUX"
	c.ABV, c.Volume, c.VolumeUnit = cola.Some(13.5), cola.Some(750.0), "milliliters"
	c.LLMContainerType, c.LLMCategoryPath, c.LLMTastingNoteFlavors = "bottle", "Wine > Red Wine > Blend", []string{"cherry", "oak"}
	c.LLMProductDescription = "A dry red wine, aged for eighteen months in oak.\nServe at room temperature."
	for i, at := range []cola.Text{"front", "back"} {
		id := fmt.Sprintf("%s-%d", c.TTBID, i+1)
		c.Images = append(c.Images, cola.Image{
			TTBImageID: id, ImageIndex: i, ContainerPosition: at, ExtensionType: "jpg", WidthPixels: cola.Some(900),
			HeightPixels: cola.Some(1200), WidthInches: cola.Some(3.0), HeightInches: cola.Some(4.0), FileSizeMB: cola.Some(0.42),
			BarcodeCount: cola.Some(i), QRCodeCount: cola.Some(0), ImageURL: cola.Text("/images/" + id),
		})
	}
	c.Barcodes = []cola.Barcode{{
		BarcodeType: "UPC-A", BarcodeValue: "036000291452", TTBImageID: cola.Text(c.Images[1].TTBImageID),
		WidthPixels: cola.Some(210), HeightPixels: cola.Some(90), Orientation: "horizontal", RelativeImagePosition: "bottom right",
	}}
	c.Derive()
	return c
}

func labelLines(tb testing.TB, n int) []byte {
	tb.Helper()
	var b bytes.Buffer
	for i := range n {
		line, err := json.Marshal(fullLabel(i))
		if err != nil {
			tb.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

// BenchmarkImport measures an import without the store: splitting, decoding and checking, for JSON
// lines and for one JSON array.
func BenchmarkImport(b *testing.B) {
	lines := labelLines(b, 5000)
	array := append([]byte{'['}, bytes.ReplaceAll(bytes.TrimSpace(lines), []byte{'\n'}, []byte{',', '\n'})...)
	array = append(array, ']')
	for _, input := range []struct {
		name string
		text []byte
	}{{"lines", lines}, {"array", array}} {
		b.Run(input.name, func(b *testing.B) {
			b.SetBytes(int64(len(input.text)))
			b.ReportAllocs()
			for b.Loop() {
				source := ReaderSource("-", io.NopCloser(bytes.NewReader(input.text)))
				report, err := Import(context.Background(), discardStore{}, Colas, []Source{source}, Options{})
				if err != nil || report.Read != 5000 {
					b.Fatal(err, report.Summary())
				}
			}
			b.ReportMetric(float64(5000*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkDecode compares decoding a label with this package and with encoding/json.
func BenchmarkDecode(b *testing.B) {
	line := bytes.TrimSpace(labelLines(b, 1))
	b.Run("ingest", func(b *testing.B) {
		decode := jsonDecoder(colaSchema, finishCola)()
		b.SetBytes(int64(len(line)))
		b.ReportAllocs()
		for b.Loop() {
			var patch cola.Patch[cola.Cola]
			if problem := decode(line, &patch, notes{}); problem != "" {
				b.Fatal(problem)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.SetBytes(int64(len(line)))
		b.ReportAllocs()
		for b.Loop() {
			var c cola.Cola
			if err := json.Unmarshal(line, &c); err != nil {
				b.Fatal(err)
			}
		}
	})
}
