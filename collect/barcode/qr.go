package barcode

import (
	"cmp"
	"image"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"
)

// finder is one of the three square patterns in the corners of a QR code. A line through its center
// crosses runs of 1, 1, 3, 1 and 1 modules.
type finder struct {
	center vec
	module float64
	light  bool // light on dark
	down   bool // found on a vertical line
	lines  int  // number of lines that found it
}

// maxFinders limits the number of patterns per direction, to save memory on textured images.
// maxCorners limits the time spent on combining patterns.
const (
	maxFinders = 100_000
	maxCorners = 40
)

// findFinders collects the finder patterns on the profile's line.
func (s *searcher) findFinders(from, along vec) {
	runs, down := s.profile.runs, along.x == 0
	limit := maxFinders * (1 + btoi(down)) // horizontal lines are first
	for i := 1; i+6 <= len(runs) && len(s.finders) < limit; i++ {
		r := runs[i : i+5]
		module := (r[0] + r[1] + r[2] + r[3] + r[4]) / 7
		if module < 1.2 || math.Abs(r[2]-3*module) > 1.2*module {
			continue
		}
		slack := 0.6 * module
		if math.Abs(r[0]-module) > slack || math.Abs(r[1]-module) > slack ||
			math.Abs(r[3]-module) > slack || math.Abs(r[4]-module) > slack {
			continue
		}
		at := s.profile.starts[i+2] + r[2]/2
		s.finders = append(s.finders, finder{
			center: from.add(along.times(at - 0.5)), module: module,
			light: s.profile.dark == (i%2 == 1), down: down, lines: 1,
		})
	}
}

// corners merges the finder patterns found on different lines. A pattern needs horizontal and
// vertical lines that cross at its center.
func corners(found []finder) []finder {
	across, down := newFinderGrid(), newFinderGrid()
	for _, f := range found {
		grid := across
		if f.down {
			grid = down
		}
		if m := grid.near(&f); m != nil {
			n := float64(m.lines)
			m.center = m.center.times(n).add(f.center).times(1 / (n + 1))
			m.lines++
		} else {
			grid.add(f)
		}
	}
	var both []finder
	for _, h := range across.list {
		if v := down.near(h); v != nil && h.lines+v.lines >= 4 {
			both = append(both, finder{
				center: h.center.middle(v.center), module: (h.module + v.module) / 2,
				light: h.light, lines: h.lines + v.lines,
			})
		}
	}
	slices.SortStableFunc(both, func(a, b finder) int { return cmp.Compare(b.lines, a.lines) })
	return both[:min(len(both), maxCorners)]
}

// finderGrid finds patterns by location.
type finderGrid struct {
	list  []*finder
	cells map[[2]int][]*finder // by the cell in which they were first found
}

const finderCell = 16

func newFinderGrid() *finderGrid { return &finderGrid{cells: make(map[[2]int][]*finder)} }

func (g *finderGrid) add(f finder) {
	g.list = append(g.list, &f)
	cell := [2]int{int(f.center.x) / finderCell, int(f.center.y) / finderCell}
	g.cells[cell] = append(g.cells[cell], &f)
}

// near returns the pattern that is the same as f and was found by the most lines, or nil.
func (g *finderGrid) near(f *finder) (best *finder) {
	cell := func(at float64) int { return int(max(at, 0)) / finderCell }
	r := 2 * f.module
	for y := cell(f.center.y - r); y <= cell(f.center.y+r); y++ {
		for x := cell(f.center.x - r); x <= cell(f.center.x+r); x++ {
			for _, o := range g.cells[[2]int{x, y}] {
				if o.same(f) && (best == nil || o.lines > best.lines) {
					best = o
				}
			}
		}
	}
	return best
}

func (f *finder) same(o *finder) bool {
	return f.light == o.light && f.center.distance(o.center) < 2*f.module &&
		f.module < 1.5*o.module && o.module < 1.5*f.module
}

// square is a possible QR code, located by three finder patterns.
type square struct {
	finders     [3]vec // centers of the patterns; the first is the corner next to both others
	right, down vec    // from the first center to the others; one module long after fit
	module      float64
	light       bool
}

// squareOf checks that three patterns are corners of a square, and that the first is next to
// both others.
func squareOf(a, b, c finder) (square, bool) {
	right, down := b.center.sub(a.center), c.center.sub(a.center)
	x, y := right.length(), down.length()
	// Horizontal and vertical lines cross the modules of a slanted code at an angle.
	module := (a.module + b.module + c.module) / 3 * max(math.Abs(right.x), math.Abs(right.y)) / x
	switch {
	case a.light != b.light || a.light != c.light,
		max(a.module, b.module, c.module) > 1.5*min(a.module, b.module, c.module),
		!(min(x, y) >= 8*module), x > 190*module, x > 1.25*y, y > 1.25*x, // module is NaN if x is 0
		math.Abs(right.dot(down)) > 0.2*x*y,
		right.normal().dot(down) < 0: // mirrored
		return square{}, false
	}
	return square{[3]vec{a.center, b.center, c.center}, right, down, module, a.light}, true
}

// fit finds the size in modules at which all three corners look like finder patterns. Their centers
// are 14 modules apart, plus 4 for each version after the first. The module size is only an
// estimate, so fit also tries the neighboring versions.
func (sq *square) fit(p *plane) bool {
	side := (sq.right.length() + sq.down.length()) / 2
	version := math.Round((side/sq.module - 10) / 4)
	for _, v := range []float64{version, version - 1, version + 1} {
		fitted := *sq
		modules := 10 + 4*max(v, 1)
		fitted.right, fitted.down = sq.right.times(1/modules), sq.down.times(1/modules)
		fitted.module = side / modules
		if fitted.plausible(p) {
			*sq = fitted
			return true
		}
	}
	return false
}

func (sq *square) center() vec { return sq.finders[1].middle(sq.finders[2]) }

// bounds returns the corners of the code.
func (sq *square) bounds() []vec {
	c := sq.center()
	// The centers of the patterns are 3.5 modules from the edges.
	half := sq.finders[1].distance(sq.finders[0])/sq.module/2 + 3.5
	u, v := sq.right.times(half), sq.down.times(half)
	return []vec{c.add(u).add(v), c.add(u).sub(v), c.sub(u).add(v), c.sub(u).sub(v)}
}

// half returns half the side of the enclosing upright square, with a margin.
func (sq *square) half() (half float64) {
	for _, corner := range sq.bounds() {
		d := corner.sub(sq.center())
		half = max(half, math.Abs(d.x), math.Abs(d.y))
	}
	return half + 4*sq.module
}

// finderModules are the modules of a finder pattern, from its top left.
var finderModules = [7]string{"1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"}

// maxWrong is how many of the 49 modules of a finder pattern may look wrong.
const maxWrong = 5

// plausible reports whether there are finder patterns at three corners. Lines and dots often have
// the runs of a finder pattern without looking like one.
func (sq *square) plausible(p *plane) bool {
	for _, center := range sq.finders {
		if !sq.patternNear(p, center) {
			return false
		}
	}
	return true
}

// patternNear reports whether a finder pattern is within half a module of a point. Centers can be
// off by that much, because lines that miss the center also cross similar runs.
func (sq *square) patternNear(p *plane, center vec) bool {
	for dy := -0.5; dy <= 0.5; dy += 0.5 {
		for dx := -0.5; dx <= 0.5; dx += 0.5 {
			if sq.wrongModules(p, center.add(sq.right.times(dx)).add(sq.down.times(dy))) <= maxWrong {
				return true
			}
		}
	}
	return false
}

// wrongModules returns how many modules around a point differ from a finder pattern.
func (sq *square) wrongModules(p *plane, center vec) (wrong int) {
	var sums, counts [2]float64
	var values [7][7]float64
	for y := range 7 {
		for x := range 7 {
			at := center.add(sq.right.times(float64(x - 3))).add(sq.down.times(float64(y - 3)))
			if !p.contains(at) {
				return len(values) * len(values)
			}
			values[y][x] = float64(p.at(at))
			if sq.light {
				values[y][x] = 255 - values[y][x]
			}
			dark := finderModules[y][x] - '0'
			sums[dark], counts[dark] = sums[dark]+values[y][x], counts[dark]+1
		}
	}
	light, dark := sums[0]/counts[0], sums[1]/counts[1]
	if light-dark < 2*minStep {
		return len(values) * len(values)
	}
	for y, row := range &values {
		for x, v := range row {
			if (v < (light+dark)/2) != (finderModules[y][x] == '1') {
				wrong++
			}
		}
	}
	return wrong
}

// Limits on decoding attempts, because images may contain many lookalikes of finder patterns.
const (
	maxSquares = 60
	maxQRSide  = 1200
)

// readQR returns the QR codes at the finder patterns. It tries every ordered triple of patterns as
// top left, top right and bottom left, so that an image can have several codes.
func readQR(p *plane, found []finder, bounds image.Rectangle) []Code {
	list := corners(found)
	var codes []Code
	used := make(map[int]bool)
	tried := 0
	for a := range list {
		for b := range list {
			for c := range list {
				if a == b || a == c || b == c || used[a] || used[b] || used[c] || tried == maxSquares {
					continue
				}
				sq, ok := squareOf(list[a], list[b], list[c])
				if !ok || !sq.fit(p) {
					continue
				}
				tried++
				text, ok := sq.decode(p)
				if !ok {
					continue
				}
				used[a], used[b], used[c] = true, true, true
				box := boxOf(bounds, p.scale, sq.bounds()...)
				codes = append(codes, Code{
					Type: QR, Value: text, Bounds: box,
					Orientation: orientation(sq.right), Position: position(box, bounds),
				})
			}
		}
	}
	return codes
}

// decode decodes the code at several scales. It returns the text on which two of them agree. The
// scales give modules of a few pixels, at which the library works best, regardless of the size of
// the code in the image.
func (sq *square) decode(p *plane) (text string, ok bool) {
	seen := make(map[string]bool)
	for _, module := range []float64{4, 3, 6, 5} {
		side := int(2 * sq.half() * module / sq.module)
		if side > maxQRSide {
			side = maxQRSide
		}
		img := sq.crop(p, side)
		at := make(map[string]bool)
		for _, binarize := range []func(gozxing.LuminanceSource) gozxing.Binarizer{
			gozxing.NewHybridBinarizer, gozxing.NewGlobalHistgramBinarizer,
		} {
			if text, ok := decodeQR(img, binarize); ok {
				at[text] = true
			}
		}
		for text := range at {
			if seen[text] {
				return text, true
			}
			seen[text] = true
		}
		if len(seen) == 0 && module == 6 {
			break
		}
	}
	return "", false
}

// crop returns the square, scaled to a side in pixels, dark on light.
func (sq *square) crop(p *plane, side int) *image.Gray {
	img := image.NewGray(image.Rect(0, 0, side, side))
	half := sq.half()
	step := 2 * half / float64(side)
	for y := range side {
		for x := range side {
			at := sq.center().add(vec{(float64(x)+0.5)*step - half, (float64(y)+0.5)*step - half})
			value := uint8(255)
			if p.contains(at) {
				value = uint8(min(max(p.sharpAt(at)+0.5, 0), 255))
				if sq.light {
					value = 255 - value
				}
			}
			img.Pix[y*img.Stride+x] = value
		}
	}
	return img
}

// decodeQR decodes the QR code in an image. The library panics on some damaged codes.
func decodeQR(img image.Image, binarize func(gozxing.LuminanceSource) gozxing.Binarizer) (text string, ok bool) {
	defer func() {
		if recover() != nil {
			text, ok = "", false
		}
	}()
	bitmap, err := gozxing.NewBinaryBitmap(binarize(gozxing.NewLuminanceSourceFromImage(img)))
	if err != nil {
		return "", false
	}
	result, err := qrcode.NewQRCodeReader().Decode(bitmap, map[gozxing.DecodeHintType]any{
		gozxing.DecodeHintType_TRY_HARDER: true,
	})
	if err != nil {
		return "", false
	}
	text = strings.TrimSpace(result.GetText())
	return text, text != "" && utf8.ValidString(text) && !strings.ContainsFunc(text, unprintable)
}

// unprintable reports whether r is invalid or a control character that multi-line text, such as a
// vCard, doesn't use.
func unprintable(r rune) bool {
	return r == utf8.RuneError || unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r)
}
