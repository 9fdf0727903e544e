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
		name              string
		brought, may, got []cola.Scope
	}{
		{"nothing", nil, nil, nil},
		{"the app may not", []cola.Scope{"a"}, nil, nil},
		{"the token did not bring it", nil, []cola.Scope{"a"}, nil},
		{"both", []cola.Scope{"a", "b", "d"}, []cola.Scope{"b", "c", "d"}, []cola.Scope{"b", "d"}},
	} {
		l := store.Link{Scopes: tt.brought, App: store.App{Scopes: tt.may}}
		before := append([]cola.Scope(nil), tt.brought...)
		if diff := cmp.Diff(tt.got, l.Effective(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(before, l.Scopes); diff != "" {
			t.Errorf("%s: Effective changed the link (-before +after):\n%s", tt.name, diff)
		}
	}
}
