package barcode

import (
	"net/url"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// Describe returns the barcodes among the codes of an image, the number of QR codes and the URL of
// the first QR code that has one.
func Describe(imageID string, codes []Code) (barcodes []cola.Barcode, qrcodes int, qrcodeURL cola.Text) {
	for _, c := range codes {
		if c.Type != QR {
			barcodes = append(barcodes, c.record(imageID))
			continue
		}
		qrcodes++
		if qrcodeURL == "" {
			qrcodeURL = webAddress(c.Value)
		}
	}
	return barcodes, qrcodes, qrcodeURL
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
