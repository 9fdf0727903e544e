package labelart

import (
	"image/color"
	"math"
)

// ink is a colour.
type ink struct{ r, g, b uint8 }

func hex(v uint32) ink { return ink{uint8(v >> 16), uint8(v >> 8), uint8(v)} }

func (k ink) rgba() color.RGBA { return color.RGBA{k.r, k.g, k.b, 255} }

// luminance is the brightness of a colour from 0 to 1 as WCAG defines it.
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

// contrast is the WCAG contrast of two colours, from 1 to 21.
func contrast(a, b ink) float64 {
	x, y := a.luminance(), b.luminance()
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

// shape is one thing in a drawing: a filled outline or a line of text.
type shape struct {
	fill ink
	path outline // when text is empty
	text string
	setting
}

// setting is how a line of text is set.
type setting struct {
	face   face
	size   float64 // pixels to the em
	track  float64 // ems between letters
	at     point   // left end of the baseline
	width  float64 // of the line, in pixels
	turned bool    // a quarter to the left around at: it reads upwards
}

// drawing is a finished picture, its shapes from back to front.
type drawing struct {
	w, h   int
	title  string
	shapes []shape
}

func (d *drawing) fill(k ink, o outline) {
	if len(o) > 0 {
		d.shapes = append(d.shapes, shape{fill: k, path: o})
	}
}
