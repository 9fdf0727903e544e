package httpapi

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
)

// document is an answer that never changes while the process runs.
type document struct {
	contentType string
	content     []byte
	etag        string
}

func newDocument(contentType string, content []byte) document {
	return document{contentType: contentType, content: content, etag: weakTag(content)}
}

// pageSecurity lets a page of ours show itself and load nothing but our images; it runs no script.
const pageSecurity = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (a *api) serveDocument(d *document) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "public, max-age=300")
		h.Set("Etag", d.etag)
		h.Set("Content-Security-Policy", pageSecurity)
		if tagMatches(ifNoneMatch(r), d.etag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", d.contentType)
		h.Set("Content-Length", strconv.Itoa(len(d.content)))
		w.Write(d.content)
	}
}

// weakTag makes an entity tag of some content. It is weak because the content may be sent in several encodings.
func weakTag(content []byte) string {
	sum := sha256.Sum256(content)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}

// ifNoneMatch returns the tags that a request brings, as one list.
func ifNoneMatch(r *http.Request) string {
	return strings.Join(r.Header.Values("If-None-Match"), ", ")
}

// tagMatches compares as If-None-Match does (RFC 9110, section 13.1.2): weakly, with any of a list, or with *.
func tagMatches(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || one != "" && strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}
