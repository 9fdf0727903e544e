package schemas_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/schemas"
)

// drink has a field of each kind with a special schema.
type drink struct {
	Name  cola.Text         `json:"name" nullable:"true" doc:"Its name." example:"<Oak> & Son"`
	Kind  cola.Text         `json:"kind" nullable:"true" enum:"beer,wine" example:"wine"`
	Years cola.Opt[int]     `json:"years" minimum:"1" example:"4"`
	ABV   cola.Opt[float64] `json:"abv" nullable:"true" example:"12.5"`
	Parts []part            `json:"parts" nullable:"false"`
	Cask  cola.Opt[string]  `json:"cask" nullable:"true" example:"oak"`
	Lot   cola.Opt[int64]   `json:"lot" nullable:"true" example:"7"`
	Met   cola.FilterSet    `json:"met" nullable:"false" example:"brand_name,type_wine"`
}

// order is a parameter struct. Its default has the alias type (int), not the field's Go type.
type order struct {
	Years cola.Opt[int] `json:"years" minimum:"1" maximum:"9" default:"3" example:"4"`
}

// tray has timestamps and an object that may be null, whose schema the test closes.
type tray struct {
	Best  *part                    `json:"best" ornull:"true" doc:"The best part."`
	Since cola.Timestamp           `json:"since" format:"date-time" example:"2026-11-20T13:14:15Z"`
	Until cola.Opt[cola.Timestamp] `json:"until,omitzero" nullable:"true" format:"date-time" example:"2026-11-20T13:14:15Z"`
}

type part struct {
	Zest string `json:"zest" example:"lemon"`
	Also bool   `json:"also" example:"true"`
}

func newSet() *schemas.Set { return schemas.New(huma.DefaultSchemaNamer) }

// TestCustomJSON checks that the schema of a type with custom JSON describes that JSON.
func TestCustomJSON(t *testing.T) {
	s := newSet()
	got := s.Registry().SchemaFromRef(s.Of(reflect.TypeFor[drink]()).Ref)
	s.Finish()
	for name, want := range map[string]string{
		"name": "string", "years": "integer", "abv": "number", "parts": "array", "cask": "string", "lot": "integer",
		"met": "array",
	} {
		if p := got.Properties[name]; p == nil || p.Type != want {
			t.Errorf("schema of %s = %+v, want %s", name, p, want)
		}
	}
	if kinds := got.Properties["kind"].Enum; !slices.Contains(kinds, any(nil)) {
		t.Errorf("enum = %v, want null in it", kinds)
	}
	if diff := cmp.Diff([]string{"name", "kind", "years", "abv", "parts", "cask", "lot", "met"}, got.Required); diff != "" {
		t.Errorf("required (-want +got):\n%s", diff)
	}
	if got.AdditionalProperties != nil {
		t.Error("response schema rejects additional fields")
	}
}

// TestObjectsOrNull checks the schemas of an object that may be null and of timestamps, which are
// strings.
func TestObjectsOrNull(t *testing.T) {
	s := newSet()
	got := s.Registry().SchemaFromRef(s.Of(reflect.TypeFor[tray]()).Ref)
	s.Close(reflect.TypeFor[part]())
	sample, err := cola.AppendJSON(nil, s.Sample(s.Of(reflect.TypeFor[tray]())))
	s.Finish()
	best := got.Properties["best"]
	if best.Description != "The best part." || len(best.AnyOf) != 2 || best.AnyOf[0].Ref != schemas.Prefix+"Part" ||
		best.AnyOf[1].Type != "null" || best.Ref != "" {
		t.Errorf("schema of a nullable object = %+v", best)
	}
	for _, name := range []string{"since", "until"} {
		if p := got.Properties[name]; p.Type != "string" || p.Format != "date-time" || p.Nullable != (name == "until") {
			t.Errorf("schema of %s = %+v", name, p)
		}
	}
	if diff := cmp.Diff([]string{"best", "since"}, got.Required); diff != "" {
		t.Errorf("required (-want +got):\n%s", diff)
	}
	if closed := s.Registry().Map()["Part"].AdditionalProperties; closed != false || got.AdditionalProperties != nil {
		t.Errorf("additional properties: request = %v, response = %v", closed, got.AdditionalProperties)
	}
	if want := `{"best":{"zest":"lemon","also":true},"since":"2026-11-20T13:14:15Z","until":"2026-11-20T13:14:15Z"}`; err != nil || string(sample) != want {
		t.Errorf("sample = %s, error = %v", sample, err)
	}
	all := s.Sample(got) // after Finish, a nullable object still uses the object's example
	if b, err := cola.AppendJSON(nil, all); err != nil || !slices.Contains(strings.Split(string(b), `"`), "lemon") {
		t.Errorf("sample = %s, error = %v", b, err)
	}
}

func TestField(t *testing.T) {
	f, _ := reflect.TypeFor[order]().FieldByName("Years")
	got := newSet().Field(f)
	if got.Type != "integer" || *got.Minimum != 1 || *got.Maximum != 9 || got.Default != 3 {
		t.Errorf("schema of the parameter = %+v", got)
	}
}

// TestSample checks that members are in response order and that text is not HTML-escaped.
func TestSample(t *testing.T) {
	s := newSet()
	b, err := cola.AppendJSON(nil, s.Sample(s.Of(reflect.TypeFor[drink]())))
	want := `{"name":"<Oak> & Son","kind":"wine","years":4,"abv":12.5,"parts":[{"zest":"lemon","also":true}],"cask":"oak","lot":7,"met":["brand_name","type_wine"]}`
	if err != nil || string(b) != want {
		t.Errorf("sample = %s, error = %v, want %s", b, err, want)
	}
	if !json.Valid(b) {
		t.Error("sample is not JSON")
	}
}
