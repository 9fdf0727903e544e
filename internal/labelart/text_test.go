package labelart

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"pgregory.net/rapid"
)

func TestClean(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"OAK CREEK", "OAK CREEK"},
		{"  OAK \t\n CREEK  ", "OAK CREEK"},
		{"A\x00B\x1bC\x7f", "ABC"},
		{"bad\xff\xc3utf", "badutf"},
		{"r\u202everse\u200b", "rverse"},
		{"non\ufffecharacter\uffff", "noncharacter"},
		{"CHÂTEAU 日本", "CHÂTEAU 日本"},
		{strings.Repeat("x", 30), strings.Repeat("x", 20) + "…"},
		{strings.Repeat("x", 20), strings.Repeat("x", 20)},
		{strings.Repeat("x", 20) + "  ", strings.Repeat("x", 20)},
	}
	for _, test := range tests {
		if got := clean(test.in, 20); got != test.want {
			t.Errorf("clean(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("OAK & CREEK", 10)
	f.Add("\x00\xff\u2028 x", 3)
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = max(1, most%500)
		got := clean(s, most)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > most+2 {
			t.Fatalf("clean(%q, %d) = %q, want valid text within the limit", s, most, got)
		}
		for _, r := range got {
			if unicode.IsControl(r) || r == 0xfffe || r == 0xffff {
				t.Fatalf("clean(%q) keeps %U", s, r)
			}
		}
		if second := clean(got, most+2); second != got {
			t.Fatalf("clean(%q) = %q, cleaned again %q", s, got, second)
		}
	})
}

func TestFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := clean(rapid.StringN(1, 120, -1).Draw(t, "text"), 120)
		if text == "" {
			return
		}
		b := box{0, 0, rapid.Float64Range(1, 900).Draw(t, "w"), rapid.Float64Range(1, 900).Draw(t, "h")}
		m := textStyle{
			face:    face(rapid.IntRange(0, int(faces)-1).Draw(t, "face")),
			maxSize: rapid.Float64Range(0.5, 300).Draw(t, "most"),
			lines:   rapid.IntRange(1, 12).Draw(t, "lines"),
			track:   rapid.Float64Range(0, 0.3).Draw(t, "track"),
		}
		size, lines := fit(text, b, &m)
		if len(lines) == 0 {
			if b.w >= 2*minSize && b.h >= 2*minSize && m.maxSize >= minSize {
				t.Fatalf("%q in %v is omitted although a letter fits", text, b)
			}
			return
		}
		if size < minSize || size > m.maxSize || len(lines) > m.lines {
			t.Fatalf("%q in %v: size %v of at most %v, %d lines of at most %d",
				text, b, size, m.maxSize, len(lines), m.lines)
		}
		for _, line := range lines {
			if w := m.face.measure(line, m.track) * size; w > b.w*1.0001 {
				t.Fatalf("%q in %v: the line %q is %v wide at size %v", text, b, line, w, size)
			}
		}
		if h := float64(len(lines)) * m.lineHeight() * size; h > b.h*1.0001 {
			t.Fatalf("%q in %v: %d lines are %v high", text, b, len(lines), h)
		}
	})
}

func TestWrap(t *testing.T) {
	const text = "Consumption of alcoholic beverages impairs your ability to drive a car"
	for width := 40.0; width > 5; width-- {
		lines := wrap(text, sans, width, 0)
		if got := strings.Join(lines, " "); got != text {
			t.Errorf("width %v: lines = %q, want all words", width, lines)
		}
	}
	if lines := wrap(text, sans, 3, 0); lines != nil {
		t.Errorf("word wider than the line: %q", lines)
	}
}

// hostile generates any text that a record may contain.
func hostile(t *rapid.T, name string) string {
	return rapid.OneOf(
		rapid.Just(""), rapid.String(), rapid.StringN(0, 3, -1),
		rapid.SampledFrom([]string{
			"<script>&\"'</script>", "]]>", "\x00\x01\x1f", "\xff\xfe\x80",
			"\u202e\u2066", strings.Repeat("W", 5000), strings.Repeat("a ", 3000), "日本酒 🍷", " ", "…",
		}),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	).Draw(t, name)
}

func TestAnyRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) cola.Text { return cola.Text(hostile(t, name)) }
		number := func(name string) cola.Opt[float64] {
			return cola.Opt[float64]{V: rapid.Float64().Draw(t, name), OK: rapid.Bool().Draw(t, name+" known")}
		}
		integer := func(name string) cola.Opt[int] {
			return cola.Opt[int]{V: rapid.Int().Draw(t, name), OK: rapid.Bool().Draw(t, name+" known")}
		}
		list := func(name string) []string { return rapid.SliceOfN(rapid.String(), 0, 8).Draw(t, name) }
		c := &cola.Cola{}
		c.BrandName, c.ProductName, c.ClassName, c.OriginName = hostile(t,
			"brand"), text("product"), text("class"), text("origin")
		c.ProductType = vocabulary.ProductType(rapid.SampledFrom(append(vocabulary.ProductTypes(),
			"", "other")).Draw(t, "type"))
		c.DomesticOrImported = rapid.SampledFrom([]cola.Text{"", vocabulary.Domestic, vocabulary.Imported}).Draw(t,
			"domestic")
		c.AddressRecipient, c.AddressState, c.AddressZipCode = text("recipient"), text("state"), text("zip")
		c.WineAppellation, c.WineVintageYear, c.GrapeVarietals = text("appellation"), integer("vintage"), list("grapes")
		c.LLMCategory, c.LLMProductDescription, c.LLMArtworkCredit = text("category"), text("description"), text("credit")
		c.LLMBrandEstablishedYear, c.LLMLiquorAgedYears = integer("established"), integer("aged")
		c.LLMBeerIBU, c.LLMBeerHopsVarieties, c.LLMLiquorGrains = text("ibu"), list("hops"), list("grains")
		c.ABV, c.Volume, c.VolumeUnit = number("abv"), number("volume"), text("unit")
		side := rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(1, 700))
		position := rapid.SampledFrom([]cola.Text{"front", "back", "neck", "strip", "other", "", "?"})
		c.Images = []cola.Image{{
			TTBImageID:        "1",
			ContainerPosition: position.Draw(t, "position"),
			WidthPixels:       cola.Some(side.Draw(t, "w")),
			HeightPixels:      cola.Some(side.Draw(t, "h")),
		}}
		if rapid.Bool().Draw(t, "coded") {
			c.Barcodes = []cola.Barcode{{
				BarcodeType:           text("symbology"),
				BarcodeValue:          rapid.OneOf(rapid.StringMatching(`[0-9]{6,14}`), rapid.String()).Draw(t, "value"),
				TTBImageID:            "1",
				Orientation:           rapid.SampledFrom([]cola.Text{"", "horizontal", "vertical"}).Draw(t, "orientation"),
				RelativeImagePosition: text("place"),
				WidthPixels:           integer("bar width"), HeightPixels: integer("bar height"),
			}}
		}
		img := &c.Images[0]
		w, h := img.WidthPixels.V, img.HeightPixels.V
		d, err := layout(c, img)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.raster().Bounds(); got.Dx() != w || got.Dy() != h {
			t.Fatalf("drawn %v, want %d by %d", got, w, h)
		}
		var svg strings.Builder
		if err := d.writeSVG(&svg); err != nil {
			t.Fatal(err)
		}
		mustBeXML(t, svg.String())
		if strings.Contains(svg.String(), "NaN") && !strings.Contains(svg.String(), "NaN%") ||
			strings.Contains(svg.String(), `"Inf`) {
			t.Fatalf("coordinate is not a number:\n%s", svg.String())
		}
	})
}
