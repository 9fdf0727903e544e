package collect

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/ingest"
	"github.com/colaregistry/colaregistry/store"
)

// target stores the labels of one import. It passes the record of the import to the recorder.
type target struct {
	ingest.Target
	before func([]cola.Patch[cola.Cola]) error // called before a batch is stored; may change it
	record func(cola.Import)
}

// UpsertColas implements store.Colas.
func (t target) UpsertColas(
	ctx context.Context, patches []cola.Patch[cola.Cola], mode store.Mode,
) ([]store.Outcome, error) {
	if err := t.before(patches); err != nil {
		return nil, err
	}
	return t.Target.UpsertColas(ctx, patches, mode)
}

// RecordImport implements store.Imports.
func (t target) RecordImport(_ context.Context, i cola.Import) error {
	t.record(i)
	return nil
}

// recorder adds up imports, because the store keeps only store.KeptImports of them. It records one
// import after the windows of a plan, then one per day and one at the end, so that operators can see
// when data was last updated.
type recorder struct {
	st      store.Imports
	sum     cola.Import
	windows bool // sum includes exports
}

const recordEvery = 24 * time.Hour

func (r *recorder) addExport(i cola.Import) {
	r.windows = true
	r.addPage(i)
}

func (r *recorder) addPage(i cola.Import) {
	if r.sum.Kind == "" {
		r.sum = i
		return
	}
	r.sum.FinishedAt = i.FinishedAt
	r.sum.Read += i.Read
	r.sum.Added += i.Added
	r.sum.Changed += i.Changed
	r.sum.Unchanged += i.Unchanged
	r.sum.Rejected += i.Rejected
}

// old reports whether the sum spans at least a day.
func (r *recorder) old() bool {
	return r.sum.FinishedAt.Time().Sub(r.sum.StartedAt.Time()) >= recordEvery
}

// end records the sum, if there is any.
func (r *recorder) end(ctx context.Context, failed bool) error {
	if r.sum.Kind == "" {
		return nil
	}
	r.sum.Failed = failed
	err := r.st.RecordImport(ctx, r.sum)
	if err == nil {
		r.sum, r.windows = cola.Import{}, false
	}
	return err
}
