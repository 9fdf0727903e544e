package strictjson

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValid(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, ` [1] `: true, `"é"`: true, `null`: true,
		``: false, ` `: false, `{} {}`: false, `{"a":1,}`: false,
		"\"\xff\"": false, `{a:1}`: false, `NaN`: false, "\ufeff{}": false,
	} {
		if got := Valid([]byte(text)); got != want {
			t.Errorf("Valid(%q) = %t, want %t", text, got, want)
		}
	}
}

func TestMembers(t *testing.T) {
	tests := map[string][]Member{
		`{}`: nil, ` { } `: nil,
		`{ "a" : 1 , "b" : { "c" : [ 2 ] } }`: {{"a", []byte(`1`)}, {"b", []byte(`{ "c" : [ 2 ] }`)}},
		`{"a":1,"A":2,"a":null}`:              {{"a", []byte(`1`)}, {"A", []byte(`2`)}, {"a", []byte(`null`)}},
		`{"\u0061":"x","":-1e3}`:              {{"a", []byte(`"x"`)}, {"", []byte(`-1e3`)}},
	}
	for object, want := range tests {
		if diff := cmp.Diff(want, Members([]byte(object))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", object, diff)
		}
	}
	all := Members([]byte(`{"a":1,"b":2,"a":3}`))
	if got := string(Find(all, "a")); got != "1" {
		t.Errorf("Find(a) = %s, want 1", got)
	}
	if got := Find(all, "B"); got != nil {
		t.Errorf("Find(B) = %s, want nil", got)
	}
}

func TestElements(t *testing.T) {
	if diff := cmp.Diff([]json.RawMessage{[]byte(`1`), []byte(`"a"`), []byte(`[ ]`)}, Elements([]byte(` [ 1, "a" ,[ ]]`))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Elements([]byte(`[]`)); len(got) != 0 {
		t.Errorf("Elements of an empty array = %s", got)
	}
}

func TestText(t *testing.T) {
	if s, ok := Text([]byte(`"a\u0062"`)); s != "ab" || !ok {
		t.Errorf("Text = %q, %t, want ab, true", s, ok)
	}
	for _, other := range []string{``, `1`, `null`, `["a"]`, `{"a":"b"}`, `true`} {
		if s, ok := Text([]byte(other)); ok {
			t.Errorf("Text(%s) = %q, want ok false", other, s)
		}
	}
}

func TestUnambiguous(t *testing.T) {
	meaningful := []string{"name", "filters"}
	tests := map[string]*Ambiguity{
		`{"name":1,"filters":2,"other":3,"Other":4}`: nil,
		`{"name":1,"name":1}`:                        {Name: "name"},
		`{"other":1,"other":2,"Name":1}`:             {Name: "other"},
		`{"Name":1}`:                                 {Name: "Name", Correct: "name"},
		`{"name":1,"FILTERS":2}`:                     {Name: "FILTERS", Correct: "filters"},
		`{"n\u0061me":1,"name":2}`:                   {Name: "name"},
		// encoding/json also folds the long s
		`{"filter\u017f":1}`: {Name: "filter\u017f", Correct: "filters"},
	}
	for object, want := range tests {
		all, got := Unambiguous([]byte(object), meaningful)
		if diff := cmp.Diff(want, got); diff != "" || (got == nil) != (len(all) > 0) {
			t.Errorf("%s: %d members (-want +got):\n%s", object, len(all), diff)
		}
	}
}

// FuzzMembers checks that Unambiguous and encoding/json find the same members in an object without
// ambiguities.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":{"c":[2]}}`, `{"a":1,"A":2}`, `{"a":1,"a":2}`, `{"\ud800":1,"\udfff":2}`, `[{}]`, `{"":{"":""}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var loose map[string]json.RawMessage
		if Bounded(b, 100, MaxValues) != nil || !Valid(b) || json.Unmarshal(b, &loose) != nil || loose == nil {
			return
		}
		all, ambiguity := Unambiguous(b, nil)
		if ambiguity != nil {
			if len(loose) >= len(Members(b)) {
				t.Errorf("%q: %q is not a duplicate name", b, ambiguity.Name)
			}
			return
		}
		if len(all) != len(loose) {
			t.Fatalf("%q: %d members, want %d as in encoding/json", b, len(all), len(loose))
		}
		for _, m := range all {
			if !cmp.Equal(m.Value, loose[m.Name]) || !json.Valid(m.Value) {
				t.Errorf("%q: %q = %s, want %s as in encoding/json", b, m.Name, m.Value, loose[m.Name])
			}
		}
	})
}
