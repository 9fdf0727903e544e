package cola

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// encode returns the expected output of AppendJSON.
func encode(t interface{ Fatal(...any) }, v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// trickyStrings cover every special case of JSON strings.
var trickyStrings = []string{
	"", "LENZ MOSER", `quote " backslash \ slash /`, "<b>R&D</b>", "tab\tnewline\nreturn\rfeed\fback\b", "\x00\x01\x1f\x7f",
	"CHÂTEAU É", "酒", "🍷", "a\u2028b\u2029c", "\u2027\u202a", "\xff", "a\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\ufffd", "é\xffé",
}

func TestAppendJSONString(t *testing.T) {
	for _, s := range trickyStrings {
		got := AppendJSONString([]byte("before"), s)
		if want := "before" + string(encode(t, s)); string(got) != want {
			t.Errorf("AppendJSONString(%q) = %s, want %s", s, got, want)
		}
	}
}

func FuzzAppendJSONString(f *testing.F) {
	for _, s := range trickyStrings {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := AppendJSONString(nil, s)
		if want := encode(t, s); !bytes.Equal(got, want) {
			t.Fatalf("AppendJSONString(%q) = %s, want %s", s, got, want)
		}
		if !json.Valid(got) || !utf8.Valid(got) {
			t.Fatalf("AppendJSONString(%q) = %s, want valid JSON", s, got)
		}
	})
}

func FuzzColaSummaryAppendJSON(f *testing.F) {
	f.Add(uint64(11054001000049), "LENZ MOSER", "PRESTIGE", "approved", int32(734214), 2, true, true)
	f.Add(uint64(0), "\xff", "a\u2028", "<&>", int32(0), -1, false, false)
	f.Fuzz(func(t *testing.T, id uint64, brand, product, status string, date int32, images int, counted, barcode bool) {
		c := ColaSummary{
			TTBID: TTBID(id % (maxTTBID + 1)), BrandName: brand, ProductName: Text(product), ProductType: vocabulary.Wine,
			ClassName: Text(brand), OriginName: Text(product), PermitNumber: product, ApplicationStatus: Text(status),
			ApprovalDate: Date(date) % (maxDate + 1), HasBarcode: barcode,
		}
		if c.ApprovalDate < 0 {
			c.ApprovalDate = -c.ApprovalDate
		}
		if counted {
			c.ImageCount = images
		}
		if got, want := c.AppendJSON(nil), encode(t, c); !bytes.Equal(got, want) {
			t.Fatalf("AppendJSON =\n%s\nwant\n%s", got, want)
		}
	})
}

func summaryGenerator() *rapid.Generator[ColaSummary] {
	text := rapid.OneOf(rapid.SampledFrom(trickyStrings), rapid.String())
	return rapid.Custom(func(t *rapid.T) ColaSummary {
		c := ColaSummary{
			TTBID:             TTBID(rapid.Uint64Range(0, maxTTBID).Draw(t, "id")),
			BrandName:         text.Draw(t, "brand"),
			ProductName:       Text(text.Draw(t, "product")),
			ProductType:       vocabulary.ProductType(rapid.SampledFrom(vocabulary.ProductTypes()).Draw(t, "type")),
			ClassName:         Text(text.Draw(t, "class")),
			OriginName:        Text(text.Draw(t, "origin")),
			PermitNumber:      text.Draw(t, "permit"),
			ApplicationStatus: Text(text.Draw(t, "status")),
			ApprovalDate:      Date(rapid.Int32Range(0, int32(maxDate)).Draw(t, "date")),
			HasBarcode:        rapid.Bool().Draw(t, "barcode"),
		}
		if rapid.Bool().Draw(t, "unknown date") {
			c.ApprovalDate = 0
		}
		c.SetEstimate(Date(rapid.Int32Range(0, int32(maxDate)).Draw(t, "estimate")))
		if rapid.Bool().Draw(t, "counted") {
			c.ImageCount = rapid.Int().Draw(t, "images")
		}
		return c
	})
}

func TestColaSummaryAppendJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := summaryGenerator().Draw(t, "summary")
		if got, want := c.AppendJSON(nil), encode(t, c); !bytes.Equal(got, want) {
			t.Fatalf("AppendJSON =\n%s\nwant\n%s", got, want)
		}
	})
}

func TestColaSummaryAppendJSONAllocations(t *testing.T) {
	c := exampleSummary()
	b := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() { b = c.AppendJSON(b[:0]) }); n != 0 {
		t.Errorf("AppendJSON allocates %v times, want 0", n)
	}
}

// TestTextJSON compares the encoding of Text with that of a string, with and without HTML escaping.
func TestTextJSON(t *testing.T) {
	for _, s := range trickyStrings[1:] {
		if got, want := encode(t, Text(s)), encode(t, s); !bytes.Equal(got, want) {
			t.Errorf("Marshal(Text(%q)) = %s, want %s", s, got, want)
		}
		got, err := json.Marshal(Text(s))
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := json.Marshal(s); !bytes.Equal(got, want) {
			t.Errorf("Marshal(Text(%q)) with HTML escaping = %s, want %s", s, got, want)
		}
	}
}

func exampleSummary() ColaSummary {
	return ColaSummary{
		TTBID: 11054001000049, BrandName: "LENZ MOSER", ProductName: "PRESTIGE", ProductType: vocabulary.Wine,
		ClassName: "TABLE RED WINE", OriginName: "AUSTRIA", PermitNumber: "NJ-I-721", ApplicationStatus: vocabulary.StatusSurrendered,
		ApprovalDate: NewDate(2011, 3, 18), ImageCount: 2, HasBarcode: true,
	}
}

func BenchmarkSummaries(b *testing.B) {
	page := make([]ColaSummary, DefaultPerPage)
	for i := range page {
		page[i] = exampleSummary()
	}
	b.Run("append", func(b *testing.B) {
		buf := make([]byte, 0, 16<<10)
		b.ReportAllocs()
		for b.Loop() {
			buf = buf[:0]
			for i := range page {
				buf = page[i].AppendJSON(buf)
			}
		}
	})
	b.Run("encoding", func(b *testing.B) {
		var buf bytes.Buffer
		e := json.NewEncoder(&buf)
		e.SetEscapeHTML(false)
		b.ReportAllocs()
		for b.Loop() {
			buf.Reset()
			if err := e.Encode(page); err != nil {
				b.Fatal(err)
			}
		}
	})
}
