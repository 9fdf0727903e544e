package auth

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// Resource describes this server to OAuth clients: where to get tokens for it and which scopes to request
// (RFC 9728 and, for challenges, RFC 6750). The zero Resource accepts API keys only. It comes from the
// configuration, never from a request, so that forged headers can't redirect clients.
type Resource struct {
	ID       string   // its identifier: the URL of the endpoint for assistants, which they ask tokens for
	Metadata string   // URL at which it is described
	Issuers  []string // of tokens that are taken
	// Scopes are requested when a client connects; may be empty. They do not include this service's own
	// scopes, which a challenge requests when they are needed.
	Scopes []string
	// ScopePrefix is an optional prefix of this service's scopes at the issuer, such as "api://registry/".
	ScopePrefix string
}

// realm starts every challenge.
const realm = `Bearer realm="colaregistry"`

// Challenge returns the WWW-Authenticate header for a refusal, or "". If the credentials are refused, it
// names an error only if the request sent some. If a scope is missing, it lists the scopes to request.
func (r Resource) Challenge(sent http.Header, refusal *cola.Error) string {
	parts := []string{realm}
	add := func(name, value string) { parts = append(parts, fmt.Sprintf(`%s="%s"`, name, parameter(value))) }
	scopes := r.Scopes
	switch refusal.Code {
	case cola.CodeUnauthorized:
		if sent.Get("Authorization") != "" || sent.Get("X-Api-Key") != "" {
			add("error", "invalid_token")
			add("error_description", refusal.Message)
		}
	case cola.CodeInsufficientScope:
		if refusal.Details["reason"] == cola.NotAllowed {
			return realm // there is no scope to come back with
		}
		scope, _ := refusal.Details["required_scope"].(string)
		scopes = append(slices.Clone(scopes), r.ScopePrefix+scope)
		add("error", "insufficient_scope")
		add("error_description", refusal.Message)
	default:
		return ""
	}
	if len(r.Issuers) > 0 || refusal.Code == cola.CodeInsufficientScope {
		if len(scopes) > 0 {
			add("scope", strings.Join(scopes, " "))
		}
	}
	if len(r.Issuers) > 0 {
		add("resource_metadata", r.Metadata)
	}
	return strings.Join(parts, ", ")
}

// parameter replaces characters that a parameter of a challenge can't hold (RFC 6750, section 3): quotes and
// backslashes by apostrophes, other than printable ASCII by question marks.
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
