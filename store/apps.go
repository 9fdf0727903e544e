package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Identity is who an issuer of tokens says somebody is.
type Identity struct {
	Issuer  string // URL, exactly as its tokens name it
	Subject string // never given to another by that issuer
}

// Name stands for the email address of an account that was made for an identity whose issuer told no verified one. No address
// looks like it.
func (i Identity) Name() string { return i.Issuer + "#" + i.Subject }

// IsIdentityName reports whether the email address of an account is the Name of an identity.
func IsIdentityName(email string) bool {
	_, after, isURL := strings.Cut(email, "://")
	return isURL && strings.Contains(after, "#")
}

// Identities ties who issuers say somebody is to accounts. An identity has one account; an account may have several
// identities.
type Identities interface {
	// AccountOf returns the account of an identity. A new identity gets the account with the
	// verified email address, in any ASCII letter case, or a new account on the free tier. Concurrent
	// calls, in any process, create only one account. verified is empty if the issuer verified no
	// address that may link; a new account is then named by Identity.Name. Such an account takes a
	// verified address later, unless another account has it. It fails with ErrMalformed if Check
	// does.
	AccountOf(ctx context.Context, who Identity, verified string) (Account, error)
	// AddIdentity gives an identity to an account: AccountOf returns it from then on, whatever address comes with the identity.
	// One that has another account leaves it, as it is and with all that it has. It is no error when it has this one. It fails with
	// ErrNotFound when there is no such account, and with ErrMalformed for what Check refuses.
	AddIdentity(ctx context.Context, account cola.AccountID, who Identity) error
	// IdentitiesOf returns every identity by account, issuer and subject; of one account unless account is zero.
	IdentitiesOf(ctx context.Context, account cola.AccountID) ([]LinkedIdentity, error)
}

// LinkedIdentity is an identity and the account that it has.
type LinkedIdentity struct {
	AccountIdentity
	Email string // of the account
}

// App is a client of an issuer that may act for accounts: a connected app.
type App struct {
	ID         int64
	Issuer     string
	ClientID   string // with Issuer it is unique
	Name       string
	Scopes     []cola.Scope // that it may hold at most, sorted; besides them it reads
	CreatedAt  time.Time
	DisabledAt time.Time // zero while it may act
}

// Apps keeps connected apps. Of one to be kept the id and the times count for nothing; one that Settle refuses fails with
// ErrMalformed.
type Apps interface {
	// RegisterApp keeps an app. One with its issuer and client id that is there already gets the name and the scopes, and may
	// act again. It returns the app as it stands then.
	RegisterApp(ctx context.Context, app App) (App, error)
	// EnsureApp keeps an app unless one with its issuer and client id is there, which stays as it is, and returns the one that
	// is there then.
	EnsureApp(ctx context.Context, app App) (App, error)
	// AppByClient returns the app with an issuer and a client id, disabled or not, or ErrNotFound.
	AppByClient(ctx context.Context, issuer, clientID string) (App, error)
	// Apps returns every app by id.
	Apps(ctx context.Context) ([]App, error)
	// DisableApp ends what an app may do, for every account, from the next request on. Disabling twice is no error and keeps the
	// first time; it fails with ErrNotFound when there is no such app.
	DisableApp(ctx context.Context, id int64) error
}

// Link is an account's connection to an app. As a credential it holds while it is not revoked and its app not disabled.
type Link struct {
	ID         int64
	Account    cola.AccountID
	Email      string // of the account
	App        App
	Scopes     []cola.Scope // that the latest token brought, sorted; what is effective is what of it the app may hold
	CreatedAt  time.Time    // when it was first used
	LastUsedAt time.Time    // zero when nothing was asked with it; may lag by a minute
	RevokedAt  time.Time    // zero while it holds

	Change LinkChange // set only by Connect: the change of that call
}

// LinkChange is a change of a link by Connect.
type LinkChange string

// Changes of a link.
const (
	LinkCreated       LinkChange = "made"
	LinkScopesChanged LinkChange = "rescoped" // it had different scopes
)

// Effective returns the scopes that the latest token gave the link: those that it brought and the app may hold.
func (l Link) Effective() []cola.Scope {
	return slices.DeleteFunc(slices.Clone(l.Scopes), func(s cola.Scope) bool { return !slices.Contains(l.App.Scopes, s) })
}

// Links keeps the connections between accounts and apps.
type Links interface {
	// Connect returns the link of an account to an app, made when there is none, with the scopes noted. A revoked one stays
	// revoked: it is returned as it is, and nothing is noted. It fails with ErrNotFound when there is no such account or app, and
	// with ErrMalformed when a scope cannot be kept.
	Connect(ctx context.Context, account cola.AccountID, app int64, scopes []cola.Scope) (Link, error)
	// Links returns every link by id, revoked ones included; of one account unless account is zero.
	Links(ctx context.Context, account cola.AccountID) ([]Link, error)
	// RevokeLink ends a link of an account, of any account when that is zero, from the next request on, in every process. Revoking twice
	// is no error and keeps the first time; it fails with ErrNotFound when there is no such link.
	RevokeLink(ctx context.Context, account cola.AccountID, id int64) error
	// RestoreLink makes a revoked link of an account, of any account when that is zero, hold again, or fails with ErrNotFound. It is
	// no error when the link holds.
	RestoreLink(ctx context.Context, account cola.AccountID, id int64) error
}
