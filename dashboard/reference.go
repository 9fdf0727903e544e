package dashboard

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// reportList lists the rows of production reports.
func reportList() list[cola.ProductionReportParams] {
	choice := func(name, label string) listField {
		return listField{Name: name, Label: label, Words: func(w registry.Vocabulary) []string { return w.Reports[name] }}
	}
	years := listField{Name: "year", Label: "Year", Words: func(w registry.Vocabulary) []string {
		newest := slices.Clone(w.Reports["year"])
		slices.Reverse(newest)
		return newest
	}}
	return list[cola.ProductionReportParams]{
		path: reportListPath, title: "Production reports", one: "row", many: "rows", call: "/production-reports", tool: "list_production_reports",
		intro: "TTB’s monthly and yearly production statistics, newest first.",
		fields: []listField{
			choice("commodity", "Commodity"), years, monthField(), choice("report_type", "Report type"),
			choice("statistical_group", "Group"), choice("statistical_detail", "Detail"), flagField("latest", "Reports", "Latest only"),
		},
		columns: []listColumn{
			{Title: "Period ending"}, {Title: "Commodity"}, {Title: "Report type"}, {Title: "Group"}, {Title: "Category"}, {Title: "Detail"},
			{Title: "Value", Number: true}, {Title: "Unit"},
		},
		find: func(req *request, p cola.ProductionReportParams) (listRows, cola.QuotaState, error) {
			found, state, err := req.svc.ProductionReports(req.ctx(), req.caller, p)
			rows := listRows{rows: rowsOf(found.Rows, reportCells), notes: found.Notes}
			if err == nil {
				rows.pager = newPager(req.http.URL, found.Meta, len(found.Rows))
			}
			if found.Meta.Page >= cola.MaxPage {
				rows.pager.Next = "" // filter to see the rest, as in the API
			}
			return rows, state, err
		},
	}
}

// monthField returns a field to choose a month.
func monthField() listField {
	f := listField{Name: "month", Label: "Month", Labels: map[string]string{}}
	var numbers []string
	for m := time.January; m <= time.December; m++ {
		n := strconv.Itoa(int(m))
		numbers = append(numbers, n)
		f.Labels[n] = m.String()
	}
	f.Words = func(registry.Vocabulary) []string { return numbers }
	return f
}

func reportCells(r *cola.ProductionReport) []listCell {
	value := "not published"
	switch {
	case r.IsRedacted:
		value = "withheld"
	case r.Value.OK:
		value = formatDecimal(r.Value.V)
		if whole, fraction, _ := strings.Cut(value, "."); fraction == "" {
			value = web.Thousands(whole)
		} else {
			value = web.Thousands(whole) + "." + fraction
		}
	}
	return []listCell{
		dayCell(r.ReportDate), textCell(r.Commodity), textCell(r.ReportType), textCell(r.StatisticalGroup),
		textCell(r.StatisticalCategory), textCell(r.StatisticalDetail), textCell(value), textCell(r.ValueUnit),
	}
}

// timeVariants lists the pages of processing times.
func timeVariants() []facetLink {
	return []facetLink{
		{Label: "Label approvals", Href: timeListPath}, {Label: "Formulas", Href: timeListPath + "/formula"},
		{Label: "Original permits", Href: timeListPath + "/registration"},
	}
}

const timesIntro = "TTB’s processing times for applications, newest first. The queue date is when the applications being processed were received."

// timeList lists the processing times of label approvals.
func timeList() list[cola.ProcessingTimeParams] {
	return list[cola.ProcessingTimeParams]{
		path: timeListPath, title: "Processing times", one: "row", many: "rows", call: "/processing-times", tool: "get_processing_times",
		intro: timesIntro, variants: timeVariants(),
		fields: []listField{
			{Name: "commodity", Label: "Commodity", Words: func(w registry.Vocabulary) []string { return w.Times["commodity"] }},
			flagField("latest", "Figures", "Latest only"),
		},
		columns: []listColumn{
			{Title: "Commodity"}, {Title: "Published"}, {Title: "Median days", Number: true}, {Title: "Queue date"},
			{Title: "Days in queue", Number: true},
		},
		find: func(req *request, p cola.ProcessingTimeParams) (listRows, cola.QuotaState, error) {
			found, state, err := req.svc.ProcessingTimes(req.ctx(), req.caller, p)
			return wholeList(req, found, func(t *cola.ProcessingTime) []listCell {
				return []listCell{
					textCell(t.Commodity), dayCell(t.SnapshotDate), optCell(t.TurnaroundDaysMedian), dayCell(t.QueueFrontierDate),
					optCell(t.QueueDepthDays),
				}
			}), state, err
		},
	}
}

// formulaTimeList lists the processing times of formulas.
func formulaTimeList() list[cola.FormulaProcessingTimeParams] {
	return list[cola.FormulaProcessingTimeParams]{
		path: timeListPath + "/formula", title: "Processing times", one: "row", many: "rows", call: "/processing-times/formula",
		intro: timesIntro, variants: timeVariants(),
		fields: []listField{
			{Name: "formula_type", Label: "Formula type", Words: func(w registry.Vocabulary) []string { return w.FormulaTimes["formula_type"] }},
			{Name: "commodity", Label: "Commodity", Words: func(w registry.Vocabulary) []string { return w.FormulaTimes["commodity"] }},
			flagField("latest", "Figures", "Latest only"),
		},
		columns: []listColumn{
			{Title: "Formula type"}, {Title: "Commodity"}, {Title: "Published"}, {Title: "Median days", Number: true},
			{Title: "Queue date"}, {Title: "Days in queue", Number: true},
		},
		find: func(req *request, p cola.FormulaProcessingTimeParams) (listRows, cola.QuotaState, error) {
			found, state, err := req.svc.FormulaProcessingTimes(req.ctx(), req.caller, p)
			return wholeList(req, found, func(t *cola.FormulaProcessingTime) []listCell {
				return []listCell{
					textCell(t.FormulaType), textCell(t.Commodity), dayCell(t.SnapshotDate), optCell(t.TurnaroundDaysMedian),
					dayCell(t.QueueFrontierDate), optCell(t.QueueDepthDays),
				}
			}), state, err
		},
	}
}

// registrationTimeList lists the processing times of original permits.
func registrationTimeList() list[cola.RegistrationProcessingTimeParams] {
	return list[cola.RegistrationProcessingTimeParams]{
		path: timeListPath + "/registration", title: "Processing times", one: "row", many: "rows", call: "/processing-times/registration",
		intro: timesIntro, variants: timeVariants(),
		fields: []listField{
			{Name: "category", Label: "Category", Words: func(w registry.Vocabulary) []string { return w.RegistrationTimes["category"] }},
			{Name: "application_type", Label: "Permit type", Words: func(w registry.Vocabulary) []string { return w.RegistrationTimes["application_type"] }},
			flagField("latest", "Figures", "Latest only"),
		},
		columns: []listColumn{
			{Title: "Permit type"}, {Title: "Category"}, {Title: "Month"}, {Title: "Median days", Number: true}, {Title: "Published"},
		},
		find: func(req *request, p cola.RegistrationProcessingTimeParams) (listRows, cola.QuotaState, error) {
			found, state, err := req.svc.RegistrationProcessingTimes(req.ctx(), req.caller, p)
			return wholeList(req, found, func(t *cola.RegistrationProcessingTime) []listCell {
				return []listCell{
					textCell(t.ApplicationType), textCell(t.Category), dayCell(t.ReportMonth), optCell(t.TurnaroundDaysMedian),
					dayCell(t.SnapshotDate),
				}
			}), state, err
		},
	}
}
