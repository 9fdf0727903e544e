package cola

import "reflect"

// CompletePatch adds to the patch of a label what its carried fields imply of others, so that clearing a field does not leave
// standing what was only known through it:
//
//   - images carried and empty clears image_count, the has_*_image flags and main_image_url;
//   - barcode_value carried and empty clears barcode_type;
//   - llm_category_path carried, whatever it says, clears llm_category, which Derive takes from the path.
//
// A field that the patch carries itself stays as the patch states it. Completing twice is the same as once.
func CompletePatch(p *Patch[Cola]) {
	if p.Fields.Has(imagesField) && len(p.Record.Images) == 0 {
		clearUncarried(p, fieldsKnownByImages)
	}
	if p.Fields.Has(barcodeValueField) && p.Record.BarcodeValue == "" {
		clearUncarried(p, fieldsKnownByBarcode)
	}
	if p.Fields.Has(categoryPathField) {
		clearUncarried(p, fieldsKnownByPath)
	}
}

// The fields that others are known through, and those others, by index.
var (
	imagesField         = FieldIndex[Cola]("images")
	fieldsKnownByImages = fieldIndexes("image_count", "has_front_image", "has_back_image", "has_neck_image", "has_strip_image",
		"main_image_url")
	barcodeValueField    = FieldIndex[Cola]("barcode_value")
	fieldsKnownByBarcode = fieldIndexes("barcode_type")
	categoryPathField    = FieldIndex[Cola]("llm_category_path")
	fieldsKnownByPath    = fieldIndexes("llm_category")
)

func fieldIndexes(names ...string) []int {
	indexes := make([]int, len(names))
	for i, name := range names {
		indexes[i] = FieldIndex[Cola](name)
	}
	return indexes
}

// clearUncarried makes the patch carry fields, with the zero value, unless it carries them already.
func clearUncarried(p *Patch[Cola], fields []int) {
	record := reflect.ValueOf(&p.Record).Elem()
	for _, i := range fields {
		if !p.Fields.Has(i) {
			p.Fields = p.Fields.With(i)
			record.FieldByIndex(FieldsOf[Cola]()[i].Index).SetZero()
		}
	}
}
