package registry

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// CollectionStore contains the database operations that operators use to manage the collectors. The
// collectors themselves use store.Fetches.
type CollectionStore interface {
	FetchStatus(ctx context.Context) (store.FetchStatus, error)
	ReferenceFetches(ctx context.Context) ([]store.ReferenceFetch, error)
	UnblockSite(ctx context.Context) error
	RetryFailedLabels(ctx context.Context) error
	PlanWindows(ctx context.Context, first, last cola.Date, before time.Time, history bool) (pending int, err error)
}

// CollectionState is the state of the collectors, derived from the database.
type CollectionState string

// The states of the collectors.
const (
	CollectionNever   CollectionState = "never"   // no request has been sent yet
	CollectionRunning CollectionState = "running" // a request was sent recently
	CollectionIdle    CollectionState = "idle"    // all work is done; the latest days are queried once a day
	CollectionPaused  CollectionState = "paused"  // requests are delayed
	CollectionBlocked CollectionState = "blocked" // the site refuses requests
	CollectionStopped CollectionState = "stopped" // a request is overdue
)

const (
	// requestOverdue is the time without a request after which collectors with work are considered
	// stopped. It is longer than their longest wait after a failure.
	requestOverdue = 10 * time.Minute
	// dayOverdue is the same for collectors without work: they query the latest days once a day.
	dayOverdue = 25 * time.Hour
)

// Collection is the state of the collectors and of the data that they have stored.
type Collection struct {
	State CollectionState
	store.FetchStatus

	DaysComplete, DaysPending, DaysIncomplete int
	LabelsQueued, LabelsFailed                int
	LabelsMissingImages                       int // labels with a stored form but missing images
	// Left estimates the time until the pending days and queued labels are done.
	Left time.Duration
	// StaleSince is when the newest completion date became older than three business days, or zero.
	StaleSince time.Time

	Sources  []store.ReferenceFetch // sources of reference data
	Coverage cola.Coverage          // zero until the index is built
	Imports  []cola.LastImport
}

func newCollection(f store.FetchStatus, now time.Time) Collection {
	c := Collection{
		FetchStatus: f, Left: f.Left(), StaleSince: f.StaleSince(now),
		DaysComplete: f.Windows[store.FetchComplete], DaysIncomplete: f.Windows[store.FetchIncomplete],
		DaysPending:  f.Windows[store.FetchPending] + f.Windows[store.FetchSplit],
		LabelsQueued: f.Labels[store.FetchPending], LabelsFailed: f.Labels[store.FetchFailed],
		LabelsMissingImages: f.Labels[store.FetchImages],
	}
	c.State = c.state(now)
	return c
}

func (c *Collection) state(now time.Time) CollectionState {
	working := c.DaysPending+c.LabelsQueued > 0
	overdue := dayOverdue
	if working {
		overdue = max(requestOverdue, 3*c.Interval)
	}
	switch {
	case c.Blocked != "":
		return CollectionBlocked
	case c.Requests == 0:
		return CollectionNever
	case c.PausedUntil.After(now):
		return CollectionPaused
	case now.Sub(c.LastRequest) > overdue:
		return CollectionStopped
	case working:
		return CollectionRunning
	}
	return CollectionIdle
}

// isOperator reports whether the caller is an operator: the sign-in verified the account's email
// address, and that address is an operator's. The account's address alone proves nothing, because
// CLI commands can set any address.
func (s *Service) isOperator(c cola.Caller, account store.Account) bool {
	email := store.FoldEmail(account.Email)
	return c.Channel == cola.ChannelDashboard && c.Credential.Kind == cola.CredentialSignIn &&
		s.operators[email] && store.FoldEmail(c.VerifiedEmail) == email
}

// authorizeOperator fails with CodeNotFound if the caller is an account holder but not an operator.
// For other callers, it fails with the same errors as Account.
func (s *Service) authorizeOperator(ctx context.Context, c cola.Caller) (cola.QuotaState, error) {
	account, state, err := s.Account(ctx, c)
	if err == nil && !account.Operator {
		err = cola.Errorf(cola.CodeNotFound, "Not found.")
	}
	return state, err
}

// Collection returns the state of the collectors. This method and those below are for operators in
// the dashboard and fail with CodeNotFound for other account holders.
func (s *Service) Collection(ctx context.Context, c cola.Caller) (Collection, cola.QuotaState, error) {
	state, err := s.authorizeOperator(ctx, c)
	if err != nil {
		return Collection{}, state, err
	}
	var found Collection
	err = withTimeout(ctx, readTimeout, func(ctx context.Context) error {
		status, err := s.store.FetchStatus(ctx)
		found = newCollection(status, s.now())
		if err == nil {
			found.Sources, err = s.store.ReferenceFetches(ctx)
		}
		if err == nil {
			found.Imports, err = s.imports.last(ctx)
		}
		return err
	})
	if err != nil {
		return Collection{}, state, storeError(err, "read collector state")
	}
	if s.ready.Load() {
		found.Coverage = *s.index.View().Coverage(s.today())
	}
	return found, state, nil
}

// collectionUnconfirmed is the message for a change to the collectors with an unknown outcome.
const collectionUnconfirmed = "The change may not have taken effect. Try again in a few seconds; it's safe to retry."

// changeCollection makes a change for an operator and logs it.
func (s *Service) changeCollection(
	ctx context.Context, c cola.Caller, change string, work func(ctx context.Context) error,
) (cola.QuotaState, error) {
	state, err := s.authorizeOperator(ctx, c)
	if err == nil {
		err = s.changeManaged(ctx, change, collectionUnconfirmed, nil, work)
	}
	if err == nil {
		s.log.Info("operator changed data collection", "change", change, "account", c.Account)
	}
	return state, err
}

// ResumeCollection allows requests again after the site blocked the collectors, and ends a pause.
func (s *Service) ResumeCollection(ctx context.Context, c cola.Caller) (cola.QuotaState, error) {
	return s.changeCollection(ctx, c, "resume requests", s.store.UnblockSite)
}

// RetryFailedLabels marks the failed labels as pending again.
func (s *Service) RetryFailedLabels(ctx context.Context, c cola.Caller) (cola.QuotaState, error) {
	return s.changeCollection(ctx, c, "retry failed labels", s.store.RetryFailedLabels)
}

// RetryIncompleteDays marks incomplete days as pending again, but only those that FetchStatus
// lists.
func (s *Service) RetryIncompleteDays(ctx context.Context, c cola.Caller) (cola.QuotaState, error) {
	return s.changeCollection(ctx, c, "retry incomplete days", func(ctx context.Context) error {
		status, err := s.store.FetchStatus(ctx)
		var last cola.Date
		for _, w := range status.Incomplete {
			if err == nil && w.Day != last { // parts of a day are listed one after the other
				_, err = s.store.PlanWindows(ctx, w.Day, w.Day, time.Time{}, false)
				last = w.Day
			}
		}
		return err
	})
}
