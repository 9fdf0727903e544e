package labelart

import (
	"fmt"
	"io"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// MaxSide is the longest side that is drawn, in pixels.
const MaxSide = 4096

// Format is a file format of drawings, named by its file extension.
type Format string

// The formats.
const (
	JPEG Format = "jpg"
	PNG  Format = "png"
	SVG  Format = "svg"
)

// ParseFormat returns the format that a file extension names, in any letter case.
func ParseFormat(extension string) (f Format, ok bool) {
	switch f = Format(strings.ToLower(extension)); f {
	case "jpeg":
		return JPEG, true
	case JPEG, PNG, SVG:
		return f, true
	}
	return "", false
}

// FormatOf returns the format that an image's record states, or PNG if Draw can't write that.
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

// Draw writes one image of a label, in the pixel size that its record states or else in a usual one. It
// fails if a side is not from 1 to MaxSide, or if the writer fails.
func Draw(w io.Writer, f Format, c *cola.Cola, img *cola.Image) error {
	d, err := layOut(c, img)
	if err != nil {
		return err
	}
	if f == SVG {
		return d.writeSVG(w)
	}
	return d.writeRaster(w, f)
}

// layOut composes the drawing of an image.
func layOut(c *cola.Cola, img *cola.Image) (*drawing, error) {
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

// sizeOf returns the size to draw an image in.
func sizeOf(img *cola.Image) (w, h int, err error) {
	w, h = usualSize(img.ContainerPosition)
	w, h = img.WidthPixels.Or(w), img.HeightPixels.Or(h)
	if w < 1 || h < 1 || w > MaxSide || h > MaxSide {
		return 0, 0, fmt.Errorf("draw label image %q: its size is %d by %d pixels; a side is from 1 to %d", img.TTBImageID, w, h, MaxSide)
	}
	return w, h, nil
}

// usualSize is the size of an image that does not state it.
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
