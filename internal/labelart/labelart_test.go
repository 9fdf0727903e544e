package labelart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/draw"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/demo"
)

// label returns a record with one image of the given position and size.
func label(kind vocabulary.ProductType, position cola.Text, w, h int) (*cola.Cola, *cola.Image) {
	c := &cola.Cola{}
	c.TTBID, c.BrandName, c.ProductType, c.ProductName = 26001001000001, "MAKER & SON'S <ÉTOILE>", kind, "OLD VINE"
	c.ClassName, c.OriginName, c.AddressRecipient = "TABLE RED WINE", "CALIFORNIA", "STONE RIDGE LLC"
	c.ABV, c.Volume, c.VolumeUnit = cola.Some(13.5), cola.Some(750.0), "milliliters"
	c.LLMProductDescription = "A dry wine."
	c.Images = []cola.Image{{
		TTBImageID:        "26001001000001-1",
		ContainerPosition: position,
		WidthPixels:       cola.Some(w),
		HeightPixels:      cola.Some(h),
	}}
	return c, &c.Images[0]
}

// sampleLabels returns n demo labels, the same for every call.
func sampleLabels(n int) []*cola.Cola {
	labels := make([]*cola.Cola, 0, n)
	for c := range demo.Labels(demo.Options{Colas: n, Seed: 7, AsOf: cola.NewDate(2026, 11, 20)}) {
		labels = append(labels, c)
	}
	return labels
}

func mustPNG(t testing.TB, c *cola.Cola, img *cola.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Draw(&b, PNG, c, img); err != nil {
		t.Fatalf("PNG: %v", err)
	}
	return b.Bytes()
}

func mustSVG(t testing.TB, c *cola.Cola, img *cola.Image) string {
	t.Helper()
	var b strings.Builder
	if err := Draw(&b, SVG, c, img); err != nil {
		t.Fatalf("SVG: %v", err)
	}
	return b.String()
}

// svgText parses an SVG and returns its size and all its text. It fails the test if the XML is
// malformed.
func svgText(t testing.TB, svg string) (w, h, text string) {
	t.Helper()
	var b strings.Builder
	for _, token := range mustBeXML(t, svg) {
		switch v := token.(type) {
		case xml.StartElement:
			for _, a := range v.Attr {
				switch {
				case v.Name.Local == "svg" && a.Name.Local == "width":
					w = a.Value
				case v.Name.Local == "svg" && a.Name.Local == "height":
					h = a.Value
				}
			}
		case xml.CharData:
			b.Write(v)
		}
	}
	return w, h, b.String()
}

// fataler is the part of testing.T and rapid.T that ends a test.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// mustBeXML returns the tokens of an SVG and fails the test if the XML is malformed.
func mustBeXML(t fataler, svg string) []xml.Token {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	var tokens []xml.Token
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return tokens
		}
		if err != nil {
			t.Fatalf("the SVG is not well formed: %v\n%s", err, svg)
		}
		tokens = append(tokens, xml.CopyToken(token))
	}
}

// TestStatedFormats checks that every demo image states a supported format and is drawn in it, with
// its true size and a barcode that scans.
func TestStatedFormats(t *testing.T) {
	drawn := map[string]int{}
	for _, c := range sampleLabels(40) {
		for i := range c.Images {
			img := &c.Images[i]
			var b bytes.Buffer
			if err := Draw(&b, FormatOf(img), c, img); err != nil {
				t.Fatal(err)
			}
			picture, format, err := image.Decode(&b)
			want := map[cola.Text]string{"jpg": "jpeg", "jpeg": "jpeg", "png": "png"}[img.ExtensionType]
			if err != nil || format != want || picture.Bounds().Dx() != img.WidthPixels.V ||
				picture.Bounds().Dy() != img.HeightPixels.V {
				t.Errorf("%s: want %s, %d by %d; drawn as %s of %v, %v", img.TTBImageID, img.ExtensionType,
					img.WidthPixels.V, img.HeightPixels.V, format, picture.Bounds(), err)
				continue
			}
			drawn[format]++
			if want := mustScan(t, c, img); format == "jpeg" && want != "" {
				pixels := image.NewRGBA(picture.Bounds())
				draw.Draw(pixels, pixels.Rect, picture, image.Point{}, draw.Src)
				if scan(pixels, false) != want && scan(pixels, true) != want {
					t.Errorf("%s: the barcode %s does not scan in the JPEG", img.TTBImageID, want)
				}
			}
		}
	}
	if drawn["jpeg"] < 20 || drawn["png"] < 10 {
		t.Errorf("drawn images per format = %v, want at least 20 JPEG and 10 PNG", drawn)
	}
}

func TestParseFormat(t *testing.T) {
	for name, want := range map[string]Format{
		"jpg": JPEG, "JPEG": JPEG, "png": PNG, "Svg": SVG, "tif": "", "": "", ".png": "",
	} {
		if got, ok := ParseFormat(name); got != want || ok != (want != "") {
			t.Errorf("ParseFormat(%q) = %q, %t; want %q", name, got, ok, want)
		}
	}
	if got := FormatOf(&cola.Image{ExtensionType: "tif"}); got != PNG {
		t.Errorf("FormatOf(TIFF) = %s, want %s", got, PNG)
	}
}

func TestStatedSize(t *testing.T) {
	for _, position := range []cola.Text{"front", "back", "neck", "strip", "other", "", "lid"} {
		for _, size := range [][2]int{{1, 1}, {2, 700}, {700, 2}, {17, 23}, {160, 90}, {450, 600}, {800, 250}} {
			for _, kind := range vocabulary.ProductTypes() {
				c, img := label(vocabulary.ProductType(kind), position, size[0], size[1])
				config, err := png.DecodeConfig(bytes.NewReader(mustPNG(t, c, img)))
				if err != nil || config.Width != size[0] || config.Height != size[1] {
					t.Errorf("%s %q: want %v, the PNG is %dx%d, %v", kind, position, size, config.Width, config.Height, err)
				}
			}
		}
	}
	c, img := label(vocabulary.Wine, "back", 640, 480)
	if w, h, _ := svgText(t, mustSVG(t, c, img)); w != "640" || h != "480" {
		t.Errorf("SVG is %s by %s, want 640 by 480", w, h)
	}
}

func TestDefaultSize(t *testing.T) {
	c, img := label(vocabulary.Wine, "strip", 0, 0)
	img.WidthPixels, img.HeightPixels = cola.Opt[int]{}, cola.Opt[int]{}
	if w, h, _ := svgText(t, mustSVG(t, c, img)); w != "1200" || h != "180" {
		t.Errorf("strip without a size: %s by %s, want 1200 by 180", w, h)
	}
}

func TestInvalidSizes(t *testing.T) {
	for _, size := range [][2]int{
		{0, 10}, {10, 0}, {-5, 10}, {MaxSide + 1, 10}, {10, MaxSide + 1}, {1 << 40, 1 << 40},
	} {
		c, img := label(vocabulary.Wine, "front", size[0], size[1])
		for _, name := range []Format{JPEG, PNG, SVG} {
			var b bytes.Buffer
			err := Draw(&b, name, c, img)
			if err == nil || !strings.Contains(err.Error(), "4096") || !strings.Contains(err.Error(), img.TTBImageID) {
				t.Errorf("%s of %v: error %v, want one that names the image and the limit", name, size, err)
			}
			if b.Len() > 0 {
				t.Errorf("%s of %v wrote %d bytes before it failed", name, size, b.Len())
			}
		}
	}
}

// brokenWriter fails every write.
type brokenWriter struct{}

var errBroken = errors.New("broken pipe")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestWriterError(t *testing.T) {
	c, img := label(vocabulary.Wine, "front", 300, 400)
	for _, f := range []Format{JPEG, PNG, SVG} {
		if err := Draw(brokenWriter{}, f, c, img); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v, want the writer's error", f, err)
		}
	}
}

func TestLabelText(t *testing.T) {
	c, img := label(vocabulary.Wine, "front", 900, 1200)
	c.WineVintageYear, c.WineAppellation = cola.Some(2019), "NAPA VALLEY"
	_, _, text := svgText(t, mustSVG(t, c, img))
	for _, want := range []string{"SON'S", "<ÉTOILE>", "OLD VINE", "NAPA VALLEY", "2019", "13.5% ALC./VOL.", "750 ML"} {
		if !strings.Contains(text, want) {
			t.Errorf("front label does not contain %q:\n%s", want, text)
		}
	}
	img.ContainerPosition = "back"
	_, _, text = svgText(t, mustSVG(t, c, img))
	for _, want := range []string{
		"A dry wine.", "GOVERNMENT WARNING:", "Surgeon General", "health problems.", "CONTAINS SULFITES",
		"STONE RIDGE LLC",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("back label does not contain %q:\n%s", want, text)
		}
	}
}

func TestDeterministic(t *testing.T) {
	for _, c := range sampleLabels(6) {
		for i := range c.Images {
			svg, png := mustSVG(t, c, &c.Images[i]), mustPNG(t, c, &c.Images[i])
			if svg != mustSVG(t, c, &c.Images[i]) || !bytes.Equal(png, mustPNG(t, c, &c.Images[i])) {
				t.Fatalf("%s is drawn differently the second time", c.Images[i].TTBImageID)
			}
		}
	}
}

func TestBrandLooks(t *testing.T) {
	looks := map[string]bool{}
	for _, brand := range []string{
		"ALDER", "BIRCH", "CEDAR", "DOGWOOD", "ELM", "FIR", "GINKGO", "HAZEL", "IRONWOOD", "JUNIPER",
	} {
		c, _ := label(vocabulary.MaltBeverage, "front", 600, 800)
		c.BrandName = brand
		th := themeOf(c)
		looks[string([]byte{th.paper.r, th.paper.g, th.paper.b, byte(th.composition)})] = true
		c.TTBID++
		if second := themeOf(c); second.paper != th.paper || second.composition != th.composition {
			t.Errorf("two labels of %s look different", brand)
		}
	}
	if len(looks) < 6 {
		t.Errorf("ten brands have %d looks, want at least 6", len(looks))
	}
}

func TestTextBounds(t *testing.T) {
	for _, c := range sampleLabels(300) {
		for i := range c.Images {
			d, err := layout(c, &c.Images[i])
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range d.shapes {
				if s.text == "" {
					continue
				}
				x0, x1, y0, y1 := s.at.x, s.at.x+s.width, s.at.y-0.75*s.size, s.at.y+0.22*s.size
				if s.turned {
					x0, x1, y0, y1 = s.at.x-0.75*s.size, s.at.x+0.22*s.size, s.at.y-s.width, s.at.y
				}
				if x0 < -0.5 || y0 < -0.5 || x1 > float64(d.w)+0.5 || y1 > float64(d.h)+0.5 {
					t.Fatalf("%s (%s, %dx%d): %q extends beyond the label: %.1f %.1f to %.1f %.1f",
						c.Images[i].TTBImageID, c.Images[i].ContainerPosition, d.w, d.h, s.text, x0, y0, x1, y1)
				}
			}
		}
	}
}

// luminance returns the relative luminance of a color, from 0 to 1, as defined by WCAG.
func (k ink) luminance() float64 {
	linear := func(v uint8) float64 {
		c := float64(v) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(k.r) + 0.7152*linear(k.g) + 0.0722*linear(k.b)
}

// contrast returns the WCAG contrast ratio of two colors, from 1 to 21.
func contrast(a, b ink) float64 {
	x, y := a.luminance(), b.luminance()
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

func TestPaletteContrast(t *testing.T) {
	for name, palettes := range map[string][]palette{
		"wine": winePalettes, "beer": beerPalettes, "spirits": spiritPalettes,
	} {
		for i, p := range palettes {
			for _, pair := range []struct {
				what    string
				a, b    uint32
				atLeast float64
			}{{"ink on paper", p.ink, p.paper, 4.5}, {"shine on panel", p.shine, p.panel, 4.5}, {"accent on paper", p.accent, p.paper, 2.5}} {
				if got := contrast(hex(pair.a), hex(pair.b)); got < pair.atLeast {
					t.Errorf("%s palette %d: %s has a contrast of %.2f, want %.1f",
						name, i, pair.what, got, pair.atLeast)
				}
			}
		}
	}
}

// TestOutlineArea checks that outlines without pixels have an empty area, even with infinite or NaN
// coordinates, whose conversion to integers differs between platforms.
func TestOutlineArea(t *testing.T) {
	for name, o := range map[string]outline{
		"empty":     nil,
		"too large": rectangle(box{0, 0, 5 * MaxSide, 1}),
		"infinite":  rectangle(box{0, 0, 1, math.Inf(1)}),
		"NaN":       rectangle(box{math.NaN(), 0, 1, 1}),
	} {
		if got := o.area(); got != (image.Rectangle{}) {
			t.Errorf("%s: area = %v, want none", name, got)
		}
	}
	if got := rectangle(box{0.5, 1, 1, 1}).area(); got != image.Rect(0, 1, 2, 2) {
		t.Errorf("area = %v, want (0,1)-(2,2)", got)
	}
}
