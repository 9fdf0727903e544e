package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compiled returns the validator of a schema, which must be one of JSON Schema 2020-12.
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

// closed returns a schema that describes every field that an object may have.
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

// parsed returns a JSON value as the validator takes it, with numbers as they were written.
func parsed(t testing.TB, text string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// inputValidators returns a validator of the arguments of every tool, by its name.
func inputValidators(t testing.TB) map[string]*jsonschema.Schema {
	t.Helper()
	validators := map[string]*jsonschema.Schema{}
	for _, one := range rpc(t, mustServe(t, newFake(), io.Discard), "tools/list", "{}").json.Result["tools"].([]any) {
		one := one.(map[string]any)
		validators[one["name"].(string)] = compiled(t, one["inputSchema"])
	}
	return validators
}

// encoded writes a value as JSON.
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
