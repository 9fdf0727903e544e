package cola

import (
	"reflect"
	"strings"
	"sync"
)

// Fields is the set of JSON fields in a source's record.
type Fields uint64

// Has reports whether the source has the i-th field (see FieldIndex).
func (f Fields) Has(i int) bool { return f&(1<<i) != 0 }

// With returns f with the i-th field added.
func (f Fields) With(i int) Fields { return f | 1<<i }

// Patch is a record from a source and the Fields that it sets; other fields are left unchanged. A
// field in Fields with the zero value is cleared. See CompletePatch for implied fields.
type Patch[T any] struct {
	Record T
	Fields Fields
}

// Apply copies the patch's fields to record. Call Derive afterward if the record type has that
// method.
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
	Index []int  // for reflect.Value.FieldByIndex
	Type  reflect.Type
}

var fieldTables sync.Map // reflect.Type → []Field; a cache, not state

// FieldsOf returns the JSON fields of a record type in declaration order, including those of
// embedded structs, except fields named "-". There are at most 64.
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

// FieldIndex returns the position of a JSON field in FieldsOf, or -1.
func FieldIndex[T any](name string) int {
	for i, f := range FieldsOf[T]() {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// CompletePatch adds fields that the patch's fields imply, so that clearing a field also clears
// values derived from it:
//
//   - empty images clear image_count, the has_*_image flags and main_image_url;
//   - an empty barcode_value clears barcode_type;
//   - any llm_category_path clears llm_category, which Derive sets from the path.
//
// Fields already in the patch are left unchanged. CompletePatch is idempotent.
func CompletePatch(p *Patch[Cola]) {
	if p.Fields.Has(imagesField) && len(p.Record.Images) == 0 {
		clearAbsent(p, fieldsFromImages)
	}
	if p.Fields.Has(barcodeValueField) && p.Record.BarcodeValue == "" {
		clearAbsent(p, fieldsFromBarcode)
	}
	if p.Fields.Has(categoryPathField) {
		clearAbsent(p, fieldsFromPath)
	}
}

// Indexes of fields, and of the fields derived from them.
var (
	imagesField      = FieldIndex[Cola]("images")
	fieldsFromImages = fieldIndexes("image_count", "has_front_image", "has_back_image", "has_neck_image",
		"has_strip_image", "main_image_url")
	barcodeValueField = FieldIndex[Cola]("barcode_value")
	fieldsFromBarcode = fieldIndexes("barcode_type")
	categoryPathField = FieldIndex[Cola]("llm_category_path")
	fieldsFromPath    = fieldIndexes("llm_category")
)

func fieldIndexes(names ...string) []int {
	indexes := make([]int, len(names))
	for i, name := range names {
		indexes[i] = FieldIndex[Cola](name)
	}
	return indexes
}

// clearAbsent adds fields with the zero value unless the patch has them.
func clearAbsent(p *Patch[Cola], fields []int) {
	record := reflect.ValueOf(&p.Record).Elem()
	for _, i := range fields {
		if !p.Fields.Has(i) {
			p.Fields = p.Fields.With(i)
			record.FieldByIndex(FieldsOf[Cola]()[i].Index).SetZero()
		}
	}
}
