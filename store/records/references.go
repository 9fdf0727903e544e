package records

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// Set is a table of reference data. Sets are small, so they are read whole, even for merging.
type Set[T any] struct {
	Table   string
	Keys    int    // the first Keys columns are the key
	Order   string // ORDER BY clause for the order that the API uses
	Columns func(*T) []Column
}

// AVAs is the set of appellations.
var AVAs = Set[cola.AVADetail]{
	"avas", 1, "name, valid_start_date IS NOT NULL, valid_start_date, valid_end_date IS NULL, valid_end_date, ava_id",
	func(a *cola.AVADetail) []Column {
		return []Column{
			{"ava_id", &a.AVAID}, {"name", &a.Name}, {"aka", &a.AKA}, {"states", &a.States}, {"counties", &a.Counties},
			{"established_date", &a.EstablishedDate}, {"removed_date", &a.RemovedDate},
			{"valid_start_date", &a.ValidStartDate}, {"valid_end_date", &a.ValidEndDate},
			{"parent_avas", &a.ParentAVAs}, {"child_avas", &a.ChildAVAs},
			{"petitioner", &a.Petitioner}, {"cfr_author", &a.CFRAuthor}, {"cfr_index", &a.CFRIndex},
		}
	},
}

// ProductionReports is the set of production reports. Its columns don't include the position within
// a report, which is not a field of a row.
var ProductionReports = Set[cola.ProductionReport]{
	"production_reports", 3, "report_date DESC, commodity, report_type, position",
	func(r *cola.ProductionReport) []Column {
		return []Column{
			{"commodity", &r.Commodity}, {"report_type", &r.ReportType}, {"report_date", &r.ReportDate},
			{"year", &r.Year}, {"month_number", &r.MonthNumber},
			{"statistical_group", &r.StatisticalGroup}, {"statistical_category", &r.StatisticalCategory},
			{"statistical_detail", &r.StatisticalDetail}, {"count_ims", &r.CountIMs},
			{"value", &r.Value}, {"value_unit", &r.ValueUnit}, {"is_redacted", &r.IsRedacted},
		}
	},
}

// ProcessingTimes is the set of processing times of label applications.
var ProcessingTimes = Set[cola.ProcessingTime]{
	"processing_times", 2, "snapshot_date DESC, commodity",
	func(r *cola.ProcessingTime) []Column {
		return []Column{
			{"commodity", &r.Commodity}, {"snapshot_date", &r.SnapshotDate},
			{"turnaround_days_median", &r.TurnaroundDaysMedian},
			{"queue_frontier_date", &r.QueueFrontierDate}, {"queue_depth_days", &r.QueueDepthDays},
		}
	},
}

// FormulaProcessingTimes is the set of processing times of formula applications.
var FormulaProcessingTimes = Set[cola.FormulaProcessingTime]{
	"formula_processing_times", 3, "snapshot_date DESC, commodity, formula_type",
	func(r *cola.FormulaProcessingTime) []Column {
		return []Column{
			{"commodity", &r.Commodity}, {"formula_type", &r.FormulaType}, {"snapshot_date", &r.SnapshotDate},
			{"turnaround_days_median", &r.TurnaroundDaysMedian},
			{"queue_frontier_date", &r.QueueFrontierDate}, {"queue_depth_days", &r.QueueDepthDays},
		}
	},
}

// RegistrationProcessingTimes is the set of processing times of registrations.
var RegistrationProcessingTimes = Set[cola.RegistrationProcessingTime]{
	"registration_processing_times", 3, "report_month DESC, category, application_type",
	func(r *cola.RegistrationProcessingTime) []Column {
		return []Column{
			{"category", &r.Category}, {"application_type", &r.ApplicationType}, {"report_month", &r.ReportMonth},
			{"turnaround_days_median", &r.TurnaroundDaysMedian}, {"snapshot_date", &r.SnapshotDate},
		}
	},
}

// CategoryAliases is the set of former names of category paths.
var CategoryAliases = Set[vocabulary.CategoryAlias]{
	"category_aliases", 1, "alias",
	func(a *vocabulary.CategoryAlias) []Column { return []Column{{"alias", &a.Alias}, {"path", &a.Path}} },
}

// ColumnList returns the names of the set's columns for SQL.
func (s Set[T]) ColumnList() string { return strings.Join(Names(s.Columns(new(T))), ", ") }

// Merger merges rows into a set and caches the results, so that later rows see earlier ones.
type Merger[T any] struct {
	set  Set[T]
	rows map[string]T // by key
}

// NewMerger returns a Merger for the stored rows.
func NewMerger[T any](set Set[T], stored []T) *Merger[T] {
	m := &Merger[T]{set: set, rows: make(map[string]T, len(stored))}
	for _, row := range stored {
		m.rows[m.key(row)] = row
	}
	return m
}

func (m *Merger[T]) key(row T) string {
	var b strings.Builder
	for _, c := range m.set.Columns(&row)[:m.set.Keys] {
		switch f := c.Field.(type) {
		case *string:
			fmt.Fprintf(&b, "%q ", *f)
		case *cola.Date:
			fmt.Fprintf(&b, "%s ", *f)
		default:
			panic(fmt.Sprintf("records: unsupported key type %T", f))
		}
	}
	return b.String()
}

// Merge returns the outcome of a row and the row to write, or nil if there is nothing to write. It
// calls the into function twice: first with an empty row, to learn the key, and then with the
// current row that has this key, or with another empty row if there is none.
func (m *Merger[T]) Merge(into func(row *T)) (store.Outcome, *T) {
	var row T
	into(&row)
	key := m.key(row)
	old, exists := m.rows[key]
	row = old
	into(&row)
	if exists && Same(m.set.Columns(&row), m.set.Columns(&old)) {
		return store.Unchanged, nil
	}
	m.rows[key] = row
	if exists {
		return store.Changed, &row
	}
	return store.Added, &row
}

// CompareReports compares the stored rows of a production report with their replacement. It returns
// an outcome for each new row, and whether the report is unchanged, including the order of its
// rows. Each stored row matches at most one new row. The database treats a report as one record: it
// is written whole, or not at all if it is unchanged.
func CompareReports(stored, rows []cola.ProductionReport) (outcomes []store.Outcome, same bool) {
	count := make(map[cola.ProductionReport]int, len(stored))
	for _, r := range stored {
		count[r]++
	}
	for _, r := range rows {
		outcome := store.Added
		switch {
		case count[r] > 0:
			count[r]--
			outcome = store.Unchanged
		case len(stored) > 0:
			outcome = store.Changed
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, slices.Equal(stored, rows)
}
