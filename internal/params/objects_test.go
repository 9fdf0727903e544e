package params

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
	"github.com/colaregistry/colaregistry/internal/strictjson"
)

var savedSearch = New[cola.SavedSearchParams]("a test")

// TestObjects checks that nested objects are parsed, and that an empty object differs from a
// missing one.
func TestObjects(t *testing.T) {
	filters := func(f cola.SavedSearchFilters) cola.SavedSearchParams { return cola.SavedSearchParams{Filters: &f} }
	schedule := func(s cola.ScheduleParams) cola.SavedSearchParams { return cola.SavedSearchParams{Schedule: &s} }
	tests := map[string]cola.SavedSearchParams{
		`{}`: {}, `{"filters":null,"schedule":null,"name":null}`: {},
		`{"filters":{}}`: filters(cola.SavedSearchFilters{}), `{"schedule":{}}`: schedule(cola.ScheduleParams{}),
		`{"schedule":{"cadence":null,"day":"","active":null}}`:                          schedule(cola.ScheduleParams{}),
		`{"filters":{"abv_min":"12","abv_max":14.5,"brand_name":1849}}`:                 filters(cola.SavedSearchFilters{ABVMin: cola.Some(12.0), ABVMax: cola.Some(14.5), BrandName: "1849"}),
		`{"filters":{"type_wine":true,"container_can":"false","container_keg":"TRUE"}}`: filters(cola.SavedSearchFilters{TypeWine: cola.Some(true), ContainerCan: cola.Some(false), ContainerKeg: cola.Some(true)}),
		`{"schedule":{"cadence":"weekly","day":0,"active":false}}`:                      schedule(cola.ScheduleParams{Cadence: "weekly", Day: cola.Some(0), Active: cola.Some(false)}),
		`{"schedule":{"day":"1.0"},"name":"a"}`: {Name: "a", Schedule: &cola.ScheduleParams{}, Decoded: cola.Decoded{Problems: cola.Problems{
			"schedule.day": {`"1.0" is not valid; use a whole number from 0 to 28.`},
		}}},
	}
	for object, want := range tests {
		if diff := cmp.Diff(want, readJSON(savedSearch, object)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", object, diff)
		}
	}
}

// TestProblemsWithinObjects checks that all problems are reported at once under dotted names, with
// suggestions.
func TestProblemsWithinObjects(t *testing.T) {
	problems := golden.Load(t, "objects")
	for _, object := range []string{
		`{"filters":{"brand":"oak"}}`,
		`{"filters":{"Brand_Name":"oak"}}`,
		`{"Filters":{"x":1}}`,
		`{"schedule":{"hour":6}}`,
		`{"zzzz":{"a":1}}`,
		`{"brand_name":"oak"}`,
		`{"filters":{"CADENCE":"x"}}`,
		`{"filters":{"schedule":{}}}`,
		`{"filters.brand_name":"oak"}`,

		`{"filters":{"approval_date_from":"2024-01-01","Approval_Date":{}}}`,
		`{"approval_date_to":null,"date_from":1}`,

		`{"filters":{"q":"a","product_type":"wine","category":"Wine","derived_subcategory":"a","status":"approved"}}`,
		`{"filters":{"origin":"France","domestic_or_imported":"domestic","permit_number":"1","applicant_state":"CA","container_type":"can"}}`,
		`{"product_type":"wine","filters":{"brand_first_seen_from":"2024-01-01"}}`,

		`{"filters":"oak"}`,
		`{"filters":[{"query":"x"}]}`,
		`{"filters":1}`,
		`{"filters":true}`,
		`{"schedule":"weekly"}`,

		`{"filters":{"query":{"a":1},"type_wine":["true"],"abv_min":[12]}}`,
		`{"filters":{"type_wine":1,"container_can":"yes","abv_min":true,"volume_min":"x"}}`,
		`{"name":"a","name":"b","filters":{"query":"a","query":null,"query":"b"},"filters":{"brand_name":"x"},"schedule":{},"schedule":{}}`,
	} {
		problems.Check(t, object, readJSON(savedSearch, object).Problems)
	}
}

// TestProblemLimit checks that the number of reported problems is limited.
func TestProblemLimit(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, `"made_up_%d":1,`, i)
	}
	names := b.String()
	got := readJSON(savedSearch, `{`+names+`"filters":{`+names+`"query":"x"}}`)
	if len(got.Problems) != maxUnknown+1 || got.Filters == nil || got.Filters.Query != "x" {
		t.Errorf("%d problems, filters = %+v", len(got.Problems), got.Filters)
	}
	if more := got.Problems["…"]; len(more) != 1 || !strings.Contains(more[0], "9980") {
		t.Errorf("problems for … = %q, want one that counts 9980", more)
	}
	if got := readJSON(savedSearch, `{`+strings.Repeat(`"name":"x",`, 1000)+`"name":"x"}`).Problems["name"]; len(got) != 1 {
		t.Errorf("1001 duplicate names: %d problems, want 1", len(got))
	}
	search := New[cola.SearchParams]("a test")
	if got := readJSON(search, `{"category":[`+strings.Repeat(`1,`, 1000)+`1]}`).Problems["category"]; len(got) != maxElements {
		t.Errorf("1001 invalid elements: %d problems, want %d", len(got), maxElements)
	}
}

// TestQueryStringObjects checks that a query string can set neither an object nor its members.
func TestQueryStringObjects(t *testing.T) {
	got := savedSearch.Read([]Value{{Name: "filters", Text: "oak"}, {Name: "filters.query", Text: "oak"}, {Name: "name", Text: "a"}}, nil)
	golden.Load(t, "query_objects").Check(t, "filters", got.Problems)
	if got.Filters != nil || got.Name != "a" {
		t.Errorf("decoded %+v, want only the name", got)
	}
}

func TestExample(t *testing.T) {
	examples := map[string]string{
		savedSearch.Example():                      `{"name": "New Oak brands", "filters": {"query": "barrel aged", "brand_name": "oak"}}`,
		New[cola.SearchParams]("a test").Example(): `{"q": "oak", "product_type": ["wine"]}`,
	}
	for got, want := range examples {
		if got != want || !json.Valid([]byte(got)) {
			t.Errorf("Example() = %s, want %s", got, want)
		}
	}
}

// drawObject draws an object of a parameter struct as a client might write it, and the expected
// struct.
func drawObject(t *rapid.T, of reflect.Type) (object map[string]any, want reflect.Value) {
	object, want = map[string]any{}, reflect.New(of).Elem()
	for _, f := range reflect.VisibleFields(of) {
		name := nameOf(f)
		if name == "" || rapid.Bool().Draw(t, "without "+name) {
			continue
		}
		field := want.FieldByIndex(f.Index)
		switch into := field.Addr().Interface().(type) {
		case *string:
			*into = rapid.String().Draw(t, name)
			object[name] = *into
		case *cola.Opt[int]:
			*into = cola.Some(rapid.Int().Draw(t, name))
			object[name] = rapid.SampledFrom([]any{into.V, fmt.Sprint(into.V)}).Draw(t, "form of "+name)
		case *cola.Opt[float64]:
			*into = cola.Some(rapid.Float64Range(-1e9, 1e9).Draw(t, name))
			object[name] = rapid.SampledFrom([]any{into.V, fmt.Sprint(into.V)}).Draw(t, "form of "+name)
		case *cola.Opt[bool]:
			*into = cola.Some(rapid.Bool().Draw(t, name))
			object[name] = rapid.SampledFrom([]any{into.V, fmt.Sprint(into.V)}).Draw(t, "form of "+name)
		default:
			inner, value := drawObject(t, f.Type.Elem())
			object[name] = inner
			allocate(field).Set(value)
		}
	}
	return object, want
}

// TestNestedValues checks that values of every parameter are parsed, including nested and newly
// added ones.
func TestNestedValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object, want := drawObject(t, reflect.TypeFor[cola.SavedSearchParams]())
		b, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Interface(), readJSON(savedSearch, string(b))); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", b, diff)
		}
	})
}

// FuzzJSON checks that objects are unambiguous. For an object without problems, encoding/json gives
// the same result, and no value is ignored.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a","filters":{"brand_name":"oak","type_wine":true,"abv_min":12},"schedule":{"cadence":"weekly","day":1}}`,
		`{"filters":{"query":1,"Query":2}}`, `{"filters":null,"schedule":{}}`, `{"filters":{"approval_date_from":"x"}}`, `{"n\u0061me":"a","name":"b"}`,
		`{"filters.query":"x","schedule":{"active":"false"}}`, `{"name":"\ud800","filters":[{}]}`, `{"filters":{"abv_min":1e400,"volume_min":-0}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if strictjson.Bounded(body, 32, strictjson.MaxValues) != nil || !strictjson.Valid(body) || bytes.TrimSpace(body)[0] != '{' {
			return
		}
		got := readJSON(savedSearch, string(body))
		for name, messages := range got.Problems {
			if !utf8.ValidString(name) || len(messages) == 0 || len(messages) > 10 {
				t.Errorf("%q: problems with %q = %q", body, name, messages)
			}
		}
		if second := readJSON(savedSearch, string(body)); !reflect.DeepEqual(second, got) {
			t.Errorf("%q: decoded %+v, then %+v", body, got, second)
		}
		if got.Problems != nil {
			return
		}
		var loose map[string]any
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber() // numbers may exceed float64
		if err := d.Decode(&loose); err != nil {
			t.Fatalf("encoding/json rejects accepted body %q: %v", body, err)
		}
		checkRead(t, loose, reflect.ValueOf(got))
	})
}

// checkRead compares an object parsed without problems with the result of encoding/json.
func checkRead(t *testing.T, loose map[string]any, got reflect.Value) {
	t.Helper()
	fields := map[string]reflect.Value{}
	for _, f := range reflect.VisibleFields(got.Type()) {
		if name := nameOf(f); name != "" {
			fields[name] = got.FieldByIndex(f.Index)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(loose)) {
		field, known := fields[name]
		if !known {
			t.Errorf("unknown member %q is accepted", name)
			continue
		}
		switch value := loose[name].(type) {
		case nil:
			if !field.IsZero() {
				t.Errorf("%q: null is decoded as %v", name, field)
			}
		case map[string]any:
			checkRead(t, value, field.Elem())
		case string:
			if text := field.Interface(); field.Kind() == reflect.String && text != value || field.IsZero() && strings.TrimSpace(value) != "" {
				t.Errorf("%q: %q is decoded as %v", name, value, text)
			}
		default:
			if field.IsZero() {
				t.Errorf("%q: %v is not decoded", name, value)
			}
		}
		delete(fields, name)
	}
	for name, field := range fields {
		if !field.IsZero() {
			t.Errorf("missing %q is decoded as %v", name, field)
		}
	}
}

// TestNulls checks that Nulls lists the dotted names of null values, and that null differs from an
// empty object.
func TestNulls(t *testing.T) {
	changes := New[cola.SavedSearchChangeParams]("a test")
	for _, tt := range []struct {
		sent  string
		nulls []string
		wrong []string
	}{
		{`{}`, nil, nil},
		{`{"name":null,"filters":null,"schedule":null}`, []string{"name", "filters", "schedule"}, nil},
		{`{"schedule":{"day":null,"cadence":"daily"},"filters":{"query":null}}`, []string{"schedule.day", "filters.query"}, nil},
		{`{"name":"a","schedule":{}}`, nil, nil},
		{`{"title":null,"schedule":{"hour":null}}`, nil, []string{"schedule.hour", "title"}},
		{`{"name":null,"name":"a"}`, []string{"name"}, []string{"name"}},
		{`{"name":"a","name":null}`, nil, []string{"name"}},
	} {
		got := readJSON(changes, tt.sent)
		if diff := cmp.Diff(tt.nulls, got.Nulls); diff != "" || !cmp.Equal(tt.wrong, sortedNames(got.Problems)) {
			t.Errorf("%s: problems = %v, nulls (-want +got):\n%s", tt.sent, got.Problems, diff)
		}
	}
	got := readJSON(changes, `{"schedule":null,"filters":{}}`)
	if got.Schedule != nil || got.Filters == nil {
		t.Errorf("null is decoded as %+v, an empty object as %+v", got.Schedule, got.Filters)
	}
}

func sortedNames(p cola.Problems) []string { return slices.Sorted(maps.Keys(p)) }
