package demo

import (
	"context"
	"fmt"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// batchSize is the number of labels or permittees per write.
const batchSize = 500

// Load writes a complete demo registry to the store: permittees and reference data first, then the
// labels in batches. After each batch it calls progress, if not nil, with the number of labels
// written so far and the total. If the context ends, Load returns its error. The data written so
// far remains, and calling Load again completes it, because writes are idempotent. The labels are
// loaded as history and trigger no alerts.
func Load(ctx context.Context, st store.Store, o Options, progress func(done, total int)) error {
	if err := o.Check(); err != nil {
		return err
	}
	if progress == nil {
		progress = func(int, int) {}
	}
	if err := loadPermittees(ctx, st, o); err != nil {
		return fmt.Errorf("load demo permittees: %w", err)
	}
	if err := loadReferences(ctx, st, o); err != nil {
		return fmt.Errorf("load demo reference data: %w", err)
	}
	if err := loadColas(ctx, st, o, progress); err != nil {
		return fmt.Errorf("load demo labels: %w", err)
	}
	return nil
}

func loadColas(ctx context.Context, st store.Colas, o Options, progress func(done, total int)) error {
	done := 0
	batch := make([]cola.Patch[cola.Cola], 0, batchSize)
	write := func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		outcomes, err := st.UpsertColas(ctx, batch, store.History)
		if err != nil {
			return err
		}
		if i := slices.Index(outcomes, store.Rejected); i >= 0 {
			return fmt.Errorf("label %s was rejected", batch[i].Record.TTBID)
		}
		done += len(batch)
		batch = batch[:0]
		progress(done, o.Colas)
		return nil
	}
	for c := range Labels(o) {
		batch = append(batch, whole(*c))
		if len(batch) == batchSize {
			if err := write(); err != nil {
				return err
			}
		}
	}
	if len(batch) == 0 {
		return ctx.Err()
	}
	return write()
}

func loadPermittees(ctx context.Context, st store.Permittees, o Options) error {
	for chunk := range slices.Chunk(Permittees(o), batchSize) {
		patches := make([]cola.Patch[cola.Permittee], 0, len(chunk))
		for _, p := range chunk {
			patches = append(patches, whole(p))
		}
		if _, err := st.UpsertPermittees(ctx, patches, store.Commit); err != nil {
			return err
		}
	}
	return nil
}

func loadReferences(ctx context.Context, st store.References, o Options) error {
	var areas []cola.Patch[cola.AVADetail]
	for _, a := range AVAs(o) {
		areas = append(areas, whole(a))
	}
	if _, err := st.UpsertAVAs(ctx, areas, store.Commit); err != nil {
		return fmt.Errorf("AVAs: %w", err)
	}
	if _, err := st.UpsertCategoryAliases(ctx, CategoryAliases(o), store.Commit); err != nil {
		return fmt.Errorf("category aliases: %w", err)
	}
	if _, err := st.UpsertProcessingTimes(ctx, ProcessingTimes(o), store.Commit); err != nil {
		return fmt.Errorf("processing times: %w", err)
	}
	if _, err := st.UpsertFormulaProcessingTimes(ctx, FormulaProcessingTimes(o), store.Commit); err != nil {
		return fmt.Errorf("formula processing times: %w", err)
	}
	if _, err := st.UpsertRegistrationProcessingTimes(ctx, RegistrationProcessingTimes(o), store.Commit); err != nil {
		return fmt.Errorf("registration processing times: %w", err)
	}
	return loadReports(ctx, st, o)
}

// loadReports writes each production report in a single call. A report's rows are adjacent.
func loadReports(ctx context.Context, st store.References, o Options) error {
	rows := ProductionReports(o)
	for len(rows) > 0 {
		key, n := rows[0].Key(), 1
		for n < len(rows) && rows[n].Key() == key {
			n++
		}
		if _, err := st.ReplaceProductionReport(ctx, key, rows[:n], store.Commit); err != nil {
			return fmt.Errorf("%s report %s of %s: %w", key.ReportType, key.Commodity, key.ReportDate, err)
		}
		rows = rows[n:]
	}
	return nil
}

// whole returns a patch with every field of a record.
func whole[T any](record T) cola.Patch[T] {
	p := cola.Patch[T]{Record: record}
	for i := range cola.FieldsOf[T]() {
		p.Fields = p.Fields.With(i)
	}
	return p
}
