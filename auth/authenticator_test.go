package auth

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// silent is a store that does not respond.
type silent struct{}

func (silent) KeyByHash(ctx context.Context, _ store.KeyHash) (store.Key, error) {
	<-ctx.Done()
	return store.Key{}, ctx.Err()
}

// TestAuthenticateDoesNotWaitForASilentStore checks that an uncached key is refused within three
// seconds, with a Retry-After.
func TestAuthenticateDoesNotWaitForASilentStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		header := http.Header{"X-Api-Key": {NewSecret().Reveal()}}
		begun := time.Now()
		_, err := New(silent{}, nil, nil).Authenticate(t.Context(), header, cola.ChannelREST)
		var refusal *cola.Error
		if !errors.As(err, &refusal) || refusal.Code != cola.CodeUnavailable || refusal.RetryAfter <= 0 {
			t.Errorf("got %v, want unavailable with a time to try again", err)
		}
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("after %v, want 3 s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := New(silent{}, nil, nil).Authenticate(ctx, header, cola.ChannelREST); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("whose caller has gone: %v, want the end of the context", err)
		}
	})
}

func TestChallenge(t *testing.T) {
	oauth := Resource{
		ID: "https://r.example/mcp", Metadata: "https://r.example/.well-known/oauth-protected-resource/mcp",
		Issuers: []string{"https://issuer.example"},
	}
	withScopes := oauth
	withScopes.Scopes = []string{"openid", "api://r/read"}
	prefixed := oauth
	prefixed.ScopePrefix = "api://r/"
	none, bearer := http.Header{}, http.Header{"Authorization": {"Bearer x"}}
	bad := cola.Errorf(cola.CodeUnauthorized, "The token of \"x\\y\" has\r\nended — now.")
	tests := []struct {
		name    string
		r       Resource
		sent    http.Header
		refusal *cola.Error
		want    string
	}{
		{"keys only, none sent", Resource{}, none, bad, `Bearer realm="colaregistry"`},
		{"keys only, one sent", Resource{}, http.Header{"X-Api-Key": {"x"}}, cola.Errorf(cola.CodeUnauthorized, "It is unknown."),
			`Bearer realm="colaregistry", error="invalid_token", error_description="It is unknown."`},
		{"nothing sent", oauth, none, bad,
			`Bearer realm="colaregistry", resource_metadata="https://r.example/.well-known/oauth-protected-resource/mcp"`},
		{"scopes to connect with", withScopes, none, bad,
			`Bearer realm="colaregistry", scope="openid api://r/read", resource_metadata="https://r.example/.well-known/oauth-protected-resource/mcp"`},
		{"a bad token", oauth, bearer, bad,
			`Bearer realm="colaregistry", error="invalid_token", error_description="The token of 'x'y' has??ended ? now.", resource_metadata="https://r.example/.well-known/oauth-protected-resource/mcp"`},
		{"a missing scope", withScopes, bearer,
			&cola.Error{Code: cola.CodeInsufficientScope, Message: "No.", Details: cola.InsufficientScope(cola.ScopeWriteSavedSearches).Details},
			`Bearer realm="colaregistry", error="insufficient_scope", error_description="No.", scope="openid api://r/read saved_searches:write", resource_metadata="https://r.example/.well-known/oauth-protected-resource/mcp"`},
		{"a missing scope that the issuer names in full", prefixed, bearer, &cola.Error{Code: cola.CodeInsufficientScope, Message: "No.", Details: map[string]any{"required_scope": "s"}},
			`Bearer realm="colaregistry", error="insufficient_scope", error_description="No.", scope="api://r/s", resource_metadata="https://r.example/.well-known/oauth-protected-resource/mcp"`},
		{"a scope that the app may not have", oauth, bearer,
			cola.Caller{Withheld: cola.Scopes()}.Lacks(cola.ScopeWriteSavedSearches), `Bearer realm="colaregistry"`},
		{"an origin that may not call", oauth, bearer, cola.Errorf(cola.CodeForbidden, "No."), ""},
		{"not there", oauth, bearer, cola.Errorf(cola.CodeNotFound, "No."), ""},
	}
	for _, tt := range tests {
		if got := tt.r.Challenge(tt.sent, tt.refusal); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
	if len(withScopes.Scopes) != 2 {
		t.Error("a challenge changed the resource")
	}
}
