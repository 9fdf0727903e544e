package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/colaregistry/colaregistry/cola"
)

// productionWork imports production reports. Rows have no key of their own, so each report in the input replaces the stored
// one whole; that needs the whole input, which is small. A report that may not be whole is not written: one of a source that
// broke off, and one that a refused row is of or may be of.
type productionWork struct {
	pipeline[cola.ProductionReport]
	st      Target
	reports map[cola.ReportKey]*report
	order   []cola.ReportKey // in which the reports first came
	lost    lostRows
}

// report is one report as the input tells it.
type report struct {
	rows   []cola.ProductionReport
	from   []rowPlace // of each row
	broken bool       // a source of it broke off
}

type rowPlace struct {
	source string
	line   int
}

func newProductionWork(r *run, st Target) *productionWork {
	w := &productionWork{st: st, reports: map[cola.ReportKey]*report{}}
	detectReports := func(in *input) (format[cola.ProductionReport], error) {
		return detect(in, productionSchema, "report_type", same(settleProduction))
	}
	w.pipeline = pipeline[cola.ProductionReport]{run: r, detect: detectReports, write: w.hold, refused: w.lose}
	return w
}

// lose remembers the rows of a batch that were refused.
func (w *productionWork) lose(rows []remains[cola.ProductionReport]) {
	for i := range rows {
		w.lost.add(rowPlace{w.run.source, rows[i].line}, &rows[i].record)
	}
}

// source reads a source; finish writes its reports.
func (w *productionWork) source(ctx context.Context, s Source) error {
	err := w.pipeline.source(ctx, s)
	if failure := (*SourceError)(nil); errors.As(err, &failure) {
		for _, report := range w.reports {
			if report.from[len(report.from)-1].source == s.Name {
				report.broken = true
			}
		}
	}
	return err
}

// hold keeps the rows of a batch until the whole input is read.
func (w *productionWork) hold(_ context.Context, patches []cola.Patch[cola.ProductionReport], lines []int) ([]refusedRow, error) {
	for i := range patches {
		row := patches[i].Record
		held := w.reports[row.Key()]
		if held == nil {
			held = &report{}
			w.reports[row.Key()] = held
			w.order = append(w.order, row.Key())
		}
		held.rows = append(held.rows, row)
		held.from = append(held.from, rowPlace{w.run.source, lines[i]})
	}
	return nil, nil
}

// finish replaces the reports, in the order of the input.
func (w *productionWork) finish(ctx context.Context) error {
	if len(w.order) > 0 {
		defer func() { w.run.tell(w.run.told) }()
	}
	for _, key := range w.order {
		if ctx.Err() != nil {
			return stopped(ctx)
		}
		held := w.reports[key]
		if held.broken {
			w.refuse(held, func(string) string { return "its file broke off" })
			continue
		}
		if lost, ok := w.lost.of(key, held); ok {
			w.refuse(held, lost.refusedFor)
			continue
		}
		outcomes, err := w.st.ReplaceProductionReport(context.WithoutCancel(ctx), key, held.rows, w.run.mode())
		if err == nil && len(outcomes) != len(held.rows) {
			err = fmt.Errorf("the store told %d outcomes of %d rows", len(outcomes), len(held.rows))
		}
		if err != nil {
			return fmt.Errorf("storing the %s %s report of %s: %w", key.ReportType, key.Commodity, key.ReportDate, err)
		}
		for _, outcome := range outcomes {
			w.run.report.count(outcome)
		}
	}
	return nil
}

// refuse counts the rows of a report that may not be whole, for the reason that why tells to rows of a source.
func (w *productionWork) refuse(held *report, why func(source string) string) {
	for _, from := range held.from {
		w.run.report.refuse(Refusal{
			Source: from.source, Line: from.line,
			Reason: "not written, as " + why(from.source) + " and a report is replaced whole or not at all",
		})
	}
}

// productionCommodities are the commodities of production reports in the contract's spelling.
var productionCommodities = []string{"Beer", "Wine", "Distilled Spirits"}

var productionSchema = newSchema[cola.ProductionReport]()

// settleProduction checks a row of a production report. A report date that is missing follows from year and month.
func settleProduction(r *recordReader, p *cola.ProductionReport, carried cola.Fields) {
	settleCommodity(&p.Commodity, productionCommodities...)
	p.ReportType = strings.ToLower(p.ReportType)
	r.require("commodity", p.Commodity != "")
	r.require("year", carried.Has(productionYear))
	if carried.Has(productionYear) && (p.Year < firstYear || p.Year > lastYear) {
		r.problems.add("year", fmt.Errorf("%d is not from %d to %d", p.Year, firstYear, lastYear))
	}
	month := 12
	switch {
	case p.ReportType != "monthly" && p.ReportType != "yearly":
		r.problems.add("report_type", fmt.Errorf("%s is neither monthly nor yearly", quote(p.ReportType)))
	case p.ReportType == "yearly" && p.MonthNumber.OK:
		r.problems.add("month_number", errors.New("a yearly report has none"))
	case p.ReportType == "monthly" && (p.MonthNumber.V < 1 || p.MonthNumber.V > 12):
		r.problems.add("month_number", errors.New("a monthly report has one from 1 to 12"))
	case p.MonthNumber.OK:
		month = p.MonthNumber.V
	}
	if len(r.problems.list) > 0 {
		return
	}
	r.figure("count_ims", p.CountIMs)
	checkTexts(r, productionSchema, p)
	settleReportDate(r, p, month)
}

var productionYear = cola.FieldIndex[cola.ProductionReport]("year")

// settleReportDate checks that the date is in the last month that the report covers, or sets it to that month's last day.
func settleReportDate(r *recordReader, p *cola.ProductionReport, month int) {
	last := cola.NewDate(p.Year, 1, 1).Time().AddDate(0, month, -1)
	if p.ReportDate == 0 {
		p.ReportDate = cola.DateOf(last)
	}
	if d := p.ReportDate.Time(); d.Year() != last.Year() || d.Month() != last.Month() {
		r.problems.add("report_date", fmt.Errorf("%s is not in %s, where the report ends", p.ReportDate, last.Format("2006-01")))
	}
}

// lostRow is a refused row of a production report, as far as it tells what report it is of. A zero field is not known.
type lostRow struct {
	source      string
	commodity   string
	reportType  string
	date        cola.Date
	year, month int
}

// lostRows are the refused rows of an import of production reports. Rows of one source that tell the same count once. The
// zero value is none.
type lostRows struct {
	rows  []lostRow
	first map[lostRow]rowPlace // where such a row came first
}

func (l *lostRows) add(at rowPlace, read *cola.ProductionReport) {
	row := newLostRow(at.source, *read)
	if _, ok := l.first[row]; ok {
		return
	}
	if l.first == nil {
		l.first = map[lostRow]rowPlace{}
	}
	l.first[row] = at
	l.rows = append(l.rows, row)
}

// of returns the first lost row that a report may lack. A row that does not tell its report is taken for one of a report that
// has other rows in the same source.
func (l *lostRows) of(key cola.ReportKey, held *report) (rowPlace, bool) {
	for _, row := range l.rows {
		if row.mayBeOf(key) && (row.tellsReport() || held.hasRowsOf(row.source)) {
			return l.first[row], true
		}
	}
	return rowPlace{}, false
}

func (r *report) hasRowsOf(source string) bool {
	return slices.ContainsFunc(r.from, func(from rowPlace) bool { return from.source == source })
}

// refusedFor says that the row was refused, to rows of a source.
func (p rowPlace) refusedFor(source string) string {
	if p.source == source {
		return fmt.Sprintf("line %d was refused", p.line)
	}
	return fmt.Sprintf("line %d of %s was refused", p.line, p.source)
}

// newLostRow takes from what could be read of a refused row what can be relied on.
func newLostRow(source string, read cola.ProductionReport) lostRow {
	settleCommodity(&read.Commodity, productionCommodities...)
	row := lostRow{source: source, commodity: read.Commodity, reportType: strings.ToLower(read.ReportType), date: read.ReportDate}
	if strings.ContainsFunc(row.commodity, unicode.IsControl) {
		row.commodity = ""
	}
	if firstYear <= read.Year && read.Year <= lastYear {
		row.year = read.Year
	}
	if m := read.MonthNumber; m.OK && m.V >= 1 && m.V <= 12 {
		row.month = m.V
	}
	if day := row.date.Time(); row.date != 0 {
		if row.year == 0 {
			row.year = day.Year()
		}
		if row.month == 0 && row.year == day.Year() {
			row.month = int(day.Month())
		}
	}
	if row.reportType != "monthly" && (row.reportType != "yearly" || read.MonthNumber.OK) {
		row.reportType = ""
	}
	return row
}

// tellsReport reports whether the row tells all that makes a report.
func (r *lostRow) tellsReport() bool {
	return r.commodity != "" && r.reportType != "" && r.year != 0 && (r.month != 0 || r.reportType == "yearly")
}

// mayBeOf reports whether nothing the row tells speaks against its being of a report. Where its date and its month differ,
// either may be the right one.
func (r *lostRow) mayBeOf(key cola.ReportKey) bool {
	if r.commodity != "" && r.commodity != key.Commodity || r.reportType != "" && r.reportType != key.ReportType {
		return false
	}
	end, day := key.ReportDate.Time(), r.date.Time()
	switch {
	case r.date == 0 && r.year == 0:
		return r.month == 0 || key.ReportType == "yearly" || r.month == int(end.Month())
	case r.date != 0 && day.Year() == end.Year() && day.Month() == end.Month():
		return true
	}
	return r.year == end.Year() && (r.month == 0 || key.ReportType == "yearly" || r.month == int(end.Month()))
}
