package ingest

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/colaregistry/colaregistry/cola"
)

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
