package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
)

// exampleArguments returns the arguments of a tool's example call.
func exampleArguments(t testing.TB, one *tool) map[string]any {
	t.Helper()
	var arguments map[string]any
	if err := json.Unmarshal([]byte(one.example), &arguments); err != nil {
		t.Fatal(err)
	}
	return arguments
}

// with returns arguments with the value at a dotted name replaced.
func with(arguments map[string]any, name string, value any) map[string]any {
	out := maps.Clone(arguments)
	outer, inner, nested := strings.Cut(name, ".")
	if !nested {
		out[outer] = value
		return out
	}
	within, _ := out[outer].(map[string]any)
	if within == nil {
		within = map[string]any{}
	}
	out[outer] = with(within, inner, value)
	return out
}

// samples returns JSON values of every type for an argument.
func samples(a argument) []string {
	values := []string{`7`, `11054001000049`, `1.5`, `true`, `null`, `["no word"]`, `[7]`, `{}`, `{"query":"oak"}`}
	for _, example := range a.schema.Examples {
		b := string(mustJSON(example))
		values = append(values, b, strconv.Quote(strings.Trim(b, `"`)))
		if list, ok := example.([]any); ok {
			values = append(values, strconv.Quote(fmt.Sprint(list[0])))
		}
	}
	return values
}

// TestSchemaAcceptedValues checks that the schema allows every argument value that the server
// accepts, so that validating clients do not block valid calls.
func TestSchemaAcceptedValues(t *testing.T) {
	validators := inputValidators(t)
	for _, one := range toolsAt(ChatGPTPath) {
		f := newFake()
		h := at(ChatGPTPath, mustServe(t, f, io.Discard))
		all := map[string]argument{}
		flatten(all, "", one.input)
		for name, a := range all {
			for _, value := range samples(a) {
				f.saved = newFake().saved
				arguments := encoded(t, with(exampleArguments(t, &one), name, json.RawMessage(value)))
				got := call(t, h, one.name, arguments)
				rejected := got.failed && got.code(t) == "validation_error"
				if rejected && slices.ContainsFunc(slices.Collect(maps.Keys(got.problems(t))), func(p string) bool {
					return p == name || strings.HasPrefix(p, name+".") || strings.HasPrefix(name, p+".")
				}) {
					continue
				}
				if err := validators[one.name].Validate(parsed(t, arguments)); err != nil {
					t.Errorf("%s accepts %s, but its schema rejects it: %v", one.name, arguments, err)
				}
			}
		}
	}
}

// drawn is an argument's value, once in its own type and once in another type that the schema
// allows.
type drawn struct{ own, other any }

type absent struct{}

// drawValue draws a value for an argument.
func drawValue(t *rapid.T, a argument) drawn {
	s := a.schema
	if !a.required && rapid.IntRange(0, 3).Draw(t, a.name+" is null") == 0 {
		return drawn{absent{}, nil}
	}
	switch s.Type {
	case huma.TypeObject:
		own, other := drawObject(t, a.members)
		return drawn{own, other}
	case huma.TypeArray:
		words := rapid.SliceOfNDistinct(rapid.SampledFrom(s.Items.Enum), 1, 3, rapid.ID[any]).Draw(t, a.name)
		var list []string
		for _, w := range words {
			list = append(list, w.(string))
		}
		return drawn{list, strings.Join(list, ",")}
	case huma.TypeBoolean:
		v := rapid.Bool().Draw(t, a.name)
		return drawn{v, fmt.Sprint(v)}
	case huma.TypeInteger:
		v := rapid.IntRange(int(bound(s.Minimum, 0)), int(bound(s.Maximum, 1000))).Draw(t, a.name)
		return drawn{v, rapid.SampledFrom([]any{fmt.Sprint(v), json.RawMessage(fmt.Sprintf("%d.0", v))}).Draw(t, a.name+" sent")}
	case huma.TypeNumber:
		v := rapid.Float64Range(bound(s.Minimum, 0), bound(s.Maximum, 1e6)).Draw(t, a.name)
		return drawn{v, string(mustJSON(v))}
	}
	switch {
	case s.Enum != nil:
		v := rapid.SampledFrom(s.Enum).Draw(t, a.name)
		return drawn{v, v}
	case s.Format == "date":
		v := cola.NewDate(2005, 1, 1).AddDays(rapid.IntRange(0, 8000).Draw(t, a.name)).String()
		return drawn{v, v}
	case s.Pattern != "":
		v := fmt.Sprint(rapid.IntRange(11001001000001, 26365999999999).Draw(t, a.name))
		if _, ok := cola.ParseTTBID(v); !ok {
			v = "11054001000049"
		}
		return drawn{v, json.RawMessage(v)}
	}
	v := string(mustJSON(rapid.SampledFrom([]any{7, 1.5, -3, 36000291452, 0.001}).Draw(t, a.name)))
	return drawn{v, json.RawMessage(v)}
}

func bound(given *float64, otherwise float64) float64 {
	if given == nil {
		return otherwise
	}
	return *given
}

// drawObject draws arguments in both forms.
func drawObject(t *rapid.T, members []argument) (own, other map[string]any) {
	own, other = map[string]any{}, map[string]any{}
	for _, a := range members {
		if !a.required && rapid.Bool().Draw(t, "without "+a.name) {
			continue
		}
		v := drawValue(t, a)
		if v.own != (any)(absent{}) {
			own[a.name] = v.own
		}
		other[a.name] = v.other
	}
	return own, other
}

// TestSchemaTypes checks that an argument sent in any type that its schema allows gets the same
// response as in its own type.
func TestSchemaTypes(t *testing.T) {
	validators := inputValidators(t)
	for _, one := range toolsAt(ChatGPTPath) {
		f := newFake()
		h := at(ChatGPTPath, mustServe(t, f, io.Discard))
		ask := func(arguments string) string {
			f.used, f.saved = cola.Used{}, newFake().saved
			return call(t, h, one.name, arguments).body
		}
		rapid.Check(t, func(rt *rapid.T) {
			a, b := drawObject(rt, one.input)
			own, other := encoded(t, a), encoded(t, b)
			if err := validators[one.name].Validate(parsed(t, other)); err != nil {
				rt.Fatalf("%s: schema rejects %s: %v", one.name, other, err)
			}
			if got, want := ask(other), ask(own); got != want {
				rt.Fatalf("%s %s returns\n%s\nbut %s returns\n%s", one.name, other, got, own, want)
			}
		})
	}
}
