package httpapi

import (
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
)

// decoder reads query strings into a parameter struct.
type decoder[P any] struct{ *params.Reader[P] }

func newDecoder[P any]() decoder[P] { return decoder[P]{params.New[P]("this endpoint")} }

// decode reads a raw query string. It always returns a struct: whatever is wrong is in its Problems.
func (d decoder[P]) decode(rawQuery string) P {
	var problems cola.Problems
	values := splitQuery(rawQuery, &problems)
	return d.Read(values, problems)
}
