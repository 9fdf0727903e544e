package postgres

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// UpsertAVAs implements store.References.
func (s *Store) UpsertAVAs(ctx context.Context, patches []cola.Patch[cola.AVADetail], mode store.Mode) ([]store.Outcome, error) {
	return upsertSet(ctx, s, "upsert AVAs", records.AVAs, len(patches), mode, func(i int, row *cola.AVADetail) {
		patches[i].Apply(row)
		row.AVAID = patches[i].Record.AVAID
	})
}

// UpsertProcessingTimes implements store.References.
func (s *Store) UpsertProcessingTimes(ctx context.Context, rows []cola.ProcessingTime, mode store.Mode) ([]store.Outcome, error) {
	return upsertSet(ctx, s, "upsert processing times", records.ProcessingTimes, len(rows), mode,
		func(i int, row *cola.ProcessingTime) { *row = rows[i] })
}

// UpsertFormulaProcessingTimes implements store.References.
func (s *Store) UpsertFormulaProcessingTimes(ctx context.Context, rows []cola.FormulaProcessingTime, mode store.Mode) ([]store.Outcome, error) {
	return upsertSet(ctx, s, "upsert formula processing times", records.FormulaProcessingTimes, len(rows), mode,
		func(i int, row *cola.FormulaProcessingTime) { *row = rows[i] })
}

// UpsertRegistrationProcessingTimes implements store.References.
func (s *Store) UpsertRegistrationProcessingTimes(ctx context.Context, rows []cola.RegistrationProcessingTime, mode store.Mode) ([]store.Outcome, error) {
	return upsertSet(ctx, s, "upsert registration processing times", records.RegistrationProcessingTimes, len(rows), mode,
		func(i int, row *cola.RegistrationProcessingTime) { *row = rows[i] })
}

// UpsertCategoryAliases implements store.References.
func (s *Store) UpsertCategoryAliases(ctx context.Context, rows []cola.CategoryAlias, mode store.Mode) ([]store.Outcome, error) {
	return upsertSet(ctx, s, "upsert category aliases", records.CategoryAliases, len(rows), mode,
		func(i int, row *cola.CategoryAlias) { *row = rows[i] })
}

// AllReferences implements store.References.
func (s *Store) AllReferences(ctx context.Context) (store.ReferenceSets, error) {
	var sets store.ReferenceSets
	err := s.read(ctx, "read reference data", func() error {
		return s.view(ctx, func(q querier) error { return readSets(ctx, q, &sets) })
	})
	return sets, err
}

func readSets(ctx context.Context, q querier, sets *store.ReferenceSets) (err error) {
	if err = q.QueryRow(ctx, selectReferenceRevision).Scan(fields{&sets.Revision}); err != nil {
		return err
	}
	if sets.AVAs, err = readSet(ctx, q, records.AVAs); err != nil {
		return err
	}
	if sets.ProductionReports, err = readSet(ctx, q, records.ProductionReports); err != nil {
		return err
	}
	if sets.ProcessingTimes, err = readSet(ctx, q, records.ProcessingTimes); err != nil {
		return err
	}
	if sets.FormulaProcessingTimes, err = readSet(ctx, q, records.FormulaProcessingTimes); err != nil {
		return err
	}
	if sets.RegistrationProcessingTimes, err = readSet(ctx, q, records.RegistrationProcessingTimes); err != nil {
		return err
	}
	sets.CategoryAliases, err = readSet(ctx, q, records.CategoryAliases)
	return err
}
