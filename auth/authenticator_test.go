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

// hangingStore is a store that does not respond.
type hangingStore struct{}

func (hangingStore) KeyByHash(ctx context.Context, _ store.KeyHash) (store.Key, error) {
	<-ctx.Done()
	return store.Key{}, ctx.Err()
}

// TestKeyStoreTimeout checks that authentication with an uncached key fails after three seconds
// with a Retry-After, or earlier if the caller's context ends.
func TestKeyStoreTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		header := http.Header{"X-Api-Key": {NewSecret().Reveal()}}
		start := time.Now()
		_, err := New(hangingStore{}, nil, nil).Authenticate(t.Context(), header, cola.ChannelREST)
		var e *cola.Error
		if !errors.As(err, &e) || e.Code != cola.CodeUnavailable || e.RetryAfter <= 0 {
			t.Errorf("error = %v, want unavailable with a Retry-After", err)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("Authenticate took %v, want 3s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := New(hangingStore{}, nil, nil).Authenticate(ctx, header, cola.ChannelREST); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a 1s timeout: error = %v, want context.DeadlineExceeded", err)
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
		name   string
		r      Resource
		header http.Header
		err    *cola.Error
		want   string
	}{
		{"keys only, no credential", Resource{}, none, bad, `Bearer realm="colaregistry"`},
		{"keys only, invalid key", Resource{}, http.Header{"X-Api-Key": {"x"}}, cola.Errorf(cola.CodeUnauthorized, "It is unknown."),
			`Bearer realm="colaregistry", error="invalid_token", error_description="It is unknown."`},
		{"no credential", oauth, none, bad,
			`Bearer realm="colaregistry", resource_metadata="https://r.example/.well-known/oauth-protected-resource/mcp"`},
		{"configured scopes", withScopes, none, bad,
			`Bearer realm="colaregistry", scope="openid api://r/read", resource_metadata="https://r.example/.well-known/oauth-protected-resource/mcp"`},
		{"invalid token", oauth, bearer, bad,
			`Bearer realm="colaregistry", error="invalid_token", error_description="The token of 'x'y' has??ended ? now.", resource_metadata="https://r.example/.well-known/oauth-protected-resource/mcp"`},
		{"missing scope", withScopes, bearer,
			&cola.Error{Code: cola.CodeInsufficientScope, Message: "No.", Details: cola.InsufficientScope(cola.ScopeWriteSavedSearches).Details},
			`Bearer realm="colaregistry", error="insufficient_scope", error_description="No.", scope="openid api://r/read saved_searches:write", resource_metadata="https://r.example/.well-known/oauth-protected-resource/mcp"`},
		{"missing scope with a prefix", prefixed, bearer, &cola.Error{Code: cola.CodeInsufficientScope, Message: "No.", Details: map[string]any{"required_scope": "s"}},
			`Bearer realm="colaregistry", error="insufficient_scope", error_description="No.", scope="api://r/s", resource_metadata="https://r.example/.well-known/oauth-protected-resource/mcp"`},
		{"scope withheld from the app", oauth, bearer,
			cola.Caller{Withheld: cola.Scopes()}.Lacks(cola.ScopeWriteSavedSearches), `Bearer realm="colaregistry"`},
		{"forbidden origin", oauth, bearer, cola.Errorf(cola.CodeForbidden, "No."), ""},
		{"not found", oauth, bearer, cola.Errorf(cola.CodeNotFound, "No."), ""},
	}
	for _, tt := range tests {
		if got := tt.r.Challenge(tt.header, tt.err); got != tt.want {
			t.Errorf("%s: Challenge =\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
	if len(withScopes.Scopes) != 2 {
		t.Error("Challenge modified the resource's scopes")
	}
}
