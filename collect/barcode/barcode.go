// Package barcode reads barcodes and QR codes in images of labels. A wrong code is worse than a
// missing one, so a code must pass two steps:
//
//  1. Search. Lines in twelve directions cross the image. Each is split into light and dark runs,
//     which are compared with the patterns of the symbologies. This step is tolerant.
//  2. Verification. Each candidate is sampled again, along its own axis, at many heights and at two
//     scales. Enough of these lines must read the same value, and hardly any may read a different
//     one. Symbologies with few bars or a weak check need more lines and a closer fit.
//
// QR codes have error correction, so two decodings at different scales that agree suffice.
package barcode

import (
	"cmp"
	"image"
	"math"
	"slices"
	"strconv"
)

// Type is a symbology.
type Type string

// Symbologies.
const (
	EAN13   Type = "EAN-13"
	UPCA    Type = "UPC-A" // an EAN-13 that starts with 0
	UPCE    Type = "UPC-E"
	EAN8    Type = "EAN-8"
	ITF14   Type = "ITF-14"
	Code128 Type = "CODE-128"
	QR      Type = "QR-CODE"
)

// types lists the symbologies in the order in which Read returns codes at the same position.
var types = []Type{EAN13, UPCA, UPCE, EAN8, ITF14, Code128, QR}

// Retail reports whether a type identifies a product at the point of sale.
func (t Type) Retail() bool { return t == EAN13 || t == UPCA || t == UPCE || t == EAN8 }

// Code is a barcode or QR code in an image.
type Code struct {
	Type  Type
	Value string // digits with the check digit, or the text of a Code 128 or a QR code
	// Bounds is the box around the QR code, or around the part of the bars that could be read, in
	// image pixels.
	Bounds image.Rectangle
	// Orientation is the direction in which a scanner crosses the bars: horizontal, vertical or a
	// clockwise angle from 11° to 169°, such as 30°.
	Orientation string
	Position    string // such as top left, left or center
}

// Read returns the codes in an image: barcodes before QR codes, then from top to bottom. Images of
// more than 8 megapixels are scaled down first. Read returns nil for images of more than a billion
// pixels, or with a side shorter than 16 pixels before or after scaling.
func Read(img image.Image) []Code {
	p := newPlane(img)
	if p == nil {
		return nil
	}
	s := search(p)
	var codes []Code
	for _, c := range verified(p, s.candidates()) {
		codes = append(codes, c.code(img.Bounds(), p.scale))
	}
	codes = append(codes, readQR(p, s.finders, img.Bounds())...)
	slices.SortStableFunc(codes, func(a, b Code) int {
		return cmp.Or(
			cmp.Compare(btoi(a.Type == QR), btoi(b.Type == QR)),
			cmp.Compare(a.Bounds.Min.Y, b.Bounds.Min.Y),
			cmp.Compare(a.Bounds.Min.X, b.Bounds.Min.X),
			cmp.Compare(slices.Index(types, a.Type), slices.Index(types, b.Type)),
		)
	})
	return codes
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// boxOf returns the box, in image pixels, around points of the image's plane.
func boxOf(bounds image.Rectangle, scale int, points ...vec) image.Rectangle {
	lo, hi := vec{math.Inf(1), math.Inf(1)}, vec{math.Inf(-1), math.Inf(-1)}
	for _, p := range points {
		lo = vec{math.Min(lo.x, p.x), math.Min(lo.y, p.y)}
		hi = vec{math.Max(hi.x, p.x), math.Max(hi.y, p.y)}
	}
	k := float64(scale)
	return image.Rect(
		int(math.Floor(lo.x*k)), int(math.Floor(lo.y*k)), int(math.Ceil(hi.x*k)), int(math.Ceil(hi.y*k)),
	).Add(bounds.Min).Intersect(bounds)
}

// position describes where in an image a box is.
func position(box, bounds image.Rectangle) string {
	third := func(lo, hi, from, to int, low, high string) string {
		switch at := float64(lo+hi-2*from) / float64(2*(to-from)); {
		case at < 1.0/3:
			return low
		case at > 2.0/3:
			return high
		}
		return ""
	}
	y := third(box.Min.Y, box.Max.Y, bounds.Min.Y, bounds.Max.Y, "top", "bottom")
	x := third(box.Min.X, box.Max.X, bounds.Min.X, bounds.Max.X, "left", "right")
	switch {
	case x != "" && y != "":
		return y + " " + x
	case x+y == "":
		return "center"
	}
	return x + y
}

// straight is the maximum tilt of a horizontal or vertical code, in degrees.
const straight = 10

// orientation describes the direction of a scan line that crosses all bars.
func orientation(axis vec) string {
	angle := int(math.Round(math.Atan2(axis.y, axis.x)*180/math.Pi)+360) % 180
	switch {
	case angle <= straight || angle >= 180-straight:
		return "horizontal"
	case angle >= 90-straight && angle <= 90+straight:
		return "vertical"
	}
	return strconv.Itoa(angle) + "°"
}
