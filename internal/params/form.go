package params

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Fields turns the fields of a form of a browser into values. A dotted name, such as filters.brand_name, is a parameter of the object before
// the dot; one that is empty is absent, as everywhere, and an object of which all are empty is, too.
func (r *Reader[P]) Fields(form url.Values) []Value {
	var values []Value
	for _, name := range slices.Sorted(maps.Keys(form)) {
		within := ""
		if at := strings.LastIndexByte(name, '.'); r.objects[name[:at+1]] != nil {
			within = name[:at+1]
		}
		for _, text := range form[name] {
			values = append(values, Value{Name: name, Text: text, within: within})
		}
	}
	return values
}
