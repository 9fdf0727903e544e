// Package labelart draws the images of demo labels from their records. The brand determines the
// colors and composition, the product determines the ornament, the image's position determines the
// layout, and the record's fields supply the text. The barcode is real and scans. Identical records
// produce identical images.
//
// A label is laid out once, as filled outlines and lines of text at exact positions. All formats
// render the same drawing. SVG names font families with identical widths, at least one of which is
// available on nearly every system (Liberation Serif and Sans have the metrics of Times and Arial),
// and sets the length of each line.
package labelart

import (
	"fmt"
	"image/color"
	"io"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// MaxSide is the maximum length of a side in pixels.
const MaxSide = 4096

// Format is an image file format, named by its file extension.
type Format string

// Supported formats.
const (
	JPEG Format = "jpg"
	PNG  Format = "png"
	SVG  Format = "svg"
)

// ParseFormat returns the format for a file extension in any letter case.
func ParseFormat(extension string) (f Format, ok bool) {
	switch f = Format(strings.ToLower(extension)); f {
	case "jpeg":
		return JPEG, true
	case JPEG, PNG, SVG:
		return f, true
	}
	return "", false
}

// FormatOf returns the format that an image's record states, or PNG if Draw does not support it.
func FormatOf(img *cola.Image) Format {
	if f, ok := ParseFormat(string(img.ExtensionType)); ok {
		return f
	}
	return PNG
}

// ContentType returns the media type of the format.
func (f Format) ContentType() string {
	switch f {
	case JPEG:
		return "image/jpeg"
	case SVG:
		return "image/svg+xml"
	}
	return "image/png"
}

// Draw writes one image of a label, at the pixel size in its record or else at a default size. It
// returns an error if a side is not between 1 and MaxSide pixels, or if a write fails.
func Draw(w io.Writer, f Format, c *cola.Cola, img *cola.Image) error {
	d, err := layout(c, img)
	if err != nil {
		return err
	}
	if f == SVG {
		return d.writeSVG(w)
	}
	return d.writeRaster(w, f)
}

// layout composes the drawing of an image.
func layout(c *cola.Cola, img *cola.Image) (*drawing, error) {
	w, h, err := sizeOf(img)
	if err != nil {
		return nil, err
	}
	p := newPage(c, img, w, h)
	switch img.ContainerPosition {
	case "back":
		p.back(p.bounds())
	case "neck":
		p.neck(p.bounds())
	case "strip":
		p.strip(p.bounds())
	case "other":
		p.other(p.bounds())
	default:
		p.front()
	}
	return p.drawing, nil
}

// sizeOf returns the size at which to draw an image.
func sizeOf(img *cola.Image) (w, h int, err error) {
	w, h = usualSize(img.ContainerPosition)
	w, h = img.WidthPixels.Or(w), img.HeightPixels.Or(h)
	if w < 1 || h < 1 || w > MaxSide || h > MaxSide {
		return 0, 0, fmt.Errorf("draw label image %q: size is %d by %d pixels; each side must be between 1 and %d",
			img.TTBImageID, w, h, MaxSide)
	}
	return w, h, nil
}

// usualSize returns the default size of an image.
func usualSize(position cola.Text) (w, h int) {
	switch position {
	case "neck":
		return 900, 320
	case "strip":
		return 1200, 180
	case "other":
		return 700, 700
	}
	return 900, 1200
}

// ink is a color.
type ink struct{ r, g, b uint8 }

func hex(v uint32) ink { return ink{uint8(v >> 16), uint8(v >> 8), uint8(v)} }

func (k ink) rgba() color.RGBA { return color.RGBA{k.r, k.g, k.b, 255} }

// shape is an element of a drawing: a filled outline or a line of text.
type shape struct {
	fill ink
	path outline // used if text is empty
	text string
	textRun
}

// textRun is a line of text with its style and position.
type textRun struct {
	face   face
	size   float64 // font size in pixels
	track  float64 // letter spacing in ems
	at     point   // left end of the baseline
	width  float64 // width of the line in pixels
	turned bool    // rotated 90 degrees counterclockwise around at, so that it reads upward
}

// drawing is a finished image, with its shapes from back to front.
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
