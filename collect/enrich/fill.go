package enrich

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
)

// fill returns the patch that applies an answer to a label, and the answer's values that the label
// has afterward. It changes fields that are empty or have the value of the earlier answer.
func fill(label, earlier, answer *cola.Cola) (cola.Patch[cola.Cola], cola.Cola) {
	patch := cola.Patch[cola.Cola]{Record: cola.Cola{ColaSummary: cola.ColaSummary{TTBID: label.TTBID}}}
	var filled cola.Cola
	for _, f := range fields {
		have, want := f.of(label), f.of(answer)
		if !isEmpty(have) && !same(have, f.of(earlier)) {
			continue // from another source
		}
		set(f.of(&filled), want)
		if !same(have, want) {
			set(f.of(&patch.Record), want)
			patch.Fields = patch.Fields.With(cola.FieldIndex[cola.Cola](f.name))
		}
	}
	cola.CompletePatch(&patch)
	return patch, filled
}

// adopt copies the values that the label shares with the answer into earlier. They show that the
// answer was applied, although a crash prevented that from being recorded.
func adopt(label, earlier, answer *cola.Cola) {
	for _, f := range fields {
		if have := f.of(label); !isEmpty(have) && same(have, f.of(answer)) {
			set(f.of(earlier), have)
		}
	}
}

// encode returns the non-empty fields of a label as a JSON object.
func encode(c *cola.Cola) (string, error) {
	values := map[string]any{}
	for _, f := range fields {
		if v := f.of(c); !isEmpty(v) {
			values[f.name] = v
		}
	}
	b, err := json.Marshal(values)
	return string(b), err
}

// decode parses the output of encode.
func decode(encoded string) (c cola.Cola, err error) {
	if encoded == "" {
		return c, nil
	}
	return c, json.Unmarshal([]byte(encoded), &c)
}

// The functions below take pointers to fields of the types in field.of.

func isEmpty(field any) bool {
	if list, ok := field.(*[]string); ok {
		return len(*list) == 0
	}
	return reflect.ValueOf(field).Elem().IsZero()
}

func same(a, b any) bool {
	if list, ok := a.(*[]string); ok {
		return slices.Equal(*list, *b.(*[]string))
	}
	return reflect.ValueOf(a).Elem().Equal(reflect.ValueOf(b).Elem())
}

func set(to, value any) { reflect.ValueOf(to).Elem().Set(reflect.ValueOf(value).Elem()) }
