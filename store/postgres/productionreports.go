package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

var copiedReport = append([]string{"position"}, records.Names(records.ProductionReports.Columns(new(cola.ProductionReport)))...)

const ofReport = `commodity = $1 AND report_type = $2 AND report_date = $3`

// ReplaceProductionReport implements store.References.
func (s *Store) ReplaceProductionReport(ctx context.Context, key cola.ReportKey, rows []cola.ProductionReport, mode store.Mode) ([]store.Outcome, error) {
	const operation = "replace production report"
	for i := range rows {
		if rows[i].Key() != key {
			return nil, fmt.Errorf("%s: row %d is of the report %v, not %v", operation, i, rows[i].Key(), key)
		}
	}
	of := []any{key.Commodity, key.ReportType, encode(&key.ReportDate)}
	return s.upsert(ctx, operation, change{mode: mode, reference: true, plan: func(ctx context.Context, q querier) (plan, error) {
		held, err := readSome(ctx, q, records.ProductionReports, ofReport, of...)
		if err != nil {
			return plan{}, err
		}
		outcomes, same := records.CompareReports(held, rows)
		p := plan{outcomes: outcomes}
		if !same {
			p.write = func(ctx context.Context, tx pgx.Tx, _ cola.Revision) error { return writeReport(ctx, tx, of, rows) }
		}
		return p, nil
	}})
}

// writeReport makes rows the content of a report.
func writeReport(ctx context.Context, tx pgx.Tx, of []any, rows []cola.ProductionReport) error {
	if _, err := tx.Exec(ctx, `DELETE FROM production_reports WHERE `+ofReport, of...); err != nil {
		return err
	}
	return copyRows(ctx, tx, records.ProductionReports.Table, copiedReport, len(rows), func(i int) []any {
		return append([]any{int64(i)}, values(records.ProductionReports.Columns(&rows[i]))...)
	})
}
