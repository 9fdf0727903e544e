package params

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
)

// Query encodes a struct of parameters for the API.
func Query[P any](p P) url.Values {
	values := url.Values{}
	Each(p, func(name string, value any) {
		switch value := value.(type) {
		case []string:
			values[name] = slices.Clone(value)
		case float64:
			values.Set(name, strconv.FormatFloat(value, 'f', -1, 64))
		default:
			values.Set(name, fmt.Sprint(value))
		}
	})
	return values
}

// Each calls do with every nonzero parameter, as a string, []string, int or float64.
func Each[P any](p P, do func(name string, value any)) {
	all := reflect.ValueOf(p)
	for _, f := range cola.FieldsOf[P]() {
		field := all.FieldByIndex(f.Index)
		if field.IsZero() {
			continue
		}
		switch value := field.Interface().(type) {
		case cola.Date:
			do(f.Name, value.String())
		case cola.Opt[int]:
			do(f.Name, value.V)
		case cola.Opt[float64]:
			do(f.Name, value.V)
		default:
			do(f.Name, value)
		}
	}
}
