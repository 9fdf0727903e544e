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

// TestSessionsAreSealed checks that a stored session is unreadable, and that it is rejected if it
// was changed or stored under another ID.
func TestSessionsAreSealed(t *testing.T) {
	d := newDesk(t, nil)
	ann, bob := d.browser(), d.browser()
	for name, b := range map[string]*browser{"ann": ann, "bob": bob} {
		b.signIn(t, name)
		b.look(func(ctx context.Context) { b.Put(ctx, "notice", "of "+name) })
	}
	for _, secret := range []string{`"id_token":"ey`, "of ann", "account"} {
		if !strings.Contains(ann.session(t), secret) {
			t.Fatalf("the session does not have %q, so the test shows nothing", secret)
		}
		for _, row := range d.store.sessions {
			if bytes.Contains(row.data, []byte(secret)) {
				t.Errorf("%q can be read in the database", secret)
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
	for name, row := range map[string]keptRow{"another's": good[other], "one bit changed": flipped, "cut": cut, "empty": {until: cut.until}} {
		d.store.sessions = maps.Clone(good)
		d.store.sessions[mine] = row
		ann.visit(func(_ http.ResponseWriter, r *http.Request) {
			if c, ok := d.Caller(r.Context()); ok || d.Pop(r.Context(), "notice") != "" {
				t.Errorf("%s: a session that is not as it was kept is of %v", name, c)
			}
		})
	}
	d.store.sessions = good
	if c := ann.caller(); c.Account == 0 {
		t.Error("the session does not hold as it was kept")
	}
}
