package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// secure sets the security headers of every page: only our scripts run, embedding is blocked, and
// other sites get no referrer. Label images may come from any https address.
func (e *edge) secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", e.policy())
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Robots-Tag", "noindex, nofollow")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
		h.Set("Cache-Control", "private, no-store")
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), edgeKey{}, e)))
	})
}

// https reports whether users reach the service over https.
func (e *edge) https() bool { return strings.HasPrefix(e.opts.PublicURL, "https://") }

// policy is the Content-Security-Policy. No form may lead elsewhere, by a redirect either: browsers follow those of issuers to wherever their
// own sign-in is, which nobody can list. See leadAway.
func (e *edge) policy() string {
	return "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' https: " + originOf(e.opts.PublicURL) +
		"; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// originOf returns the origin of a URL, or nothing.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// origins tells forms of our own pages from those that a page of another origin has a browser send.
func (e *edge) origins() *http.CrossOriginProtection {
	protection := http.NewCrossOriginProtection()
	if origin := originOf(e.opts.PublicURL); origin != "" {
		if err := protection.AddTrustedOrigin(origin); err != nil { // also where a proxy says another Host
			panic(err) // it is an origin
		}
	}
	return protection
}

// refuseForged refuses forms that a page of another origin has a browser send.
func (e *edge) refuseForged(next http.Handler) http.Handler {
	protection := e.origins()
	protection.SetDenyHandler(e.anybody(func(v *visit) error {
		return cola.Errorf(cola.CodeForbidden, "The form was sent from another site, so nothing was done. Open the page here and send it again.")
	}))
	return protection.Handler(next)
}
