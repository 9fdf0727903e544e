package site

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/colaregistry/colaregistry/httpapi"
)

// maxSampleQuery is the maximum length of a call's escaped query.
const maxSampleQuery = 4000

// serveCodeSamples returns the code samples for a call as HTML. The query has the parameters of an
// operation, or the arguments of a tool as JSON. The reference requests them while the visitor
// fills in a form.
func (s *server) serveCodeSamples(w http.ResponseWriter, r *http.Request) {
	if s.overTypingLimit(w, r) {
		http.Error(w, "Too many requests. Wait a few seconds.", http.StatusTooManyRequests)
		return
	}
	var samples []httpapi.Sample
	if len(r.URL.RawQuery) <= maxSampleQuery {
		samples = s.codeSamples(chi.URLParam(r, "operation"), r.URL.Query())
	}
	if samples == nil {
		http.Error(w, "No samples for this call.", http.StatusNotFound)
		return
	}
	s.write(w, http.StatusOK, page{Path: r.URL.Path, Layout: "fragment", Body: "code_samples", Data: samples})
}

// codeSamples returns the samples for a call. It returns nil unless the call is to a read-only
// operation, or to a read-only tool with a JSON object as arguments.
func (s *server) codeSamples(id string, values url.Values) []httpapi.Sample {
	if s.tools[id].ReadOnly {
		arguments := []byte(strings.ToValidUTF8(values.Get("arguments"), "\uFFFD"))
		var compact bytes.Buffer
		if json.Unmarshal(arguments, &map[string]any{}) != nil || json.Compact(&compact, arguments) != nil {
			return nil
		}
		return s.toolSamples(id, compact.String())
	}
	op := s.operation(id)
	if op == nil || !op.ReadOnly {
		return nil
	}
	return op.WithParams(values).Samples
}
