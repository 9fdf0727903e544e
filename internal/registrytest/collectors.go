package registrytest

import (
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Collect stores the state of a collection in which the day last is complete, and the day before it
// and one label have failed. dayFailure and labelFailure are the reasons for the failures. The
// collectors have sent one request, at a rate of at most one every two seconds.
func (r *Registry) Collect(t testing.TB, last cola.Date, dayFailure, labelFailure string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.Store.PlanWindows(t.Context(), last-1, last, time.Time{}, false)
	must(err)
	w, err := r.Store.ClaimWindow(t.Context(), last, last, time.Minute)
	must(err)
	must(r.Store.CompleteWindow(t.Context(), w, 3))
	w, err = r.Store.ClaimWindow(t.Context(), last-1, last-1, time.Minute)
	must(err)
	must(r.Store.FailWindow(t.Context(), w, dayFailure, -1))
	r.QueueLabel(t, 26_001_001_000_001)
	l, err := r.Store.ClaimLabel(t.Context(), true, time.Minute)
	must(err)
	must(r.Store.FailLabel(t.Context(), l, labelFailure, -1))
	_, err = r.Store.ReserveRequest(t.Context(), 2*time.Second)
	must(err)
}

// QueueLabel queues a label for the collectors.
func (r *Registry) QueueLabel(t testing.TB, id cola.TTBID) {
	t.Helper()
	if err := r.Store.QueueLabels(t.Context(), []store.FetchLabel{{TTBID: id}}); err != nil {
		t.Fatal(err)
	}
}
