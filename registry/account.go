package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Access contains the database operations that let account holders manage their account,
// credentials and sessions, and read their usage and requests.
type Access interface {
	Account(ctx context.Context, id cola.AccountID) (store.Account, error)
	Keys(ctx context.Context, account cola.AccountID) ([]store.Key, error)
	CreateKey(ctx context.Context, key store.Key, hash store.KeyHash, maxKeys int) (store.Key, error)
	ReplaceKey(
		ctx context.Context, account cola.AccountID, id int64, key store.Key, hash store.KeyHash, until time.Time,
		maxKeys int,
	) (store.Key, error)
	ChangeKey(ctx context.Context, account cola.AccountID, id int64, name string, access store.KeyAccess) error
	RevokeKey(ctx context.Context, account cola.AccountID, id int64) error
	Links(ctx context.Context, account cola.AccountID) ([]store.Link, error)
	RevokeLink(ctx context.Context, account cola.AccountID, id int64) error
	RestoreLink(ctx context.Context, account cola.AccountID, id int64) error
	IdentitiesOf(ctx context.Context, account cola.AccountID) ([]store.LinkedIdentity, error)
	RemoveIdentity(ctx context.Context, account cola.AccountID, id store.Identity, except int64) error
	SignIns(ctx context.Context, account cola.AccountID) ([]store.SignIn, error)
	EndSignIn(ctx context.Context, account cola.AccountID, id int64) error
	EndOtherSignIns(ctx context.Context, account cola.AccountID, except int64) (int, error)
	RequestDeletion(ctx context.Context, id cola.AccountID, after time.Duration) error
	CancelDeletion(ctx context.Context, id cola.AccountID) error
	SetQuotaEmails(ctx context.Context, id cola.AccountID, on bool) error
	DailyUsage(ctx context.Context, id cola.AccountID, first, last cola.Date) ([]store.DayUsage, error)
	MonthlyUsage(ctx context.Context, id cola.AccountID, first, last cola.Period) ([]store.MonthUsage, error)
	store.Refusals
	store.RequestLog
}

// Account is an account as its holder sees it.
type Account struct {
	Email       string // empty if unknown
	Tier        cola.Tier
	CreatedAt   time.Time
	ActiveLimit int       // maximum number of saved searches with an active schedule
	DeletesAt   time.Time // when the account will be deleted; zero unless its deletion was requested
	Suspended   bool      // by the operator, or because its deletion was requested
	QuotaEmails bool      // the holder gets email when a quota is nearly used up
	// Paid is nil if the account never subscribed to a plan, or the server doesn't sell plans.
	Paid *PaidPlan
	// Operator is true if the caller may manage the collectors.
	Operator bool
}

// Messages for requests with an unknown outcome.
const (
	changeKeyUnconfirmed = "The key may not have been changed. Check the list of keys, or try again in a few seconds; it's safe to retry."
	revokeKeyUnconfirmed = "The key may not have been revoked and may still work. Try again in a few seconds; it's safe to retry."
	revokeAppUnconfirmed = "The app's access may not have been revoked. Try again in a few seconds; it's safe to retry."
	restoreUnconfirmed   = "The app's access may not have been restored. Try again in a few seconds; it's safe to retry."
	removeUnconfirmed    = "The sign-in method may not have been removed. Try again in a few seconds; it's safe to retry."
	settingUnconfirmed   = "The setting may not have been saved. Try again in a few seconds; it's safe to retry."
	signOutUnconfirmed   = "The sign-out may not have completed. Try again in a few seconds; it's safe to retry."
)

// dashboardOnly is the error for callers other than a signed-in account holder. Keys and apps may
// not create keys, because revoking a key or app must end its access.
const dashboardOnly = "API keys, connected apps and sessions are managed in the dashboard. Sign in there."

// authorizeHolder checks that the caller is an account holder in the dashboard and not suspended.
// It charges nothing, does not count toward the rate limit, and does not need the index.
func (s *Service) authorizeHolder(ctx context.Context, c cola.Caller) (cola.QuotaState, error) {
	state, err := s.Standing(ctx, c)
	if err != nil {
		return state, err
	}
	return state, checkHolder(c)
}

func checkHolder(c cola.Caller) error {
	if c.Channel != cola.ChannelDashboard || c.Credential.Kind != cola.CredentialSignIn {
		return cola.Errorf(cola.CodeForbidden, dashboardOnly)
	}
	return nil
}

// readManaged calls authorizeHolder, and then reads data about the caller's account.
func readManaged[T any](ctx context.Context, s *Service, c cola.Caller, operation string,
	read func(ctx context.Context, state cola.QuotaState) (T, error),
) (T, cola.QuotaState, error) {
	state, err := s.authorizeHolder(ctx, c)
	if err != nil {
		var none T
		return none, state, err
	}
	return readAuthorized(ctx, state, operation, read)
}

// readAuthorized reads data about an authorized caller's account.
func readAuthorized[T any](ctx context.Context, state cola.QuotaState, operation string,
	read func(ctx context.Context, state cola.QuotaState) (T, error),
) (T, cola.QuotaState, error) {
	var none, found T
	err := withTimeout(ctx, readTimeout, func(ctx context.Context) (err error) {
		found, err = read(ctx, state)
		return err
	})
	if err != nil {
		return none, state, storeError(err, operation)
	}
	return found, state, nil
}

// changeManaged changes an account's data. If the outcome is unknown, it fails with CodeUnavailable
// and the message unknown; if the record does not exist, it fails with missing.
func (s *Service) changeManaged(
	ctx context.Context, operation, unknown string, missing error, work func(ctx context.Context) error,
) error {
	err := withTimeout(ctx, saveTimeout, work)
	refusal, ok := errors.AsType[*cola.Error](err)
	switch {
	case err == nil:
		return nil
	case ok:
		return refusal
	case errors.Is(err, store.ErrNotFound) && missing != nil:
		return missing
	case errors.Is(err, store.ErrUnavailable):
		refusal := cola.Unavailable()
		refusal.Message = unknown
		return refusal
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// Account returns the caller's account.
func (s *Service) Account(ctx context.Context, c cola.Caller) (Account, cola.QuotaState, error) {
	return readManaged(ctx, s, c, readAccount, s.accountOf(c))
}

const readAccount = "read account"

// accountOf returns a function that reads the caller's account.
func (s *Service) accountOf(c cola.Caller) func(context.Context, cola.QuotaState) (Account, error) {
	return func(ctx context.Context, _ cola.QuotaState) (Account, error) {
		a, err := s.store.Account(ctx, c.Account)
		if err != nil {
			return Account{}, err
		}
		paid, err := s.paidPlan(ctx, c.Account)
		if store.IsIdentityName(a.Email) {
			a.Email = ""
		}
		return Account{
			Email: a.Email, Tier: a.Tier, CreatedAt: a.CreatedAt, ActiveLimit: a.ActiveLimit, DeletesAt: a.DeletesAt,
			Suspended:   !a.SuspendedAt.IsZero(),
			QuotaEmails: !a.NoQuotaEmails,
			Paid:        paid,
			Operator:    s.isOperator(c, a),
		}, err
	}
}

// SetQuotaEmails turns quota emails for the caller's account on or off. After CodeUnavailable the
// outcome may be unknown.
func (s *Service) SetQuotaEmails(ctx context.Context, c cola.Caller, on bool) (cola.QuotaState, error) {
	state, err := s.authorizeHolder(ctx, c)
	if err != nil {
		return state, err
	}
	return state, s.changeManaged(ctx, "set quota emails", settingUnconfirmed, nil, func(ctx context.Context) error {
		return s.store.SetQuotaEmails(ctx, c.Account, on)
	})
}

// Identity is a sign-in method: the account holder's user ID at an issuer.
type Identity struct {
	Issuer  string // URL
	Subject string
}

// Identities returns the identities of the caller's account.
func (s *Service) Identities(ctx context.Context, c cola.Caller) ([]Identity, cola.QuotaState, error) {
	return readManaged(ctx, s, c, "list identities", func(ctx context.Context, _ cola.QuotaState) ([]Identity, error) {
		linked, err := s.store.IdentitiesOf(ctx, c.Account)
		list := make([]Identity, len(linked))
		for i, l := range linked {
			list[i] = Identity{Issuer: l.Issuer, Subject: l.Subject}
		}
		return list, err
	})
}

// RemoveIdentity unlinks an identity from the caller's account and ends the account's other
// sessions that were started with the identity's issuer. It fails with CodeNotFound if the account
// has no such identity, and with CodeForbidden if nobody could sign in afterward. After
// CodeUnavailable the outcome may be unknown.
func (s *Service) RemoveIdentity(ctx context.Context, c cola.Caller, id Identity) (cola.QuotaState, error) {
	state, err := s.authorizeHolder(ctx, c)
	if err != nil {
		return state, err
	}
	missing := cola.Errorf(cola.CodeNotFound, "Your account doesn't have this sign-in method.")
	return state, s.changeManaged(ctx, "remove identity", removeUnconfirmed, missing, func(ctx context.Context) error {
		err := s.store.RemoveIdentity(ctx, c.Account, store.Identity{Issuer: id.Issuer, Subject: id.Subject}, c.Credential.ID)
		if errors.Is(err, store.ErrLastIdentity) {
			return cola.Errorf(cola.CodeForbidden,
				"This is the only way to sign in to your account, because the account has no email address.")
		}
		return err
	})
}

// SignIn is a browser session of the account holder.
type SignIn struct {
	ID         int64
	Via        string // URL of the issuer; empty for a sign-in link
	Browser    string // User-Agent of the browser; may be empty
	CreatedAt  time.Time
	LastUsedAt time.Time // zero if never used; may lag by a minute
	ExpiresAt  time.Time
	Current    bool // the request was made with this sign-in
}

// SignIns returns the active sign-ins of the caller's account, newest first.
func (s *Service) SignIns(ctx context.Context, c cola.Caller) ([]SignIn, cola.QuotaState, error) {
	return readManaged(ctx, s, c, "list sign-ins", func(ctx context.Context, _ cola.QuotaState) ([]SignIn, error) {
		signIns, err := s.store.SignIns(ctx, c.Account)
		list := make([]SignIn, len(signIns))
		for i, n := range signIns {
			list[i] = SignIn{
				ID: n.ID, Via: n.Via, Browser: n.Browser, CreatedAt: n.CreatedAt, LastUsedAt: n.LastUsedAt,
				ExpiresAt: n.ExpiresAt,
				Current:   c.Credential == cola.Credential{Kind: cola.CredentialSignIn, ID: n.ID},
			}
		}
		return list, err
	})
}

// EndSignIn ends one of the caller's browser sessions, effective from the session's next request.
// Ending it twice is not an error. EndSignIn fails with CodeNotFound if the sign-in is missing or
// belongs to another account. After CodeUnavailable the outcome may be unknown.
func (s *Service) EndSignIn(ctx context.Context, c cola.Caller, id int64) (cola.QuotaState, error) {
	state, err := s.authorizeHolder(ctx, c)
	if err != nil {
		return state, err
	}
	missing := cola.Errorf(cola.CodeNotFound,
		"Your account has no active session with the ID %d.", id)
	return state, s.changeManaged(ctx, "end sign-in", signOutUnconfirmed, missing, func(ctx context.Context) error {
		return s.store.EndSignIn(ctx, c.Account, id)
	})
}

// EndOtherSignIns ends all of the caller's browser sessions except the current one, and returns
// how many it ended. After CodeUnavailable the outcome may be unknown.
func (s *Service) EndOtherSignIns(ctx context.Context, c cola.Caller) (int, cola.QuotaState, error) {
	state, err := s.authorizeHolder(ctx, c)
	if err != nil {
		return 0, state, err
	}
	ended := 0
	err = s.changeManaged(ctx, "end other sign-ins", signOutUnconfirmed, nil, func(ctx context.Context) (err error) {
		ended, err = s.store.EndOtherSignIns(ctx, c.Account, c.Credential.ID)
		return err
	})
	return ended, state, err
}
