package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// referenceSet is a table of reference data. Sets are small: they are read whole, also to be merged into.
type referenceSet[T any] struct {
	table   string
	keys    int    // how many of the columns, from the first, make the key
	order   string // in which the API shows the rows
	columns func(*T) []column
}

var avas = referenceSet[cola.AVADetail]{
	"avas", 1, "name, valid_start_date IS NOT NULL, valid_start_date, valid_end_date IS NULL, valid_end_date, ava_id",
	func(a *cola.AVADetail) []column {
		return []column{
			{"ava_id", &a.AVAID}, {"name", &a.Name}, {"aka", &a.AKA}, {"states", &a.States}, {"counties", &a.Counties},
			{"established_date", &a.EstablishedDate}, {"removed_date", &a.RemovedDate},
			{"valid_start_date", &a.ValidStartDate}, {"valid_end_date", &a.ValidEndDate},
			{"parent_avas", &a.ParentAVAs}, {"child_avas", &a.ChildAVAs},
			{"petitioner", &a.Petitioner}, {"cfr_author", &a.CFRAuthor}, {"cfr_index", &a.CFRIndex},
		}
	},
}

// productionReports lacks the position within a report, which is no field of a row.
var productionReports = referenceSet[cola.ProductionReport]{
	"production_reports", 3, "report_date DESC, commodity, report_type, position",
	func(r *cola.ProductionReport) []column {
		return []column{
			{"commodity", &r.Commodity}, {"report_type", &r.ReportType}, {"report_date", &r.ReportDate},
			{"year", &r.Year}, {"month_number", &r.MonthNumber},
			{"statistical_group", &r.StatisticalGroup}, {"statistical_category", &r.StatisticalCategory},
			{"statistical_detail", &r.StatisticalDetail}, {"count_ims", &r.CountIMs},
			{"value", &r.Value}, {"value_unit", &r.ValueUnit}, {"is_redacted", &r.IsRedacted},
		}
	},
}

var processingTimes = referenceSet[cola.ProcessingTime]{
	"processing_times", 2, "snapshot_date DESC, commodity",
	func(r *cola.ProcessingTime) []column {
		return []column{
			{"commodity", &r.Commodity}, {"snapshot_date", &r.SnapshotDate},
			{"turnaround_days_median", &r.TurnaroundDaysMedian},
			{"queue_frontier_date", &r.QueueFrontierDate}, {"queue_depth_days", &r.QueueDepthDays},
		}
	},
}

var formulaProcessingTimes = referenceSet[cola.FormulaProcessingTime]{
	"formula_processing_times", 3, "snapshot_date DESC, commodity, formula_type",
	func(r *cola.FormulaProcessingTime) []column {
		return []column{
			{"commodity", &r.Commodity}, {"formula_type", &r.FormulaType}, {"snapshot_date", &r.SnapshotDate},
			{"turnaround_days_median", &r.TurnaroundDaysMedian},
			{"queue_frontier_date", &r.QueueFrontierDate}, {"queue_depth_days", &r.QueueDepthDays},
		}
	},
}

var registrationProcessingTimes = referenceSet[cola.RegistrationProcessingTime]{
	"registration_processing_times", 3, "report_month DESC, category, application_type",
	func(r *cola.RegistrationProcessingTime) []column {
		return []column{
			{"category", &r.Category}, {"application_type", &r.ApplicationType}, {"report_month", &r.ReportMonth},
			{"turnaround_days_median", &r.TurnaroundDaysMedian}, {"snapshot_date", &r.SnapshotDate},
		}
	},
}

var categoryAliases = referenceSet[cola.CategoryAlias]{
	"category_aliases", 1, "alias",
	func(a *cola.CategoryAlias) []column { return []column{{"alias", &a.Alias}, {"path", &a.Path}} },
}

func (set referenceSet[T]) columnList() string { return strings.Join(names(set.columns(new(T))), ", ") }

// all reads the whole set in order.
func (set referenceSet[T]) all(ctx context.Context, q querier) ([]T, error) {
	return set.some(ctx, q, "TRUE")
}

// some reads the rows that meet a condition, in order.
func (set referenceSet[T]) some(ctx context.Context, q querier, condition string, args ...any) ([]T, error) {
	rows, err := q.query(ctx, `SELECT `+set.columnList()+` FROM `+set.table+` WHERE `+condition+` ORDER BY `+set.order, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []T
	var row T // every column is scanned anew in each row
	into := targets(set.columns(&row))
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, rows.Err()
}

// setPlanner merges rows into a set as it stands.
type setPlanner[T any] struct {
	set   referenceSet[T]
	rows  map[string]T // by key
	query string
}

func newSetPlanner[T any](ctx context.Context, q querier, set referenceSet[T]) (*setPlanner[T], error) {
	stored, err := set.all(ctx, q)
	if err != nil {
		return nil, err
	}
	columns := set.columns(new(T))
	pl := &setPlanner[T]{set: set, rows: make(map[string]T, len(stored)), query: `INSERT OR REPLACE INTO ` + set.table +
		` (` + set.columnList() + `) VALUES (` + placeholders(len(columns)) + `)`}
	for _, row := range stored {
		pl.rows[pl.key(row)] = row
	}
	return pl, nil
}

func (pl *setPlanner[T]) key(row T) string {
	return fmt.Sprintf("%q", values(pl.set.columns(&row)[:pl.set.keys]))
}

// merge works out what becomes of one row. It is merged twice: into nothing, to learn its key, and into what has that key.
func (pl *setPlanner[T]) merge(into func(row *T)) (store.Outcome, step) {
	var row T
	into(&row)
	key := pl.key(row)
	old, exists := pl.rows[key]
	row = old
	into(&row)
	v := values(pl.set.columns(&row))
	if exists && slices.Equal(v, values(pl.set.columns(&old))) {
		return store.Unchanged, nil
	}
	pl.rows[key] = row
	if exists {
		return store.Changed, rowChange{pl.query, v}
	}
	return store.Added, rowChange{pl.query, v}
}

// upsertSet merges count rows into a set, the i-th by merge(i, row).
func upsertSet[T any](ctx context.Context, s *Store, operation string, set referenceSet[T], count int, mode store.Mode,
	merge func(i int, row *T)) ([]store.Outcome, error) {
	return s.upsert(ctx, operation, change{mode: mode, reference: true,
		plan: func(ctx context.Context, q querier, _ int) (*plan, error) {
			pl, err := newSetPlanner(ctx, q, set)
			if err != nil {
				return nil, err
			}
			p := &plan{}
			for i := range count {
				p.add(pl.merge(func(row *T) { merge(i, row) }))
			}
			return p, nil
		}})
}

// rowChange writes one row by one statement.
type rowChange struct {
	query string
	args  []any
}

func (c rowChange) write(ctx context.Context, w *writer, _ cola.Revision) error {
	return w.exec(ctx, c.query, c.args...)
}
