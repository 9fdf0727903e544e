package dashboard

import (
	"net/http"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

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
