package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
)

// ExplainSavedSearch explains, filter by filter, whether a label matches one of the caller's
// searches, and why a run has found it, will find it, or will not. It costs one list record. If the
// search or label does not exist, it is free and fails with CodeNotFound.
func (s *Service) ExplainSavedSearch(
	ctx context.Context, c cola.Caller, id, label string,
) (cola.Explanation, cola.QuotaState, error) {
	found, state, err := lookup(ctx, s, c, cola.MeterListRecords, "", func() (cola.Explanation, error) {
		return s.explain(ctx, c.Account, id, strings.TrimSpace(label))
	})
	return found.Value, state, err
}

// explain reads the search, the label and its matches, and derives the verdict.
func (s *Service) explain(
	ctx context.Context, account cola.AccountID, id, label string,
) (e cola.Explanation, err error) {
	key, err := parseSearchID(id)
	if err != nil {
		return e, err
	}
	ttbID, _ := cola.ParseTTBID(label) // 0 for an invalid ID, which no label has
	var trace store.Trace
	err = withTimeout(ctx, readTimeout, func(ctx context.Context) (err error) {
		trace, err = s.store.Trace(ctx, account, key, ttbID)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return e, savedSearchNotFound(id)
	case err != nil:
		return e, storeError(err, "trace a label")
	}
	view := s.index.View()
	indexed, ok := view.Label(ttbID)
	if !ok {
		return e, colaNotFound(label)
	}
	e.TTBID, e.Label, e.Found = ttbID, indexed, trace.Match
	explainFilters(&e, view, trace.Search.Filters)
	e.Verdict, e.Message = verdict{&e, &trace, s.now().UTC()}.describe()
	return e, nil
}

// explainFilters tests the label of an explanation against all filters together, and against each
// one alone.
func explainFilters(e *cola.Explanation, view *search.View, filters cola.SavedSearchFilters) {
	one := view.Subset([]cola.TTBID{e.TTBID})
	met := func(f cola.SavedSearchFilters) bool { return len(view.Matches(f.AsQuery(), one)) > 0 }
	e.Matches, e.Filters = met(filters), []cola.FilterFinding{}
	for _, p := range filters.Parts() {
		e.Filters = append(e.Filters, cola.FilterFinding{
			Filter: p.Filter, Group: cola.Opt[string]{V: p.Group, OK: p.Group != ""}, Value: p.Value,
			Met: met(p.Alone),
		})
	}
}

// verdict derives the outcome for a label, following the same rules as runs (package alerts).
type verdict struct {
	*cola.Explanation
	trace *store.Trace
	now   time.Time
}

// describe returns the verdict and a message. The first case that applies wins.
func (v verdict) describe() (word, message string) {
	switch {
	case v.Found != nil:
		message = fmt.Sprintf("Run %d found it.", v.Found.RunID)
		if v.Found.Late {
			message = fmt.Sprintf("Run %d found it late: it was approved before the dates the run covers and reached "+
				"the registry after the previous run.", v.Found.RunID)
		}
		if !v.Matches {
			message += " It no longer matches these filters: " + v.unmet() + "."
		}
		return cola.VerdictFound, message
	case !v.Matches:
		return cola.VerdictFilters, fmt.Sprintf("It doesn't match these filters: %s.", v.unmet())
	}
	word, message = v.timing()
	if idle := v.idle(); idle != "" {
		return cola.VerdictNotScheduled, idle + " " + message
	}
	return word, message
}

// unmet names the filters that the label does not meet.
func (v verdict) unmet() string {
	options, met := map[string][]string{}, map[string]bool{}
	for _, f := range v.Filters {
		options[f.Group.V] = append(options[f.Group.V], f.Filter)
		met[f.Group.V] = met[f.Group.V] || f.Met
	}
	var unmet []string
	for _, f := range v.Filters {
		switch names := options[f.Group.V]; {
		case !f.Group.OK && !f.Met:
			unmet = append(unmet, f.Filter)
		case f.Group.OK && !met[f.Group.V] && f.Filter == names[0]:
			unmet = append(unmet, strings.Join(names, " or "))
		}
	}
	return strings.Join(unmet, "; ")
}

// idle returns why the search does not run, or "" if it does.
func (v verdict) idle() string {
	plan := v.trace.Search.Schedule
	switch {
	case plan == nil:
		return "It matches the filters, but the search has no schedule."
	case plan.PausedBecause.V == cola.PausedDowngraded:
		return "It matches the filters, but the search is on hold: the account has more active schedules than " +
			"allowed, so only the oldest ones run."
	case plan.PausedBecause.V == cola.PausedSuspended:
		return "It matches the filters, but the search is on hold: the account is suspended."
	case !plan.Active && !plan.NextRunAt.OK:
		return "It matches the filters, but the search's schedule is paused."
	}
	return ""
}

// timing returns the verdict for a label that matches the filters. A run covers approvals since the
// day of the mark, and labels from the 90 days before that if they arrived late.
func (v verdict) timing() (word, message string) {
	approved, mark := v.Label.EffectiveDate(), v.trace.Mark
	from := cola.DateOf(mark.At)
	switch {
	case approved == 0:
		return cola.VerdictNotYet, "Its approval date is unknown, and runs select labels by that date."
	case v.trace.Arrived == 0:
		return cola.VerdictInitialImport, "It is part of the initial import, so it doesn't trigger alerts."
	case approved > cola.DateOf(v.now):
		return cola.VerdictNotYet, fmt.Sprintf(
			"Its approval date, %v, is in the future; the run that covers that day will find it.", v.approved())
	case approved >= from:
		return cola.VerdictNextRun, v.nextRun()
	case v.trace.Arrived <= mark.Revision:
		return v.seen()
	case approved < from.AddDays(-cola.LateDays):
		return cola.VerdictTooOld, v.tooOld(from)
	}
	return cola.VerdictNextRun, v.nextRun()
}

// seen returns the verdict for a label whose approval date a run has covered, or that was in the
// registry before the search was created.
func (v verdict) seen() (word, message string) {
	approved, created := v.Label.EffectiveDate(), v.trace.Search.CreatedAt
	// Revisions are only approximate timestamps. Until the first run, the mark is exact: it
	// dates from the search's creation.
	predates := v.trace.Arrived <= cola.Revision(created) || v.trace.Mark.At.Equal(created.Time())
	switch {
	case predates && approved < cola.DateOf(created.Time()):
		return cola.VerdictBeforeSearch, fmt.Sprintf("It was approved on %v and reached the registry before the "+
			"search was created on %v.", v.approved(), cola.DateOf(created.Time()))
	case v.trace.SeenFrom != 0 && approved < v.trace.SeenFrom.AddDays(-cola.LateDays):
		return cola.VerdictTooOld, v.tooOld(v.trace.SeenFrom)
	case v.trace.Seen.IsZero() || approved > cola.DateOf(v.trace.Seen):
		return cola.VerdictPassed, fmt.Sprintf(
			"Runs have covered labels approved on %v, and it didn't match the filters at that time.", v.approved())
	}
	return cola.VerdictPassed, fmt.Sprintf(
		"The run at %s covered it, and it didn't match the filters at that time.", formatInstant(v.trace.Seen))
}

// approved formats the label's effective date and marks an estimate.
func (v verdict) approved() string {
	date := v.Label.EffectiveDate().String()
	if v.Label.DateIsEstimated {
		date += " (estimated)"
	}
	return date
}

// tooOld returns the message for a label that was too old for a run whose dates begin at from, even
// as a late label.
func (v verdict) tooOld(from cola.Date) string {
	return fmt.Sprintf("It was approved on %v and reached the registry on %v. The run that covered that time "+
		"included late labels only if they were approved in the previous %d days (on or after %v), so it "+
		"skipped this one.",
		v.approved(), cola.DateOf(time.UnixMicro(int64(v.trace.Arrived))), cola.LateDays,
		from.AddDays(-cola.LateDays))
}

// nextRun returns the message for a label that the next run will find.
func (v verdict) nextRun() string {
	plan := v.trace.Search.Schedule
	if v.idle() != "" || plan == nil {
		return "A run would find it."
	}
	if due := plan.NextRunAt.V.Time(); due.After(v.now) {
		return fmt.Sprintf("The next run, at %s, will find it.", formatInstant(due))
	}
	return "The next run, which is due now, will find it."
}

// formatInstant formats a time for messages.
func formatInstant(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") }
