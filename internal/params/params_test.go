package params

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// TestReadKeepsWhatWasWrong: what the edge found is told with what is found here.
func TestReadKeepsWhatWasWrong(t *testing.T) {
	r := New[cola.AVAParams]("this test")
	got := r.Read([]Value{{Name: "q", Text: "a"}, {Name: "q", Text: "b"}, {Name: "stat", Text: "CA"}, {Name: "zzzzzz"}}, cola.Problems{"state": {"It is odd."}}).Problems
	want := cola.Problems{
		"q":      {`It is given 2 times, first as "a" and last as "b"; give it once.`},
		"stat":   {"There is no such parameter; did you mean state?"},
		"state":  {"It is odd."},
		"zzzzzz": {"There is no such parameter; this test takes current, q, state."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTakes(t *testing.T) {
	r := New[cola.SearchParams]("this test")
	for name, want := range map[string][2]bool{"q": {false, true}, "product_type": {true, true}, "Q": {}, "problems": {}} {
		if several, ok := r.Takes(name); several != want[0] || ok != want[1] {
			t.Errorf("%s: several %t, taken %t", name, several, ok)
		}
	}
}

func TestNewRefusesUnreadableFields(t *testing.T) {
	type unreadable struct {
		cola.Decoded
		When complex64 `json:"when"`
	}
	type withoutProblems struct {
		Q string `json:"q"`
	}
	for _, build := range []func(){func() { New[unreadable]("a test") }, func() { New[withoutProblems]("a test") }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a struct that cannot be decoded is accepted")
				}
			}()
			build()
		}()
	}
}
