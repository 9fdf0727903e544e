package cola

import (
	fnvhash "hash/fnv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func cursorGenerator() *rapid.Generator[Cursor] {
	return rapid.Custom(func(t *rapid.T) Cursor {
		c := Cursor{
			Position: Position{
				Date:  Date(rapid.Int32Range(0, int32(maxDate)).Draw(t, "date")),
				TTBID: TTBID(rapid.Uint64Range(1, maxTTBID).Draw(t, "id")),
			},
			Page:          rapid.IntRange(1, 1<<31-1).Draw(t, "page"),
			Fingerprint:   rapid.Uint64().Draw(t, "fingerprint"),
			DefaultWindow: rapid.Bool().Draw(t, "window"),
		}
		if c.DefaultWindow {
			c.From = Date(rapid.Int32Range(1, int32(maxDate)).Draw(t, "from"))
		}
		if rapid.Bool().Draw(t, "branded") {
			c.Brand = string(rapid.SliceOfN(rapid.Byte(), 1, MaxBrandPosition).Draw(t, "brand")) // possibly half a character
		}
		return c
	})
}

func TestCursorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := cursorGenerator().Draw(t, "cursor")
		text := c.Encode()
		got, err := DecodeCursor(text)
		if err != nil || got != c {
			t.Fatalf("cursor %+v: Encode = %q, decoded = %+v, %v", c, text, got, err)
		}
		if limit := 50 + (len(c.Brand)+2)*4/3; len(text) > limit || len(text) > cursorMaxText || strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Fatalf("cursor %q is too long or not URL-safe", text)
		}
	})
}

func TestDamagedCursor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(cursorGenerator().Draw(t, "cursor").Encode())
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		letter := rapid.SampledFrom([]byte("ABCxyz019-_=+/ ")).Draw(t, "letter")
		switch {
		case rapid.Bool().Draw(t, "truncate"):
			text = text[:at]
		case text[at] != letter:
			text[at] = letter
		default:
			text = append(text, letter)
		}
		if c, err := DecodeCursor(string(text)); err == nil {
			t.Fatalf("DecodeCursor(%q) = %+v, want an error", text, c)
		}
	})
}

func TestImpossibleCursors(t *testing.T) {
	good := Cursor{Position: Position{Date: 734214, TTBID: 11054001000049}, Page: 1}
	for name, c := range map[string]Cursor{
		"no ID":                 {Position: Position{Date: 1}, Page: 1},
		"15-digit ID":           {Position: Position{TTBID: maxTTBID + 1}, Page: 1},
		"no page":               {Position: good.Position},
		"a negative page":       {Position: good.Position, Page: -1},
		"a negative date":       {Position: Position{Date: -1, TTBID: 1}, Page: 1},
		"a date after 9999":     {Position: Position{Date: maxDate + 1, TTBID: 1}, Page: 1},
		"window without a date": {Position: good.Position, Page: 1, DefaultWindow: true},
		"a long brand":          {Position: Position{TTBID: 1, Brand: strings.Repeat("x", MaxBrandPosition+1)}, Page: 1},
	} {
		if got, err := DecodeCursor(c.Encode()); err == nil {
			t.Errorf("%s: DecodeCursor = %+v, want an error", name, got)
		}
	}
	if _, err := DecodeCursor(good.Encode()); err != nil {
		t.Errorf("DecodeCursor(valid cursor): %v", err)
	}
	for _, text := range []string{"", "A", "AQ", "====", "не курсор", strings.Repeat("A", 1000)} {
		if got, err := DecodeCursor(text); err == nil {
			t.Errorf("DecodeCursor(%q) = %+v, want an error", text, got)
		}
	}
}

func FuzzDecodeCursor(f *testing.F) {
	f.Add(Cursor{Position: Position{Date: 734214, TTBID: 11054001000049}, Page: 2, Fingerprint: 7}.Encode())
	f.Add(Cursor{Position: Position{TTBID: 1}, Page: 1, DefaultWindow: true, From: windowStart}.Encode())
	f.Add(Cursor{Position: Position{TTBID: 1, Brand: "oak"}, Page: 1}.Encode())
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := DecodeCursor(s)
		if err != nil {
			if c != (Cursor{}) {
				t.Fatalf("DecodeCursor returned %+v with an error", c)
			}
			return
		}
		if c.Encode() != s {
			t.Fatalf("DecodeCursor(%q) = %+v, which encodes to %q", s, c, c.Encode())
		}
	})
}

func TestCursorPosition(t *testing.T) {
	last := Position{Date: NewDate(2026, 3, 1), TTBID: 26050001000123}
	undated := Position{TTBID: 9079001000202}
	params := SearchParams{Q: "lenz", PerPage: Some(10), Page: Some(3)}
	first := mustNormalize(t, params)

	params.Page, params.PerPage, params.Cursor = Opt[int]{}, Some(25), first.CursorAfter(last)
	second := mustNormalize(t, params)
	want := first
	want.Page, want.PerPage, want.CursorMode, want.After = 4, 25, true, last
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("page 4 (-want +got):\n%s", diff)
	}

	params.Page, params.Cursor = Some(1), second.CursorAfter(undated)
	third := mustNormalize(t, params)
	if third.Page != 5 || third.After != undated || !third.CursorMode {
		t.Errorf("next page = %d after %+v", third.Page, third.After)
	}
}

func TestWalkPastMidnight(t *testing.T) {
	s := mustNormalize(t, SearchParams{})
	walk := SearchParams{Cursor: s.CursorAfter(Position{Date: NewDate(2026, 1, 1), TTBID: 1})}
	later, err := walk.Normalize(testNow.Add(72 * time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if !later.DefaultWindow || later.From != windowStart || later.To != DateOf(testNow) {
		t.Errorf("after three days: default window %t, %s to %s; want true, %s to %s",
			later.DefaultWindow, later.From, later.To, windowStart, DateOf(testNow))
	}
	again, err := SearchParams{Cursor: later.CursorAfter(Position{TTBID: 1})}.Normalize(testNow.Add(144 * time.Hour))
	if err != nil || again.From != windowStart {
		t.Errorf("next page: window starts on %s, error = %v", again.From, err)
	}
}

func TestCursorFilters(t *testing.T) {
	base := SearchParams{Q: "lenz", ProductType: []string{"wine", "malt beverage"}, VolumeUnit: "liters", VolumeMin: Some(1.0)}
	cursor := mustNormalize(t, base).CursorAfter(Position{Date: 734214, TTBID: 1})
	for name, change := range map[string]func(*SearchParams){
		"different q":         func(p *SearchParams) { p.Q = "moser" },
		"no q":                func(p *SearchParams) { p.Q = "" },
		"fewer product types": func(p *SearchParams) { p.ProductType = []string{"wine"} },
		"a category":          func(p *SearchParams) { p.Category = []string{"Wine"} },
		"a path":              func(p *SearchParams) { p.DerivedSubcategory = "Wine" },
		"an origin":           func(p *SearchParams) { p.Origin = "french" },
		"imported":            func(p *SearchParams) { p.DomesticOrImported = "imported" },
		"a status":            func(p *SearchParams) { p.Status = "approved" },
		"a status, all dates": func(p *SearchParams) { p.Status = "expired" },
		"a brand":             func(p *SearchParams) { p.BrandName = "lenz" },
		"a permit":            func(p *SearchParams) { p.PermitNumber = "NJ-I-721" },
		"a barcode":           func(p *SearchParams) { p.BarcodeValue = "036000291452" },
		"a first day":         func(p *SearchParams) { p.ApprovalDateFrom = windowStart },
		"a last day":          func(p *SearchParams) { p.ApprovalDateTo = windowStart },
		"an ABV":              func(p *SearchParams) { p.ABVMin = Some(0.0) },
		"an upper ABV":        func(p *SearchParams) { p.ABVMax = Some(100.0) },
		"different volume":    func(p *SearchParams) { p.VolumeMin = Some(1.5) },
		"volume as a maximum": func(p *SearchParams) { p.VolumeMin, p.VolumeMax = Opt[float64]{}, Some(1.0) },
		"different unit":      func(p *SearchParams) { p.VolumeUnit = "gallons" },
		"a container":         func(p *SearchParams) { p.ContainerType = []string{"can"} },
		"oldest first":        func(p *SearchParams) { p.Sort = "approval_date" },
		"brand order":         func(p *SearchParams) { p.Sort = "brand" },
		"q as brand":          func(p *SearchParams) { p.Q, p.BrandName = "", "lenz" },
	} {
		p := base
		p.Cursor = cursor
		change(&p)
		_, err := p.Normalize(testNow)
		messages := details(err)["cursor"]
		if len(messages) != 1 || !strings.Contains(messages[0], "different filters") {
			t.Errorf("%s: problems = %v, %v, want one about different filters", name, messages, err)
		}
	}
}

func TestCursorEquivalentSearches(t *testing.T) {
	base := SearchParams{Q: "lenz", BrandName: "chateau oak", ProductType: []string{"wine", "malt beverage"}, Origin: "french", DerivedSubcategory: "Wine > Red"}
	cursor := mustNormalize(t, base).CursorAfter(Position{Date: 734214, TTBID: 1})
	for name, change := range map[string]func(*SearchParams){
		"no change":                 func(*SearchParams) {},
		"per_page":                  func(p *SearchParams) { p.PerPage = Some(100) },
		"the default order":         func(p *SearchParams) { p.Sort = "-Approval_Date" },
		"order of values":           func(p *SearchParams) { p.ProductType = []string{"Malt Beverage", "WINE"} },
		"white space":               func(p *SearchParams) { p.Q = " lenz " },
		"letter case of the origin": func(p *SearchParams) { p.Origin = "French" },
		"spacing of the path":       func(p *SearchParams) { p.DerivedSubcategory = "wine>red" },
		"unit without a volume":     func(p *SearchParams) { p.VolumeUnit = "liters" },
		"letter case of q":          func(p *SearchParams) { p.Q = "LENZ" },
		"letter case of the brand":  func(p *SearchParams) { p.BrandName = "Château OAK" },
	} {
		p := base
		p.Cursor = cursor
		change(&p)
		if _, err := p.Normalize(testNow); err != nil {
			t.Errorf("%s: problems = %v, want none", name, details(err))
		}
	}
}

func TestCursorWithAPage(t *testing.T) {
	cursor := mustNormalize(t, SearchParams{}).CursorAfter(Position{Date: 734214, TTBID: 1})
	_, err := SearchParams{Cursor: cursor, Page: Some(2)}.Normalize(testNow)
	if messages := details(err)["page"]; len(messages) != 1 || !strings.Contains(messages[0], "cursor") {
		t.Errorf("page 2 with a cursor: error = %v, want a problem with page", err)
	}
}

// TestStableFingerprints checks the text that is hashed. It must not change, because cursors must
// remain valid across versions.
func TestStableFingerprints(t *testing.T) {
	for _, tt := range []struct {
		params SearchParams
		hashed string
	}{
		{SearchParams{PerPage: Some(50)}, ""},
		{SearchParams{Q: " lenz moser "}, "q\x00lenz moser\x00"},
		{SearchParams{Category: []string{"liquor", "beer"}}, "category\x00Beer\x00category\x00Liquor\x00"},
		{
			SearchParams{ContainerType: []string{"can"}, VolumeMax: Some(1.5), VolumeUnit: "Liters", ABVMin: Some(0.0), ApprovalDateFrom: NewDate(2005, 1, 1)},
			"approval_date_from\x002005-01-01\x00abv_min\x000\x00volume_max\x001.5\x00volume_unit\x00liters\x00container_type\x00can\x00",
		},
		{SearchParams{Sort: "-approval_date"}, ""},
		{SearchParams{Q: "oak", Sort: "BRAND"}, "q\x00oak\x00sort\x00brand\x00"},
	} {
		h := fnvhash.New64a()
		h.Write([]byte(tt.hashed))
		if got := mustNormalize(t, tt.params).Fingerprint; got != h.Sum64() {
			t.Errorf("fingerprint of %+v = %#x, want the hash of %q, %#x", tt.params, got, tt.hashed, h.Sum64())
		}
	}
}

// TestEarlierFingerprints checks that cursors from versions with case-sensitive fingerprints still
// work.
func TestEarlierFingerprints(t *testing.T) {
	h := fnvhash.New64a()
	h.Write([]byte("q\x00Lenz\x00brand_name\x00OAK\x00"))
	c := Cursor{Position: Position{Date: 734214, TTBID: 1}, Page: 1, Fingerprint: h.Sum64(), DefaultWindow: true, From: windowStart}
	if _, err := (SearchParams{Q: "Lenz", BrandName: "OAK", Cursor: c.Encode()}).Normalize(testNow); err != nil {
		t.Errorf("earlier cursor: problems = %v, want none", details(err))
	}
	if _, err := (SearchParams{Q: "lenz", BrandName: "OAK", Cursor: c.Encode()}).Normalize(testNow); err == nil {
		t.Error("cursor from another search is accepted")
	}
}

func TestStableCursorEncoding(t *testing.T) {
	c := Cursor{
		Position: Position{Date: NewDate(2026, 3, 1), TTBID: 26050001000123}, Page: 3, Fingerprint: 0x0123456789abcdef,
		DefaultWindow: true, From: windowStart,
	}
	const text = "AQHcki0DF7E9Dla7ASNFZ4mrze_3kS3a9LXO"
	if got := c.Encode(); got != text {
		t.Errorf("Encode = %q, want %q", got, text)
	}
	c.Brand = "copper kings"
	const branded = "AQPcki0DF7E9Dla7ASNFZ4mrze_3kS0MY29wcGVyIGtpbmdz"
	if got := c.Encode(); !strings.HasPrefix(got, branded) {
		t.Errorf("Encode with a brand = %q, want %q and a checksum", got, branded)
	}
}
