package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
	"github.com/colaregistry/colaregistry/internal/web"
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

// isDocument reports whether a browser loads a page as a top-level document, according to the
// headers. Old browsers, and those without an encrypted connection, send no Sec-Fetch-Dest; when they
// load an image, Accept still lists image types and not text/html.
func isDocument(h http.Header) bool {
	if dest := h.Values("Sec-Fetch-Dest"); len(dest) > 0 {
		return !slices.ContainsFunc(dest, func(d string) bool { return d != "document" })
	}
	accept := strings.ToLower(strings.Join(h.Values("Accept"), ","))
	return !strings.Contains(accept, "image/") || strings.Contains(accept, "text/html")
}

// isAhead reports whether a browser loads a page before the reader opens it. Purpose, X-Purpose and
// X-Moz are older names of Sec-Purpose.
func isAhead(h http.Header) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		purpose := strings.ToLower(strings.Join(h.Values(name), ","))
		for _, ahead := range []string{"prefetch", "prerender", "preview"} {
			if strings.Contains(purpose, ahead) {
				return true
			}
		}
	}
	return false
}

// refuseEmbedded rejects pages loaded as an image, a frame or another part of a page, or fetched by a
// script of another origin: some GETs read the session, store a form token or cost quota. It runs
// before the session is read. Charged pages are stricter; see beforeCharge.
func (e *edge) refuseEmbedded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if reads && !isDocument(r.Header) && !isOwnFetch(r.Header) {
			web.Fail(w, r, cola.Errorf(cola.CodeForbidden, "This page can't be embedded in another page."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isOwnFetch reports whether a script on one of our pages makes the request.
func isOwnFetch(h http.Header) bool {
	return h.Get("Sec-Fetch-Dest") == "empty" && h.Get("Sec-Fetch-Site") == "same-origin"
}

const (
	// pagesASecond and pagesAtOnce are how many pages a sign-in, and an account, may ask this process for: more than people do, previews while typing
	// included. Pages count in no quota, so nothing else would keep a script that has a session from having the registry search without an end.
	pagesASecond = 5
	pagesAtOnce  = 60
	pacedMost    = 20_000 // sign-ins and accounts in memory; beyond that, the least recently used start over
)

// pace limits sign-ins and accounts to pagesASecond. A request counts against the sign-in of its
// session before that is verified, and only afterwards against the account, so a signed-out browser
// cannot slow down the account's others.
type pace struct{ by *ratelimit.Limiter[paced] }

// paced is an account or a sign-in.
type paced struct {
	account cola.AccountID
	signIn  int64
}

func newPace(now cola.Clock) *pace {
	return &pace{ratelimit.New[paced](pagesAtOnce, time.Second/pagesASecond, pacedMost, now)}
}

// take lets a page of a sign-in or an account through, or refuses it.
func (p *pace) take(of paced) error {
	if p.by.Take(of, 1) == 0 {
		return nil
	}
	return &cola.Error{
		Code:       cola.CodeQuotaExceeded,
		Message:    "Pages are asked for faster than people read. Nothing was done, and nothing was charged. For programs there is the API.",
		RetryAfter: time.Second,
	}
}
