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

// inTime runs a test in a synctest bubble.
func inTime(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, newBench(t, nil))
		time.Sleep(requestTimeout) // pending fetches have ended by then
	})
}

// good sends a new valid token and fails the test if it is refused.
func (b *bench) good(t *testing.T) {
	t.Helper()
	if _, err := b.send(t.Context(), b.token(claim("jti", time.Now().String()))); err != nil {
		t.Fatalf("a good token: %v", err)
	}
}

func (b *bench) wantFetches(t *testing.T, want int) {
	t.Helper()
	synctest.Wait()
	if got := b.issuer.fetches(); got != want {
		t.Fatalf("the issuer was asked %d times, want %d", got, want)
	}
}

var errDown = errors.New("connection refused")

// TestFloodOfUnknownKeys checks that tokens with unknown key IDs cause at most one request in 30
// seconds.
func TestFloodOfUnknownKeys(t *testing.T) {
	inTime(t, func(t *testing.T, b *bench) {
		flood := func() {
			var all sync.WaitGroup
			for n := range 200 {
				all.Go(func() {
					_, err := b.send(t.Context(), b.token(header("kid", fmt.Sprint(n))))
					wantRefusal(t, err, "not signed with a key")
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
			t.Errorf("another issuer was asked %d times", n)
		}
	})
}

// TestUnknownIssuersAreNotContacted checks that only configured issuers receive requests.
func TestUnknownIssuersAreNotContacted(t *testing.T) {
	inTime(t, func(t *testing.T, b *bench) {
		for _, c := range []change{claim("iss", "https://evil.example.com"), header("typ", "dpop+jwt"), header("alg", "HS256"), header("crit", []string{"b64"})} {
			if _, err := b.send(t.Context(), b.token(c)); cola.CodeOf(err) != cola.CodeUnauthorized {
				t.Errorf("%v: %v, want unauthorized", c, err)
			}
		}
		b.wantFetches(t, 0)
	})
}

// TestFirstTokensShareOneFetch checks that keys are fetched on first use, once for all concurrent
// tokens.
func TestFirstTokensShareOneFetch(t *testing.T) {
	inTime(t, func(t *testing.T, b *bench) {
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

// TestRotationIsPickedUp checks that tokens signed with a new key are accepted immediately, and
// tokens signed with a removed key are refused.
func TestRotationIsPickedUp(t *testing.T) {
	inTime(t, func(t *testing.T, b *bench) {
		b.good(t)
		old := b.key
		b.key = newSigner(t, "ES256", "k-new")
		b.issuer.publish(b.key)
		time.Sleep(minFetchInterval)
		b.good(t)
		b.wantFetches(t, 2)
		b.key = old
		_, err := b.send(t.Context(), b.token())
		wantRefusal(t, err, "not signed with a key")
	})
}

// TestRotationRightAfterAFetch checks that the next fetch is due 30 seconds after the last one.
func TestRotationRightAfterAFetch(t *testing.T) {
	inTime(t, func(t *testing.T, b *bench) {
		b.good(t)
		b.key = newSigner(t, "ES256", "k-new")
		b.issuer.publish(b.key)
		time.Sleep(minFetchInterval - time.Second)
		_, err := b.send(t.Context(), b.token())
		wantRefusal(t, err, "not signed with a key")
		time.Sleep(time.Second)
		b.good(t)
	})
}

// TestRotationOfKeysWithoutNames checks that tokens without a key ID are verified with all matching
// keys, then with newly fetched ones.
func TestRotationOfKeysWithoutNames(t *testing.T) {
	inTime(t, func(t *testing.T, b *bench) {
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

// TestOldKeysAreRefreshedBehindTheScenes checks that the refresh does not block requests and drops
// keys that the issuer removed.
func TestOldKeysAreRefreshedBehindTheScenes(t *testing.T) {
	inTime(t, func(t *testing.T, b *bench) {
		b.good(t)
		b.issuer.publish()
		time.Sleep(refreshAfter - time.Second)
		b.good(t)
		b.wantFetches(t, 1)
		time.Sleep(time.Second)
		hold := make(chan struct{})
		b.issuer.set(func(f *fakeIssuer) { f.hold = hold })
		b.good(t) // verified with the cached keys during the fetch
		b.wantFetches(t, 2)
		close(hold)
		synctest.Wait()
		_, err := b.send(t.Context(), b.token())
		wantRefusal(t, err, "not signed with a key")
	})
}

// TestKnownKeysOutliveTheIssuer checks that if the issuer is down, its tokens are accepted for a
// day. After that, authentication is unavailable.
func TestKnownKeysOutliveTheIssuer(t *testing.T) {
	inTime(t, func(t *testing.T, b *bench) {
		b.good(t)
		b.issuer.set(func(f *fakeIssuer) { f.err = errDown })
		time.Sleep(refreshAfter)
		b.good(t)
		b.wantFetches(t, 2)
		b.good(t)
		b.wantFetches(t, 2) // at most one fetch in 30 seconds
		_, err := b.send(t.Context(), b.token(header("kid", "k-new")))
		if again := wantUnavailable(t, err); again > minFetchInterval {
			t.Errorf("a key that cannot be asked for: try again in %v", again)
		}
		time.Sleep(maxDocumentAge - refreshAfter - time.Second)
		b.good(t)
		time.Sleep(time.Second)
		_, err = b.send(t.Context(), b.token())
		wantUnavailable(t, err)
		b.issuer.set(func(f *fakeIssuer) { f.err = nil })
		time.Sleep(retryInterval)
		b.good(t)
	})
}

// TestIssuerThatIsDownFromTheStart checks that tokens are neither accepted nor refused, and that
// the keys are fetched again every five seconds.
func TestIssuerThatIsDownFromTheStart(t *testing.T) {
	inTime(t, func(t *testing.T, b *bench) {
		b.issuer.set(func(f *fakeIssuer) { f.err = errDown })
		for range 20 {
			_, err := b.send(t.Context(), b.token())
			if again := wantUnavailable(t, err); again > retryInterval {
				t.Errorf("try again in %v", again)
			}
			if strings.Contains(err.Error(), errDown.Error()) {
				t.Errorf("the error quotes its cause: %v", err)
			}
		}
		b.wantFetches(t, 1)
		time.Sleep(retryInterval)
		_, err := b.send(t.Context(), b.token())
		wantUnavailable(t, err)
		b.wantFetches(t, 2)
		b.issuer.set(func(f *fakeIssuer) { f.err = nil })
		time.Sleep(retryInterval)
		b.good(t)
		if len(b.store.accounts) != 1 {
			t.Errorf("%d accounts, want the one of the good token", len(b.store.accounts))
		}
	})
}

// TestSilentIssuer checks that a request waits for at most five seconds, or until its context ends.
func TestSilentIssuer(t *testing.T) {
	inTime(t, func(t *testing.T, b *bench) {
		b.issuer.set(func(f *fakeIssuer) { f.hold = make(chan struct{}) })
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.send(ctx, b.token()); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("a caller that waits a second: %v after %v", err, time.Since(begun))
		}
		_, err := b.send(t.Context(), b.token())
		wantUnavailable(t, err)
		if took := time.Since(begun); took != requestTimeout {
			t.Errorf("the attempt took %v, want %v", took, requestTimeout)
		}
		b.wantFetches(t, 1)
	})
}

// TestSlowIssuer checks that the two requests for keys share a timeout of five seconds, and that
// keys that arrive in time are used.
func TestSlowIssuer(t *testing.T) {
	inTime(t, func(t *testing.T, b *bench) {
		b.issuer.set(func(f *fakeIssuer) { f.delay = requestTimeout/2 + time.Millisecond })
		begun := time.Now()
		_, err := b.send(t.Context(), b.token())
		wantUnavailable(t, err)
		if took := time.Since(begun); took != requestTimeout {
			t.Errorf("the attempt took %v, want %v", took, requestTimeout)
		}
		b.issuer.set(func(f *fakeIssuer) { f.delay = requestTimeout/2 - time.Millisecond })
		time.Sleep(retryInterval)
		b.good(t)
	})
}

// TestNewerKeysThatAreThere checks that if another request has already replaced the key set, the
// new set is used without a fetch.
func TestNewerKeysThatAreThere(t *testing.T) {
	inTime(t, func(t *testing.T, b *bench) {
		b.good(t)
		keys := &b.tokens.issuers[ourIssuer].keys
		old := keys.current
		if err := b.tokens.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if set, err := keys.fetchNewer(t.Context(), old); err != nil || set == old || set != keys.current {
			t.Errorf("newer = %p, %v; want %p", set, err, keys.current)
		}
		b.wantFetches(t, 2)
	})
}

// TestWrongAnswersOfIssuers checks that an invalid response is ignored and the cached keys are
// kept.
func TestWrongAnswersOfIssuers(t *testing.T) {
	tests := []struct {
		name   string
		change func(*fakeIssuer)
		reason string
	}{
		{"no discovery", func(f *fakeIssuer) { f.document = "<html>" }, "discover"},
		{"discovery of another issuer", func(f *fakeIssuer) {
			f.document = `{"issuer":"https://evil.example.com","jwks_uri":"` + ourIssuer + `/keys"}`
		}, "did not match"},
		{"issuer with a slash more", func(f *fakeIssuer) {
			f.document = `{"issuer":"` + ourIssuer + `/","jwks_uri":"` + ourIssuer + `/keys"}`
		}, "did not match"},
		{"no place of keys", func(f *fakeIssuer) { f.document = `{"issuer":"` + ourIssuer + `"}` }, "not an https URL"},
		{"keys over http", func(f *fakeIssuer) {
			f.document = `{"issuer":"` + ourIssuer + `","jwks_uri":"http://id.example.com/keys"}`
		}, "not an https URL"},
		{"keys in a file", func(f *fakeIssuer) { f.document = `{"issuer":"` + ourIssuer + `","jwks_uri":"file:///etc/keys"}` }, "not an https URL"},
		{"keys are a page", func(f *fakeIssuer) { f.jwks = "<html>" }, "not a key set"},
		{"keys without any", func(f *fakeIssuer) { f.jwks = `{}` }, "not a key set"},
		{"keys are a text", func(f *fakeIssuer) { f.jwks = `{"keys":"none"}` }, "not a key set"},
		{"answer without end", func(f *fakeIssuer) { f.jwks = `{"keys":[` + strings.Repeat(" ", maxBody) + `]}` }, "longer than 1048576 bytes"},
		{"down", func(f *fakeIssuer) { f.err = errDown }, "connection refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inTime(t, func(t *testing.T, b *bench) {
				b.good(t)
				b.issuer.set(tt.change)
				err := b.tokens.Check(t.Context())
				if err == nil || !strings.Contains(err.Error(), ourIssuer) || !strings.Contains(err.Error(), tt.reason) {
					t.Fatalf("Check = %v, want the issuer and %q", err, tt.reason)
				}
				if strings.Contains(err.Error(), otherIssuer) || len(err.Error()) > 2*maxErrorLen {
					t.Errorf("Check: error names another issuer or is too long: %v", err)
				}
				b.good(t)
			})
		})
	}
}

// TestCheck checks that Check sends a request even right after a fetch.
func TestCheck(t *testing.T) {
	inTime(t, func(t *testing.T, b *bench) {
		for range 2 {
			if err := b.tokens.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		b.wantFetches(t, 2)
		b.issuer.publish(b.key.with(map[string]any{"use": "enc"}))
		if err := b.tokens.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "no usable signing key") {
			t.Errorf("without keys for signatures: %v", err)
		}
		b.issuer.set(func(f *fakeIssuer) { f.hold = make(chan struct{}) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.tokens.Check(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("of a silent issuer: %v, want the end of the context", err)
		}
	})
}
