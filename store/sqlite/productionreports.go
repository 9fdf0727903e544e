package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
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
			held, err := productionReports.some(ctx, q, `commodity = ? AND report_type = ? AND report_date = ?`,
				key.Commodity, key.ReportType, encode(&key.ReportDate))
			if err != nil {
				return nil, err
			}
			return planReport(key, held, rows), nil
		}})
}

// planReport compares a report with what is to take its place. A row counts as held as many times as the report holds it.
// To the database the report is one record: it is written in one step, or in none when it would hold the same rows in the
// same order.
func planReport(key cola.ReportKey, held, rows []cola.ProductionReport) *plan {
	same := slices.Equal(held, rows)
	count := make(map[cola.ProductionReport]int, len(held))
	for _, r := range held {
		count[r]++
	}
	p := &plan{}
	for _, r := range rows {
		outcome := store.Added
		switch {
		case count[r] > 0:
			count[r]--
			outcome = store.Unchanged
		case len(held) > 0:
			outcome = store.Changed
		}
		p.outcomes = append(p.outcomes, outcome)
	}
	if !same {
		p.steps = []step{reportChange{key, rows}}
	}
	return p
}

// reportChange makes rows the content of a report.
type reportChange struct {
	key  cola.ReportKey
	rows []cola.ProductionReport
}

var insertReportRow = `INSERT INTO production_reports (position, ` + productionReports.columnList() + `)
	VALUES (?, ` + placeholders(len(productionReports.columns(new(cola.ProductionReport)))) + `)`

func (c reportChange) write(ctx context.Context, w *writer, _ cola.Revision) error {
	err := w.exec(ctx, `DELETE FROM production_reports WHERE commodity = ? AND report_type = ? AND report_date = ?`,
		c.key.Commodity, c.key.ReportType, encode(&c.key.ReportDate))
	for i := 0; i < len(c.rows) && err == nil; i++ {
		err = w.exec(ctx, insertReportRow, append([]any{i}, values(productionReports.columns(&c.rows[i]))...)...)
	}
	return err
}
