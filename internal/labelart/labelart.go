package labelart

import (
	"fmt"
	"io"

	"github.com/colaregistry/colaregistry/cola"
)

// MaxSide is the longest side that is drawn, in pixels.
const MaxSide = 4096

// SVG draws one image of a label as SVG in the pixel size that the image states, or in a usual one when it states none. It
// fails for a size that is not from 1 to MaxSide on both sides, and when the writer does.
func SVG(w io.Writer, c *cola.Cola, img *cola.Image) error {
	d, err := layOut(c, img)
	if err != nil {
		return err
	}
	return d.writeSVG(w)
}

// PNG draws one image of a label as PNG; see SVG.
func PNG(w io.Writer, c *cola.Cola, img *cola.Image) error {
	d, err := layOut(c, img)
	if err != nil {
		return err
	}
	return d.writePNG(w)
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
