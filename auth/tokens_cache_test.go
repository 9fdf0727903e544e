package auth

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestTokenCache checks that a token is cached for a minute and then checked again, so that
// changes to its app take effect.
func TestTokenCache(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		token := b.token()
		send := func() cola.Caller {
			c, err := b.send(t.Context(), token)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		for range 3 {
			send()
		}
		b.store.change(func(s *fakeStore) {
			narrow := s.apps[ourIssuer+" assistant"]
			narrow.Scopes = nil
			s.put(narrow)
		})
		time.Sleep(cachedFor - time.Second)
		if c := send(); !c.Has(cola.ScopeWriteSavedSearches) {
			t.Error("cached token was checked again within a minute")
		}
		if n := b.store.called("AppByClient"); n != 1 {
			t.Errorf("AppByClient called %d times, want once", n)
		}
		time.Sleep(time.Second)
		if c := send(); c.Has(cola.ScopeWriteSavedSearches) {
			t.Error("revoked scope is still effective after a minute")
		}
	})
}

// TestCachedTokenExpiry checks that a cached token is rejected once it expires.
func TestCachedTokenExpiry(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		token := b.token(claim("exp", time.Now().Add(10*time.Second).Unix()))
		for _, pause := range []time.Duration{0, 10 * time.Second, leeway - time.Second} {
			time.Sleep(pause)
			if _, err := b.send(t.Context(), token); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		_, err := b.send(t.Context(), token)
		wantUnauthorized(t, err, "has expired")
	})
}

// TestMovedIdentity moves an identity to another account. A cached token uses the
// old account for a minute; a new token uses the new account immediately.
func TestMovedIdentity(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		account := func(token string) cola.AccountID {
			t.Helper()
			c, err := b.send(t.Context(), token)
			if err != nil {
				t.Fatal(err)
			}
			return c.Account
		}
		before := b.token()
		prev := account(before)
		b.store.change(func(s *fakeStore) {
			for who := range s.accounts {
				s.accounts[who] = prev + 1
			}
		})
		time.Sleep(cachedFor - time.Second)
		if got := account(before); got != prev {
			t.Errorf("within a minute: account = %d, want %d", got, prev)
		}
		if got := account(b.token(claim("jti", "new"))); got != prev+1 {
			t.Errorf("new token: account = %d, want %d", got, prev+1)
		}
		time.Sleep(time.Second)
		if got := account(before); got != prev+1 {
			t.Errorf("after a minute: account = %d, want %d", got, prev+1)
		}
	})
}

// TestDisabledApp checks that the error for a disabled app states the reason. While the token is
// still cached, the ledger rejects the app.
func TestDisabledApp(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		token := b.token()
		if _, err := b.send(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		b.store.change(func(s *fakeStore) {
			app := s.apps[ourIssuer+" assistant"]
			app.DisabledAt = time.Now()
			s.put(app)
		})
		time.Sleep(cachedFor)
		_, err := b.send(t.Context(), token)
		wantUnauthorized(t, err, "disabled the app")
	})
}

// TestRejectedApp checks that repeated tokens from a rejected app cause few store calls, and that
// the app works as soon as it is registered, or a second later if it kept trying.
func TestRejectedApp(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		token := b.token(claim("client_id", "new"))
		early := b.token(claim("client_id", "new"), claim("jti", "early"))
		_, err := b.send(t.Context(), early)
		wantUnauthorized(t, err, "is not registered")
		for range 100 {
			_, err := b.send(t.Context(), token)
			wantUnauthorized(t, err, "is not registered")
		}
		if n := b.store.called("AppByClient"); n > 2+refusedAtOnce {
			t.Errorf("AppByClient called %d times, want at most %d", n, 2+refusedAtOnce)
		}
		b.store.change(func(s *fakeStore) { s.put(store.App{Issuer: ourIssuer, ClientID: "new"}) })
		if _, err := b.send(t.Context(), early); err != nil {
			t.Errorf("after registration: %v", err)
		}
		time.Sleep(refusedEvery)
		if _, err := b.send(t.Context(), token); err != nil {
			t.Errorf("a second later: %v", err)
		}
	})
}

// TestConcurrentToken checks that a new token is checked once for concurrent requests, as when an
// assistant opens several connections.
func TestConcurrentToken(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		hold := make(chan struct{})
		b.store.hold = hold
		token := b.token()
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if _, err := b.send(t.Context(), token); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait() // all requests wait for the one check, which waits for the store
		close(hold)
		all.Wait()
		for _, name := range []string{"AppByClient", "AccountOf", "Connect"} {
			if n := b.store.called(name); n != 1 {
				t.Errorf("%s was called %d times, want once", name, n)
			}
		}
	})
}

// TestCanceledRequest checks that requests waiting for a shared check do not fail if the
// first request is canceled.
func TestCanceledRequest(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		hold := make(chan struct{})
		b.store.hold = hold
		token := b.token()
		first, cancel := context.WithCancel(t.Context())
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := b.send(first, token); err == nil {
				t.Error("canceled request succeeded")
			}
		})
		synctest.Wait()
		all.Go(func() {
			if _, err := b.send(t.Context(), token); err != nil {
				t.Errorf("concurrent caller: %v", err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(hold)
		all.Wait()
	})
}

// TestTokenCacheSize checks that the cache is bounded.
func TestTokenCacheSize(t *testing.T) {
	b := newTokenFixture(t, nil)
	for n := range cachedTokens + 10 {
		b.tokens.known.Add(tokenHash([]byte(fmt.Sprintf("%032d", n))), grant{})
	}
	if n := b.tokens.known.Len(); n != cachedTokens {
		t.Errorf("%d cached tokens, want %d", n, cachedTokens)
	}
}

func TestTokenMetrics(t *testing.T) {
	metrics := prometheus.NewRegistry()
	b := newTokenFixture(t, func(o *TokenOptions) { o.Metrics = metrics })
	token := b.token()
	for _, s := range []string{token, token, "a.b", b.token(claim("aud", "x"))} {
		_, _ = b.send(t.Context(), s)
	}
	b.store.err = store.ErrUnavailable
	_, _ = b.send(t.Context(), b.token(claim("sub", "2")))
	b.store.err = fmt.Errorf("boom")
	_, _ = b.send(t.Context(), b.token(claim("sub", "3")))
	b.issuer.set(func(f *fakeIssuer) { f.err = errDown })
	_ = b.tokens.Check(t.Context())
	want := map[string]float64{
		"token_checks cached": 1, "token_checks accepted": 1, "token_checks refused": 2, "token_checks unavailable": 1, "token_checks failed": 1,
		"issuer_fetches ok": 2, "issuer_fetches failed": 1,
	}
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		name := strings.TrimSuffix(strings.TrimPrefix(f.GetName(), "colaregistry_"), "_total")
		for _, m := range f.GetMetric() {
			key := name + " " + m.GetLabel()[0].GetValue()
			if got := m.GetCounter().GetValue(); got != want[key] {
				t.Errorf("%s = %v, want %v", key, got, want[key])
			}
			delete(want, key)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing metrics: %v", want)
	}
}
