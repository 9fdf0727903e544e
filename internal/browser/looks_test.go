package browser

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "update the committed screenshots")

// looks compares screenshots of pages with the committed ones. If COLAREGISTRY_SCREENSHOTS names a
// folder, it saves the screenshots there.
type looks struct {
	t    *testing.T
	into string
	seen []string
}

const (
	committedLooks = "testdata/looks"
	// cell is the side length, in page pixels, of the squares in which screenshots are compared.
	// Committed screenshots have one pixel per cell: they show a page's layout and colors but not font
	// rendering.
	cell = 8
	// minDifference is the minimum color difference, out of 255, at which two cells differ.
	// maxDifferent is the maximum percentage of different cells.
	minDifference = 40
	maxDifferent  = 2.0
)

// documents is the folder of the documentation's screenshots. documented maps screenshots to their
// file names there.
const documents = "../../docs/images"

var documented = map[string]string{
	"landing-1280-light": "landing", "usage-1280-light": "usage", "explore-found-1280-light": "explore",
	"label-1280-dark": "label-dark", "search-1280-light": "saved-search", "keys-360-light": "keys-phone",
}

// loadPictures loads all images, including lazy ones further down the page.
const loadPictures = `Promise.all([...document.images].map(i => { i.loading = "eager"; return i.decode().catch(() => {}); })).then(() => true)`

func newLooks(t *testing.T) *looks {
	t.Helper()
	return &looks{t: t, into: os.Getenv("COLAREGISTRY_SCREENSHOTS")}
}

// compare takes a screenshot of the whole page and compares it with the committed screenshot of the
// same name.
func (l *looks) compare(b *tab, name string) {
	b.t.Helper()
	ask(b, chromedp.Evaluate[bool](loadPictures, chromedp.EvalAwaitPromise))
	whole := ask(b, chromedp.FullScreenshot(100))
	l.seen = append(l.seen, name+".png")
	if l.into != "" {
		mustWrite(b.t, filepath.Join(l.into, name+".png"), whole)
	}
	if strings.HasPrefix(name, "docs-guide-") || strings.HasPrefix(name, "docs-find-") {
		return // these pages show the text of a guide, so every edit would change the screenshot
	}
	picture, err := png.Decode(bytes.NewReader(whole))
	if err != nil {
		b.t.Fatal(err)
	}
	small := downscale(picture)
	file := filepath.Join(committedLooks, name+".png")
	if *update {
		if doc, ok := documented[name]; ok {
			mustWrite(b.t, filepath.Join(documents, doc+".png"), ask(b, chromedp.CaptureScreenshot()))
		}
		var out bytes.Buffer
		if err := png.Encode(&out, small); err != nil {
			b.t.Fatal(err)
		}
		mustWrite(b.t, file, out.Bytes())
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		b.t.Fatalf("%v; create it with make screenshots", err)
	}
	before, err := png.Decode(bytes.NewReader(want))
	if err != nil {
		b.t.Fatal(err)
	}
	if percent := difference(before, small); percent > maxDifferent {
		b.t.Errorf("%s differs in %.1f%% of its cells; to view it, set COLAREGISTRY_SCREENSHOTS=folder; to accept it, run make screenshots", name, percent)
	}
}

// finish fails the test if a committed screenshot belongs to no page; with -update, it deletes the
// screenshot instead. It does nothing if only some pages were opened.
func (l *looks) finish(pages int) {
	l.t.Helper()
	if len(l.seen) < pages {
		return
	}
	files, err := os.ReadDir(committedLooks)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, f := range files {
		if slices.Contains(l.seen, f.Name()) {
			continue
		}
		if !*update {
			l.t.Errorf("%s belongs to no page", f.Name())
		} else if err := os.Remove(filepath.Join(committedLooks, f.Name())); err != nil {
			l.t.Error(err)
		}
	}
}

func mustWrite(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// downscale returns the mean color of each cell.
func downscale(from image.Image) *image.NRGBA {
	size := from.Bounds().Size()
	to := image.NewNRGBA(image.Rect(0, 0, (size.X+cell-1)/cell, (size.Y+cell-1)/cell))
	for y := range to.Bounds().Dy() {
		for x := range to.Bounds().Dx() {
			to.SetNRGBA(x, y, mean(from, image.Rect(x*cell, y*cell, (x+1)*cell, (y+1)*cell).Intersect(from.Bounds())))
		}
	}
	return to
}

func mean(of image.Image, part image.Rectangle) color.NRGBA {
	var r, g, b, n uint32
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			cr, cg, cb, _ := of.At(x, y).RGBA()
			r, g, b, n = r+cr>>8, g+cg>>8, b+cb>>8, n+1
		}
	}
	return color.NRGBA{R: uint8(r / n), G: uint8(g / n), B: uint8(b / n), A: 255}
}

// difference returns the percentage of cells that differ between two images. Cells outside either
// image differ.
func difference(a, b image.Image) float64 {
	all := a.Bounds().Union(b.Bounds())
	differ := 0
	for y := range all.Dy() {
		for x := range all.Dx() {
			p := image.Pt(x, y)
			if !p.In(a.Bounds()) || !p.In(b.Bounds()) || colorDistance(a.At(x, y), b.At(x, y)) >= minDifference {
				differ++
			}
		}
	}
	return 100 * float64(differ) / float64(all.Dx()*all.Dy())
}

// colorDistance returns the largest difference between the channels of two colors.
func colorDistance(a, b color.Color) (most int) {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	for _, d := range []int{int(ar>>8) - int(br>>8), int(ag>>8) - int(bg>>8), int(ab>>8) - int(bb>>8)} {
		most = max(most, d, -d)
	}
	return most
}

// TestDifference checks that an image equals itself, that its inverse differs entirely, that a
// longer image differs by its extra part, and that a slight difference in shade does not count.
func TestDifference(t *testing.T) {
	plain := func(w, h int, c color.Color) *image.NRGBA {
		i := image.NewNRGBA(image.Rect(0, 0, w, h))
		for y := range h {
			for x := range w {
				i.Set(x, y, c)
			}
		}
		return i
	}
	white, black := plain(160, 80, color.White), plain(160, 80, color.Black)
	for name, tt := range map[string]struct {
		a, b image.Image
		want float64
	}{
		"itself":      {white, white, 0},
		"the inverse": {white, black, 100},
		"longer":      {white, plain(160, 160, color.White), 50},
		"a shade":     {white, plain(160, 80, color.Gray{Y: 230}), 0},
	} {
		if got := difference(downscale(tt.a), downscale(tt.b)); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
