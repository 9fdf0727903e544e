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

// securityHeaders sets the security headers of every page: only our scripts run, embedding is
// blocked, and other sites get no referrer.
func (e *edge) securityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", e.contentSecurityPolicy(""))
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

// anyImage is the source of label images in the content security policy of signed-in pages: any
// https URL.
const anyImage = " https:"

// contentSecurityPolicy returns the Content-Security-Policy. images adds image sources, or is "".
// The policy's form-action allows only this site: browsers also apply it to redirects, and the URLs
// that an issuer redirects to can't be listed. See redirectExternal.
func (e *edge) contentSecurityPolicy(images string) string {
	return "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; font-src 'self'; img-src 'self'" +
		images + " " + originOf(e.opts.PublicURL) +
		"; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// originOf returns the origin of a URL, or "".
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// crossOriginProtection detects forms sent from other origins.
func (e *edge) crossOriginProtection() *http.CrossOriginProtection {
	protection := http.NewCrossOriginProtection()
	if origin := originOf(e.opts.PublicURL); origin != "" {
		if err := protection.AddTrustedOrigin(origin); err != nil { // a proxy may change Host
			panic(err) // unreachable: originOf returns an origin
		}
	}
	return protection
}

// rejectCrossOrigin rejects forms sent from other origins.
func (e *edge) rejectCrossOrigin(next http.Handler) http.Handler {
	protection := e.crossOriginProtection()
	protection.SetDenyHandler(e.public(func(req *request) error {
		return cola.Errorf(cola.CodeForbidden,
			"This form came from another site, so nothing was saved. Open the page on this site and try again.")
	}))
	return protection.Handler(next)
}

// isDocument reports whether a browser is loading a page as a top-level document, according to the
// headers. Old browsers, and all browsers on unencrypted connections, send no Sec-Fetch-Dest; when
// they load an image, Accept still lists image types and not text/html.
func isDocument(h http.Header) bool {
	if dest := h.Values("Sec-Fetch-Dest"); len(dest) > 0 {
		return !slices.ContainsFunc(dest, func(d string) bool { return d != "document" })
	}
	accept := strings.ToLower(strings.Join(h.Values("Accept"), ","))
	return !strings.Contains(accept, "image/") || strings.Contains(accept, "text/html")
}

// isPrefetch reports whether a browser is loading a page before the reader opens it. Purpose,
// X-Purpose and X-Moz are older names for Sec-Purpose.
func isPrefetch(h http.Header) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		purpose := strings.ToLower(strings.Join(h.Values(name), ","))
		for _, word := range []string{"prefetch", "prerender", "preview"} {
			if strings.Contains(purpose, word) {
				return true
			}
		}
	}
	return false
}

// rejectEmbedded rejects requests that embed a page as an image, a frame or another part of a page,
// or that come from a script on another origin, because some GETs read the session, store a form
// token or cost quota. It runs before the session is read. Charged pages have stricter checks; see
// guardCharge.
func (e *edge) rejectEmbedded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if reads && !isDocument(r.Header) && !isOwnFetch(r.Header) {
			web.Fail(w, r, cola.Errorf(cola.CodeForbidden, "This page can’t be embedded in another page."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isOwnFetch reports whether a script on one of our pages sent the request.
func isOwnFetch(h http.Header) bool {
	return h.Get("Sec-Fetch-Dest") == "empty" && h.Get("Sec-Fetch-Site") == "same-origin"
}

const (
	// pagesPerSecond and pageBurst limit page requests per sign-in and per account, in each
	// process. The limit is above what people need, including previews as they type. Pages don't
	// count toward the plan's rate limit, and free ones don't count toward any quota, so without
	// this limit a script with a session could request them endlessly.
	pagesPerSecond = 5
	pageBurst      = 60
	maxLimitKeys   = 20_000 // sign-ins and accounts in memory; beyond that, the least recently used start over
)

// rateLimiter limits sign-ins and accounts to pagesPerSecond. A request counts against its
// session's sign-in before the sign-in is verified, and against the account only afterward, so a
// signed-out browser can't slow down the account's other browsers.
type rateLimiter struct{ keys *ratelimit.Limiter[limitKey] }

// limitKey is an account or a sign-in.
type limitKey struct {
	account cola.AccountID
	signIn  int64
}

func newRateLimiter(now cola.Clock) *rateLimiter {
	return &rateLimiter{ratelimit.New[limitKey](pageBurst, time.Second/pagesPerSecond, maxLimitKeys, now)}
}

// take counts a page request by a sign-in or an account, or returns an error if it exceeds the
// limit.
func (p *rateLimiter) take(key limitKey) error {
	if p.keys.Take(key, 1) == 0 {
		return nil
	}
	return &cola.Error{
		Code:       cola.CodeQuotaExceeded,
		Message:    "You’re opening pages too quickly. You weren’t charged. To automate requests, use the API.",
		RetryAfter: time.Second,
	}
}
