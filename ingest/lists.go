package ingest

import (
	"fmt"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

// maxListItems bounds the lists of a record; a label has some dozens at most.
const maxListItems = 10_000

// array reads a JSON array into a list field. A list that is there is never nil, so that an empty one counts as known.
func (r *recordReader) array(f *schemaField, field any, in place) error {
	switch list := field.(type) {
	case *[]string:
		return r.texts(f, list, in)
	case *[]cola.Image:
		*list = []cola.Image{}
		return r.elements(f.name, func(in place) error {
			var image cola.Image
			carried, err := r.object(r.images, reflect.ValueOf(&image).Elem(), in)
			if index := r.images.byName["image_index"]; !carried.Has(index) {
				image.ImageIndex = in.index
			}
			settleImage(&image)
			*list = append(*list, image)
			return err
		})
	case *[]cola.Barcode:
		*list = []cola.Barcode{}
		return r.elements(f.name, func(in place) error {
			var barcode cola.Barcode
			_, err := r.object(r.barcodes, reflect.ValueOf(&barcode).Elem(), in)
			*list = append(*list, barcode)
			return err
		})
	}
	r.problems.add(in.name(f.name), fmt.Errorf("is an array, where %s is due", due(field)))
	return r.skip()
}

// elements reads an array of objects, each by read, which is told where it stands.
func (r *recordReader) elements(name string, read func(in place) error) error {
	return r.each(name, func(i int) error { return read(place{name, i}) })
}

// texts reads an array of texts. Nulls and empty texts are left out; numbers are taken by their digits.
func (r *recordReader) texts(f *schemaField, list *[]string, in place) error {
	*list = []string{}
	element := &schemaField{name: f.name}
	return r.each(in.name(f.name), func(int) error {
		var text string
		err := r.value(element, &text, in)
		if text != "" {
			*list = append(*list, text)
		}
		return err
	})
}

// each reads an array, each of its values by read.
func (r *recordReader) each(name string, read func(i int) error) error {
	return r.nested(']', func(i int) error {
		if i >= maxListItems {
			return fmt.Errorf("%s has more than %d entries", name, maxListItems)
		}
		return read(i)
	})
}
