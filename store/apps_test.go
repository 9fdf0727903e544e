package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func TestEffectiveScopes(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		token, allowed, want []cola.Scope
	}{
		{"no scopes", nil, nil, nil},
		{"not allowed for the app", []cola.Scope{"a"}, nil, nil},
		{"not in the token", nil, []cola.Scope{"a"}, nil},
		{"both", []cola.Scope{"a", "b", "d"}, []cola.Scope{"b", "c", "d"}, []cola.Scope{"b", "d"}},
	} {
		l := store.Link{Scopes: tt.token, App: store.App{Scopes: tt.allowed}}
		before := append([]cola.Scope(nil), tt.token...)
		if diff := cmp.Diff(tt.want, l.Effective(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: Effective (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(before, l.Scopes); diff != "" {
			t.Errorf("%s: Effective changed the link (-before +after):\n%s", tt.name, diff)
		}
	}
}
