package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/mcp"
	"github.com/colaregistry/colaregistry/store"
)

// oauthFlags configure access tokens. Without an issuer, only API keys are accepted.
type oauthFlags struct {
	Issuers     []string `group:"Access token flags:" name:"oidc-issuer" placeholder:"URL" help:"Accepted issuer of access tokens, exactly as in the tokens (repeatable; default: accept API keys only)."`
	Audiences   []string `group:"Access token flags:" name:"oidc-audience" placeholder:"AUDIENCE" help:"Accepted audience of access tokens (repeatable; default: the public URL followed by /mcp, /mcp/readonly or /mcp/chatgpt)."`
	Apps        string   `group:"Access token flags:" name:"oidc-apps" default:"allowlist" enum:"allowlist,any" placeholder:"allowlist|any" help:"Which apps to accept: allowlist (only registered ones; see app register) or any (every client of the issuers) (default: ${default})."`
	Scopes      []string `group:"Access token flags:" name:"oidc-scope" placeholder:"SCOPE" help:"Scope that apps must request when they connect, for issuers that require one (repeatable)."`
	LinkEmail   []string `group:"Access token flags:" name:"oidc-link-email" placeholder:"[ISSUER=]POLICY" help:"Which verified email addresses link a new sign-in to an existing account: verified (any; the default), verified:DOMAIN[:DOMAIN…] (in these domains) or never. To set the policy for one issuer, prefix it with ISSUER=. Repeatable."`
	ScopePrefix string   `group:"Access token flags:" name:"oidc-scope-prefix" placeholder:"PREFIX" help:"Prefix of this service's scopes, for issuers that use fully qualified names, such as api://registry/."`
}

// issuerTimeout is how long a starting server waits for its issuers.
const issuerTimeout = 15 * time.Second

func (f *oauthFlags) check() error {
	if len(f.Issuers) == 0 && (len(f.Audiences) > 0 || len(f.Scopes) > 0 || f.ScopePrefix != "" || f.Apps == "any") {
		return usageErrorf("--oidc-audience, --oidc-scope, --oidc-scope-prefix and --oidc-apps any " +
			"require --oidc-issuer")
	}
	scopes := map[string][]string{"--oidc-scope": f.Scopes, "--oidc-scope-prefix": {f.ScopePrefix + "."}}
	for flag, values := range scopes {
		if slices.ContainsFunc(values, func(s string) bool { return !isScope(s) }) {
			return usageErrorf("%s: a scope must be printable ASCII without spaces, quotes or backslashes", flag)
		}
	}
	for _, scope := range f.Scopes {
		if _, ours := cola.ParseScope(strings.TrimPrefix(scope, f.ScopePrefix)); ours {
			return usageErrorf("--oidc-scope: omit %s; apps request it when they need it", scope)
		}
	}
	return nil
}

// isScope reports whether s is a valid scope token (RFC 6749, section 3.3).
func isScope(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return s != ""
}

// resource returns the description of the server for OAuth clients.
func (f *oauthFlags) resource(publicURL string) auth.Resource {
	r := mcp.Resource(publicURL, f.Issuers, f.Scopes)
	r.ScopePrefix = f.ScopePrefix
	return r
}

// linkPolicies returns the link policies of all issuers, for access tokens and dashboard sign-ins.
func (c *serveCommand) linkPolicies() (auth.LinkPolicies, error) {
	issuers := append(slices.Clone(c.Issuers), c.SignInIssuers...)
	if len(issuers) == 0 && len(c.LinkEmail) > 0 {
		return auth.LinkPolicies{}, usageErrorf("--oidc-link-email requires --oidc-issuer or --sign-in-issuer")
	}
	links, err := auth.ParseLinkPolicies(c.LinkEmail, issuers)
	return links, flagError("--oidc-link-email", err)
}

// tokens returns the access token verifier, or nil without an issuer.
func (f *oauthFlags) tokens(
	env *environment, st store.Store, resource auth.Resource, links auth.LinkPolicies, metrics prometheus.Registerer,
	events *security.Events,
) (*auth.Tokens, error) {
	if len(f.Issuers) == 0 {
		return nil, nil
	}
	audiences := f.Audiences
	if len(audiences) == 0 {
		audiences = mcp.Audiences(resource)
	}
	tokens, err := auth.NewTokens(st, auth.TokenOptions{
		Issuers: f.Issuers, Audiences: audiences, AnyApp: f.Apps == "any", ScopePrefix: f.ScopePrefix,
		LinkEmail: links, Logger: env.log, Metrics: metrics, Events: events,
	})
	if err != nil {
		return nil, fmt.Errorf("--oidc-issuer: %w", err)
	}
	return tokens, nil
}

// checkIssuers logs issuers that don't work, so operators notice configuration mistakes at startup.
// Failures don't prevent startup: the issuer may recover, and API keys don't need it.
func checkIssuers(ctx context.Context, env *environment, purpose string, check func(context.Context) error) {
	checking, cancel := context.WithTimeout(ctx, issuerTimeout)
	defer cancel()
	if err := check(checking); err != nil && ctx.Err() == nil {
		env.log.Warn("issuer for "+purpose+" unavailable; will retry when needed", "error", err)
	}
}
