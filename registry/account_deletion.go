package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/store"
)

// DeletionPhrase confirms the deletion of an account without an email address.
const DeletionPhrase = "delete my account"

const (
	deleteUnconfirmed = "The deletion may not have been scheduled. Try again in a few seconds; it's safe to retry."
	keepUnconfirmed   = "The deletion may not have been canceled. Try again in a few seconds; it's safe to retry."
)

// Confirmation returns the text that the holder must type to delete the account: the email address,
// or DeletionPhrase if there is none.
func (a Account) Confirmation() string {
	if a.Email == "" {
		return DeletionPhrase
	}
	return a.Email
}

// authorizeLeaving is like authorizeHolder, but also accepts accounts whose deletion was requested.
func (s *Service) authorizeLeaving(ctx context.Context, c cola.Caller) (cola.QuotaState, error) {
	state, err := s.Standing(ctx, c)
	if err != nil && !cola.IsDeletionRequested(err) {
		return state, err
	}
	return state, checkHolder(c)
}

// authorizeSuspended is like authorizeLeaving, but also accepts accounts that the operator has
// suspended.
func (s *Service) authorizeSuspended(ctx context.Context, c cola.Caller) (cola.QuotaState, error) {
	state, err := s.Standing(ctx, c)
	if err != nil && cola.CodeOf(err) != cola.CodeAccountSuspended {
		return state, err
	}
	return state, checkHolder(c)
}

// SuspendedAccount returns the caller's account, even if it is suspended or its deletion was
// requested.
func (s *Service) SuspendedAccount(ctx context.Context, c cola.Caller) (Account, cola.QuotaState, error) {
	state, err := s.authorizeSuspended(ctx, c)
	if err != nil {
		return Account{}, state, err
	}
	return readAuthorized(ctx, state, readAccount, s.accountOf(c))
}

// DeleteAccount schedules the deletion of the caller's account, and rejects its credentials from
// then on. typed must be the account's Confirmation, ignoring ASCII letter case. DeleteAccount
// fails with CodeValidation if the account's subscription is set to renew, so that nobody loses a
// plan by mistake. AccountDeleter ends a subscription that is started or resumed later. After
// CodeUnavailable the outcome may be unknown.
func (s *Service) DeleteAccount(ctx context.Context, c cola.Caller, typed string) (cola.QuotaState, error) {
	account, state, err := s.Account(ctx, c)
	if err != nil {
		return state, err
	}
	want := account.Confirmation()
	if store.FoldEmail(strings.TrimSpace(typed)) != store.FoldEmail(want) {
		problem := cola.Errorf(cola.CodeValidation, "Type %q to delete the account.", want)
		problem.Details = map[string]any{"confirmation": []string{"This doesn't match."}}
		return state, problem
	}
	remedy := "Contact the operator to cancel it first."
	if s.billing != nil {
		remedy = "Cancel it on the Plans page first."
		if err := s.billing.PrepareDeletion(ctx, c.Account); err != nil {
			return state, s.billingError(c, "prepare deletion", err)
		}
	}
	if err := CheckSubscription(ctx, s.store, c.Account, remedy); err != nil {
		return state, err
	}
	err = s.changeManaged(ctx, "request deletion", deleteUnconfirmed, nil, func(ctx context.Context) error {
		return s.store.RequestDeletion(ctx, c.Account, store.DeletionDelay)
	})
	if err == nil {
		s.events.Record(ctx, security.DeletionRequested, c.Account, c.Credential)
	}
	return state, err
}

// SubscriptionReader reads an account's subscription.
type SubscriptionReader interface {
	SubscriptionOf(context.Context, cola.AccountID) (store.Subscription, error)
}

// CheckSubscription returns a CodeValidation error with a remedy if the account's subscription, as
// last read from Stripe, is set to renew.
func CheckSubscription(ctx context.Context, st SubscriptionReader, id cola.AccountID, remedy string) error {
	s, err := st.SubscriptionOf(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && !s.Renews() {
		return nil
	}
	if err != nil {
		return storeError(err, "read subscription")
	}
	problem := cola.Errorf(cola.CodeValidation, "The account has a subscription that renews. %s", remedy)
	problem.Details = map[string]any{"confirmation": []string{problem.Message}}
	return problem
}

// KeepAccount cancels the deletion of the caller's account. It has no effect if none was requested,
// and fails with CodeNotFound if the deletion has started. After CodeUnavailable the outcome may be
// unknown.
func (s *Service) KeepAccount(ctx context.Context, c cola.Caller) (cola.QuotaState, error) {
	state, err := s.authorizeLeaving(ctx, c)
	if err != nil {
		return state, err
	}
	missing := cola.Errorf(cola.CodeNotFound, "It's too late: the account is being deleted.")
	err = s.changeManaged(ctx, "cancel deletion", keepUnconfirmed, missing, func(ctx context.Context) error {
		return s.store.CancelDeletion(ctx, c.Account)
	})
	if err == nil {
		s.events.Record(ctx, security.DeletionCanceled, c.Account, c.Credential)
	}
	return state, err
}

const (
	// deletionInterval is the pause between rounds of an AccountDeleter.
	deletionInterval = time.Minute
	// maxDeletions is the maximum number of accounts that are read at once.
	maxDeletions = 100
)

// AccountDeleter deletes the accounts that are due for deletion. Every serving process has one;
// they can work on the same account. If one is interrupted, the next round in any process continues
// its work.
type AccountDeleter struct {
	Store  store.AccountDeletion
	Logger *slog.Logger
	// Before is called before any of an account's data is deleted, to end its billing; may be nil.
	// If it fails, the next round tries again. It may be called several times for an account, even
	// by several processes at once.
	Before func(context.Context, store.Account) error

	failing map[cola.AccountID]bool // accounts with a logged failure
}

// Run deletes due accounts every minute until the context ends. It starts after a random delay, so
// that processes started together don't compete.
func (d *AccountDeleter) Run(ctx context.Context) {
	for wait := rand.N(deletionInterval); ; wait = deletionInterval {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		_ = d.DeleteDue(ctx) // logged
	}
}

// DeleteDue deletes the accounts that are due. A failure doesn't affect other accounts. DeleteDue
// logs only the first of an account's consecutive failures, and the recovery.
func (d *AccountDeleter) DeleteDue(ctx context.Context) error {
	var errs []error
	tried := map[cola.AccountID]bool{}
	for {
		due, err := d.Store.DueDeletions(ctx, maxDeletions+len(errs)) // those that failed are still due
		due = slices.DeleteFunc(due, func(a store.Account) bool { return tried[a.ID] })
		d.report(ctx, 0, err)
		if err != nil || len(due) == 0 || ctx.Err() != nil {
			return errors.Join(append(errs, err)...)
		}
		for _, a := range due {
			tried[a.ID] = true
			err := d.delete(ctx, a)
			d.report(ctx, a.ID, err)
			if err != nil {
				errs = append(errs, fmt.Errorf("account %d: %w", a.ID, err))
			}
		}
	}
}

// report logs a failure to delete an account or, if id is 0, to find the accounts that are due,
// unless the previous attempt also failed. It also logs the recovery.
func (d *AccountDeleter) report(ctx context.Context, id cola.AccountID, err error) {
	what, log := "account deletion", d.Logger.With("account", int64(id))
	if id == 0 {
		what, log = "finding accounts to delete", d.Logger
	}
	switch {
	case err == nil && d.failing[id]:
		log.Info(what + " is working again")
		delete(d.failing, id)
	case err != nil && !d.failing[id] && ctx.Err() == nil:
		log.Error(what+" failed; retrying every minute", "error", err)
		if d.failing == nil {
			d.failing = map[cola.AccountID]bool{}
		}
		d.failing[id] = true
	}
}

func (d *AccountDeleter) delete(ctx context.Context, a store.Account) error {
	if d.Before != nil && a.DeletedAt.IsZero() {
		if err := d.Before(ctx, a); err != nil {
			return err
		}
	}
	for {
		done, err := d.Store.DeleteAccountData(ctx, a.ID)
		switch {
		case errors.Is(err, store.ErrNotFound): // another process completed it, or it was canceled
			return nil
		case err != nil:
			return err
		case done:
			d.Logger.Info("account deleted", "account", a.ID)
			return nil
		}
	}
}
