package registry

import (
	"context"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search"
)

// List is a whole list of reference data.
type List[T any] struct {
	Rows  []T
	Meta  cola.Meta
	Notes []string // why there are no rows
}

// PageList is a page of a list of reference data.
type PageList[T any] struct {
	Rows  []T
	Meta  cola.PageMeta
	Notes []string // why there are no rows
}

// list answers a free list operation: admit, then filter the rows that are in memory. Without rows notes explains why.
func list[T any](ctx context.Context, s *Service, c cola.Caller, invalid error, rows func() []T, keep func(*T) bool,
	notes func(Words) []string,
) (List[T], cola.QuotaState, error) {
	state, err := s.free(ctx, c, invalid)
	if err != nil {
		return List[T]{}, state, err
	}
	found := List[T]{Rows: filter(rows(), keep)}
	found.Meta.Total = len(found.Rows)
	if found.Meta.Total == 0 {
		found.Notes = notes(s.referenceWords())
	}
	return found, state, nil
}

// referenceWords returns the words of the reference lists alone.
func (s *Service) referenceWords() (w Words) {
	w.list(s.references.Load())
	return w
}

// free admits a request that costs nothing, and refuses it when its parameters are invalid.
func (s *Service) free(ctx context.Context, c cola.Caller, invalid error) (cola.QuotaState, error) {
	if err := s.built(); err != nil {
		return cola.QuotaState{}, err
	}
	if invalid != nil {
		return s.Refuse(ctx, c, invalid)
	}
	return s.Admit(ctx, c)
}

func filter[T any](rows []T, keep func(*T) bool) []T {
	found := []T{}
	for i := range rows {
		if keep(&rows[i]) {
			found = append(found, rows[i])
		}
	}
	return found
}

// is reports whether a filter is absent or equals the value, in any case.
func is(filter, value string) bool { return filter == "" || strings.EqualFold(filter, value) }

// ProcessingTimes returns how long COLA applications take, newest snapshot first. It is free.
func (s *Service) ProcessingTimes(ctx context.Context, c cola.Caller, p cola.ProcessingTimeParams) (List[cola.ProcessingTime], cola.QuotaState, error) {
	q, err := p.Normalize()
	return list(ctx, s, c, err, func() []cola.ProcessingTime { return s.references.Load().ProcessingTimes },
		func(t *cola.ProcessingTime) bool { return is(q.Commodity, t.Commodity) },
		func(w Words) []string { return w.Times.notes(listFilter{"commodity", q.Commodity}) })
}

// FormulaProcessingTimes returns how long formula applications take, newest snapshot first. It is free.
func (s *Service) FormulaProcessingTimes(ctx context.Context, c cola.Caller, p cola.FormulaProcessingTimeParams) (List[cola.FormulaProcessingTime], cola.QuotaState, error) {
	q, err := p.Normalize()
	return list(ctx, s, c, err, func() []cola.FormulaProcessingTime { return s.references.Load().FormulaProcessingTimes },
		func(t *cola.FormulaProcessingTime) bool {
			return is(q.Commodity, t.Commodity) && is(q.FormulaType, t.FormulaType)
		},
		func(w Words) []string {
			return w.FormulaTimes.notes(listFilter{"commodity", q.Commodity}, listFilter{"formula_type", q.FormulaType})
		})
}

// RegistrationProcessingTimes returns how long original permits take, newest month first. It is free.
func (s *Service) RegistrationProcessingTimes(ctx context.Context, c cola.Caller, p cola.RegistrationProcessingTimeParams) (List[cola.RegistrationProcessingTime], cola.QuotaState, error) {
	q, err := p.Normalize()
	return list(ctx, s, c, err, func() []cola.RegistrationProcessingTime { return s.references.Load().RegistrationProcessingTimes },
		func(t *cola.RegistrationProcessingTime) bool {
			return is(q.Category, t.Category) && is(q.ApplicationType, t.ApplicationType)
		},
		func(w Words) []string {
			return w.RegistrationTimes.notes(listFilter{"category", q.Category}, listFilter{"application_type", q.ApplicationType})
		})
}

// ProductionReports returns a page of the statistical production reports, newest first. It is free.
func (s *Service) ProductionReports(ctx context.Context, c cola.Caller, p cola.ProductionReportParams) (PageList[cola.ProductionReport], cola.QuotaState, error) {
	q, err := p.Normalize()
	state, err := s.free(ctx, c, err)
	if err != nil {
		return PageList[cola.ProductionReport]{}, state, err
	}
	found := filter(s.references.Load().ProductionReports, func(r *cola.ProductionReport) bool {
		return (!q.Year.OK || r.Year == q.Year.V) && (!q.Month.OK || r.MonthNumber == q.Month) &&
			is(q.Commodity, r.Commodity) && is(q.ReportType, r.ReportType) && is(q.StatisticalGroup, string(r.StatisticalGroup))
	})
	total := len(found)
	first := min((q.Page-1)*q.PerPage, total)
	last := min(first+q.PerPage, total)
	list := PageList[cola.ProductionReport]{Rows: found[first:last], Meta: cola.PageMeta{
		Total: total, Page: q.Page, PerPage: q.PerPage, HasMore: last < total,
	}}
	if total == 0 {
		list.Notes = s.referenceWords().Reports.notes(listFilter{"year", shownInt(q.Year)}, listFilter{"month", shownInt(q.Month)},
			listFilter{"commodity", q.Commodity}, listFilter{"report_type", q.ReportType},
			listFilter{"statistical_group", q.StatisticalGroup})
	}
	return list, state, nil
}

// shownInt writes a number, empty when it is not given.
func shownInt(n cola.Opt[int]) string {
	if !n.OK {
		return ""
	}
	return strconv.Itoa(n.V)
}

// AVAs returns the viticultural areas that match, by name. It is free.
func (s *Service) AVAs(ctx context.Context, c cola.Caller, p cola.AVAParams) (List[cola.AVA], cola.QuotaState, error) {
	q, err := p.Normalize()
	found, state, err := list(ctx, s, c, err, func() []cola.AVADetail { return s.references.Load().AVAs },
		func(a *cola.AVADetail) bool { return inState(q.State, a.States) && search.Contains(a.Name, q.Q) },
		func(w Words) []string { return w.AVAs.notes(listFilter{"state", q.State}, listFilter{"q", q.Q}) })
	if err != nil {
		return List[cola.AVA]{}, state, err
	}
	rows := make([]cola.AVA, len(found.Rows))
	for i := range found.Rows {
		rows[i] = found.Rows[i].AVA
	}
	return List[cola.AVA]{Rows: rows, Meta: found.Meta, Notes: found.Notes}, state, nil
}

func inState(state string, states []string) bool {
	if state == "" {
		return true
	}
	for _, s := range states {
		if strings.EqualFold(s, state) {
			return true
		}
	}
	return false
}

// AVA returns a viticultural area. It is free.
func (s *Service) AVA(ctx context.Context, c cola.Caller, id, ifNoneMatch string) (Tagged[cola.AVADetail], cola.QuotaState, error) {
	return lookup(ctx, s, c, cola.MeterNone, ifNoneMatch, func() (cola.AVADetail, error) {
		id = strings.TrimSpace(id)
		for _, a := range s.references.Load().AVAs {
			if strings.EqualFold(a.AVAID, id) {
				return a, nil
			}
		}
		return cola.AVADetail{}, cola.Errorf(cola.CodeNotFound, "No AVA has the id %s.", cola.Quoted(id))
	})
}
