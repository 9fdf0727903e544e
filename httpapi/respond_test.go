package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"testing"

	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// mustEncode returns a value's encoding/json output without HTML escaping.
func mustEncode(t testing.TB, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

func drawSummary(t *rapid.T) cola.ColaSummary {
	text := rapid.String()
	s := cola.ColaSummary{
		TTBID:     cola.TTBID(rapid.Uint64Range(0, 99_999_999_999_999).Draw(t, "id")),
		BrandName: text.Draw(t, "brand"), ProductName: cola.Text(text.Draw(t, "product")),
		ProductType: vocabulary.ProductType(rapid.SampledFrom(vocabulary.ProductTypes()).Draw(t, "type")),
		ClassName:   cola.Text(text.Draw(t, "class")), OriginName: cola.Text(text.Draw(t, "origin")),
		PermitNumber: text.Draw(t, "permit"), ApplicationStatus: cola.Text(text.Draw(t, "status")),
		ApprovalDate: cola.Date(rapid.IntRange(0, 3_000_000).Draw(t, "date")),
		HasBarcode:   rapid.Bool().Draw(t, "barcode"),
	}
	if rapid.Bool().Draw(t, "counted") {
		s.ImageCount = rapid.Int().Draw(t, "images")
	}
	return s
}

// TestColaPageJSON compares the append encoder of search pages with encoding/json, byte for byte.
func TestColaPageJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		page := colaPage{
			Data: rapid.SliceOfN(rapid.Custom(drawSummary), 0, 5).Draw(rt, "data"),
			Pagination: cola.Pagination{
				Mode: rapid.String().Draw(rt, "mode"), Page: rapid.Int().Draw(rt, "page"), PerPage: rapid.Int().Draw(rt, "per"),
				Total: rapid.Int().Draw(rt, "total"), Pages: rapid.Int().Draw(rt, "pages"),
				HasMore: rapid.Bool().Draw(rt, "more"), NextCursor: rapid.String().Draw(rt, "next"),
			},
		}
		if rapid.Bool().Draw(rt, "default window") {
			page.DefaultsApplied = &cola.DefaultsApplied{DateRange: true, DateFrom: cola.Date(rapid.IntRange(1, 3_000_000).Draw(rt, "from"))}
		}
		page.Data = nonNilRows(page.Data)
		got, err := page.appendJSON([]byte("kept"))
		if err != nil {
			rt.Fatal(err)
		}
		if want := "kept" + string(mustEncode(t, page)); string(got) != want {
			rt.Fatalf("appendJSON:\ngot  %s\nwant %s", got, want)
		}
	})
}

// TestBufferReuse sends a long response and then a short one from the same buffers.
func TestBufferReuse(t *testing.T) {
	h := mustServe(t, newFake(), &bytes.Buffer{})
	long := mustRead(t, get(t, h, "/api/v1/colas/11054001000049"))
	for range 3 {
		short := mustRead(t, get(t, h, "/api/v1/usage"))
		if !json.Valid([]byte(short)) || len(short) >= len(long) {
			t.Fatalf("response after a long one: %s", short)
		}
	}
}

func BenchmarkSearchResponse(b *testing.B) {
	f := newFake()
	page := colaPage{Pagination: cola.Pagination{Mode: "offset", Page: 1, PerPage: 20, Total: 41, Pages: 3, HasMore: true, NextCursor: "AQAB"}}
	for range 20 {
		page.Data = append(page.Data, f.label.ColaSummary)
	}
	b.Run("append", func(b *testing.B) {
		var buf []byte
		b.ReportAllocs()
		for b.Loop() {
			buf, _ = page.appendJSON(buf[:0])
		}
		b.SetBytes(int64(len(buf)))
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			mustEncode(b, page)
		}
	})
	b.Run("request", func(b *testing.B) {
		h := mustServe(b, f, &bytes.Buffer{})
		r := httptest.NewRequest("GET", "/api/v1/colas?q=oak&product_type=wine", nil)
		r.Header.Set("X-Api-Key", testKey)
		b.ReportAllocs()
		for b.Loop() {
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
	})
}
