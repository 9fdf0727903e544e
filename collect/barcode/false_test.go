package barcode

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-fonts/liberation/liberationsansbold"
	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/oned"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// textures draw patterns that resemble the contents of labels, but aren't codes.
var textures = map[string]func(rng *rand.Rand) *image.Gray{
	"noise": func(rng *rand.Rand) *image.Gray {
		return changed(blank(260, 220), func(x, y int) float64 { return 255 * rng.Float64() })
	},
	"blocks": func(rng *rand.Rand) *image.Gray {
		size := 2 + rng.IntN(4)
		values := make(map[image.Point]float64)
		return changed(blank(260, 220), func(x, y int) float64 {
			at := image.Pt(x/size, y/size)
			if _, ok := values[at]; !ok {
				values[at] = float64(rng.IntN(2) * 255)
			}
			return values[at]
		})
	},
	"random bars": randomBars,
	"even stripes": func(rng *rand.Rand) *image.Gray {
		period, duty, turn := 2+8*rng.Float64(), 0.2+0.6*rng.Float64(), rng.Float64()*math.Pi
		return changed(blank(320, 240), func(x, y int) float64 {
			at := float64(x)*math.Cos(turn) + float64(y)*math.Sin(turn)
			if math.Mod(at+1e4*period, period) < duty*period {
				return 20
			}
			return 240
		})
	},
	"wood": func(rng *rand.Rand) *image.Gray {
		var waves [8][3]float64
		for i := range waves {
			waves[i] = [3]float64{0.05 + rng.Float64(), rng.Float64() / 20, rng.Float64() * 7}
		}
		return changed(blank(320, 240), func(x, y int) float64 {
			v := 128.0
			for _, w := range waves {
				v += 25 * math.Sin(float64(x)*w[0]+float64(y)*w[1]+w[2])
			}
			return v
		})
	},
	"rings": func(rng *rand.Rand) *image.Gray {
		cx, cy, width := rng.Float64()*260, rng.Float64()*220, 2+4*rng.Float64()
		return changed(blank(260, 220), func(x, y int) float64 {
			return 240 * float64(int(math.Hypot(float64(x)-cx, float64(y)-cy)/width)%2)
		})
	},
	"text":    text,
	"squares": squares,
}

func blank(w, h int) *image.Gray { return image.NewGray(image.Rect(0, 0, w, h)) }

// randomBars draws as many bars and spaces as a symbol has, each one to four modules wide, between
// quiet zones.
func randomBars(rng *rand.Rand) *image.Gray {
	module := 2 + rng.IntN(2)
	runs := []int{33, 43, 59, 77, 61}[rng.IntN(5)]
	img := changed(blank((3*runs+24)*module, 100), func(x, y int) float64 { return 240 })
	at := 12 * module
	for i := range runs {
		w := module
		if i > 2 && i < runs-3 {
			w *= 1 + rng.IntN(4)
		}
		if i%2 == 0 {
			for y := range 100 {
				for x := at; x < min(at+w, img.Rect.Max.X); x++ {
					img.SetGray(x, y, color.Gray{20})
				}
			}
		}
		at += w
	}
	return img
}

var bold = func() *opentype.Font {
	f, err := opentype.Parse(liberationsansbold.TTF)
	if err != nil {
		panic(err)
	}
	return f
}()

// text draws lines of capitals with many upright strokes, as in government warnings.
func text(rng *rand.Rand) *image.Gray {
	img := changed(blank(420, 260), func(x, y int) float64 { return 240 })
	size := 8 + 30*rng.Float64()
	face, err := opentype.NewFace(bold, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		panic(err)
	}
	const letters = "ILHMNTEIIMWUN1|l  "
	for y := size; y < 260; y += size * 1.1 {
		line := make([]byte, 60)
		for i := range line {
			line[i] = letters[rng.IntN(len(letters))]
		}
		d := font.Drawer{Dst: img, Src: image.NewUniform(color.Gray{20}), Face: face, Dot: fixed.P(15, int(y))}
		d.DrawString(string(line))
	}
	return img
}

// squares draws nested squares that look like the finder patterns of QR codes, and random modules.
func squares(rng *rand.Rand) *image.Gray {
	const module, side = 4, 25
	var dark [side][side]bool
	for y := range side {
		for x := range side {
			dark[y][x] = rng.IntN(2) == 1
		}
	}
	for _, corner := range []image.Point{{}, {side - 7, 0}, {0, side - 7}} {
		for y := range 7 {
			for x := range 7 {
				dark[corner.Y+y][corner.X+x] = finderModules[y][x] == '1'
			}
		}
	}
	return changed(blank((side+8)*module, (side+8)*module), func(x, y int) float64 {
		mx, my := x/module-4, y/module-4
		if mx >= 0 && my >= 0 && mx < side && my < side && dark[my][mx] {
			return 20
		}
		return 240
	})
}

// TestReadTextures reads 200 images without codes.
func TestReadTextures(t *testing.T) {
	for name, draw := range textures {
		for seed := range uint64(25) {
			img := draw(rand.New(rand.NewPCG(seed, 1)))
			if got := Read(img); got != nil {
				t.Errorf("%s, seed %d: Read = %v, want none", name, seed, got)
			}
		}
	}
}

// TestReadOtherSymbologies checks that codes of other symbologies and lengths are not mistaken for
// supported ones.
func TestReadOtherSymbologies(t *testing.T) {
	for _, d := range []drawn{
		{"Code 39", "WINE-2024", gozxing.BarcodeFormat_CODE_39, oned.NewCode39Writer()},
		{"Code 93", "WINE2024", gozxing.BarcodeFormat_CODE_93, oned.NewCode93Writer()},
		{"Codabar", "A40156789012B", gozxing.BarcodeFormat_CODABAR, oned.NewCodaBarWriter()},
		{"ITF-12", "106141410004", gozxing.BarcodeFormat_ITF, oned.NewITFWriter()},
		{"ITF-16", "1061414100041512", gozxing.BarcodeFormat_ITF, oned.NewITFWriter()},
		{"ITF-14 with a wrong check digit", "10614141000416", gozxing.BarcodeFormat_ITF, oned.NewITFWriter()},
	} {
		for _, module := range []int{1, 3} {
			if got := Read(d.draw(t, module)); got != nil {
				t.Errorf("%s: Read = %v, want none", d.typ, got)
			}
		}
	}
}

// TestDecodersAreStrict checks that moving any edge of a symbol by a module never yields another
// value.
func TestDecodersAreStrict(t *testing.T) {
	for _, d := range samples {
		if d.typ == QR {
			continue
		}
		runs := runsOf(t, d)
		values := decodeAll(runs)
		if len(values) != 1 || values[0] != d.value {
			t.Fatalf("%s: decoded %q, want %q", d.typ, values, d.value)
		}
		for i := 1; i < len(runs)-2; i++ {
			for _, by := range []float64{-1, 1} {
				moved := append([]float64(nil), runs...)
				moved[i] += by
				moved[i+1] -= by
				if moved[i] <= 0 || moved[i+1] <= 0 {
					continue
				}
				for _, v := range decodeAll(moved) {
					if v != d.value {
						t.Errorf("%s: moving the end of run %d by %v reads %q", d.typ, i, by, v)
					}
				}
			}
		}
	}
}

// TestQuietZones checks that a symbol with bars too close to it is not read, because it may be part
// of another symbol.
func TestQuietZones(t *testing.T) {
	for _, d := range samples[:6] {
		runs := runsOf(t, d)
		bars := runs[1 : len(runs)-1]
		for name, tight := range map[string][]float64{
			"before": slices.Concat([]float64{20, 1, 3}, bars, []float64{20}),
			"after":  slices.Concat([]float64{20}, bars, []float64{3, 1, 20}),
		} {
			if got := decodeAll(tight); got != nil {
				t.Errorf("%s, bar %s: read %q, want none", d.typ, name, got)
			}
		}
	}
}

// TestInkSpread reads symbols with bars printed too wide or too narrow.
func TestInkSpread(t *testing.T) {
	for _, d := range samples[:6] {
		by := 0.4
		if d.typ == ITF14 {
			by = 0.15 // the widths of elements are compared directly
		}
		for _, growth := range []float64{-by, by} {
			runs := runsOf(t, d)
			for i := 1; i < len(runs)-1; i++ {
				runs[i] += growth * float64(2*(i%2)-1)
			}
			if got := decodeAll(runs); !slices.Equal(got, []string{d.value}) {
				t.Errorf("%s, %v: read %q, want %q", d.typ, growth, got, d.value)
			}
		}
	}
}

// runsOf returns the runs of a code in modules, with quiet zones.
func runsOf(t fatal, d drawn) []float64 {
	img := d.draw(t, 1)
	p := profile{gray: img.Pix[img.Stride*30 : img.Stride*31]}
	p.split()
	return p.runs
}

func decodeAll(runs []float64) (values []string) {
	symbols(runs, func(_ int, s symbol) { values = append(values, s.value) })
	return values
}

// TestWrongCheckDigit checks that symbols with a wrong check digit are not read.
func TestWrongCheckDigit(t *testing.T) {
	for _, digits := range []string{"4006381333932", "0036000291453", "9638507412345"} {
		img := drawEAN13(digits, 3)
		if got := Read(img); got != nil {
			t.Errorf("%s: Read = %v, want none", digits, got)
		}
	}
	// With a correct check digit, the drawing is readable.
	if got := fmt.Sprint(summaries(Read(drawEAN13("4006381333931", 3)))); got != "[{EAN-13 4006381333931 horizontal}]" {
		t.Errorf("Read = %s", got)
	}
}

// drawEAN13 draws any 13 digits, with or without a correct check digit.
func drawEAN13(digits string, module int) *image.Gray {
	runs := []int{12, 1, 1, 1}
	var sets int
	for bits, d := range firstDigits {
		if d == digits[0] {
			sets = bits
		}
	}
	for i, d := range digits[1:] {
		w := digitWidths[d-'0']
		if i == 6 {
			runs = append(runs, 1, 1, 1, 1, 1)
		}
		if i < 6 && sets>>(5-i)&1 == 1 {
			w = [4]int{w[3], w[2], w[1], w[0]}
		}
		runs = append(runs, w[:]...)
	}
	runs = append(runs, 1, 1, 1, 12)
	var row []uint8
	for i, w := range runs {
		for range w * module {
			row = append(row, uint8(240-220*(i%2)))
		}
	}
	return changed(blank(len(row), 120), func(x, y int) float64 { return float64(row[x]) })
}
