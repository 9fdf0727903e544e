package demo

import (
	"bufio"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
)

// WriteColas writes the labels as JSON lines with the API's field names, in the format that the
// COLA import reads. Equal options produce equal bytes. It returns an error if the options fail
// Check or a write fails.
func WriteColas(w io.Writer, o Options) error {
	if err := o.Check(); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	for c := range Labels(o) {
		line = append(appendCola(line[:0], c), '\n')
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("write demo labels: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write demo labels: %w", err)
	}
	return nil
}

// Fields of records in the output. This package encodes them itself, because encoding/json is
// several times slower.
var (
	colaFields    = cola.FieldsOf[cola.Cola]()
	imageFields   = cola.FieldsOf[cola.Image]()
	barcodeFields = cola.FieldsOf[cola.Barcode]()
)

// appendCola appends a label with the API's field names. It omits unknown values, which makes every
// line a fifth shorter. An import leaves missing fields unchanged.
func appendCola(b []byte, c *cola.Cola) []byte {
	return appendRecord(b, colaFields, reflect.ValueOf(c).Elem())
}

func appendRecord(b []byte, fields []cola.Field, record reflect.Value) []byte {
	b = append(b, '{')
	for i := range fields {
		f, value := &fields[i], record.FieldByIndex(fields[i].Index)
		unknown := value.IsZero() || value.Kind() == reflect.Slice && value.Len() == 0
		if unknown && (value.Kind() != reflect.Bool || f.Name == "date_is_estimated") && f.Name != "image_index" {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), f.Name...), '"', ':')
		b = appendValue(b, value)
	}
	return append(b, '}')
}

func appendValue(b []byte, value reflect.Value) []byte {
	switch v := value.Addr().Interface().(type) {
	case *cola.TTBID:
		return append(v.AppendTo(append(b, '"')), '"')
	case *cola.Date:
		return append(v.AppendTo(append(b, '"')), '"')
	case *cola.Opt[int]:
		return strconv.AppendInt(b, int64(v.V), 10)
	case *cola.Opt[float64]:
		return strconv.AppendFloat(b, v.V, 'g', -1, 64)
	case *cola.Opt[bool]:
		return strconv.AppendBool(b, v.V)
	case *int:
		return strconv.AppendInt(b, int64(*v), 10)
	case *bool:
		return strconv.AppendBool(b, *v)
	case *[]string:
		return appendList(b, value, appendValue)
	case *[]cola.Image:
		return appendList(b, value, func(b []byte, v reflect.Value) []byte { return appendRecord(b, imageFields, v) })
	case *[]cola.Barcode:
		return appendList(b, value, func(b []byte, v reflect.Value) []byte { return appendRecord(b, barcodeFields, v) })
	}
	if value.Kind() != reflect.String {
		panic("demo: no JSON encoding for type " + value.Type().String())
	}
	return cola.AppendJSONString(b, value.String())
}

func appendList(b []byte, list reflect.Value, appendItem func([]byte, reflect.Value) []byte) []byte {
	b = append(b, '[')
	for i := range list.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendItem(b, list.Index(i))
	}
	return append(b, ']')
}
