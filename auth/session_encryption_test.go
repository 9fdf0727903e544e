package auth

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestSessionEncryption checks that a stored session is unreadable, and that it is rejected if it
// was changed or stored under another ID.
func TestSessionEncryption(t *testing.T) {
	d := newBrowserFixture(t, nil)
	ann, bob := d.browser(), d.browser()
	for name, b := range map[string]*browser{"ann": ann, "bob": bob} {
		b.signIn(t, name)
		b.look(func(ctx context.Context) { b.Put(ctx, "notice", "for "+name) })
	}
	for _, secret := range []string{`"id_token":"ey`, "for ann", "account"} {
		if !strings.Contains(ann.session(t), secret) {
			t.Fatalf("decrypted session does not contain %q", secret)
		}
		for _, row := range d.store.sessions {
			if bytes.Contains(row.data, []byte(secret)) {
				t.Errorf("%q is stored in plaintext", secret)
			}
		}
	}
	mine, other := sessionName(ann.cookie()), sessionName(bob.cookie())
	good := maps.Clone(d.store.sessions)
	flipped := good[mine]
	flipped.data = slices.Clone(flipped.data)
	flipped.data[len(flipped.data)/2] ^= 1
	cut := good[mine]
	cut.data = cut.data[:5]
	for name, row := range map[string]sessionRow{
		"another session": good[other], "one bit changed": flipped, "truncated": cut, "empty": {until: cut.until},
	} {
		d.store.sessions = maps.Clone(good)
		d.store.sessions[mine] = row
		ann.visit(func(_ http.ResponseWriter, r *http.Request) {
			if c, ok := d.Caller(r.Context()); ok || d.Pop(r.Context(), "notice") != "" {
				t.Errorf("%s: tampered session was accepted, caller = %v", name, c)
			}
		})
	}
	d.store.sessions = good
	if c := ann.caller(); c.Account == 0 {
		t.Error("unchanged session is not signed in")
	}
}
