package cola

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCallerInContext(t *testing.T) {
	if c, ok := CallerFrom(t.Context()); ok {
		t.Errorf("CallerFrom(empty context) = %+v, want none", c)
	}
	want := Caller{Account: 7, Credential: Credential{CredentialKey, 3}, Channel: ChannelREST, Scopes: []Scope{ScopeWriteSavedSearches}}
	got, ok := CallerFrom(WithCaller(t.Context(), want))
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("CallerFrom: ok = %t, caller (-want +got):\n%s", ok, diff)
	}
	if !got.Has(ScopeWriteSavedSearches) || got.Has("colas:read") || (Caller{}).Has(ScopeWriteSavedSearches) {
		t.Error("Has must report exactly the caller's scopes")
	}
}
