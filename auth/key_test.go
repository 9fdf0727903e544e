package auth

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func TestSecretRoundTrip(t *testing.T) {
	seen := map[Secret]bool{}
	for range 1000 {
		s := NewSecret()
		if seen[s] {
			t.Fatalf("NewSecret returned %q twice", s.Reveal())
		}
		seen[s] = true
		if got, err := ParseSecret(s.Reveal()); err != nil || got != s {
			t.Fatalf("ParseSecret(%q) = %q, %v", s.Reveal(), got, err)
		}
		if strings.Contains(s.String(), s.Reveal()[len(KeyPrefix)+4:]) {
			t.Fatalf("String() = %q contains the secret", s)
		}
	}
}

func TestParseSecretTypos(t *testing.T) {
	s := NewSecret().Reveal()
	for i := len(KeyPrefix); i < len(s); i++ {
		other := byte('a')
		if s[i] == other {
			other = 'b'
		}
		if typo := s[:i] + string(other) + s[i+1:]; parses(typo) {
			t.Errorf("ParseSecret(%q with %q at %d) succeeded, want an error", s, other, i)
		}
	}
	for _, bad := range []string{"", KeyPrefix, s[1:], s + "0", s[:len(s)-1], "sk_" + s} {
		if parses(bad) {
			t.Errorf("ParseSecret(%q) succeeded, want an error", bad)
		}
	}
}

func parses(s string) bool { _, err := ParseSecret(s); return err == nil }

type finder struct {
	keys  map[store.KeyHash]store.Key
	err   error
	calls int
}

func (f *finder) KeyByHash(_ context.Context, h store.KeyHash) (store.Key, error) {
	f.calls++
	if f.err != nil {
		return store.Key{}, f.err
	}
	k, ok := f.keys[h]
	if !ok {
		return k, store.ErrNotFound
	}
	return k, nil
}

func TestAuthenticate(t *testing.T) {
	good, other := NewSecret(), NewSecret()
	keys := &finder{keys: map[store.KeyHash]store.Key{good.Hash(): {ID: 3, AccountID: 9}, other.Hash(): {ID: 4, AccountID: 9}}}
	tests := []struct {
		name   string
		header http.Header
		want   int64 // key ID; 0 if rejected
	}{
		{"X-API-Key", http.Header{"X-Api-Key": {good.Reveal()}}, 3},
		{"bearer", http.Header{"Authorization": {"Bearer " + good.Reveal()}}, 3},
		{"bearer in lower case", http.Header{"Authorization": {"bearer " + good.Reveal()}}, 3},
		{"same key in both", http.Header{"X-Api-Key": {good.Reveal()}, "Authorization": {"Bearer " + good.Reveal()}}, 3},
		{"different keys", http.Header{"X-Api-Key": {good.Reveal()}, "Authorization": {"Bearer " + other.Reveal()}}, 0},
		{"X-API-Key twice", http.Header{"X-Api-Key": {good.Reveal(), other.Reveal()}}, 0},
		{"none", http.Header{}, 0},
		{"empty", http.Header{"X-Api-Key": {" "}}, 0},
		{"basic", http.Header{"Authorization": {"Basic abc"}}, 0},
		{"bearer without a value", http.Header{"Authorization": {"Bearer"}}, 0},
		{"unknown key", http.Header{"X-Api-Key": {NewSecret().Reveal()}}, 0},
		{"typo", http.Header{"X-Api-Key": {good.Reveal()[:39] + "-"}}, 0},
		{"malformed token", http.Header{"Authorization": {"Bearer eyJhbGciOi"}}, 0},
	}
	a := New(keys, nil, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := a.Authenticate(t.Context(), tt.header, cola.ChannelREST)
			if c.Credential.ID != tt.want {
				t.Errorf("key = %d, %v; want %d", c.Credential.ID, err, tt.want)
			}
			if tt.want == 0 && cola.CodeOf(err) != cola.CodeUnauthorized {
				t.Errorf("error = %v, want unauthorized", err)
			}
			if err != nil && (strings.Contains(err.Error(), good.Reveal()) || strings.Contains(err.Error(), other.Reveal())) {
				t.Errorf("error contains the key: %v", err)
			}
		})
	}
}

func TestKeyCache(t *testing.T) {
	s := NewSecret()
	keys := &finder{keys: map[store.KeyHash]store.Key{s.Hash(): {ID: 3, AccountID: 9}}}
	a, header := New(keys, nil, nil), http.Header{"X-Api-Key": {s.Reveal()}}
	for range 5 {
		if _, err := a.Authenticate(t.Context(), header, cola.ChannelREST); err != nil {
			t.Fatal(err)
		}
	}
	if keys.calls != 1 {
		t.Errorf("%d store calls, want 1", keys.calls)
	}
}

func TestKeyStoreErrors(t *testing.T) {
	header := http.Header{"X-Api-Key": {NewSecret().Reveal()}}
	for err, want := range map[error]cola.Code{store.ErrUnavailable: cola.CodeUnavailable, errors.New("boom"): cola.CodeInternal} {
		if _, got := New(&finder{err: err}, nil, nil).Authenticate(t.Context(), header, cola.ChannelREST); cola.CodeOf(got) != want {
			t.Errorf("store error %v: Authenticate error = %v, want %s", err, got, want)
		}
	}
}
