package dashboard

import (
	"net/http"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// isDocument reports whether a browser loads a page to show it in a window of its own, as far as
// the headers say. Old browsers and those that reach the server without encryption send no
// Sec-Fetch-Dest; when they load a picture, Accept still names types of pictures and no page.
func isDocument(h http.Header) bool {
	if dest := h.Values("Sec-Fetch-Dest"); len(dest) > 0 {
		return !slices.ContainsFunc(dest, func(d string) bool { return d != "document" })
	}
	accept := strings.ToLower(strings.Join(h.Values("Accept"), ","))
	return !strings.Contains(accept, "image/") || strings.Contains(accept, "text/html")
}

// isAhead reports whether a browser loads a page before its reader asks for it. Purpose, X-Purpose
// and X-Moz are older names of Sec-Purpose.
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

// refuseEmbedded refuses pages that a browser loads as a picture, a frame or another part of a
// page, and pages that a script of another origin fetches: some GETs read the session, keep a form
// token or cost quota. It runs before the session is read. Charged pages are stricter, see
// beforeCharge.
func (e *edge) refuseEmbedded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if reads && !isDocument(r.Header) && !isOwnFetch(r.Header) {
			web.Fail(w, r, cola.Errorf(cola.CodeForbidden, "This page opens only in a window of its own."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isOwnFetch reports whether a script of one of our own pages makes a request.
func isOwnFetch(h http.Header) bool {
	return h.Get("Sec-Fetch-Dest") == "empty" && h.Get("Sec-Fetch-Site") == "same-origin"
}
