package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// Change is a planned change to reference data: an outcome for each row and, if anything changes,
// the statements that write the change.
type Change struct {
	Outcomes   []store.Outcome
	Statements []Statement
}

// UpsertAVAs implements store.References.
func (s *Store) UpsertAVAs(ctx context.Context, patches []cola.Patch[cola.AVADetail],
	mode store.Mode) ([]store.Outcome, error) {
	return upsertSet(ctx, s, "upsert AVAs", records.AVAs, len(patches), mode, func(i int, row *cola.AVADetail) {
		patches[i].Apply(row)
		row.AVAID = patches[i].Record.AVAID
	})
}

// UpsertProcessingTimes implements store.References.
func (s *Store) UpsertProcessingTimes(ctx context.Context, rows []cola.ProcessingTime,
	mode store.Mode) ([]store.Outcome, error) {
	return replaceRows(ctx, s, "upsert processing times", records.ProcessingTimes, rows, mode)
}

// UpsertFormulaProcessingTimes implements store.References.
func (s *Store) UpsertFormulaProcessingTimes(ctx context.Context, rows []cola.FormulaProcessingTime,
	mode store.Mode) ([]store.Outcome, error) {
	return replaceRows(ctx, s, "upsert formula processing times", records.FormulaProcessingTimes, rows, mode)
}

// UpsertRegistrationProcessingTimes implements store.References.
func (s *Store) UpsertRegistrationProcessingTimes(ctx context.Context, rows []cola.RegistrationProcessingTime,
	mode store.Mode) ([]store.Outcome, error) {
	return replaceRows(ctx, s, "upsert registration processing times", records.RegistrationProcessingTimes, rows, mode)
}

// UpsertCategoryAliases implements store.References.
func (s *Store) UpsertCategoryAliases(ctx context.Context, rows []vocabulary.CategoryAlias,
	mode store.Mode) ([]store.Outcome, error) {
	return replaceRows(ctx, s, "upsert category aliases", records.CategoryAliases, rows, mode)
}

// replaceRows upserts complete rows.
func replaceRows[T any](ctx context.Context, s *Store, operation string, set records.Set[T], rows []T,
	mode store.Mode) ([]store.Outcome, error) {
	return upsertSet(ctx, s, operation, set, len(rows), mode, func(i int, row *T) { *row = rows[i] })
}

// upsertSet merges count rows into a set, the i-th by calling merge(i, row).
func upsertSet[T any](ctx context.Context, s *Store, operation string, set records.Set[T], count int, mode store.Mode,
	merge func(i int, row *T)) ([]store.Outcome, error) {
	return s.db.ChangeReferences(ctx, operation, mode, func(ctx context.Context, q Querier) (c Change, err error) {
		held, err := readSet(ctx, q, set, "TRUE")
		if err != nil {
			return c, err
		}
		merger := records.NewMerger(set, held)
		for i := range count {
			outcome, row := merger.Merge(func(row *T) { merge(i, row) })
			c.Outcomes = append(c.Outcomes, outcome)
			if row != nil {
				c.Statements = append(c.Statements, upsertRow(set, row))
			}
		}
		return c, nil
	})
}

// upsertRow returns the statement that inserts a row of a set, or replaces the one with the same
// key.
func upsertRow[T any](set records.Set[T], row *T) Statement {
	columns := set.Columns(row)
	var updates []string
	for _, c := range columns[set.Keys:] {
		updates = append(updates, c.Name+" = excluded."+c.Name)
	}
	return Statement{`INSERT INTO ` + set.Table + ` (` + set.ColumnList() + `) VALUES (` + parameters(1, len(columns)) + `)
		ON CONFLICT (` + strings.Join(records.Names(columns[:set.Keys]), ", ") + `) DO UPDATE SET ` + strings.Join(updates, ", "), targets(columns)}
}

// readSet reads the rows of a set that match a condition, in order.
func readSet[T any](ctx context.Context, q Querier, set records.Set[T], condition string, args ...any) ([]T, error) {
	return list(ctx, q, func(row *T) []any { return targets(set.Columns(row)) },
		`SELECT `+set.ColumnList()+` FROM `+set.Table+` WHERE `+condition+` ORDER BY `+set.Order, args...)
}

// ProcessingTimes reads the processing times of label applications.
func ProcessingTimes(ctx context.Context, q Querier) ([]cola.ProcessingTime, error) {
	return readSet(ctx, q, records.ProcessingTimes, "TRUE")
}

const (
	ofReport     = `commodity = $1 AND report_type = $2 AND report_date = $3`
	deleteReport = `DELETE FROM production_reports WHERE ` + ofReport
)

var insertReportRow = `INSERT INTO production_reports (position, ` + records.ProductionReports.ColumnList() + `) VALUES (` +
	parameters(1, 1+len(records.ProductionReports.Columns(new(cola.ProductionReport)))) + `)`

// ReplaceProductionReport implements store.References.
func (s *Store) ReplaceProductionReport(ctx context.Context, key cola.ReportKey, rows []cola.ProductionReport,
	mode store.Mode) ([]store.Outcome, error) {
	const operation = "replace production report"
	for i := range rows {
		if rows[i].Key() != key {
			return nil, fmt.Errorf("%s: row %d belongs to report %v, want %v", operation, i, rows[i].Key(), key)
		}
	}
	return s.db.ChangeReferences(ctx, operation, mode, func(ctx context.Context, q Querier) (c Change, err error) {
		held, err := readSet(ctx, q, records.ProductionReports,
			ofReport, key.Commodity, key.ReportType, &key.ReportDate)
		if err != nil {
			return c, err
		}
		outcomes, same := records.CompareReports(held, rows)
		if c.Outcomes = outcomes; !same {
			c.Statements = append([]Statement{{deleteReport, []any{key.Commodity, key.ReportType, &key.ReportDate}}},
				reportRows(rows)...)
		}
		return c, nil
	})
}

// reportRows returns the statements that insert the rows of reports, numbered within each report.
// The rows of a report must be contiguous.
func reportRows(rows []cola.ProductionReport) []Statement {
	var all []Statement
	for i, position := 0, 0; i < len(rows); i, position = i+1, position+1 {
		if i > 0 && rows[i].Key() != rows[i-1].Key() {
			position = 0
		}
		all = append(all, Statement{
			insertReportRow,
			append([]any{position}, targets(records.ProductionReports.Columns(&rows[i]))...),
		})
	}
	return all
}

// AllReferences implements store.References.
func (s *Store) AllReferences(ctx context.Context) (sets store.ReferenceSets, err error) {
	err = s.db.View(ctx, "read reference data", func(q Querier) error {
		sets, err = readReferences(ctx, q)
		return err
	})
	return sets, err
}

func readReferences(ctx context.Context, q Querier) (sets store.ReferenceSets, err error) {
	if sets.Revision, err = value[cola.Revision](ctx, q, `SELECT reference_revision FROM meta`); err != nil {
		return sets, err
	}
	if sets.AVAs, err = readSet(ctx, q, records.AVAs, "TRUE"); err != nil {
		return sets, err
	}
	if sets.ProductionReports, err = readSet(ctx, q, records.ProductionReports, "TRUE"); err != nil {
		return sets, err
	}
	if sets.ProcessingTimes, err = ProcessingTimes(ctx, q); err != nil {
		return sets, err
	}
	if sets.FormulaProcessingTimes, err = readSet(ctx, q, records.FormulaProcessingTimes, "TRUE"); err != nil {
		return sets, err
	}
	if sets.RegistrationProcessingTimes,
		err = readSet(ctx, q, records.RegistrationProcessingTimes, "TRUE"); err != nil {
		return sets, err
	}
	sets.CategoryAliases, err = readSet(ctx, q, records.CategoryAliases, "TRUE")
	return sets, err
}

// FillReferences returns the statements that insert reference data into an empty database.
func FillReferences(sets *store.ReferenceSets) []Statement {
	return slices.Concat(fillSet(records.AVAs,
		sets.AVAs), reportRows(sets.ProductionReports), fillSet(records.ProcessingTimes, sets.ProcessingTimes),
		fillSet(records.FormulaProcessingTimes, sets.FormulaProcessingTimes),
		fillSet(records.RegistrationProcessingTimes, sets.RegistrationProcessingTimes),
		fillSet(records.CategoryAliases, sets.CategoryAliases))
}

func fillSet[T any](set records.Set[T], rows []T) []Statement {
	all := make([]Statement, len(rows))
	for i := range rows {
		all[i] = upsertRow(set, &rows[i])
	}
	return all
}
