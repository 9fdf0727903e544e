package cola

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
)

// AccountID identifies an account within one store.
type AccountID int64

// Channel is the way a request came in; usage is kept apart by it.
type Channel string

// The channels.
const (
	ChannelREST      Channel = "rest"
	ChannelMCP       Channel = "mcp"
	ChannelDashboard Channel = "dashboard"
)

// CredentialKind tells what a caller proved its identity with.
type CredentialKind string

// The kinds of credential.
const (
	CredentialKey  CredentialKind = "key"  // an API key made by the account holder
	CredentialLink CredentialKind = "link" // an access token of a connected app: the id is that of the account's link to it

	CredentialSignIn CredentialKind = "sign_in" // a browser that the account holder has signed in with
)

// Credential names what a caller proved its identity with. It never holds a secret.
type Credential struct {
	Kind CredentialKind
	ID   int64 // id within the kind, such as the key's
}

// Scope is a permission of a caller.
type Scope string

// ScopeWriteSavedSearches permits creating and changing saved searches.
const ScopeWriteSavedSearches Scope = "saved_searches:write"

// Scopes lists every scope there is.
func Scopes() []Scope { return []Scope{ScopeWriteSavedSearches} }

// ParseScope returns the scope with a name; ok is false when there is none.
func ParseScope(name string) (s Scope, ok bool) {
	return Scope(name), slices.Contains(Scopes(), Scope(name))
}

// Caller is who makes a request, as the credentials prove it.
type Caller struct {
	Account    AccountID
	Credential Credential
	Channel    Channel
	Scopes     []Scope
	Withheld   []Scope // that the credential brought, and the app it was made for may not have
}

// Has reports whether the caller holds the scope.
func (c Caller) Has(s Scope) bool { return slices.Contains(c.Scopes, s) }

// NotAllowed is the reason, in the details of an insufficient_scope error, of a scope that the app may not have whatever its user
// allows. There is nothing to be had by asking for it again.
const NotAllowed = "app_not_allowed"

// InsufficientScope is the refusal of a caller whose token lacks a scope, which its user can give.
func InsufficientScope(s Scope) *Error {
	return &Error{
		Code:    CodeInsufficientScope,
		Message: fmt.Sprintf("The access token lacks the scope %q. Connect the app again and allow it, or use an API key.", s),
		Details: map[string]any{"required_scope": string(s)},
	}
}

// Lacks is the refusal of a caller that does not have the scope.
func (c Caller) Lacks(s Scope) *Error {
	refusal := InsufficientScope(s)
	if slices.Contains(c.Withheld, s) {
		refusal.Message = fmt.Sprintf("The operator of this service has not allowed this app the scope %q, so its access token's does not count. "+
			"Ask the operator to register the app with it (app register --scope %s), or use an API key.", s, s)
		refusal.Details["reason"] = NotAllowed
	}
	return refusal
}

type callerKey struct{}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom returns the caller that the context carries; ok is false when the request is not authenticated.
func CallerFrom(ctx context.Context) (c Caller, ok bool) {
	c, ok = ctx.Value(callerKey{}).(Caller)
	return c, ok
}

type clientKey struct{}

// WithClient returns a context with the client address of a request.
func WithClient(ctx context.Context, client netip.Addr) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

// ClientFrom returns the client address in a context, or the zero Addr.
func ClientFrom(ctx context.Context) netip.Addr {
	client, _ := ctx.Value(clientKey{}).(netip.Addr)
	return client
}
