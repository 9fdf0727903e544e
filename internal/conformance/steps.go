package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// writeScope is the scope for creating a saved search.
const writeScope = "saved_searches:write"

// step is a request that a client must have made, with the response that it must have received.
type step struct {
	name string
	is   func(exchange) bool
}

// steps returns, in order, the steps that lead a client from the bare resource URL to its first
// write.
func (b *bench) steps() []step {
	server := func(x exchange) bool { return x.server == b.public }
	issuer := func(x exchange) bool { return x.server == b.issuer.recorder && !strings.HasPrefix(x.agent, "Go-") }
	return []step{
		{"calls without credentials and gets a challenge", func(x exchange) bool {
			return server(x) && x.path == endpoint && x.status == http.StatusUnauthorized && !x.credentials &&
				strings.Contains(x.challenge, `resource_metadata="`+b.public.origin()+resourceMetadata+`"`) &&
				!strings.Contains(x.challenge, "error=")
		}},
		{"reads the resource metadata", func(x exchange) bool {
			return server(x) && x.path == resourceMetadata && x.status == http.StatusOK
		}},
		{"reads the issuer metadata", func(x exchange) bool {
			return issuer(x) && slices.Contains(issuerMetadata, x.path) && x.status == http.StatusOK
		}},
		{"registers", func(x exchange) bool {
			return issuer(x) && x.method == http.MethodPost && x.path == "/reg" && x.status == http.StatusCreated
		}},
		{"requests authorization for the resource, with PKCE", func(x exchange) bool {
			return issuer(x) && b.authorizes(x) && !asksFor(x, writeScope)
		}},
		{"redeems the code, for the resource", func(x exchange) bool {
			return issuer(x) && b.redeems(x)
		}},
		{"lists the tools", func(x exchange) bool {
			return server(x) && x.isMethod("tools/list") && x.status == http.StatusOK
		}},
		{"searches", func(x exchange) bool {
			return server(x) && x.calls("search_colas") && x.status == http.StatusOK
		}},
		{"is denied a write and learns which scope is missing", func(x exchange) bool {
			return server(x) && x.calls("create_saved_search") && x.status == http.StatusForbidden &&
				strings.Contains(x.challenge, `error="insufficient_scope"`) &&
				slices.Contains(challengeScopes(x.challenge), writeScope)
		}},
		{"requests authorization for that scope, with PKCE", func(x exchange) bool {
			return issuer(x) && b.authorizes(x) && asksFor(x, writeScope)
		}},
		{"redeems the second code", func(x exchange) bool {
			return issuer(x) && b.redeems(x)
		}},
		{"writes", func(x exchange) bool {
			return server(x) && x.calls("create_saved_search") && x.status == http.StatusOK
		}},
	}
}

// resourceMetadata is the path of the resource's metadata.
const resourceMetadata = "/.well-known/oauth-protected-resource" + endpoint

// issuerMetadata lists the paths at which clients look for an issuer's metadata.
var issuerMetadata = []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"}

// authorizes reports whether an exchange is an authorization request for the resource with PKCE.
func (b *bench) authorizes(x exchange) bool {
	q := x.query
	return x.path == "/auth" && q.Get("response_type") == "code" && q.Get("code_challenge_method") == "S256" &&
		q.Get("code_challenge") != "" && q.Get("resource") == b.resource() && x.status == http.StatusSeeOther
}

// redeems reports whether an exchange redeems a code, with its PKCE verifier, for a token for the
// resource.
func (b *bench) redeems(x exchange) bool {
	f := x.form
	return x.path == "/token" && f.Get("grant_type") == "authorization_code" && f.Get("code_verifier") != "" &&
		f.Get("resource") == b.resource() && x.status == http.StatusOK
}

func asksFor(x exchange, scope string) bool {
	return slices.Contains(strings.Fields(x.query.Get("scope")), scope)
}

// calls reports whether an exchange is a call to the given tool.
func (x exchange) calls(tool string) bool { return x.isMethod("tools/call") && x.target == tool }

// challengeScopes returns the scopes that a challenge names.
func challengeScopes(challenge string) []string {
	_, rest, _ := strings.Cut(challenge, ` scope="`)
	scopes, _, _ := strings.Cut(rest, `"`)
	return strings.Fields(scopes)
}

// matchSteps returns the names of the steps that were completed in order, and an error that names
// the first missing one.
func matchSteps(steps []step, exchanges []exchange) (names []string, missing error) {
	at := 0
	for _, s := range steps {
		found := slices.IndexFunc(exchanges[at:], s.is)
		if found < 0 {
			return names, fmt.Errorf("missing step: %s; exchanges after the previous step:%s",
				s.name, listing(exchanges[at:]))
		}
		at += found + 1
		names = append(names, s.name)
	}
	return names, nil
}

// listing formats exchanges without secrets.
func listing(exchanges []exchange) string {
	var b strings.Builder
	for _, x := range exchanges {
		fmt.Fprintf(&b, "\n%d %s %s %s %s %s", x.status, x.method, x.path, x.rpcMethod, x.target, x.challenge)
	}
	return b.String()
}
