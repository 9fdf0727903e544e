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

// productionWork imports production reports. Rows have no key, so each statistical group of a report
// in the input replaces the stored group as a whole. This happens after all input, which is small,
// has been read. TTB publishes groups of the same report in different files, so other groups are
// kept. A report is not written if it may be incomplete: its source was truncated, or a rejected row
// may belong to it.
type productionWork struct {
	pipeline[cola.ProductionReport]
	st           Target
	reports      map[cola.ReportKey]*report
	order        []cola.ReportKey // in order of first occurrence
	rejectedRows rejectedReportRows
	truncated    map[string]bool // sources that ended early
}

// report is one report in the input.
type report struct {
	rows []cola.ProductionReport
	from []rowPosition // position of each row
}

func newProductionWork(r *run, st Target) *productionWork {
	w := &productionWork{st: st, reports: map[cola.ReportKey]*report{}, truncated: map[string]bool{}}
	w.pipeline = pipeline[cola.ProductionReport]{run: r, detect: detectProduction, write: w.collect, rejected: w.addRejected}
	w.pipeline.truncated = func(source string) { w.truncated[source] = true }
	return w
}

// addRejected adds the rejected rows of a batch.
func (w *productionWork) addRejected(rows []partialRow[cola.ProductionReport]) {
	for i := range rows {
		w.rejectedRows.add(rowPosition{source: w.run.source, line: rows[i].line}, &rows[i].record)
	}
}

// isTruncated reports whether a file, or the archive that it is in, could not be read completely.
func (w *productionWork) isTruncated(source string) bool {
	for end := len(source); end > 0; end = strings.LastIndexByte(source[:end], '/') {
		if w.truncated[source[:end]] {
			return true
		}
	}
	return false
}

// collect adds the rows of a batch to their reports. It is the pipeline's write function.
func (w *productionWork) collect(_ context.Context, patches []cola.Patch[cola.ProductionReport]) ([]rejectedRow, error) {
	for i := range patches {
		row := patches[i].Record
		incoming := w.reports[row.Key()]
		if incoming == nil {
			incoming = &report{}
			w.reports[row.Key()] = incoming
			w.order = append(w.order, row.Key())
		}
		incoming.rows = append(incoming.rows, row)
		incoming.from = append(incoming.from, w.position(w.batch.accepted[i]))
	}
	return nil, nil
}

// finish replaces the groups of the reports, in the order of the input.
func (w *productionWork) finish(ctx context.Context) error {
	if len(w.order) == 0 {
		return nil
	}
	defer func() { w.run.reportProgress(w.run.lastProgress) }()
	before, err := w.storedReports(ctx)
	if err != nil {
		return err
	}
	for _, key := range w.order {
		if ctx.Err() != nil {
			return stoppedError(ctx)
		}
		incoming := w.reports[key]
		if slices.ContainsFunc(incoming.from, func(from rowPosition) bool { return w.isTruncated(from.source) }) {
			w.reject(incoming, func(string) string { return "its file is truncated" })
			continue
		}
		if rejected, ok := w.rejectedRows.forReport(key, incoming); ok {
			w.reject(incoming, rejected.rejectedFor)
			continue
		}
		rows, kept := replaceGroups(before[key], incoming.rows)
		outcomes, err := w.st.ReplaceProductionReport(context.WithoutCancel(ctx), key, rows, w.run.mode())
		if err == nil && len(outcomes) != len(rows) {
			err = fmt.Errorf("the store returned %d outcomes for %d rows", len(outcomes), len(rows))
		}
		if err != nil {
			return fmt.Errorf("store the %s %s report for %s: %w", key.ReportType, key.Commodity, key.ReportDate, err)
		}
		for i, outcome := range outcomes {
			if !kept[i] {
				w.run.report.count(outcome)
			}
		}
	}
	return nil
}

// storedReports returns the stored rows of the reports in the input.
func (w *productionWork) storedReports(ctx context.Context) (map[cola.ReportKey][]cola.ProductionReport, error) {
	sets, err := w.st.AllReferences(ctx)
	if err != nil {
		return nil, fmt.Errorf("read stored production reports: %w", err)
	}
	reports := map[cola.ReportKey][]cola.ProductionReport{}
	for _, row := range sets.ProductionReports {
		if key := row.Key(); w.reports[key] != nil {
			reports[key] = append(reports[key], row)
		}
	}
	return reports, nil
}

// replaceGroups returns the rows of a stored report after replacing the statistical groups that
// occur in update, and reports which of the rows are kept. A group keeps its position, so importing
// two files of the same report again does not reorder the report.
func replaceGroups(stored, update []cola.ProductionReport) (rows []cola.ProductionReport, kept []bool) {
	groups := map[cola.Text][]cola.ProductionReport{}
	for _, row := range update {
		groups[row.StatisticalGroup] = append(groups[row.StatisticalGroup], row)
	}
	foreign := func(row cola.ProductionReport) bool { return groups[row.StatisticalGroup] == nil }
	if !slices.ContainsFunc(stored, foreign) {
		return update, make([]bool, len(update))
	}
	placed := map[cola.Text]bool{}
	place := func(group cola.Text) {
		if !placed[group] {
			placed[group] = true
			rows = append(rows, groups[group]...)
			kept = append(kept, make([]bool, len(groups[group]))...)
		}
	}
	for _, row := range stored {
		if foreign(row) {
			rows, kept = append(rows, row), append(kept, true)
			continue
		}
		place(row.StatisticalGroup)
	}
	for _, row := range update {
		place(row.StatisticalGroup)
	}
	return rows, kept
}

// reject rejects the rows of an incomplete report. why returns the reason for rows from a source.
func (w *productionWork) reject(incoming *report, why func(source string) string) {
	for _, from := range incoming.from {
		w.run.reject(from, "report not imported because "+why(from.source))
	}
}

// productionCommodities are the commodities of production reports in the API's spelling.
var productionCommodities = []string{"Beer", "Wine", "Distilled Spirits"}

// productionSchema has the API field names and the columns of TTB's statistics.
var productionSchema = newSchema[cola.ProductionReport]().
	alias("cy_month_number", "month_number").
	alias("stat_redaction", "is_redacted")

// normalizeProduction checks a row of a production report. A missing report date is derived from
// year and month.
func normalizeProduction(r *recordReader, p *cola.ProductionReport, present cola.Fields) {
	normalizeCommodity(&p.Commodity, productionCommodities...)
	p.ReportType = strings.ToLower(p.ReportType)
	r.require("commodity", p.Commodity != "")
	r.require("year", present.Has(productionYear))
	if present.Has(productionYear) && (p.Year < firstYear || p.Year > lastYear) {
		r.problems.add("year", fmt.Errorf("%d is not between %d and %d", p.Year, firstYear, lastYear))
	}
	month := 12
	switch {
	case p.ReportType != "monthly" && p.ReportType != "yearly":
		r.problems.add("report_type", fmt.Errorf("%s must be monthly or yearly", quote(p.ReportType)))
	case p.ReportType == "yearly" && p.MonthNumber.OK:
		r.problems.add("month_number", errors.New("must be omitted from a yearly report"))
	case p.ReportType == "monthly" && (p.MonthNumber.V < 1 || p.MonthNumber.V > 12):
		r.problems.add("month_number", errors.New("must be 1 to 12 in a monthly report"))
	case p.MonthNumber.OK:
		month = p.MonthNumber.V
	}
	if len(r.problems.list) > 0 {
		return
	}
	r.figure("count_ims", p.CountIMs)
	checkTexts(r, productionSchema, p)
	setReportDate(r, p, month)
}

var productionYear = cola.FieldIndex[cola.ProductionReport]("year")

// setReportDate sets a missing report date to the last day of the last month that the report
// covers, and checks that the date is in that month.
func setReportDate(r *recordReader, p *cola.ProductionReport, month int) {
	last := cola.NewDate(p.Year, 1, 1).Time().AddDate(0, month, -1)
	if p.ReportDate == 0 {
		p.ReportDate = cola.DateOf(last)
	}
	if d := p.ReportDate.Time(); d.Year() != last.Year() || d.Month() != last.Month() {
		r.problems.add("report_date", fmt.Errorf("%s is not in the report's last month, %s", p.ReportDate, last.Format("2006-01")))
	}
}

// rejectedReportRow has the fields of a rejected row that identify its report. Zero fields are
// unknown.
type rejectedReportRow struct {
	source      string
	commodity   string
	reportType  string
	date        cola.Date
	year, month int
}

// rejectedReportRows are the rejected rows of an import, without duplicates. The zero value is
// empty.
type rejectedReportRows struct {
	rows  []rejectedReportRow
	first map[rejectedReportRow]rowPosition // first occurrence
}

func (l *rejectedReportRows) add(at rowPosition, read *cola.ProductionReport) {
	row := newRejectedReportRow(at.source, *read)
	if _, ok := l.first[row]; ok {
		return
	}
	if l.first == nil {
		l.first = map[rejectedReportRow]rowPosition{}
	}
	l.first[row] = at
	l.rows = append(l.rows, row)
}

// forReport returns the first rejected row that may belong to a report. A row that does not
// identify its report may belong to any report with other rows in the same source.
func (l *rejectedReportRows) forReport(key cola.ReportKey, incoming *report) (rowPosition, bool) {
	for _, row := range l.rows {
		if row.mayBelongTo(key) && (row.identifiesReport() || incoming.hasRowsOf(row.source)) {
			return l.first[row], true
		}
	}
	return rowPosition{}, false
}

func (r *report) hasRowsOf(source string) bool {
	return slices.ContainsFunc(r.from, func(from rowPosition) bool { return from.source == source })
}

// rejectedFor returns the reason for not importing rows of source: the row at p was rejected. The
// reason names p's source if that is a different one.
func (p rowPosition) rejectedFor(source string) string {
	if p.source == source {
		return fmt.Sprintf("line %d was rejected", p.line)
	}
	return fmt.Sprintf("line %d of %s was rejected", p.line, p.source)
}

// newRejectedReportRow returns the reliable fields of a rejected row.
func newRejectedReportRow(source string, read cola.ProductionReport) rejectedReportRow {
	normalizeCommodity(&read.Commodity, productionCommodities...)
	row := rejectedReportRow{source: source, commodity: read.Commodity, reportType: strings.ToLower(read.ReportType), date: read.ReportDate}
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

// identifiesReport reports whether the row has all fields of a report's key.
func (r *rejectedReportRow) identifiesReport() bool {
	return r.commodity != "" && r.reportType != "" && r.year != 0 && (r.month != 0 || r.reportType == "yearly")
}

// mayBelongTo reports whether the row's known fields match a report. If its date and its month
// differ, either may be right.
func (r *rejectedReportRow) mayBelongTo(key cola.ReportKey) bool {
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
