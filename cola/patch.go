package cola

import (
	"reflect"
	"strings"
	"sync"
)

// Fields names the JSON fields of a record that a source carries.
type Fields uint64

// Has reports whether the i-th field of the record (see FieldIndex) is carried.
func (f Fields) Has(i int) bool { return f&(1<<i) != 0 }

// With returns f with the i-th field added.
func (f Fields) With(i int) Fields { return f | 1<<i }

// Patch is a record as one source tells it: only the fields it carries count, so that a source never blanks what it does
// not know. A carried field with the zero value clears the field. See CompletePatch for what carried fields imply.
type Patch[T any] struct {
	Record T
	Fields Fields
}

// Apply copies the carried fields onto record. Call Derive, where the record has it, afterwards.
func (p *Patch[T]) Apply(record *T) {
	from, to := reflect.ValueOf(&p.Record).Elem(), reflect.ValueOf(record).Elem()
	for i, f := range FieldsOf[T]() {
		if p.Fields.Has(i) {
			to.FieldByIndex(f.Index).Set(from.FieldByIndex(f.Index))
		}
	}
}

// Field is one JSON field of a record.
type Field struct {
	Name  string // JSON name
	Index []int  // as reflect.Value.FieldByIndex takes it
	Type  reflect.Type
}

var fieldTables sync.Map // reflect.Type → []Field; a cache of what reflection tells, so not state

// FieldsOf returns the JSON fields of a record type in declaration order, those of embedded structs in place. A field with
// the name "-" is not among them. There are at most 64.
func FieldsOf[T any]() []Field {
	t := reflect.TypeFor[T]()
	if f, ok := fieldTables.Load(t); ok {
		return f.([]Field)
	}
	var fields []Field
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || name == "-" {
			continue
		}
		fields = append(fields, Field{Name: name, Index: f.Index, Type: f.Type})
	}
	if len(fields) > 64 {
		panic("cola: " + t.String() + " has more than 64 fields")
	}
	fieldTables.Store(t, fields)
	return fields
}

// FieldIndex returns the position of a JSON field among FieldsOf, or -1.
func FieldIndex[T any](name string) int {
	for i, f := range FieldsOf[T]() {
		if f.Name == name {
			return i
		}
	}
	return -1
}

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
