package schemas_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/schemas"
)

// drink has a field of each kind that a schema must get right.
type drink struct {
	Name  cola.Text         `json:"name" nullable:"true" doc:"Its name." example:"<Oak> & Son"`
	Kind  cola.Text         `json:"kind" nullable:"true" enum:"beer,wine" example:"wine"`
	Years cola.Opt[int]     `json:"years" minimum:"1" example:"4"`
	ABV   cola.Opt[float64] `json:"abv" nullable:"true" example:"12.5"`
	Parts []part            `json:"parts" nullable:"false"`
}

// order is a parameter struct: its default is of the form, not of the Go type.
type order struct {
	Years cola.Opt[int] `json:"years" minimum:"1" maximum:"9" default:"3" example:"4"`
}

type part struct {
	Zest string `json:"zest" example:"lemon"`
	Also bool   `json:"also" example:"true"`
}

func newSet() *schemas.Set { return schemas.New(huma.DefaultSchemaNamer) }

// TestTypesWithAFormOfTheirOwn: what is written as a number is described as one.
func TestTypesWithAFormOfTheirOwn(t *testing.T) {
	s := newSet()
	got := s.Registry().SchemaFromRef(s.Of(reflect.TypeFor[drink]()).Ref)
	s.Finish()
	for name, want := range map[string]string{"name": "string", "years": "integer", "abv": "number", "parts": "array"} {
		if p := got.Properties[name]; p == nil || p.Type != want {
			t.Errorf("%s is described as %+v, want a %s", name, p, want)
		}
	}
	if kinds := got.Properties["kind"].Enum; !slices.Contains(kinds, any(nil)) {
		t.Errorf("null is missing among %v", kinds)
	}
	if diff := cmp.Diff([]string{"name", "kind", "years", "abv", "parts"}, got.Required); diff != "" {
		t.Errorf("required (-want +got):\n%s", diff)
	}
	if got.AdditionalProperties != nil {
		t.Error("an answer may not grow fields")
	}
}

func TestFieldOfAParameter(t *testing.T) {
	f, _ := reflect.TypeFor[order]().FieldByName("Years")
	got := newSet().Field(f)
	if got.Type != "integer" || *got.Minimum != 1 || *got.Maximum != 9 || got.Default != 3 {
		t.Errorf("a parameter is described as %+v", got)
	}
}

// TestSample: the members of an example come as an answer has them, and nothing is escaped for HTML.
func TestSample(t *testing.T) {
	s := newSet()
	b, err := cola.AppendJSON(nil, s.Sample(s.Of(reflect.TypeFor[drink]())))
	want := `{"name":"<Oak> & Son","kind":"wine","years":4,"abv":12.5,"parts":[{"zest":"lemon","also":true}]}`
	if err != nil || string(b) != want {
		t.Errorf("the sample is %s (%v), want %s", b, err, want)
	}
	if !json.Valid(b) {
		t.Error("the sample is not JSON")
	}
}
