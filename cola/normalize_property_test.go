package cola

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// anyParams draws parameters as a hostile client might send them, right ones often enough.
func anyParams(t *rapid.T) SearchParams {
	text := func(name string, good ...string) string {
		return rapid.OneOf(rapid.Just(""), rapid.SampledFrom(good), rapid.String(), rapid.SampledFrom([]string{"\xff", "\x00", " ", ">", "%", "'"})).Draw(t, name)
	}
	words := func(name string, allowed []string) []string {
		return rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(allowed), rapid.StringMatching(`[A-Za-z ]{0,6}`)), 0, 3).Draw(t, name)
	}
	number := func(name string) Opt[float64] {
		if rapid.Bool().Draw(t, name+" given") {
			return Some(rapid.OneOf(rapid.Float64Range(0, 100), rapid.Float64(), rapid.Just(math.NaN()), rapid.Just(math.Inf(-1))).Draw(t, name))
		}
		return Opt[float64]{}
	}
	whole := func(name string) Opt[int] {
		if rapid.Bool().Draw(t, name+" given") {
			return Some(rapid.OneOf(rapid.IntRange(1, 100), rapid.Int()).Draw(t, name))
		}
		return Opt[int]{}
	}
	date := func(name string) Date {
		return Date(rapid.OneOf(rapid.Just(int32(0)), rapid.Int32Range(1, int32(maxDate))).Draw(t, name))
	}
	return SearchParams{
		Q: text("q", "lenz moser", "11054001000049"), ProductType: words("product_type", ProductTypes()),
		Category: words("category", CategoryRoots()), DerivedSubcategory: text("path", "Wine > Red Wine"),
		Origin: text("origin", "french", "usa"), DomesticOrImported: text("domestic", "Imported"), Status: text("status", Statuses()...),
		BrandName: text("brand", "oak"), PermitNumber: text("permit", "nj-i-721"), BarcodeValue: text("barcode", "036000291452"),
		ApprovalDateFrom: date("from"), ApprovalDateTo: date("to"), ABVMin: number("abv_min"), ABVMax: number("abv_max"),
		VolumeUnit: text("unit", VolumeUnits()...), VolumeMin: number("volume_min"), VolumeMax: number("volume_max"),
		ContainerType: words("container", ContainerTypes()), Page: whole("page"), PerPage: whole("per_page"), Cursor: text("cursor", "AQAB"),
	}
}

// TestNormalizeOfAnything: an answer is a search within all bounds, or a validation error that names parameters.
func TestNormalizeOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyParams(t)
		s, err := p.Normalize(testNow)
		if err != nil {
			if CodeOf(err) != CodeValidation || len(details(err)) == 0 {
				t.Fatalf("error is %v", err)
			}
			return
		}
		if s.Page < 1 || s.Page > MaxPage || s.PerPage < 1 || s.PerPage > MaxPerPage || s.CursorMode {
			t.Fatalf("page %d of %d, cursor %t", s.Page, s.PerPage, s.CursorMode)
		}
		for _, pair := range [][2]Opt[float64]{{s.ABVMin, s.ABVMax}, {s.VolumeMin, s.VolumeMax}} {
			for _, v := range pair {
				if v.OK && !(v.V >= 0 && v.V <= math.MaxFloat64) {
					t.Fatalf("bound %v", v.V)
				}
			}
			if pair[0].OK && pair[1].OK && pair[0].V > pair[1].V {
				t.Fatalf("bounds %v upside down", pair)
			}
		}
		if s.From != 0 && s.To != 0 && s.From > s.To {
			t.Fatalf("dates %s to %s", s.From, s.To)
		}
	})
}

// TestSettledParametersSettleToThemselves: what was settled is the same search again, at any other time of day.
func TestSettledParametersSettleToThemselves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyParams(t)
		s, err := p.Normalize(testNow)
		if err != nil {
			return
		}
		settled := p.settle(&findings{})
		settled.Page, settled.PerPage = Some(s.Page), Some(s.PerPage)
		again, err := settled.Normalize(testNow.Add(-12 * time.Hour))
		if diff := cmp.Diff(s, again); diff != "" || err != nil {
			t.Fatalf("%+v (-once +twice), error %v:\n%s", p, err, diff)
		}
	})
}

// TestCursorsWalkAnySearch: whatever can be searched can be walked, and only with the same filters.
func TestCursorsWalkAnySearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyParams(t)
		s, err := p.Normalize(testNow)
		if err != nil {
			return
		}
		after := Position{Date: Date(rapid.Int32Range(0, int32(maxDate)).Draw(t, "date")), TTBID: 11054001000049}
		p.Cursor, p.Page = s.CursorAfter(after), Opt[int]{}
		next, err := p.Normalize(testNow.Add(48 * time.Hour))
		if err != nil {
			t.Fatalf("the cursor is refused: %v", details(err))
		}
		want := s
		want.Page, want.CursorMode, want.After = s.Page+1, true, after
		if diff := cmp.Diff(want, next); diff != "" {
			t.Fatalf("next page (-want +got):\n%s", diff)
		}
		p.BrandName = s.BrandName + "x"
		if _, err := p.Normalize(testNow); len(s.BrandName) < maxTextLength && len(details(err)["cursor"]) != 1 {
			t.Fatalf("another brand name with the cursor gives %v", err)
		}
	})
}

func FuzzNormalize(f *testing.F) {
	f.Add("lenz", "wine", "Wine>Red", "french", "approved", "liters", "AQAB", 1.5, 2.5, 1, int32(0))
	f.Add("11054001000049", "x", ">", "!", "expired", "", "", math.NaN(), -1.0, 101, int32(738000))
	f.Fuzz(func(t *testing.T, q, kind, path, origin, status, unit, cursor string, low, high float64, page int, from int32) {
		p := SearchParams{
			Q: q, ProductType: []string{kind}, DerivedSubcategory: path, Origin: origin, Status: status, VolumeUnit: unit, Cursor: cursor,
			VolumeMin: Some(low), VolumeMax: Some(high), ABVMin: Some(low), Page: Some(page), ApprovalDateFrom: Date(from),
		}
		s, err := p.Normalize(testNow)
		if (err != nil) == (s.PerPage != 0) {
			t.Fatalf("Normalize(%+v) = %+v, %v", p, s, err)
		}
	})
}
