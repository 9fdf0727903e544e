package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// TestListsRoundTrip checks that lists of strings survive encoding and scanning.
func TestListsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.String()).Draw(t, "list")
		var got []string
		if err := (target{&got}).Scan(encode(&list)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(list, got); diff != "" {
			t.Fatalf("list (-want +got):\n%s", diff)
		}
	})
}

// TestWrongColumns checks that a value that does not fit a field is an error, not a zero.
func TestWrongColumns(t *testing.T) {
	var n int
	var truth bool
	var date cola.Date
	var list []string
	var known cola.Opt[float64]
	for _, c := range []struct {
		field any
		value any
	}{
		{&n, "1"},
		{&truth, nil},
		{&n, 1.5},
		{&date, "tomorrow"},
		{&date, int64(1)},
		{&list, `{"a":1}`},
		{&known, "1"},
		{&known, []byte("1")},
	} {
		if err := (target{c.field}).Scan(c.value); err == nil {
			t.Errorf("scan %#v into %T: error = nil, want non-nil", c.value, c.field)
		}
	}
}

// TestLegacyNulls checks that labels stored by earlier versions have no nulls where clients expect
// none.
func TestLegacyNulls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	s := mustOpen(t, path, Options{Logger: quiet()})
	patch := storetest.Sample(1)
	if _, err := s.UpsertColas(t.Context(), []cola.Patch[cola.Cola]{patch}, store.Commit); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range storetest.LegacyNulls() {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	storetest.CheckLegacyNulls(t, s, patch)
}
