package registry

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/quota"
	"github.com/colaregistry/colaregistry/store"
)

// List is a complete list of reference data.
type List[T any] struct {
	Rows  []T
	Meta  cola.Meta
	Notes []string // why there are no rows
}

// PageList is a page of a list.
type PageList[T any] struct {
	Rows  []T
	Meta  cola.PageMeta
	Notes []string // why there are no rows
}

// listReference serves a free list operation with the rows that find returns. It calls find only if
// the request is admitted, and notes only if there are no rows.
func listReference[T any](ctx context.Context, s *Service, c cola.Caller, invalid error,
	find func(*store.ReferenceSets) []T,
	notes func(Vocabulary) []string,
) (List[T], cola.QuotaState, error) {
	state, err := s.admitFree(ctx, c, invalid)
	if err != nil {
		return List[T]{}, state, err
	}
	found := find(s.references.Load())
	list := List[T]{Rows: found, Meta: cola.Meta{Total: len(found)}}
	if len(found) == 0 {
		list.Notes = notes(s.referenceWords())
	}
	return list, state, nil
}

// referenceWords returns only the words of the reference lists.
func (s *Service) referenceWords() (w Vocabulary) {
	w.addReferences(s.references.Load())
	return w
}

// admitFree admits a free request, or rejects it with invalid if that is not nil.
func (s *Service) admitFree(ctx context.Context, c cola.Caller, invalid error) (cola.QuotaState, error) {
	grant, err := s.grantFree(ctx, c, invalid)
	return grant.State, err
}

// grantFree is like admitFree, but returns the grant.
func (s *Service) grantFree(ctx context.Context, c cola.Caller, invalid error) (quota.Grant, error) {
	if err := s.checkIndexBuilt(); err != nil {
		return quota.Grant{}, err
	}
	grant, err := s.ledger.Charge(ctx, quotaRequest(c, cola.MeterNone, 0))
	if err == nil && invalid != nil {
		s.refusals.record(c, invalid)
		err = invalid
	}
	return grant, err
}

func filterRows[T any](rows []T, keep func(*T) bool) []T {
	found := []T{}
	for i := range rows {
		if keep(&rows[i]) {
			found = append(found, rows[i])
		}
	}
	return found
}

// newestRows keeps the rows with the latest date in their series if only is true, and all rows
// otherwise.
func newestRows[T any, S comparable](only bool, rows []T, of func(*T) (series S, date cola.Date)) []T {
	if !only {
		return rows
	}
	latest := map[S]cola.Date{}
	for i := range rows {
		series, date := of(&rows[i])
		latest[series] = max(latest[series], date)
	}
	return filterRows(rows, func(row *T) bool {
		series, date := of(row)
		return date == latest[series]
	})
}

// matchesFilter reports whether a filter is empty or equals the value, ignoring case.
func matchesFilter(filter, value string) bool {
	return filter == "" || strings.EqualFold(filter, value)
}

// ProcessingTimes returns how long COLA applications take, newest snapshot first. It is free.
func (s *Service) ProcessingTimes(
	ctx context.Context, c cola.Caller, p cola.ProcessingTimeParams,
) (List[cola.ProcessingTime], cola.QuotaState, error) {
	type row = cola.ProcessingTime
	q, err := p.Normalize()
	return listReference(ctx, s, c, err, func(r *store.ReferenceSets) []row {
		found := filterRows(r.ProcessingTimes, func(t *row) bool { return matchesFilter(q.Commodity, t.Commodity) })
		return newestRows(q.Latest.V, found, func(t *row) (string, cola.Date) { return t.Commodity, t.SnapshotDate })
	}, func(w Vocabulary) []string { return w.Times.notes(listFilter{"commodity", q.Commodity}) })
}

// FormulaProcessingTimes returns how long formula applications take, newest snapshot first. It is
// free.
func (s *Service) FormulaProcessingTimes(
	ctx context.Context, c cola.Caller, p cola.FormulaProcessingTimeParams,
) (List[cola.FormulaProcessingTime], cola.QuotaState, error) {
	type row = cola.FormulaProcessingTime
	q, err := p.Normalize()
	return listReference(ctx, s, c, err, func(r *store.ReferenceSets) []row {
		found := filterRows(r.FormulaProcessingTimes, func(t *row) bool {
			return matchesFilter(q.Commodity, t.Commodity) && matchesFilter(q.FormulaType, t.FormulaType)
		})
		return newestRows(q.Latest.V, found, func(t *row) ([2]string,
			cola.Date) {
			return [2]string{t.Commodity, t.FormulaType}, t.SnapshotDate
		})
	}, func(w Vocabulary) []string {
		return w.FormulaTimes.notes(listFilter{"commodity", q.Commodity}, listFilter{"formula_type", q.FormulaType})
	})
}

// RegistrationProcessingTimes returns how long applications for original permits take, newest month
// first. It is free.
func (s *Service) RegistrationProcessingTimes(
	ctx context.Context, c cola.Caller, p cola.RegistrationProcessingTimeParams,
) (List[cola.RegistrationProcessingTime], cola.QuotaState, error) {
	type row = cola.RegistrationProcessingTime
	q, err := p.Normalize()
	return listReference(ctx, s, c, err, func(r *store.ReferenceSets) []row {
		found := filterRows(r.RegistrationProcessingTimes, func(t *row) bool {
			return matchesFilter(q.Category, t.Category) && matchesFilter(q.ApplicationType, t.ApplicationType)
		})
		return newestRows(q.Latest.V, found, func(t *row) ([2]string,
			cola.Date) {
			return [2]string{t.Category, t.ApplicationType}, t.ReportMonth
		})
	}, func(w Vocabulary) []string {
		return w.RegistrationTimes.notes(listFilter{"category", q.Category},
			listFilter{"application_type", q.ApplicationType})
	})
}

// ProductionReports returns a page of the statistical production reports, newest first. It is free.
func (s *Service) ProductionReports(
	ctx context.Context, c cola.Caller, p cola.ProductionReportParams,
) (PageList[cola.ProductionReport], cola.QuotaState, error) {
	q, err := p.Normalize()
	state, err := s.admitFree(ctx, c, err)
	if err != nil {
		return PageList[cola.ProductionReport]{}, state, err
	}
	found := reports(s.references.Load().ProductionReports, &q)
	total := len(found)
	first := min((q.Page-1)*q.PerPage, total)
	last := min(first+q.PerPage, total)
	list := PageList[cola.ProductionReport]{Rows: found[first:last], Meta: cola.PageMeta{
		Total: total, Page: q.Page, PerPage: q.PerPage, HasMore: last < total,
	}}
	if total == 0 {
		list.Notes = s.referenceWords().Reports.notes(listFilter{"year", formatOptInt(q.Year)},
			listFilter{"month", formatOptInt(q.Month)},
			listFilter{"commodity", q.Commodity}, listFilter{"report_type", q.ReportType},
			listFilter{"statistical_group", q.StatisticalGroup}, listFilter{"statistical_detail", q.StatisticalDetail})
		if slices.Equal(list.Notes, []string{noCombination}) {
			list.Notes = append(list.Notes, otherValues(s.references.Load().ProductionReports, q)...)
		}
	}
	return list, state, nil
}

// otherValues returns a note on each filter whose removal would produce matching rows. The note
// lists the values in those rows.
func otherValues(rows []cola.ProductionReport, q cola.ProductionReportSearch) (notes []string) {
	for _, f := range []struct {
		name  string
		given *string
		of    func(r *cola.ProductionReport) string
	}{
		{"commodity", &q.Commodity, func(r *cola.ProductionReport) string { return r.Commodity }},
		{"report_type", &q.ReportType, func(r *cola.ProductionReport) string { return r.ReportType }},
		{"statistical_group", &q.StatisticalGroup, func(r *cola.ProductionReport) string { return string(r.StatisticalGroup) }},
		{"statistical_detail", &q.StatisticalDetail, func(r *cola.ProductionReport) string { return string(r.StatisticalDetail) }},
	} {
		value := *f.given
		*f.given = ""
		words := collectWords(reports(rows, &q), func(r *cola.ProductionReport, add func(filter, word string)) {
			add(f.name, f.of(r))
		})[f.name]
		*f.given = value
		if value != "" && len(words) > 0 {
			notes = append(notes, fmt.Sprintf("These %s values match your other filters: %s.", f.name, joinWords(f.name, words)))
		}
	}
	return notes
}

// formatOptInt formats n, or returns "" if it is not set.
func formatOptInt(n cola.Opt[int]) string {
	if !n.OK {
		return ""
	}
	return strconv.Itoa(n.V)
}

// reports returns the rows that match a search.
func reports(rows []cola.ProductionReport, q *cola.ProductionReportSearch) []cola.ProductionReport {
	found := filterRows(rows, func(r *cola.ProductionReport) bool {
		return (!q.Year.OK || r.Year == q.Year.V) && (!q.Month.OK || r.MonthNumber == q.Month) &&
			matchesFilter(q.Commodity, r.Commodity) && matchesFilter(q.ReportType, r.ReportType) &&
			matchesFilter(q.StatisticalGroup, string(r.StatisticalGroup)) &&
			matchesFilter(q.StatisticalDetail, string(r.StatisticalDetail))
	})
	return newestRows(q.Latest, found, func(r *cola.ProductionReport) (cola.ReportKey, cola.Date) {
		return cola.ReportKey{Commodity: r.Commodity, ReportType: r.ReportType}, r.ReportDate
	})
}
