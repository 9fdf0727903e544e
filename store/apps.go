package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Identity is a person as identified by a token issuer.
type Identity struct {
	Issuer  string // URL, exactly as in its tokens
	Subject string // never reassigned by the issuer
}

// Name returns the name of an account without a verified email address. It never looks like an
// email address.
func (i Identity) Name() string { return i.Issuer + "#" + i.Subject }

// IsIdentityName reports whether an account's email address is the Name of an identity.
func IsIdentityName(email string) bool {
	_, after, isURL := strings.Cut(email, "://")
	return isURL && strings.Contains(after, "#")
}

// Identities links identities to accounts. An identity has one account; an account may have several
// identities.
type Identities interface {
	// AccountOf returns the account of an identity. A new identity gets the account with the
	// verified email address, regardless of ASCII letter case, or a new account on the free tier.
	// Concurrent calls, even from several processes, create only one account. verified is empty if
	// the issuer verified no address that may be used to link accounts; the email address of a new
	// account is then Identity.Name. A later call with a verified address replaces that name,
	// unless another account has the address. AccountOf fails with ErrMalformed if Identity.Check
	// does.
	AccountOf(ctx context.Context, id Identity, verified string) (Account, error)
	// AddIdentity links an identity to an account. AccountOf returns that account from then on,
	// regardless of the token's email address. If the identity was linked to another account, that
	// account keeps everything else. AddIdentity fails with ErrNotFound if the account does not
	// exist, and with ErrMalformed if Identity.Check does.
	AddIdentity(ctx context.Context, account cola.AccountID, id Identity) error
	// RemoveIdentity unlinks an identity from an account and ends the account's sign-ins through
	// its issuer, apart from the one whose ID is except, all in one transaction that locks the
	// account. RemoveIdentity fails with ErrNotFound if the account has no such identity, and with
	// ErrLastIdentity if nobody could sign in afterward.
	RemoveIdentity(ctx context.Context, account cola.AccountID, id Identity, except int64) error
	// IdentitiesOf returns the identities of an account, or of all accounts if account is zero,
	// ordered by account, issuer and subject.
	IdentitiesOf(ctx context.Context, account cola.AccountID) ([]LinkedIdentity, error)
}

// LinkedIdentity is an identity with its account.
type LinkedIdentity struct {
	AccountIdentity
	Email string // of the account
}

// App is a client of an issuer that may act for accounts: a connected app.
type App struct {
	ID         int64
	Issuer     string
	ClientID   string // unique together with Issuer
	Name       string
	Scopes     []cola.Scope // allowed in addition to reading; sorted
	CreatedAt  time.Time
	DisabledAt time.Time // zero if enabled
}

// Apps stores connected apps. Methods that store an app ignore its ID and times, and fail with
// ErrMalformed if Normalize does.
type Apps interface {
	// RegisterApp creates an app, or updates and enables the one with the same issuer and client
	// ID. It returns the stored app.
	RegisterApp(ctx context.Context, app App) (App, error)
	// EnsureApp creates an app, unless one with the same issuer and client ID exists; an existing
	// app is left unchanged. EnsureApp returns the stored app.
	EnsureApp(ctx context.Context, app App) (App, error)
	// AppByClient returns an app by issuer and client ID, disabled or not, or ErrNotFound.
	AppByClient(ctx context.Context, issuer, clientID string) (App, error)
	// Apps returns all apps, ordered by ID.
	Apps(ctx context.Context) ([]App, error)
	// DisableApp disables an app for all accounts, effective from the next request. Disabling it
	// again does not change DisabledAt. DisableApp fails with ErrNotFound if there is no such app.
	DisableApp(ctx context.Context, id int64) error
}

// Link connects an account to an app. It is a valid credential unless it is revoked or its app is
// disabled.
type Link struct {
	ID         int64
	Account    cola.AccountID
	Email      string // of the account
	App        App
	Scopes     []cola.Scope // of the latest token, sorted; see Effective
	CreatedAt  time.Time    // first use
	LastUsedAt time.Time    // zero if never used for a request; may lag by up to a minute
	RevokedAt  time.Time    // zero if not revoked

	Change LinkChange // what Connect changed; set only by Connect
}

// LinkChange is a change that Connect made.
type LinkChange string

// Changes to a link.
const (
	LinkCreated       LinkChange = "created"
	LinkScopesChanged LinkChange = "rescoped"
)

// Effective returns the scopes in the latest token that the app is allowed to have.
func (l Link) Effective() []cola.Scope {
	return slices.DeleteFunc(slices.Clone(l.Scopes),
		func(s cola.Scope) bool { return !slices.Contains(l.App.Scopes, s) })
}

// Links stores the connections between accounts and apps.
type Links interface {
	// Connect returns the link between an account and an app. It creates the link if there is none,
	// and stores the scopes. A revoked link is returned unchanged. Connect fails with ErrNotFound
	// if the account or the app does not exist, and with ErrMalformed for an invalid scope.
	Connect(ctx context.Context, account cola.AccountID, app int64, scopes []cola.Scope) (Link, error)
	// Links returns the links of an account, or of all accounts if account is zero, ordered by ID
	// and including revoked ones.
	Links(ctx context.Context, account cola.AccountID) ([]Link, error)
	// RevokeLink revokes a link, effective from the next request in all processes. The link must
	// belong to the account unless account is zero. Revoking it again does not change RevokedAt.
	// RevokeLink fails with ErrNotFound if there is no such link.
	RevokeLink(ctx context.Context, account cola.AccountID, id int64) error
	// RestoreLink undoes RevokeLink. The link must belong to the account unless account is zero.
	// RestoreLink has no effect on a link that is not revoked, and fails with ErrNotFound if there
	// is no such link.
	RestoreLink(ctx context.Context, account cola.AccountID, id int64) error
}
