package ingest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/store"
)

// TestImportOfHistory checks that labels count as history only in the first import into an empty
// store or with Options.History.
func TestImportOfHistory(t *testing.T) {
	const initial, asked = "held none before", "history: saved searches are not told of these labels\n"
	for _, test := range []struct {
		name  string
		holds string // rows that exist before
		opts  Options
		want  store.Mode
		told  string // the report's line about history
	}{
		{"into an empty store", "", Options{}, store.History, initial},
		{"into an empty store, as history", "", Options{History: true}, store.History, initial},
		{"beside other labels", labelRow(1), Options{}, store.Commit, ""},
		{"beside other labels, as history", labelRow(1), Options{History: true}, store.History, asked},
		{"rehearsed", labelRow(1), Options{History: true, DryRun: true}, store.DryRun, asked},
		{"rehearsed, into an empty store", "", Options{DryRun: true}, store.DryRun, initial},
	} {
		t.Run(test.name, func(t *testing.T) {
			st := newFakeStore()
			mustImport(t, st, Colas, texts(test.holds)...)
			st.modes = nil
			report, err := Import(t.Context(), st, Colas, texts(labelRows(4_000)), test.opts)
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Compact(st.modes); len(st.modes) < 2 || !slices.Equal(got, []store.Mode{test.want}) {
				t.Errorf("%d batches in the modes %v, want several in %v", len(st.modes), got, test.want)
			}
			var b strings.Builder
			if _, err := report.WriteTo(&b); err != nil {
				t.Fatal(err)
			}
			if told := strings.Contains(b.String(), "history"); told != (test.told != "") || !strings.Contains(b.String(), test.told) {
				t.Errorf("the report says %q, want %q in it", b.String(), test.told)
			}
			if report.Initial != (test.told == initial) || report.History != (test.told != "") {
				t.Errorf("initial %v, history %v", report.Initial, report.History)
			}
		})
	}
}

// TestImportOfOtherKindsIsNoHistory checks that only labels can be history.
func TestImportOfOtherKindsIsNoHistory(t *testing.T) {
	st := newFakeStore()
	st.lookErr = errors.New("nobody is to ask for labels")
	report, err := Import(t.Context(), st, CategoryAliases, texts("alias,path\nWine > Red,Wine > Red Wine\n"), Options{History: true})
	if err != nil || report.History || report.Added != 1 {
		t.Errorf("%v, history %v, %s", err, report.History, report.Summary())
	}
}

// TestImportThatCannotTellHistory checks that nothing is written if the store cannot report whether
// it has labels.
func TestImportThatCannotTellHistory(t *testing.T) {
	for _, opts := range []Options{{}, {History: true}} {
		st := newFakeStore()
		st.lookErr = store.ErrUnavailable
		if _, err := Import(t.Context(), st, Colas, texts(labelRow(1)), opts); !errors.Is(err, store.ErrUnavailable) || st.batches > 0 {
			t.Errorf("%v after %d batches, want ErrUnavailable and none", err, st.batches)
		}
	}
}
