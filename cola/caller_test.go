package cola

import "testing"

func TestHasScope(t *testing.T) {
	c := Caller{Scopes: []Scope{ScopeWriteSavedSearches}}
	if !c.Has(ScopeWriteSavedSearches) || c.Has("colas:read") || (Caller{}).Has(ScopeWriteSavedSearches) {
		t.Error("Has must report exactly the caller's scopes")
	}
}
