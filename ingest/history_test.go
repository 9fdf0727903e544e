package ingest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/store"
)

// TestHistory checks that labels count as history only in the first import into an empty
// store or with Options.History.
func TestHistory(t *testing.T) {
	for _, test := range []struct {
		name             string
		stored           string // rows imported beforehand
		opts             Options
		mode             store.Mode
		initial, history bool
	}{
		{"empty store", "[]", Options{}, store.History, true, true},
		{"empty store, as history", "[]", Options{History: true}, store.History, true, true},
		{"other labels", labelRow(1), Options{}, store.Commit, false, false},
		{"other labels, as history", labelRow(1), Options{History: true}, store.History, false, true},
		{"dry run", labelRow(1), Options{History: true, DryRun: true}, store.DryRun, false, true},
		{"dry run, empty store", "[]", Options{DryRun: true}, store.DryRun, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			st := newFakeStore()
			mustImport(t, st, Colas, texts(test.stored)...)
			st.modes = nil
			report, err := Import(t.Context(), st, Colas, texts(labelRows(4_000)), test.opts)
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Compact(st.modes); len(st.modes) < 2 || !slices.Equal(got, []store.Mode{test.mode}) {
				t.Errorf("%d batches with modes %v, want several with %v", len(st.modes), got, test.mode)
			}
			var b strings.Builder
			if _, err := report.WriteTo(&b); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), "history:") != test.history || strings.Contains(b.String(), "--history") != test.initial {
				t.Errorf("report = %q, want history = %t, initial = %t", b.String(), test.history, test.initial)
			}
			if report.Initial != test.initial || report.History != test.history {
				t.Errorf("Initial = %t, History = %t, want %t, %t", report.Initial, report.History, test.initial, test.history)
			}
		})
	}
}

// TestHistoryKinds checks that only labels can be history.
func TestHistoryKinds(t *testing.T) {
	st := newFakeStore()
	st.lookErr = errors.New("unexpected read of labels")
	report, err := Import(t.Context(), st, CategoryAliases, texts("alias,path\nWine > Red,Wine > Red Wine\n"), Options{History: true})
	if err != nil || report.History || report.Added != 1 {
		t.Errorf("error = %v, history = %v, report = %s", err, report.History, report.Summary())
	}
}

// TestHistoryUnknown checks that nothing is written if the store cannot report whether
// it has labels.
func TestHistoryUnknown(t *testing.T) {
	for _, opts := range []Options{{}, {History: true}} {
		st := newFakeStore()
		st.lookErr = store.ErrUnavailable
		if _, err := Import(t.Context(), st, Colas, texts(labelRow(1)), opts); !errors.Is(err, store.ErrUnavailable) || st.batches > 0 {
			t.Errorf("Import = %v after %d batches, want ErrUnavailable before the first", err, st.batches)
		}
	}
}
