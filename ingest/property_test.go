package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// words draws normalized strings without list separators.
var words = rapid.Map(
	rapid.SliceOfN(rapid.StringMatching(`[A-ZÀ-Üa-zé0-9'"&\\/#{}\[\]:<>酒🍷.-]{1,8}`), 1, 4),
	func(parts []string) string { return strings.Join(parts, " ") },
)

func drawTexts(t *rapid.T, label string) []string {
	return rapid.SliceOfN(words, 0, 3).Draw(t, label)
}

func optional[T comparable](t *rapid.T, g *rapid.Generator[T], label string) cola.Opt[T] {
	if rapid.Bool().Draw(t, label+" known") {
		return cola.Some(g.Draw(t, label))
	}
	return cola.Opt[T]{}
}

func maybeText(t *rapid.T, label string) cola.Text {
	return cola.Text(optional(t, words, label).V)
}

// drawLabel draws a valid label.
func drawLabel(t *rapid.T, id int) cola.Cola {
	days := rapid.Int32Range(int32(cola.NewDate(1990, 1, 1)), int32(cola.NewDate(2030, 1, 1)))
	c := cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: cola.TTBID(24001001000000 + id), BrandName: words.Draw(t, "brand"), ProductName: maybeText(t, "product"),
		ProductType:       vocabulary.ProductType(rapid.SampledFrom(vocabulary.ProductTypes()).Draw(t, "type")),
		PermitNumber:      rapid.StringMatching(`[A-Z]{2}-[A-Z]-[0-9]{1,5}`).Draw(t, "permit"),
		ApplicationStatus: cola.Text(rapid.SampledFrom(append(vocabulary.Statuses(), "")).Draw(t, "status")),
		ApprovalDate:      cola.Date(optional(t, days, "approval").V), ImageCount: rapid.IntRange(0, 9).Draw(t, "images"),
	}}
	c.ABV = optional(t, rapid.Float64Range(0, 100), "abv")
	c.WineVintageYear = optional(t, rapid.IntRange(1900, 2030), "vintage")
	c.IsResubmission = optional(t, rapid.Bool(), "resubmission")
	c.GrapeVarietals, c.LLMLiquorGrains = drawTexts(t, "grapes"), drawTexts(t, "grains")
	c.LLMProductDescription = cola.Text(strings.ReplaceAll(string(maybeText(t, "description")), " ", "\n "))
	c.AddressZipCode = cola.Text(optional(t, rapid.StringMatching(`[0-9]{5}`), "zip").V)
	for i := range rapid.IntRange(0, 2).Draw(t, "image rows") {
		c.Images = append(c.Images, cola.Image{
			TTBImageID: fmt.Sprint(id, "-", i), ImageIndex: i, ContainerPosition: cola.Text(rapid.SampledFrom(cola.ContainerPositions()).Draw(t, "at")),
			WidthInches: optional(t, rapid.Float64Range(0, 20), "inches"), ImageURL: maybeText(t, "url"),
		})
	}
	for range rapid.IntRange(0, 2).Draw(t, "barcode rows") {
		c.Barcodes = append(c.Barcodes, cola.Barcode{BarcodeValue: words.Draw(t, "barcode"), WidthPixels: optional(t, rapid.IntRange(0, 999), "px")})
	}
	c.Derive()
	return c
}

// rendered returns labels in any of the JSON forms that imports accept.
func rendered(t *rapid.T, labels []cola.Cola) string {
	encode := func(v any, indent string) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetIndent("", indent)
		e.SetEscapeHTML(rapid.Bool().Draw(t, "escaped"))
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	indent := rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent")
	var b strings.Builder
	switch rapid.SampledFrom([]string{"lines", "array", "response", "responses"}).Draw(t, "form") {
	case "lines":
		for i := range labels {
			b.WriteString(encode(&labels[i], ""))
		}
	case "array":
		return encode(labels, indent)
	case "response":
		return encode(map[string]any{"aside": map[string]any{"x": []int{1}}, "data": labels, "pagination": map[string]any{"total": 1}}, indent)
	case "responses":
		for i := range labels {
			b.WriteString(encode(map[string]any{"data": &labels[i]}, indent))
		}
	}
	return b.String()
}

// TestImportRoundTrip checks that an API response in any form is stored without changes, and that
// importing it again changes nothing.
func TestImportRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var labels []cola.Cola
		want := map[cola.TTBID]cola.Cola{}
		undated := 0
		for i := range rapid.IntRange(1, 5).Draw(t, "labels") {
			label := drawLabel(t, i)
			labels = append(labels, label)
			want[label.TTBID] = label
			if label.ApprovalDate == 0 {
				undated++
			}
		}
		text := rendered(t, labels)
		st := newFakeStore()
		for _, counts := range []Counts{{Read: len(labels), Added: len(labels)}, {Read: len(labels), Unchanged: len(labels)}} {
			source := ReaderSource("-", io.NopCloser(strings.NewReader(text)))
			report, err := Import(t.Context(), st, Colas, []Source{source}, Options{})
			if err != nil || report.Counts != counts || report.Undated != undated || len(report.Warnings) > 0 {
				t.Fatalf("error = %v, report = %s, undated = %d, want %+v\n%v %v", err, report.Summary(), report.Undated, counts, report.Rejections, report.Warnings)
			}
			if diff := cmp.Diff(want, st.colas); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}
