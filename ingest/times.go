package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// timesWork imports one kind of processing times.
type timesWork[T any] struct{ pipeline[T] }

// timesKind is what the kinds of processing times differ in.
type timesKind[T any] struct {
	schema *schema
	key    string // a column that tells CSV of this kind
	check  func(r *recordReader, row *T, carried cola.Fields)
}

func newTimesWork[T any](
	r *run, kind timesKind[T], write func(context.Context, []T, store.Mode) ([]store.Outcome, error),
) *timesWork[T] {
	rows := func(ctx context.Context, patches []cola.Patch[T], mode store.Mode) ([]store.Outcome, error) {
		return write(ctx, records(patches), mode)
	}
	return &timesWork[T]{pipeline[T]{
		run:    r,
		detect: func(in *input) (format[T], error) { return detect(in, kind.schema, kind.key, same(kind.check)) },
		write:  upsert(r, rows, func(*cola.Patch[T]) string { return "the store does not take the row" }),
	}}
}

func (w *timesWork[T]) finish(context.Context) error { return nil }

// records returns the records of patches that carry every field there is.
func records[T any](patches []cola.Patch[T]) []T {
	rows := make([]T, len(patches))
	for i := range patches {
		rows[i] = patches[i].Record
	}
	return rows
}

var (
	timeSchema         = newSchema[cola.ProcessingTime]()
	formulaSchema      = newSchema[cola.FormulaProcessingTime]()
	registrationSchema = newSchema[cola.RegistrationProcessingTime]()
)

var (
	processingTimes = timesKind[cola.ProcessingTime]{
		schema: timeSchema, key: "snapshot_date",
		check: func(r *recordReader, t *cola.ProcessingTime, _ cola.Fields) {
			settleCommodity(&t.Commodity, "Wine", "Malt Beverage", "Distilled Spirits")
			r.require("commodity", t.Commodity != "")
			r.requireDay("snapshot_date", t.SnapshotDate)
			r.figure("turnaround_days_median", t.TurnaroundDaysMedian)
			r.figure("queue_depth_days", t.QueueDepthDays)
			checkTexts(r, timeSchema, t)
		},
	}
	formulaTimes = timesKind[cola.FormulaProcessingTime]{
		schema: formulaSchema, key: "formula_type",
		check: func(r *recordReader, t *cola.FormulaProcessingTime, _ cola.Fields) {
			settleCommodity(&t.Commodity, "Wine", "Malt Beverage", "Distilled Spirits")
			r.require("commodity", t.Commodity != "")
			r.require("formula_type", t.FormulaType != "")
			r.requireDay("snapshot_date", t.SnapshotDate)
			r.figure("turnaround_days_median", t.TurnaroundDaysMedian)
			r.figure("queue_depth_days", t.QueueDepthDays)
			checkTexts(r, formulaSchema, t)
		},
	}
	registrationTimes = timesKind[cola.RegistrationProcessingTime]{
		schema: registrationSchema, key: "report_month",
		check: func(r *recordReader, t *cola.RegistrationProcessingTime, _ cola.Fields) {
			settleCommodity(&t.Category, "Alcohol", "Tobacco", "Firearms")
			r.require("category", t.Category != "")
			r.require("application_type", t.ApplicationType != "")
			r.requireDay("report_month", t.ReportMonth)
			r.requireDay("snapshot_date", t.SnapshotDate)
			r.figure("turnaround_days_median", t.TurnaroundDaysMedian)
			checkTexts(r, registrationSchema, t)
			if day := t.ReportMonth.Time().Day(); t.ReportMonth != 0 && day != 1 {
				t.ReportMonth = t.ReportMonth.AddDays(1 - day) // figures are of whole months
			}
		},
	}
)

// settleCommodity gives a commodity the spelling of the contract, from any letter case and from the plural that TTB's own
// pages use. Others stay as they are.
func settleCommodity(s *string, known ...string) {
	for _, k := range known {
		if strings.EqualFold(*s, k) || strings.EqualFold(*s, k+"s") {
			*s = k
			return
		}
	}
}

func (r *recordReader) require(field string, known bool) {
	if !known {
		r.problems.add(field, errors.New("is missing"))
	}
}

func (r *recordReader) requireDay(field string, d cola.Date) {
	r.require(field, d != 0)
	r.day(field, d)
}

// day checks that a day, if it is known, is one that a report can be about.
func (r *recordReader) day(field string, d cola.Date) {
	if d != 0 && (d.Time().Year() < firstYear || d.Time().Year() > lastYear) {
		r.problems.add(field, fmt.Errorf("%s is not from %d to %d", d, firstYear, lastYear))
	}
}

// What reference data can be about, in years.
const firstYear, lastYear = 1900, 2200

// figure checks a count that cannot be negative.
func (r *recordReader) figure(field string, v cola.Opt[int]) {
	if v.V < 0 {
		r.problems.add(field, fmt.Errorf("%d is negative", v.V))
	}
}
