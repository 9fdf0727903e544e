package cola

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// goodParams draws valid parameters in any accepted spelling.
func goodParams(t *rapid.T) SearchParams {
	text := func(name string, of ...string) string { return rapid.SampledFrom(append(of, "", " ")).Draw(t, name) }
	words := func(name string, allowed []string) []string {
		return rapid.SliceOfN(rapid.SampledFrom(append(allowed, "", " "+strings.ToUpper(allowed[0]))), 0, 3).Draw(t, name)
	}
	pair := func(name string, most float64) (low, high Opt[float64]) {
		a, b := rapid.Float64Range(0, most).Draw(t, name), rapid.Float64Range(0, most).Draw(t, name)
		count := rapid.IntRange(0, 3).Draw(t, name+" given")
		if count&1 != 0 {
			low = Some(min(a, b))
		}
		if count&2 != 0 {
			high = Some(max(a, b))
		}
		return low, high
	}
	p := SearchParams{
		Q: text("q", "lenz moser", "11054001000049", "!", `"château x" oak*`), ProductType: words("product_type", vocabulary.ProductTypes()),
		Category: words("category", vocabulary.CategoryRoots()), DerivedSubcategory: text("path", "Wine > Red Wine", "beer>ipa"),
		Origin: text("origin", "french", "USA", "narnia"), DomesticOrImported: text("domestic", "Imported", "domestic"),
		Status: text("status", append(vocabulary.Statuses(), "REVOKED")...), BrandName: text("brand", "oak", " Maker's "),
		PermitNumber: text("permit", "nj-i-721"), BarcodeValue: text("barcode", "0 36000 29145 2", "LOT 7"),
		ContainerType: words("container", ContainerTypes()),
	}
	p.ABVMin, p.ABVMax = pair("abv", 100)
	p.VolumeMin, p.VolumeMax = pair("volume", 1e12)
	p.VolumeUnit = text("unit", vocabulary.VolumeUnits()...)
	if p.VolumeMin.OK || p.VolumeMax.OK {
		p.VolumeUnit = rapid.SampledFrom(vocabulary.VolumeUnits()).Draw(t, "required unit")
	}
	days := []Date{0, Date(rapid.Int32Range(1, int32(maxDate)).Draw(t, "from"))}
	p.ApprovalDateFrom = rapid.SampledFrom(days).Draw(t, "from given")
	if rapid.Bool().Draw(t, "to given") {
		p.ApprovalDateTo = Date(rapid.Int32Range(max(1, int32(p.ApprovalDateFrom)), int32(maxDate)).Draw(t, "to"))
	}
	if rapid.Bool().Draw(t, "page given") {
		p.Page, p.PerPage = Some(rapid.IntRange(1, MaxPage).Draw(t, "page")), Some(rapid.IntRange(1, MaxPerPage).Draw(t, "per_page"))
	}
	return p
}

// anyParams draws valid parameters and may make some invalid.
func anyParams(t *rapid.T) SearchParams {
	p := goodParams(t)
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\xff", "\x00", ">", "%", strings.Repeat("x", 201)}))
	number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, math.MaxFloat64}))
	for range rapid.IntRange(0, 2).Draw(t, "spoiled") {
		switch rapid.IntRange(0, 9).Draw(t, "which") {
		case 0:
			p.Q = text.Draw(t, "bad q")
		case 1:
			p.ProductType = append(p.ProductType, text.Draw(t, "bad product type"))
		case 2:
			p.DerivedSubcategory = text.Draw(t, "bad path")
		case 3:
			p.Origin = text.Draw(t, "bad origin")
		case 4:
			p.VolumeUnit = text.Draw(t, "bad unit")
		case 5:
			p.VolumeMin = Some(number.Draw(t, "bad volume"))
		case 6:
			p.ABVMax = Some(number.Draw(t, "bad abv"))
		case 7:
			p.Page = Some(rapid.Int().Draw(t, "bad page"))
		case 8:
			p.Cursor = text.Draw(t, "bad cursor")
		default:
			p.ApprovalDateTo = 1
		}
	}
	return p
}

// TestNormalizeRandom checks that the result is a search within all bounds, or a validation error
// with details.
func TestNormalizeRandom(t *testing.T) {
	accepted, rejected := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := anyParams(t)
		s, err := p.Normalize(testNow)
		if err != nil {
			rejected++
			if CodeOf(err) != CodeValidation || len(details(err)) == 0 {
				t.Fatalf("error = %v, want validation_error with details", err)
			}
			return
		}
		accepted++
		if s.Page < 1 || s.Page > MaxPage || s.PerPage < 1 || s.PerPage > MaxPerPage || s.CursorMode {
			t.Fatalf("page = %d, per_page = %d, cursor = %t", s.Page, s.PerPage, s.CursorMode)
		}
		for _, pair := range [][2]Opt[float64]{{s.ABVMin, s.ABVMax}, {s.VolumeMin, s.VolumeMax}} {
			for _, v := range pair {
				if v.OK && !(v.V >= 0 && v.V <= math.MaxFloat64) {
					t.Fatalf("bound = %v, out of range", v.V)
				}
			}
			if pair[0].OK && pair[1].OK && pair[0].V > pair[1].V {
				t.Fatalf("bounds = %v, minimum above maximum", pair)
			}
		}
		if s.From != 0 && s.To != 0 && s.From > s.To {
			t.Fatalf("dates = %s to %s, start after end", s.From, s.To)
		}
	})
	if accepted == 0 || rejected == 0 {
		t.Errorf("%d accepted, %d rejected, want some of each", accepted, rejected)
	}
}

// TestNormalizeIdempotent checks that normalized parameters normalize to the same search,
// regardless of the time of day.
func TestNormalizeIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := goodParams(t)
		s := mustNormalize(t, p)
		normalized := p
		normalized.normalize(&Problems{})
		normalized.Page, normalized.PerPage = Some(s.Page), Some(s.PerPage)
		again, err := normalized.Normalize(testNow.Add(-12 * time.Hour))
		if diff := cmp.Diff(s, again); diff != "" || err != nil {
			t.Fatalf("Normalize(%+v) again (-once +twice), error = %v:\n%s", p, err, diff)
		}
	})
}

// TestCursorWalkRandom checks that a cursor continues any valid search, but only with the same
// filters.
func TestCursorWalkRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := goodParams(t)
		s := mustNormalize(t, p)
		after := Position{Date: Date(rapid.Int32Range(0, int32(maxDate)).Draw(t, "date")), TTBID: 11054001000049}
		p.Cursor, p.Page = s.CursorAfter(after), Opt[int]{}
		next, err := p.Normalize(testNow.Add(48 * time.Hour))
		if err != nil {
			t.Fatalf("cursor is rejected: %v", details(err))
		}
		want := s
		want.Page, want.CursorMode, want.After = s.Page+1, true, after
		if diff := cmp.Diff(want, next); diff != "" {
			t.Fatalf("next page (-want +got):\n%s", diff)
		}
		p.BrandName = s.BrandName + "x"
		if _, err := p.Normalize(testNow); len(details(err)["cursor"]) != 1 {
			t.Fatalf("cursor with a different brand name: error = %v, want a problem with cursor", err)
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
