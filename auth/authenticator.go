package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/store"
)

// KeyFinder is the part of the store that Authenticator uses.
type KeyFinder interface {
	KeyByHash(ctx context.Context, hash store.KeyHash) (store.Key, error)
}

// invalidCredential marks an error that counts toward the limit on invalid credentials.
type invalidCredential struct{ error }

// Unwrap returns the public error.
func (c invalidCredential) Unwrap() error { return c.error }

func invalidCredentialf(format string, args ...any) error {
	return invalidCredential{unauthorized(format, args...)}
}

// storeTimeout is how long a request waits for the store.
const storeTimeout = 3 * time.Second

// withStoreTimeout runs store calls with a shared timeout. It fails with CodeUnavailable if the
// store doesn't answer in time and the caller is still waiting.
func withStoreTimeout(ctx context.Context, operation string, do func(context.Context) error) error {
	calling, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := do(calling)
	var rejection *cola.Error
	switch {
	case err == nil || errors.As(err, &rejection):
		return err
	case errors.Is(err, store.ErrUnavailable), calling.Err() != nil && ctx.Err() == nil:
		return cola.Unavailable()
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// cachedKeys limits the entries in the key cache, which take less than 200 bytes each.
const cachedKeys = 100_000

// Authenticator identifies the caller of a request.
type Authenticator struct {
	keys   KeyFinder
	tokens *Tokens // nil if access tokens are not accepted
	events *security.Events
	known  *lru.Cache[store.KeyHash, identity] // never stale: a key's account never changes
}

type identity struct {
	account cola.AccountID
	key     int64
}

// New returns an Authenticator that looks up keys in the store, and accepts access tokens unless
// tokens is nil. It records failed credentials in events, which may be nil.
func New(keys KeyFinder, tokens *Tokens, events *security.Events) *Authenticator {
	known, err := lru.New[store.KeyHash, identity](cachedKeys)
	if err != nil {
		panic(err) // fails only if the size is below one
	}
	return &Authenticator{keys: keys, tokens: tokens, events: events, known: known}
}

// Authenticate returns the caller identified by a request's headers: X-API-Key, or Authorization
// with a Bearer API key or access token. KeyPrefix distinguishes keys from tokens; neither is tried
// as the other. Credentials in the URL are ignored.
//
// Authenticate fails with CodeUnauthorized for missing or invalid credentials, with
// CodeQuotaExceeded if the client's address sent too many invalid ones, and with CodeUnavailable if
// the store does not respond within three seconds, or a token's issuer within five. The limit never
// applies to valid credentials.
func (a *Authenticator) Authenticate(ctx context.Context, h http.Header, ch cola.Channel) (cola.Caller, error) {
	credential, bearer, err := a.credential(h)
	if err != nil {
		return cola.Caller{}, err
	}
	caller, kind, err := a.verify(ctx, credential, bearer, ch)
	if failed, ok := errors.AsType[invalidCredential](err); ok {
		return cola.Caller{}, a.events.Failed(ctx, kind, failed.error)
	}
	return caller, err
}

// verify returns the caller that a credential belongs to, and the credential's kind.
func (a *Authenticator) verify(ctx context.Context, credential string, bearer bool, ch cola.Channel) (c cola.Caller, kind security.Secret, err error) {
	switch {
	case strings.HasPrefix(credential, KeyPrefix):
		c, err = a.keyHolder(ctx, credential, ch)
		return c, security.Key, err
	case bearer && a.tokens != nil:
		c, err = a.tokens.caller(ctx, credential, ch)
		return c, security.Token, err
	}
	return c, security.Key, invalidCredentialf("Not an API key for this service; API keys start with %q.", KeyPrefix)
}

func (a *Authenticator) keyHolder(ctx context.Context, key string, ch cola.Channel) (cola.Caller, error) {
	secret, err := ParseSecret(key)
	if err != nil {
		return cola.Caller{}, invalidCredentialf("Invalid API key: %v. Copy the whole key again.", err)
	}
	id, err := a.identify(ctx, secret)
	if err != nil {
		return cola.Caller{}, err
	}
	return cola.Caller{
		Account:    id.account,
		Credential: cola.Credential{Kind: cola.CredentialKey, ID: id.key},
		Channel:    ch,
		Scopes:     cola.Scopes(), // upper bound; the ledger checks the key's own scopes
		Client:     cola.ClientFrom(ctx),
	}, nil
}

func (a *Authenticator) identify(ctx context.Context, secret Secret) (identity, error) {
	hash := secret.Hash()
	if id, ok := a.known.Get(hash); ok {
		return id, nil
	}
	var key store.Key
	err := withStoreTimeout(ctx, "look up API key", func(ctx context.Context) (err error) {
		key, err = a.keys.KeyByHash(ctx, hash)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return identity{}, invalidCredentialf("Unknown API key. Check that it belongs to this server, or create a new one.")
	case err != nil:
		return identity{}, err
	}
	id := identity{account: key.AccountID, key: key.ID}
	a.known.Add(hash, id)
	return id, nil
}

// credential returns the secret in the headers; bearer is true if only the Authorization header
// contains it.
func (a *Authenticator) credential(h http.Header) (secret string, bearer bool, err error) {
	var found []string
	for _, v := range h.Values("X-Api-Key") {
		if v = strings.TrimSpace(v); v != "" {
			found = append(found, v)
		}
	}
	bearer = len(found) == 0
	for _, v := range h.Values("Authorization") {
		scheme, token, _ := strings.Cut(strings.TrimSpace(v), " ")
		token = strings.TrimSpace(token)
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			return "", false, unauthorized("The Authorization header must be \"Bearer\" followed by %s.", a.accepted())
		}
		found = append(found, token)
	}
	if len(found) == 0 {
		return "", false, unauthorized("Credentials are missing. Send an API key in the X-API-Key header, or "+
			"\"Authorization: Bearer\" followed by %s.", a.accepted())
	}
	for _, v := range found[1:] {
		if v != found[0] {
			return "", false, unauthorized("The request has more than one credential. Send only one.")
		}
	}
	return found[0], bearer, nil
}

// accepted describes the credentials that the Authorization header may contain.
func (a *Authenticator) accepted() string {
	if a.tokens == nil {
		return "the key"
	}
	return "the key or an access token"
}

func unauthorized(format string, args ...any) error {
	return cola.Errorf(cola.CodeUnauthorized, format, args...)
}

// Resource describes this server to OAuth clients: where to get tokens for it and which scopes to
// request (RFC 9728 and, for challenges, RFC 6750). The zero Resource accepts API keys only. It
// comes from the configuration, never from a request, so that forged headers can't redirect
// clients.
type Resource struct {
	ID       string   // identifier: the URL of the MCP endpoint, for which clients request tokens
	Metadata string   // URL of the metadata
	Issuers  []string // accepted token issuers
	// Scopes are requested when a client connects; may be empty. They do not include this service's
	// own scopes, which a challenge requests if they are needed.
	Scopes []string
	// ScopePrefix is an optional prefix of this service's scopes at the issuer, such as
	// "api://registry/".
	ScopePrefix string
}

// realm starts every challenge.
const realm = `Bearer realm="colaregistry"`

// Challenge returns the WWW-Authenticate header for a rejected request, or "". It contains an error
// only if the request had credentials. For a missing scope, it lists the scopes to request.
func (r Resource) Challenge(h http.Header, rejection *cola.Error) string {
	parts := []string{realm}
	add := func(name, value string) { parts = append(parts, fmt.Sprintf(`%s="%s"`, name, parameter(value))) }
	scopes := r.Scopes
	switch rejection.Code {
	case cola.CodeUnauthorized:
		if h.Get("Authorization") != "" || h.Get("X-Api-Key") != "" {
			add("error", "invalid_token")
			add("error_description", rejection.Message)
		}
	case cola.CodeInsufficientScope:
		if rejection.Details["reason"] == cola.NotAllowed {
			return realm // requesting the scope would not help
		}
		scope, _ := rejection.Details["required_scope"].(string)
		scopes = append(slices.Clone(scopes), r.ScopePrefix+scope)
		add("error", "insufficient_scope")
		add("error_description", rejection.Message)
	default:
		return ""
	}
	if len(r.Issuers) > 0 || rejection.Code == cola.CodeInsufficientScope {
		if len(scopes) > 0 {
			add("scope", strings.Join(scopes, " "))
		}
	}
	if len(r.Issuers) > 0 {
		add("resource_metadata", r.Metadata)
	}
	return strings.Join(parts, ", ")
}

// parameter replaces characters that are not allowed in a challenge parameter (RFC 6750, section
// 3): double quotes and backslashes become single quotes, and non-printable and non-ASCII
// characters become question marks.
func parameter(value string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '"' || c == '\\':
			return '\''
		case c < ' ' || c > '~':
			return '?'
		}
		return c
	}, value)
}
