package cola

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
)

// AccountID identifies an account within one store.
type AccountID int64

// Channel is the API or interface that a request came through. Usage is counted by channel.
type Channel string

// The channels.
const (
	ChannelREST      Channel = "rest"
	ChannelMCP       Channel = "mcp"
	ChannelDashboard Channel = "dashboard"
)

// CredentialKind is the kind of a caller's credential.
type CredentialKind string

// The kinds of credential.
const (
	CredentialKey CredentialKind = "key" // an API key
	// CredentialLink is a connected app's access token; the ID is that of the account's
	// connection to the app.
	CredentialLink   CredentialKind = "link"
	CredentialSignIn CredentialKind = "sign_in" // a signed-in browser
)

// Credential identifies a caller's credential. It contains no secret.
type Credential struct {
	Kind CredentialKind
	ID   int64 // unique within the kind; for example, a key's ID
}

// Scope is a permission of a caller.
type Scope string

// ScopeWriteSavedSearches permits creating and changing saved searches.
const ScopeWriteSavedSearches Scope = "saved_searches:write"

// Scopes lists every scope.
func Scopes() []Scope { return []Scope{ScopeWriteSavedSearches} }

// ParseScope returns the scope with the given name.
func ParseScope(name string) (s Scope, ok bool) {
	return Scope(name), slices.Contains(Scopes(), Scope(name))
}

// Caller is the authenticated sender of a request.
type Caller struct {
	Account    AccountID
	Credential Credential
	Channel    Channel
	// Scopes are the caller's scopes. For an API key, these are all scopes; the ledger checks the
	// scopes of the key itself, which may change at any time.
	Scopes   []Scope
	Withheld []Scope // the credential's scopes that the operator has not granted the app
	// Needs is the scope that the request requires, or empty. The ledger checks it.
	Needs Scope
	// Client is the address that an API key was sent from, for the ledger to compare with the key's
	// networks. It is the zero Addr if the address is unknown, and for other credentials.
	Client netip.Addr
	// VerifiedEmail is the email address verified at sign-in. It may differ from the account's
	// address. It is empty without a verified address, and for credentials other than a sign-in.
	VerifiedEmail string
}

// Sender identifies a source of requests: an account, a credential and a client address. Requests
// from the same Sender pass or fail the same credential and network checks.
type Sender struct {
	Account    AccountID
	Credential Credential
	Client     netip.Addr
}

// Sender returns the source of the caller's requests.
func (c Caller) Sender() Sender { return Sender{c.Account, c.Credential, c.Client} }

// Has reports whether the caller has the scope.
func (c Caller) Has(s Scope) bool { return slices.Contains(c.Scopes, s) }

// NotAllowed is the details.reason of an insufficient_scope error if the operator has not granted
// the app the scope. Requesting it again doesn't help.
const NotAllowed = "app_not_allowed"

// InsufficientScope returns the error for a token that lacks a scope its user can grant.
func InsufficientScope(s Scope) *Error {
	return &Error{
		Code:    CodeInsufficientScope,
		Message: fmt.Sprintf("The access token lacks the scope %q. Reconnect the app and grant this scope, or use an API key.", s),
		Details: map[string]any{"required_scope": string(s)},
	}
}

// Lacks returns the error for a caller without the scope.
func (c Caller) Lacks(s Scope) *Error {
	refusal := InsufficientScope(s)
	if c.Credential.Kind == CredentialKey {
		refusal.Message = fmt.Sprintf("This API key is read-only; it lacks the scope %q. "+
			"Change the key's access in the dashboard, or use another key.", s)
	}
	if slices.Contains(c.Withheld, s) {
		refusal.Message = fmt.Sprintf("This app has not been granted the scope %q. "+
			"Ask the operator to grant it (app register --scope %s), or use an API key.", s, s)
		refusal.Details["reason"] = NotAllowed
	}
	return refusal
}

// NetworkNotAllowed is the details.reason of a forbidden error if an API key was sent from an
// address outside its networks.
const NetworkNotAllowed = "network_not_allowed"

// OutsideNetworks returns the error for an API key that was sent from an address outside its
// networks.
func (c Caller) OutsideNetworks() *Error {
	from := "an unknown address"
	details := map[string]any{"reason": NetworkNotAllowed}
	if c.Client.IsValid() {
		from = c.Client.String()
		details["client"] = from
	}
	refusal := Errorf(CodeForbidden, "This API key can't be used from %s. Send the request from one of the key's allowed "+
		"networks, or change them in the dashboard.", from)
	refusal.Details = details
	return refusal
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
