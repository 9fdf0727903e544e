package attack

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/internal/keyring"
	"github.com/colaregistry/colaregistry/internal/program"
)

// TestSignInDuringRotation checks that after a key rotation, a sign-in can start in a process that
// was restarted and finish in one that was not, and vice versa.
func TestSignInDuringRotation(t *testing.T) {
	i := newIssuer(t)
	o := program.Options{Flags: i.flags()}
	onBoth(t, o, func(t *testing.T, before *site) {
		file := filepath.Join(before.Dir, "registry.key")
		if before.DatabaseURL != "" {
			file = filepath.Join(before.Dir, "secret.key")
		}
		if _, err := keyring.AddFirst(file); err != nil {
			t.Fatal(err)
		}
		o := o
		o.Dir, o.DatabaseURL = before.Dir, before.DatabaseURL
		restarted := *before
		restarted.Server = program.Start(t, o)
		move := func(email string, from, to *site) {
			browser := newBrowser(t)
			authorize, page := from.beginSignIn(browser, "/usage")
			if authorize == nil {
				t.Fatalf("%s: want a redirect to the issuer: status %d: %s", email, page.Status, page.Body)
			}
			a := to.send(browser, http.MethodGet, i.approve(authorize, person(email, email)), nil, nil)
			if !strings.Contains(string(a.Body), email) {
				t.Errorf("%s is not signed in: %d\n%s", email, a.Status, a.Body)
			}
		}
		move("forth@example.com", before, &restarted)
		move("back@example.com", &restarted, before)
	})
}
