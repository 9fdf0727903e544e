package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// body is a response body that appends itself as JSON.
type body interface {
	appendJSON(b []byte) ([]byte, error)
}

// jsonBody returns a body that encoding/json marshals.
func jsonBody(v any) body { return marshalBody{v} }

type marshalBody struct{ v any }

func (p marshalBody) appendJSON(b []byte) ([]byte, error) { return cola.AppendJSON(b, p.v) }

// appendPagination appends p as encoding/json would write it.
func appendPagination(b []byte, p cola.Pagination) []byte {
	b = cola.AppendJSONString(append(b, `{"mode":`...), p.Mode)
	b = strconv.AppendInt(append(b, `,"page":`...), int64(p.Page), 10)
	b = strconv.AppendInt(append(b, `,"per_page":`...), int64(p.PerPage), 10)
	b = strconv.AppendInt(append(b, `,"total":`...), int64(p.Total), 10)
	b = strconv.AppendInt(append(b, `,"pages":`...), int64(p.Pages), 10)
	b = strconv.AppendBool(append(b, `,"has_more":`...), p.HasMore)
	b = strconv.AppendBool(append(b, `,"truncated_by_quota":`...), p.TruncatedByQuota)
	if p.NextCursor != "" {
		b = cola.AppendJSONString(append(b, `,"next_cursor":`...), p.NextCursor)
	}
	return append(b, '}')
}

// maxPooledBuffer is the largest buffer to reuse. A full page of labels is under 64 KiB.
const maxPooledBuffer = 256 << 10

// writeJSON writes a status and a body. An error means that no bytes were written.
func (a *api) writeJSON(w http.ResponseWriter, status int, content body) error {
	return a.write(w, status, mediaJSON, content.appendJSON)
}

// write writes a status and the content that appendTo appends. An error means that no bytes were
// written.
func (a *api) write(
	w http.ResponseWriter, status int, contentType string, appendTo func([]byte) ([]byte, error),
) error {
	buf := a.buffers.Get().(*bytes.Buffer)
	buf.Reset()
	defer func() {
		if buf.Cap() <= maxPooledBuffer {
			a.buffers.Put(buf)
		}
	}()
	b, err := appendTo(buf.AvailableBuffer())
	if err != nil {
		return err
	}
	buf.Write(b) // copies nothing unless b outgrew the buffer
	web.Write(w, status, contentType, buf.Bytes())
	return nil
}

// writeResult writes the result of a call. mediaType is JSON, unless the operation is a list that
// supports other formats.
func (a *api) writeResult(w http.ResponseWriter, r *http.Request, res result, mediaType string) {
	h := w.Header()
	h.Set("Cache-Control", "private, no-store")
	if res.etag != "" {
		h.Set("Etag", res.etag)
		h.Set("Cache-Control", "private, no-cache") // cacheable, but revalidated with its tag
	}
	if res.empty {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if res.notModified {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	status := http.StatusOK
	switch {
	case res.location != "":
		status = http.StatusCreated
		h.Set("Location", res.location)
	case res.async:
		status = http.StatusAccepted
	}
	if res.replayed {
		h.Set(replayedHeader, "true")
	}
	var err error
	if mediaType == mediaJSON {
		err = a.writeJSON(w, status, res.body)
	} else {
		err = a.writeList(w, r, &res.list, mediaType)
	}
	if err != nil {
		web.Fail(w, r, err)
	}
}

// staticDocument is a response that never changes while the process runs.
type staticDocument struct {
	contentType string
	content     []byte
	etag        string
}

func newStaticDocument(contentType string, content []byte) staticDocument {
	return staticDocument{contentType: contentType, content: content, etag: weakETag(content)}
}

// docsPolicy allows only inline styles and our own or inline images, and no scripts.
const docsPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (a *api) serveDocument(get func() staticDocument) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d := get()
		h := w.Header()
		h.Set("Cache-Control", "public, max-age=300")
		h.Set("Etag", d.etag)
		h.Set("Content-Security-Policy", docsPolicy)
		if etagMatches(ifNoneMatch(r), d.etag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", d.contentType)
		h.Set("Content-Length", strconv.Itoa(len(d.content)))
		w.Write(d.content)
	}
}

// weakETag returns an entity tag for some content. It is weak because the content may be sent in
// several encodings.
func weakETag(content []byte) string {
	sum := sha256.Sum256(content)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}

// ifNoneMatch returns the If-None-Match headers of a request, joined.
func ifNoneMatch(r *http.Request) string {
	return strings.Join(r.Header.Values("If-None-Match"), ", ")
}

// etagMatches reports whether an If-None-Match list matches a tag, by weak comparison (RFC 9110,
// section 13.1.2).
func etagMatches(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || one != "" && strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}
