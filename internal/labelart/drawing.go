package labelart

import "image/color"

// ink is a colour.
type ink struct{ r, g, b uint8 }

func hex(v uint32) ink { return ink{uint8(v >> 16), uint8(v >> 8), uint8(v)} }

func (k ink) rgba() color.RGBA { return color.RGBA{k.r, k.g, k.b, 255} }

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
