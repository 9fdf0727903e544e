package cola

import (
	"cmp"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Placeholders for required fields of images and barcodes, used if the record neither states nor
// implies a value. CheckCola rejects an import that would need unknownType; labels stored before
// that rule existed may still have it.
const (
	otherPosition Text = "other"
	unknownType   Text = "unknown"
)

// completeImages fills in the container position and the file type of images.
func (c *Cola) completeImages() {
	lacks := func(m Image) bool {
		return m.ContainerPosition == "" || m.ExtensionType == "" || m.ExtensionType == unknownType
	}
	if !slices.ContainsFunc(c.Images, lacks) {
		return
	}
	c.Images = slices.Clone(c.Images) // copies of the record share the list
	for i := range c.Images {
		m := &c.Images[i]
		if !lacks(*m) {
			continue
		}
		m.ContainerPosition = cmp.Or(m.ContainerPosition, otherPosition)
		m.ExtensionType = cmp.Or(known(m.ExtensionType, unknownType), extensionOf(m.ImageURL), unknownType)
	}
}

// completeBarcodes fills in the type of barcodes and the image that they were read from.
func (c *Cola) completeBarcodes() {
	label := Text(c.TTBID.String())
	lacks := func(b Barcode) bool {
		return b.BarcodeType == "" || b.BarcodeType == unknownType || b.TTBImageID == "" || b.TTBImageID == label
	}
	if !slices.ContainsFunc(c.Barcodes, lacks) {
		return
	}
	c.Barcodes = slices.Clone(c.Barcodes) // copies of the record share the list
	image := c.barcodeImage()
	for i := range c.Barcodes {
		b := &c.Barcodes[i]
		if !lacks(*b) {
			continue
		}
		b.BarcodeType = cmp.Or(known(b.BarcodeType, unknownType), Text(vocabulary.BarcodeType(b.BarcodeValue)), unknownType)
		b.TTBImageID = cmp.Or(known(b.TTBImageID, label), image, label)
	}
}

// known returns a value, or "" if it is the placeholder for an unknown value, so that later data
// can replace it.
func known(value, placeholder Text) Text {
	if value == placeholder {
		return ""
	}
	return value
}

// barcodeImage returns the ID of the image that barcodes must be on: the only image, or the only
// one with barcodes. It returns "" unless exactly one image qualifies.
func (c *Cola) barcodeImage() (id Text) {
	if len(c.Images) == 1 {
		return Text(c.Images[0].TTBImageID)
	}
	for i := range c.Images {
		if c.Images[i].BarcodeCount.V == 0 {
			continue
		}
		if id != "" {
			return ""
		}
		id = Text(c.Images[i].TTBImageID)
	}
	return id
}

// imageExtensions returns the file name extensions of image files.
func imageExtensions() []string {
	return []string{"bmp", "gif", "jpeg", "jpg", "pdf", "png", "svg", "tif", "tiff", "webp"}
}

// extensionOf returns the file name extension in an image's address: in its path or in a query
// parameter such as TTB's filename.
func extensionOf(address Text) Text {
	u, err := url.Parse(string(address))
	if err != nil {
		return ""
	}
	names := []string{u.Path}
	for _, values := range u.Query() {
		names = append(names, values...)
	}
	slices.Sort(names[1:]) // map order is random
	for _, name := range names {
		extension := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
		if slices.Contains(imageExtensions(), extension) {
			return Text(extension)
		}
	}
	return ""
}
