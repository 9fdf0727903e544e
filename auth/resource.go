package auth

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// Resource is what clients of OAuth are told of this server: where tokens for it are had, and what to ask for (RFC 9728 and, for
// challenges, RFC 6750). The zero Resource takes API keys only. It is made of configuration, never of a request, so that nobody
// can have a client sent elsewhere by a forged header.
type Resource struct {
	ID       string   // its identifier: the URL of the endpoint for assistants, which they ask tokens for
	Metadata string   // URL at which it is described
	Issuers  []string // of tokens that are taken
	// Scopes are what a client asks for when it connects; none where the issuer wants none. The scopes that this service knows are
	// not among them: they are asked for by a challenge, when they are needed.
	Scopes []string
	// ScopePrefix stands before the names of this service's scopes at issuers that want it, such as "api://registry/"; mostly empty.
	ScopePrefix string
}

// realm names what credentials are for.
const realm = `Bearer realm="colaregistry"`

// Challenge returns the WWW-Authenticate of a refusal to a request with the headers sent: of one for the credentials, which names an
// error only when some were sent, or of one for a scope, which tells the scopes to come back with. It is empty for any other.
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

// parameter leaves out of a value what a parameter of a challenge cannot hold (RFC 6750, section 3): quotes and backslashes become
// apostrophes, and what is not printable ASCII a question mark.
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
