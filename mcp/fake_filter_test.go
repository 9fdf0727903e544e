package mcp

import (
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// containsFold reports whether text contains part, ignoring case.
func containsFold[T ~string](text T, part string) bool {
	return strings.Contains(strings.ToUpper(string(text)), strings.ToUpper(part))
}

// matching returns the labels that match a search. The fake's labels have no category; a search for
// a known category matches all of them.
func (f *fake) matching(q *cola.Query) (found []cola.ColaSummary) {
	for _, l := range f.labels {
		switch {
		case !containsFold(l.BrandName+" "+string(l.ProductName)+" "+string(l.ClassName), q.Text), !containsFold(l.BrandName, q.BrandName):
		case q.ProductTypes != nil && !slices.Contains(q.ProductTypes, string(l.ProductType)):
		case q.OriginNames != nil && !slices.Contains(q.OriginNames, string(l.OriginName)):
		case q.CategoryPath != "" && !f.words.HasCategory(q.CategoryPath):
		case q.PermitNumber != "" && q.PermitNumber != l.PermitNumber:
		case q.From != 0 && l.ApprovalDate < q.From, q.To != 0 && l.ApprovalDate > q.To:
		default:
			found = append(found, l)
		}
	}
	return found
}

// holders returns the permittees that match a search.
func (f *fake) holders(q *cola.PermitteeSearch) []cola.PermitteeSummary {
	return filterRows(f.permittees, func(p cola.PermitteeSummary) bool {
		return containsFold(p.CompanyName+" "+p.OperatingName, q.Name) && (q.State == "" || string(p.CompanyState) == q.State) && containsFold(p.PermitteeType, q.Type)
	})
}

// reported returns the rows of production reports that match a search.
func (f *fake) reported(q *cola.ProductionReportSearch) []cola.ProductionReport {
	return filterRows(f.reports, func(r cola.ProductionReport) bool {
		return (!q.Year.OK || r.Year == q.Year.V) && (!q.Month.OK || r.MonthNumber == q.Month) && equal(q.Commodity, r.Commodity) &&
			equal(q.ReportType, r.ReportType) && equal(q.StatisticalGroup, string(r.StatisticalGroup)) &&
			equal(q.StatisticalDetail, string(r.StatisticalDetail))
	})
}

// equal reports whether a filter is absent or has the value.
func equal(filter, value string) bool { return filter == "" || strings.EqualFold(filter, value) }

// filterRows returns the matching rows.
func filterRows[T any](rows []T, matches func(T) bool) (found []T) {
	for _, row := range rows {
		if matches(row) {
			found = append(found, row)
		}
	}
	return found
}

// pages returns the number of pages for a number of rows.
func pages(total, perPage int) int { return (total + perPage - 1) / perPage }
