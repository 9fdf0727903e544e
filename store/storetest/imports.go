package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testImports(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"latest of each kind", lastImports},
		{"latest that succeeded", lastSuccess},
		{"only the latest are retained", importLimit},
	})
}

// newImport returns the nth import of a kind. Its times and counts depend on n.
func newImport(kind string, n int) cola.Import {
	at := epoch.Add(time.Duration(n) * time.Hour)
	return cola.Import{
		Kind: kind, StartedAt: cola.TimestampOf(at), FinishedAt: cola.TimestampOf(at.Add(time.Minute)),
		Read: 10*n + 10, Added: n + 1, Changed: n + 2, Unchanged: n + 3, Rejected: 7*n + 4,
	}
}

func mustLastImports(t tb, st store.Store) []cola.LastImport {
	t.Helper()
	list, err := st.LastImports(context.Background())
	return must(t, list, err)
}

// succeeded returns an import that is the latest of its kind and did not fail.
func succeeded(i cola.Import) cola.LastImport {
	return cola.LastImport{Import: i, SucceededAt: cola.Some(i.FinishedAt)}
}

func lastImports(t *testing.T, st store.Store, _ *clock) {
	checkEqual(t, "number of imports", 0, len(mustLastImports(t, st)))
	for _, i := range []cola.Import{newImport("permittees", 3), newImport("colas", 2), newImport("colas", 1)} {
		mustDo(t, st.RecordImport(t.Context(), i))
	}
	// The last import recorded counts as the latest, even if clocks differ.
	colas := succeeded(newImport("colas", 1))
	colas.SucceededAt = cola.Some(newImport("colas", 2).FinishedAt)
	checkEqual(t, "LastImports", []cola.LastImport{colas, succeeded(newImport("permittees", 3))}, mustLastImports(t, st))
}

func lastSuccess(t *testing.T, st store.Store, _ *clock) {
	failed := newImport("avas", 1)
	failed.Failed = true
	mustDo(t, st.RecordImport(t.Context(), failed))
	checkEqual(t, "LastImports without a success", []cola.LastImport{{Import: failed}}, mustLastImports(t, st))
	mustDo(t, st.RecordImport(t.Context(), newImport("avas", 2)))
	failed = newImport("avas", 3)
	failed.Failed = true
	mustDo(t, st.RecordImport(t.Context(), failed))
	want := cola.LastImport{Import: failed, SucceededAt: cola.Some(newImport("avas", 2).FinishedAt)}
	checkEqual(t, "LastImports", []cola.LastImport{want}, mustLastImports(t, st))
}

func importLimit(t *testing.T, st store.Store, _ *clock) {
	mustDo(t, st.RecordImport(t.Context(), newImport("avas", 1)))
	for n := range store.KeptImports + 3 {
		mustDo(t, st.RecordImport(t.Context(), newImport("colas", n)))
	}
	checkEqual(t, "number of imports", store.KeptImports+1, mustSizes(t, st)[store.ItemImport])
	checkEqual(t, "LastImports",
		[]cola.LastImport{succeeded(newImport("avas", 1)), succeeded(newImport("colas", store.KeptImports+2))},
		mustLastImports(t, st))
	oldest := ""
	mustDo(t, st.Dump(t.Context(), func(i *store.Item) error {
		if i.Kind == store.ItemImport && i.Import.Kind == "colas" && oldest == "" {
			oldest = fmt.Sprint(i.Import.StartedAt)
		}
		return nil
	}))
	checkEqual(t, "oldest import", fmt.Sprint(newImport("colas", 3).StartedAt), oldest)
}
