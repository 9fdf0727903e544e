package attack

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/colaregistry/colaregistry/internal/program"
)

// TestSignInFlood starts thousands of sign-ins. They must not prevent others from signing in, fill the
// database, or cause more requests to the issuer.
func TestSignInFlood(t *testing.T) {
	const strangers, honest, workers = 2_000, 20, 8
	i := newIssuer(t)
	onBoth(t, program.Options{Flags: i.flags()}, func(t *testing.T, s *site) {
		i.asked.Store(0)
		var all sync.WaitGroup
		var begun atomic.Int32
		for range workers {
			all.Go(func() {
				for begun.Add(1) <= strangers {
					s.beginSignIn(http.DefaultClient, "/")
				}
			})
		}
		for n := range honest {
			for begun.Load() < int32(n*strangers/honest) && begun.Load() < strangers {
				s.beginSignIn(http.DefaultClient, "/") // keeps the pace of the flood
			}
			subject := fmt.Sprintf("person%d", n)
			email := subject + "@example.com"
			if page := s.signInAt(newBrowser(t), i, person(subject, email)); !strings.Contains(string(page.Body), email) {
				t.Errorf("%s is not signed in: %d\n%s", subject, page.Status, page.Body)
			}
		}
		all.Wait()
		if n := s.count("sessions"); n != honest {
			t.Errorf("%d sessions are stored, want one for each of the %d people who signed in", n, honest)
		}
		if n := i.asked.Load(); n > 10 {
			t.Errorf("the issuer got %d requests for its documents", n)
		}
	})
}
