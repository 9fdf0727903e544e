package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/colaregistry/colaregistry/cola"
)

// listed returns the list of tools as clients receive it.
func listed(t *testing.T, h http.Handler) []map[string]any {
	t.Helper()
	var list []map[string]any
	for _, one := range rpc(t, h, "tools/list", "{}").json.Result["tools"].([]any) {
		list = append(list, one.(map[string]any))
	}
	return list
}

// TestGoldenSchemas compares each listed tool with its golden file, so that changes that assistants
// see appear in a diff.
func TestGoldenSchemas(t *testing.T) {
	for _, one := range listed(t, at(ChatGPTPath, mustServe(t, newFake(), io.Discard))) {
		got, err := json.MarshalIndent(one, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		checkGolden(t, filepath.Join("testdata", one["name"].(string)+".json"), append(got, '\n'))
	}
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) != len(toolsAt(ChatGPTPath)) {
		t.Errorf("%d golden files for %d tools (%v)", len(files), len(toolsAt(ChatGPTPath)), err)
	}
}

func checkGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(want, got) {
		t.Errorf("%s is stale (%v); run make generate:\n%s", path, err, cmp.Diff(string(want), string(got)))
	}
}

// effects are the annotations of tools that write: destructive and idempotent.
var effects = map[string][2]bool{
	"create_saved_search": {false, false}, "update_saved_search": {true, true}, "delete_saved_search": {true, true},
}

// TestToolDescriptions checks the properties that an assistant uses to choose a tool.
func TestToolDescriptions(t *testing.T) {
	names, titles, undescribed := map[string]bool{}, map[string]string{}, map[string][]string{}
	for _, one := range toolsAt(ChatGPTPath) {
		names[one.name], titles[one.name], undescribed[one.name] = true, one.title, append(one.undescribed, "response_format")
	}
	for _, one := range listed(t, at(ChatGPTPath, mustServe(t, newFake(), io.Discard))) {
		name, description := one["name"].(string), one["description"].(string)
		effect, writes := effects[name]
		want := map[string]any{
			"title": titles[name], "readOnlyHint": !writes, "destructiveHint": effect[0], "openWorldHint": false,
		}
		if writes {
			want["idempotentHint"] = effect[1]
		}
		if diff := cmp.Diff(want, one["annotations"]); diff != "" || titles[name] == "" {
			t.Errorf("%s: annotations (-want +got):\n%s", name, diff)
		}
		if words := len(strings.Fields(description)); words >= 120 || !strings.Contains(description, "\n\nCost: ") {
			t.Errorf("%s: description has %d words, want fewer than 120 and the cost: %s", name, words, description)
		}
		for _, word := range strings.FieldsFunc(description, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
			verbs := []string{"get", "search", "check", "list", "lookup", "create", "update", "delete"}
			if verb, _, two := strings.Cut(word, "_"); two && slices.Contains(verbs, verb) && !names[word] {
				t.Errorf("%s: description names unknown tool %s", name, word)
			}
		}
		checkStrict(t, name, one["inputSchema"].(map[string]any), undescribed[name])
	}
}

// checkStrict checks that an object and its nested objects accept only described properties. It
// skips the filters of update_saved_search, which only create_saved_search describes. The
// properties in undescribed, and no others, lack a description.
func checkStrict(t *testing.T, name string, input map[string]any, undescribed []string) {
	t.Helper()
	if input["additionalProperties"] != false || input["type"] == nil {
		t.Errorf("%s: schema is not strict: %v", name, input)
	}
	for argument, s := range input["properties"].(map[string]any) {
		s := s.(map[string]any)
		if s["type"] == nil || (s["description"] == nil) != slices.Contains(undescribed, argument) || s["$ref"] != nil {
			t.Errorf("%s: schema of %s is %v, want type, description unless undescribed, and no $ref", name, argument, s)
		}
		if s["properties"] != nil {
			checkStrict(t, name+"."+argument, s, undescribed)
		}
	}
}

// TestToolListSize limits the tool lists, which assistants pay for with every call. Raise the
// limits only for a good reason.
func TestToolListSize(t *testing.T) {
	const average = 2_000
	for path, limit := range map[string]int{Path: 30_000, ReadOnlyPath: 24_000, ChatGPTPath: 32_000} {
		n := len(rpc(t, at(path, mustServe(t, newFake(), io.Discard)), "tools/list", "{}").body)
		if each := n / len(toolsAt(path)); n > limit || each > average {
			t.Errorf("tools/list at %s has %d bytes, %d per tool; limits %d, %d", path, n, each, limit, average)
		}
	}
}

// TestArgumentParity checks that every REST parameter is an argument with the same name, enum,
// length limit and pattern. The only other arguments are the response format, the kind of a list,
// REST path values, and replacements for null.
func TestArgumentParity(t *testing.T) {
	parameters := map[string][]reflect.Type{
		"check_brand":  {reflect.TypeFor[cola.BrandParams]()},
		"search_colas": {reflect.TypeFor[cola.SearchParams]()}, "search_permittees": {reflect.TypeFor[cola.PermitteeParams]()},
		"count_labels":            {reflect.TypeFor[cola.CountParams]()},
		"list_production_reports": {reflect.TypeFor[cola.ProductionReportParams]()}, "search_avas": {reflect.TypeFor[cola.AVAParams]()},
		"get_processing_times": {reflect.TypeFor[cola.ProcessingTimeParams](), reflect.TypeFor[cola.FormulaProcessingTimeParams](), reflect.TypeFor[cola.RegistrationProcessingTimeParams]()},
		"create_saved_search":  {reflect.TypeFor[cola.SavedSearchParams]()},
		"list_saved_searches":  {reflect.TypeFor[cola.SavedSearchListParams]()}, "update_saved_search": {reflect.TypeFor[cola.SavedSearchChangeParams]()},
		"suggest_values": {reflect.TypeFor[cola.SuggestParams]()},
		"get_usage":      {}, "get_cola": {}, "lookup_barcode": {}, "get_permittee": {}, "get_ava": {}, "delete_saved_search": {},
		"search": {}, "fetch": {},
	}
	extra := map[string]bool{
		"response_format": true, "kind": true, "ttb_id": true, "barcode_value": true, "permit_number": true, "ava_id": true,
		"uuid": true, "remove_schedule": true, "query": true, "id": true,
	}
	for _, one := range toolsAt(ChatGPTPath) {
		types, known := parameters[one.name]
		if !known {
			t.Errorf("%s is missing from this table", one.name)
		}
		got, used := map[string]argument{}, map[string]bool{}
		flatten(got, "", one.input)
		for _, of := range types {
			for name, f := range fieldsWithin("", of) {
				a, ok := got[name]
				if !ok {
					t.Errorf("%s lacks %s", one.name, name)
					continue
				}
				s := a.schema
				if s.Items != nil {
					s = s.Items
				}
				if words := f.Tag.Get("enum"); words != "" && fmt.Sprint(s.Enum) != fmt.Sprint(strings.Split(words, ",")) {
					t.Errorf("%s: enum of %s = %v, REST has %s", one.name, name, s.Enum, words)
				}
				if maxLength := f.Tag.Get("maxLength"); maxLength != "" && (s.MaxLength == nil || fmt.Sprint(*s.MaxLength) != maxLength) {
					t.Errorf("%s: %s is not limited to %s characters", one.name, name, maxLength)
				}
				if pattern := f.Tag.Get("pattern"); s.Pattern != pattern {
					t.Errorf("%s: %s has the pattern %q, REST has %q", one.name, name, s.Pattern, pattern)
				}
				used[name] = true
			}
		}
		for name := range got {
			if !used[name] && !extra[name] {
				t.Errorf("%s accepts %s, which REST does not have", one.name, name)
			}
		}
	}
}

// flatten adds arguments by name, with dotted names for nested ones.
func flatten(into map[string]argument, prefix string, all []argument) {
	for _, a := range all {
		into[prefix+a.name] = a
		flatten(into, prefix+a.name+".", a.members)
	}
}

// fieldsWithin returns the field names of a parameter struct and its nested structs.
func fieldsWithin(prefix string, t reflect.Type) map[string]reflect.StructField {
	all := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "-" {
			continue
		}
		all[prefix+name] = f
		if f.Type.Kind() == reflect.Pointer {
			maps.Copy(all, fieldsWithin(prefix+name+".", f.Type.Elem()))
		}
	}
	return all
}

// compiled returns the validator of a schema, which must be valid JSON Schema 2020-12.
func compiled(t testing.TB, schema any) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", schema); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// closed returns a copy of a schema in which objects reject fields that it does not describe.
func closed(schema any) any {
	switch schema := schema.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, value := range schema {
			out[name] = closed(value)
		}
		if _, describes := schema["properties"].(map[string]any); describes && schema["type"] != nil {
			out["additionalProperties"] = false
		}
		return out
	case []any:
		out := make([]any, len(schema))
		for i := range schema {
			out[i] = closed(schema[i])
		}
		return out
	}
	return schema
}

// parsed returns a JSON value for the validator, with number literals preserved.
func parsed(t testing.TB, text string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// inputValidators returns the validator of every tool's arguments, by tool name.
func inputValidators(t testing.TB) map[string]*jsonschema.Schema {
	t.Helper()
	validators := map[string]*jsonschema.Schema{}
	for _, one := range rpc(t, at(ChatGPTPath, mustServe(t, newFake(), io.Discard)), "tools/list", "{}").json.Result["tools"].([]any) {
		one := one.(map[string]any)
		validators[one["name"].(string)] = compiled(t, one["inputSchema"])
	}
	return validators
}

// encoded returns a value as JSON.
func encoded(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}
