package barcode

import (
	"net/url"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// Describe sets the numbers of barcodes and QR codes of a label's images, and returns the label's
// barcodes and the URL of its first QR code that has one. codes has the codes of each image by its
// ID. An image that is missing from codes was not read; its counts become unknown.
//
// The first barcode is the main one, so those that identify a product come before those of cases
// and lots.
func Describe(images []cola.Image, codes map[string][]Code) (barcodes []cola.Barcode, qrcodeURL cola.Text) {
	var others []cola.Barcode
	for i := range images {
		m := &images[i]
		found, read := codes[m.TTBImageID]
		if !read {
			m.BarcodeCount, m.QRCodeCount = cola.Opt[int]{}, cola.Opt[int]{}
			continue
		}
		qr := 0
		for _, c := range found {
			switch {
			case c.Type == QR:
				qr++
				if qrcodeURL == "" {
					qrcodeURL = webAddress(c.Value)
				}
			case c.Type.Retail():
				barcodes = append(barcodes, c.record(m.TTBImageID))
			default:
				others = append(others, c.record(m.TTBImageID))
			}
		}
		m.BarcodeCount, m.QRCodeCount = cola.Some(len(found)-qr), cola.Some(qr)
	}
	return slices.Concat(barcodes, others), qrcodeURL
}

func (c *Code) record(imageID string) cola.Barcode {
	return cola.Barcode{
		BarcodeType:           cola.Text(c.Type),
		BarcodeValue:          c.Value,
		TTBImageID:            cola.Text(imageID),
		WidthPixels:           cola.Some(c.Bounds.Dx()),
		HeightPixels:          cola.Some(c.Bounds.Dy()),
		Orientation:           cola.Text(c.Orientation),
		RelativeImagePosition: cola.Text(c.Position),
	}
}

// webAddress returns the http or https URL in a QR code, or "". Like other readers, it completes
// addresses that start with www.
func webAddress(text string) cola.Text {
	if len(text) > 4 && strings.EqualFold(text[:4], "www.") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' }) {
		return ""
	}
	return cola.Text(text)
}
