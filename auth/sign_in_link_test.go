package auth

import (
	"context"
	"crypto/sha256"
	"strings"
	"sync"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func (b *browser) use(token string) error {
	return b.do(func(ctx context.Context) error {
		_, err := b.UseLink(ctx, token, "Firefox")
		return err
	})
}

// TestLinkSignIn checks that LinkAccount can be called any number of times before a link is used,
// and that the link signs in only once.
func TestLinkSignIn(t *testing.T) {
	d := newBrowserFixture(t, nil)
	token := d.store.link(store.Account{ID: 77, Email: "eve@example.com"})
	b, other := d.browser(), d.browser()
	for range 3 {
		if err := b.do(func(ctx context.Context) error {
			target, err := b.LinkAccount(ctx, token)
			if target != (LinkTarget{Email: "eve@example.com"}) {
				t.Errorf("LinkAccount = %+v, want eve@example.com", target)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if b.cookie() != "" || b.caller().Account != 0 {
		t.Error("LinkAccount signed the browser in")
	}
	if err := b.use(token); err != nil || b.caller().Account != 77 || b.caller().VerifiedEmail != "eve@example.com" {
		t.Fatalf("UseLink: %v, caller = %+v, want account 77 and its address", err, b.caller())
	}
	if got := d.store.signIns[b.caller().Credential.ID]; got.Via != "" || got.Browser != "Firefox" || got.ExpiresAt.Sub(d.clock.now()) != SignInLifetime {
		t.Errorf("sign-in = %+v, want one from Firefox that lasts %v", got, SignInLifetime)
	}
	for name, err := range map[string]error{
		"another browser": other.use(token),
		"LinkAccount":     other.do(func(ctx context.Context) error { _, err := other.LinkAccount(ctx, token); return err }),
		"same browser":    b.use(token),
	} {
		if cola.CodeOf(err) != cola.CodeUnauthorized {
			t.Errorf("%s: error = %v, want unauthorized", name, err)
		}
	}
	if other.caller().Account != 0 || b.caller().Account != 77 {
		t.Error("a used link changed who is signed in")
	}
	if redirect := b.signOut(t); redirect != "" {
		t.Errorf("SignOut after a link sign-in = %q, want no redirect", redirect)
	}
}

// TestInvalidLinks checks that malformed tokens return the same error code as unknown ones, without
// using the store.
func TestInvalidLinks(t *testing.T) {
	b := newBrowserFixture(t, nil).browser()
	for _, token := range []string{"", "x", strings.Repeat("A", 42), strings.Repeat("A", 44), strings.Repeat("/", 43), "\x00", strings.Repeat("é", 5000)} {
		if err := b.use(token); cola.CodeOf(err) != cola.CodeUnauthorized {
			t.Errorf("UseLink(%.50q) = %v, want unauthorized", token, err)
		}
	}
	if len(b.store.calls) != 0 {
		t.Errorf("unexpected store calls: %v", b.store.calls)
	}
	if err := b.use(newSecretText()); cola.CodeOf(err) != cola.CodeUnauthorized {
		t.Errorf("UseLink(unknown token) = %v, want unauthorized", err)
	}
	b.store.set(func(s *browserStore) { s.fail["UseSignInLink"] = store.ErrUnavailable })
	if err := b.use(newSecretText()); cola.CodeOf(err) != cola.CodeUnavailable {
		t.Errorf("UseLink with the store unavailable = %v, want unavailable", err)
	}
}

// TestInvalidLinkAdvice checks that the error for an invalid link depends on whether the service
// sends links by email, and that no target is returned.
func TestInvalidLinkAdvice(t *testing.T) {
	target, errWithout := newBrowserFixture(t, nil).LinkAccount(t.Context(), newSecretText())
	_, errWith := newBrowserFixture(t, func(_ *browserFixture, o *BrowserOptions) { o.SendLink = (&outbox{}).send }).
		LinkAccount(t.Context(), newSecretText())
	if errWithout == nil || errWith == nil || errWithout.Error() == errWith.Error() {
		t.Errorf("errors with and without email = %v and %v, want different ones", errWith, errWithout)
	}
	if target != (LinkTarget{}) {
		t.Errorf("LinkAccount = %+v, want a zero target", target)
	}
}

// TestConcurrentLinks checks that exactly one of many concurrent uses of a link signs in.
func TestConcurrentLinks(t *testing.T) {
	d := newBrowserFixture(t, nil)
	token := d.store.link(store.Account{ID: 77, Email: "eve@example.com"})
	var all sync.WaitGroup
	browsers := make([]*browser, 20)
	for n := range browsers {
		browsers[n] = d.browser()
		all.Go(func() { _ = browsers[n].use(token) })
	}
	all.Wait()
	signedIn := 0
	for _, b := range browsers {
		if b.caller().Account != 0 {
			signedIn++
		}
	}
	if signedIn != 1 || len(d.store.signIns) != 1 {
		t.Errorf("%d browsers signed in with %d sign-ins, want 1 and 1", signedIn, len(d.store.signIns))
	}
}

// TestNewSignInLink checks that tokens are unique, need no escaping in URLs, and are stored as
// hashes.
func TestNewSignInLink(t *testing.T) {
	one, hash := NewSignInLink()
	two, _ := NewSignInLink()
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	if one == two || len(one) != 43 || strings.Trim(one, alphabet) != "" || hash != sha256.Sum256([]byte(one)) {
		t.Errorf("NewSignInLink = %q, %q, hash %x, want unique URL-safe tokens and the SHA-256", one, two, hash)
	}
}
