package registrytest

import (
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// AddLabels stores labels and waits until the index contains the last one. It advances the clock.
func (r *Registry) AddLabels(t testing.TB, labels ...cola.Cola) {
	t.Helper()
	var patches []cola.Patch[cola.Cola]
	for _, c := range labels {
		p := cola.Patch[cola.Cola]{Record: c}
		for i := range cola.FieldsOf[cola.Cola]() {
			p.Fields = p.Fields.With(i)
		}
		patches = append(patches, p)
	}
	if outcomes, err := r.Store.UpsertColas(t.Context(), patches, store.Commit); err != nil {
		t.Fatal(outcomes, err)
	}
	watcher := r.Holder(t, "watcher@example.com", cola.TierPro)
	last := cola.SearchParams{Q: labels[len(labels)-1].TTBID.String()}
	for deadline := time.Now().Add(5 * time.Minute); ; {
		if time.Now().After(deadline) {
			t.Fatal("the index did not catch up with the database")
		}
		page, _, err := r.SearchColas(t.Context(), watcher, last)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Colas) > 0 {
			return
		}
		r.Advance(time.Second) // so that the watcher stays within its rate limit
		time.Sleep(50 * time.Millisecond)
	}
}
