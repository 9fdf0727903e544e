package sqlite

import (
	"context"
	"fmt"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// ReplaceProductionReport implements store.References.
func (s *Store) ReplaceProductionReport(ctx context.Context, key cola.ReportKey, rows []cola.ProductionReport, mode store.Mode) ([]store.Outcome, error) {
	const operation = "replace production report"
	for i := range rows {
		if rows[i].Key() != key {
			return nil, fmt.Errorf("%s: row %d is of the report %v, not %v", operation, i, rows[i].Key(), key)
		}
	}
	return s.upsert(ctx, operation, change{mode: mode, reference: true,
		plan: func(ctx context.Context, q querier, _ int) (*plan, error) {
			held, err := readSome(ctx, q, records.ProductionReports, `commodity = ? AND report_type = ? AND report_date = ?`,
				key.Commodity, key.ReportType, encode(&key.ReportDate))
			if err != nil {
				return nil, err
			}
			outcomes, same := records.CompareReports(held, rows)
			p := &plan{outcomes: outcomes}
			if !same {
				p.steps = []step{reportStep{key, rows}}
			}
			return p, nil
		}})
}

// reportStep makes rows the content of a report.
type reportStep struct {
	key  cola.ReportKey
	rows []cola.ProductionReport
}

var insertReportRow = `INSERT INTO production_reports (position, ` + records.ProductionReports.ColumnList() + `)
	VALUES (?, ` + placeholders(len(records.ProductionReports.Columns(new(cola.ProductionReport)))) + `)`

func (c reportStep) write(ctx context.Context, w *writer, _ cola.Revision) error {
	err := w.exec(ctx, `DELETE FROM production_reports WHERE commodity = ? AND report_type = ? AND report_date = ?`,
		c.key.Commodity, c.key.ReportType, encode(&c.key.ReportDate))
	for i := 0; i < len(c.rows) && err == nil; i++ {
		err = w.exec(ctx, insertReportRow, append([]any{i}, values(records.ProductionReports.Columns(&c.rows[i]))...)...)
	}
	return err
}
