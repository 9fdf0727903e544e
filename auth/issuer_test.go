package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// inBubble runs a test in a synctest bubble.
func inBubble(t *testing.T, test func(t *testing.T, b *tokenFixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, newTokenFixture(t, nil))
		time.Sleep(requestTimeout) // wait for pending fetches
	})
}

// mustAccept sends a new valid token and fails the test if it is rejected.
func (b *tokenFixture) mustAccept(t *testing.T) {
	t.Helper()
	if _, err := b.send(t.Context(), b.token(claim("jti", time.Now().String()))); err != nil {
		t.Fatalf("valid token: %v", err)
	}
}

func (b *tokenFixture) wantFetches(t *testing.T, want int) {
	t.Helper()
	synctest.Wait()
	if got := b.issuer.fetches(); got != want {
		t.Fatalf("%d key fetches, want %d", got, want)
	}
}

var errDown = errors.New("connection refused")

// TestUnknownKeyFlood checks that tokens with unknown key IDs cause at most one key fetch every 30
// seconds.
func TestUnknownKeyFlood(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		flood := func() {
			var all sync.WaitGroup
			for n := range 200 {
				all.Go(func() {
					_, err := b.send(t.Context(), b.token(header("kid", fmt.Sprint(n))))
					wantUnauthorized(t, err, "not signed with a key")
				})
			}
			all.Wait()
		}
		flood()
		b.wantFetches(t, 1)
		flood()
		b.wantFetches(t, 1)
		time.Sleep(minFetchInterval)
		flood()
		b.wantFetches(t, 2)
		if n := b.other.fetches(); n != 0 {
			t.Errorf("%d requests to another issuer, want 0", n)
		}
	})
}

// TestRejectedWithoutFetch checks that tokens that can be rejected without keys cause no requests.
func TestRejectedWithoutFetch(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		for _, c := range []change{claim("iss", "https://evil.example.com"), header("typ", "dpop+jwt"), header("alg", "HS256"), header("crit", []string{"b64"})} {
			if _, err := b.send(t.Context(), b.token(c)); cola.CodeOf(err) != cola.CodeUnauthorized {
				t.Errorf("%v: error = %v, want unauthorized", c, err)
			}
		}
		b.wantFetches(t, 0)
	})
}

// TestConcurrentFirstTokens checks that keys are fetched on first use, once for all concurrent
// tokens.
func TestConcurrentFirstTokens(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		hold := make(chan struct{})
		b.issuer.set(func(f *fakeIssuer) { f.hold = hold })
		var all sync.WaitGroup
		for n := range 50 {
			all.Go(func() {
				if _, err := b.send(t.Context(), b.token(claim("jti", fmt.Sprint(n)))); err != nil {
					t.Error(err)
				}
			})
		}
		b.wantFetches(t, 1)
		close(hold)
		all.Wait()
		b.wantFetches(t, 1)
	})
}

// TestKeyRotation checks that tokens signed with a new key are accepted immediately, and
// tokens signed with a removed key are rejected.
func TestKeyRotation(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		b.mustAccept(t)
		old := b.key
		b.key = newSigner(t, "ES256", "k-new")
		b.issuer.publish(b.key)
		time.Sleep(minFetchInterval)
		b.mustAccept(t)
		b.wantFetches(t, 2)
		b.key = old
		_, err := b.send(t.Context(), b.token())
		wantUnauthorized(t, err, "not signed with a key")
	})
}

// TestRotationAfterFetch checks that a key published right after a fetch is accepted once 30
// seconds have passed.
func TestRotationAfterFetch(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		b.mustAccept(t)
		b.key = newSigner(t, "ES256", "k-new")
		b.issuer.publish(b.key)
		time.Sleep(minFetchInterval - time.Second)
		_, err := b.send(t.Context(), b.token())
		wantUnauthorized(t, err, "not signed with a key")
		time.Sleep(time.Second)
		b.mustAccept(t)
	})
}

// TestRotationWithoutKeyIDs checks that tokens without a key ID are verified with all matching
// keys, then with newly fetched ones.
func TestRotationWithoutKeyIDs(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		unnamed := func() string { return b.token(header("kid", nil), claim("jti", time.Now().String())) }
		b.issuer.publish(newSigner(t, "EdDSA", ""), newSigner(t, "ES256", "another"), b.key)
		if _, err := b.send(t.Context(), unnamed()); err != nil {
			t.Fatal(err)
		}
		b.key = newSigner(t, "ES256", "")
		b.issuer.publish(b.key)
		time.Sleep(minFetchInterval)
		if _, err := b.send(t.Context(), unnamed()); err != nil {
			t.Fatal(err)
		}
		b.wantFetches(t, 2)
	})
}

// TestBackgroundRefresh checks that a background refresh does not block requests and drops keys
// that the issuer removed.
func TestBackgroundRefresh(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		b.mustAccept(t)
		b.issuer.publish()
		time.Sleep(refreshAfter - time.Second)
		b.mustAccept(t)
		b.wantFetches(t, 1)
		time.Sleep(time.Second)
		hold := make(chan struct{})
		b.issuer.set(func(f *fakeIssuer) { f.hold = hold })
		b.mustAccept(t) // verified with the cached keys during the fetch
		b.wantFetches(t, 2)
		close(hold)
		synctest.Wait()
		_, err := b.send(t.Context(), b.token())
		wantUnauthorized(t, err, "not signed with a key")
	})
}

// TestCachedKeysDuringOutage checks that if the issuer is down, its tokens are accepted for a
// day. After that, authentication is unavailable.
func TestCachedKeysDuringOutage(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		b.mustAccept(t)
		b.issuer.set(func(f *fakeIssuer) { f.err = errDown })
		time.Sleep(refreshAfter)
		b.mustAccept(t)
		b.wantFetches(t, 2)
		b.mustAccept(t)
		b.wantFetches(t, 2) // at most one fetch every 30 seconds
		_, err := b.send(t.Context(), b.token(header("kid", "k-new")))
		if retryAfter := wantUnavailable(t, err); retryAfter > minFetchInterval {
			t.Errorf("unknown key while the issuer is down: Retry-After = %v, want at most %v", retryAfter, minFetchInterval)
		}
		time.Sleep(maxDocumentAge - refreshAfter - time.Second)
		b.mustAccept(t)
		time.Sleep(time.Second)
		_, err = b.send(t.Context(), b.token())
		wantUnavailable(t, err)
		b.issuer.set(func(f *fakeIssuer) { f.err = nil })
		time.Sleep(retryInterval)
		b.mustAccept(t)
	})
}

// TestIssuerDown checks that while the issuer is down, tokens are neither accepted nor rejected,
// and that the key fetch is retried at most once every five seconds.
func TestIssuerDown(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		b.issuer.set(func(f *fakeIssuer) { f.err = errDown })
		for range 20 {
			_, err := b.send(t.Context(), b.token())
			if retryAfter := wantUnavailable(t, err); retryAfter > retryInterval {
				t.Errorf("Retry-After = %v, want at most %v", retryAfter, retryInterval)
			}
			if strings.Contains(err.Error(), errDown.Error()) {
				t.Errorf("error exposes its cause: %v", err)
			}
		}
		b.wantFetches(t, 1)
		time.Sleep(retryInterval)
		_, err := b.send(t.Context(), b.token())
		wantUnavailable(t, err)
		b.wantFetches(t, 2)
		b.issuer.set(func(f *fakeIssuer) { f.err = nil })
		time.Sleep(retryInterval)
		b.mustAccept(t)
		if len(b.store.accounts) != 1 {
			t.Errorf("%d accounts, want 1", len(b.store.accounts))
		}
	})
}

// TestUnresponsiveIssuer checks that a request waits for at most five seconds, or until its context
// ends.
func TestUnresponsiveIssuer(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		b.issuer.set(func(f *fakeIssuer) { f.hold = make(chan struct{}) })
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.send(ctx, b.token()); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("with a 1s timeout: error = %v after %v", err, time.Since(start))
		}
		_, err := b.send(t.Context(), b.token())
		wantUnavailable(t, err)
		if took := time.Since(start); took != requestTimeout {
			t.Errorf("Authenticate took %v, want %v", took, requestTimeout)
		}
		b.wantFetches(t, 1)
	})
}

// TestSlowIssuer checks that the two requests for keys share a timeout of five seconds, and that
// keys that arrive in time are used.
func TestSlowIssuer(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		b.issuer.set(func(f *fakeIssuer) { f.delay = requestTimeout/2 + time.Millisecond })
		start := time.Now()
		_, err := b.send(t.Context(), b.token())
		wantUnavailable(t, err)
		if took := time.Since(start); took != requestTimeout {
			t.Errorf("Authenticate took %v, want %v", took, requestTimeout)
		}
		b.issuer.set(func(f *fakeIssuer) { f.delay = requestTimeout/2 - time.Millisecond })
		time.Sleep(retryInterval)
		b.mustAccept(t)
	})
}

// TestFetchNewer checks that if another request has already replaced the key set, the new set is
// used without a fetch.
func TestFetchNewer(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		b.mustAccept(t)
		keys := &b.tokens.issuers[ourIssuer].keys
		old := keys.current
		if err := b.tokens.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if set, err := keys.fetchNewer(t.Context(), old); err != nil || set == old || set != keys.current {
			t.Errorf("fetchNewer = %p, %v, want %p", set, err, keys.current)
		}
		b.wantFetches(t, 2)
	})
}

// TestInvalidIssuerResponses checks that an invalid response does not replace the cached keys.
func TestInvalidIssuerResponses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*fakeIssuer)
		reason string
	}{
		{"no discovery", func(f *fakeIssuer) { f.document = "<html>" }, "discover"},
		{"discovery of another issuer", func(f *fakeIssuer) {
			f.document = `{"issuer":"https://evil.example.com","jwks_uri":"` + ourIssuer + `/keys"}`
		}, "did not match"},
		{"issuer with an extra slash", func(f *fakeIssuer) {
			f.document = `{"issuer":"` + ourIssuer + `/","jwks_uri":"` + ourIssuer + `/keys"}`
		}, "did not match"},
		{"no jwks_uri", func(f *fakeIssuer) { f.document = `{"issuer":"` + ourIssuer + `"}` }, "not an https URL"},
		{"keys over http", func(f *fakeIssuer) {
			f.document = `{"issuer":"` + ourIssuer + `","jwks_uri":"http://id.example.com/keys"}`
		}, "not an https URL"},
		{"keys in a file", func(f *fakeIssuer) { f.document = `{"issuer":"` + ourIssuer + `","jwks_uri":"file:///etc/keys"}` }, "not an https URL"},
		{"keys are HTML", func(f *fakeIssuer) { f.jwks = "<html>" }, "not a key set"},
		{"no keys", func(f *fakeIssuer) { f.jwks = `{}` }, "not a key set"},
		{"keys are a string", func(f *fakeIssuer) { f.jwks = `{"keys":"none"}` }, "not a key set"},
		{"oversized response", func(f *fakeIssuer) { f.jwks = `{"keys":[` + strings.Repeat(" ", maxBody) + `]}` }, "longer than 1048576 bytes"},
		{"down", func(f *fakeIssuer) { f.err = errDown }, "connection refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *tokenFixture) {
				b.mustAccept(t)
				b.issuer.set(tt.change)
				err := b.tokens.Check(t.Context())
				if err == nil || !strings.Contains(err.Error(), ourIssuer) || !strings.Contains(err.Error(), tt.reason) {
					t.Fatalf("Check = %v, want the issuer and %q", err, tt.reason)
				}
				if strings.Contains(err.Error(), otherIssuer) || len(err.Error()) > 2*maxErrorLen {
					t.Errorf("Check: error names another issuer or is too long: %v", err)
				}
				b.mustAccept(t)
			})
		})
	}
}

// TestCheck checks that Check sends a request even right after a fetch, and that it fails if there
// is no usable signing key or if its context ends.
func TestCheck(t *testing.T) {
	inBubble(t, func(t *testing.T, b *tokenFixture) {
		for range 2 {
			if err := b.tokens.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		b.wantFetches(t, 2)
		b.issuer.publish(b.key.with(map[string]any{"use": "enc"}))
		if err := b.tokens.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "no usable signing key") {
			t.Errorf("Check(no signing keys) = %v", err)
		}
		b.issuer.set(func(f *fakeIssuer) { f.hold = make(chan struct{}) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.tokens.Check(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Check(unresponsive issuer) = %v, want context.DeadlineExceeded", err)
		}
	})
}
