package sqlite

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
)

// TestListsRoundTrip: any list of text survives being a column.
func TestListsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.String()).Draw(t, "list")
		var got []string
		if err := (target{&got}).Scan(encode(&list)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(list, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// TestWrongColumns: a value that a field cannot hold is an error, not a zero.
func TestWrongColumns(t *testing.T) {
	var n int
	var truth bool
	var date cola.Date
	var list []string
	var known cola.Opt[float64]
	for _, c := range []struct {
		field any
		value any
	}{{&n, "1"}, {&truth, nil}, {&n, 1.5}, {&date, "tomorrow"}, {&date, int64(1)}, {&list, `{"a":1}`}, {&known, "1"}, {&known, []byte("1")}} {
		if err := (target{c.field}).Scan(c.value); err == nil {
			t.Errorf("scanning %#v into %T: no error", c.value, c.field)
		}
	}
}
