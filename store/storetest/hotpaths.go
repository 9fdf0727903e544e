package storetest

import (
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// BenchmarkHotPaths measures what requests and page views wait for, on an empty store.
func BenchmarkHotPaths(b *testing.B, st store.Store) {
	account, err := st.CreateAccount(b.Context(), "ann@example.com", cola.TierPro)
	if err != nil {
		b.Fatal(err)
	}
	hash := store.KeyHash{1}
	if _, err := st.CreateKey(b.Context(), store.Key{AccountID: account.ID, Name: "key", Prefix: "lar_", LastFour: "wxyz"}, hash, 0); err != nil {
		b.Fatal(err)
	}
	until := time.Now().Add(24 * time.Hour)
	if err := st.SaveSession(b.Context(), "session", make([]byte, 200), until); err != nil {
		b.Fatal(err)
	}
	for _, k := range []struct {
		name string
		run  func() error
	}{
		{"KeyByHash", func() error { _, err := st.KeyByHash(b.Context(), hash); return err }},
		{"Session", func() error { _, err := st.Session(b.Context(), "session"); return err }},
		{"SaveSession", func() error { return st.SaveSession(b.Context(), "session", make([]byte, 200), until) }},
		{"SavedSearches", func() error { _, _, err := st.SavedSearches(b.Context(), account.ID, 0, 20); return err }},
	} {
		b.Run(k.name, func(b *testing.B) {
			for b.Loop() {
				if err := k.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
