package site

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/httpapi"
	"github.com/colaregistry/colaregistry/internal/security"
)

// maxSampleQuery is the maximum length of the query of a call, escaped.
const maxSampleQuery = 4000

// serveCodeSamples returns the code samples of a call as HTML. The query has the parameters of an
// operation, or the arguments of a tool as JSON. The reference requests them while the visitor fills
// in a form.
func (s *server) serveCodeSamples(w http.ResponseWriter, r *http.Request) {
	if wait := s.typingLimit.Take(security.Network(cola.ClientFrom(r.Context())), 1); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		http.Error(w, "Too many requests. Wait a few seconds.", http.StatusTooManyRequests)
		return
	}
	samples, ok := s.codeSamples(chi.URLParam(r, "operation"), r.URL.Query())
	if !ok || len(r.URL.RawQuery) > maxSampleQuery {
		http.Error(w, "No samples for this call.", http.StatusNotFound)
		return
	}
	s.write(w, http.StatusOK, page{Path: r.URL.Path, Layout: "fragment", Body: "code_samples", Data: samples})
}

// codeSamples returns the samples of a call. ok is false for unknown operations and tools.
func (s *server) codeSamples(id string, values url.Values) (samples []httpapi.Sample, ok bool) {
	if s.endpoints[id] != "" {
		var b bytes.Buffer
		arguments := []byte(values.Get("arguments"))
		if json.Unmarshal(arguments, &map[string]any{}) != nil || json.Compact(&b, arguments) != nil {
			return nil, false
		}
		return s.toolSamples(id, b.String()), true
	}
	op := s.operation(id)
	if op == nil || !op.ReadOnly {
		return nil, false
	}
	return op.WithParams(values).Samples, true
}
