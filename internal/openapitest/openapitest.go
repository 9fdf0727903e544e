// Package openapitest validates API responses against the committed OpenAPI document in tests.
// Undocumented fields and missing headers fail the test.
package openapitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// Spec is an OpenAPI document. It is safe for concurrent use.
type Spec struct {
	doc    *openapi3.T
	router routers.Router
	base   string // path of the document's server
}

// errorSchema is the name of the schema for all errors.
const errorSchema = "ErrorResponse"

// Load reads and validates a document such as httpapi/openapi.json. It closes the objects: the
// document allows additional fields for later versions, but in tests an undocumented field is an
// error.
func Load(t testing.TB, path string) *Spec {
	t.Helper()
	if spec, ok := loaded.Load(path); ok {
		return spec.(*Spec)
	}
	doc, err := openapi3.NewLoader().LoadFromData(closed(t, path))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if doc.Components.Schemas[errorSchema] == nil {
		t.Fatalf("%s has no schema %s", path, errorSchema)
	}
	base, err := doc.Servers.BasePath()
	if err != nil {
		t.Fatal(err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	spec := &Spec{doc: doc, router: router, base: base + "/"}
	loaded.Store(path, spec)
	return spec
}

var loaded sync.Map // *Spec by path: loading takes a second with the race detector

// closed reads a document and closes the objects among its components. It does so before loading,
// because the loader copies a component where a reference to it has its own description.
func closed(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	components, _ := doc["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	for _, schema := range schemas {
		if s, ok := schema.(map[string]any); ok && s["properties"] != nil {
			s["additionalProperties"] = false
		}
	}
	if b, err = json.Marshal(doc); err != nil {
		t.Fatal(err)
	}
	return b
}

// Validate fails the test unless the document allows resp as the response to req. Below the path of
// the document's server, an undocumented path or method must return an error with the error schema.
// For other paths and for the document itself, Validate checks only the request ID and the schema
// of JSON errors. The body can be read again afterward.
func (s *Spec) Validate(t testing.TB, req *http.Request, resp *http.Response) {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err == nil {
		err = s.check(req, resp, body)
	}
	if err != nil {
		t.Errorf("%s %s: response %d does not match its documentation: %v\n%.2000s",
			req.Method, req.URL, resp.StatusCode, err, body)
	}
}

func (s *Spec) check(req *http.Request, resp *http.Response, body []byte) error {
	clone := req.Clone(req.Context())
	if req.Method == http.MethodHead {
		clone.Method = http.MethodGet // HEAD has the same headers
	}
	route, params, err := s.router.FindRoute(clone)
	switch {
	case err != nil && s.isOutside(req) && (resp.StatusCode < 400 || !isJSON(resp)):
		return checkRequestID(resp)
	case err != nil:
		return s.checkUnknown(req, resp, body)
	}
	described, err := documentedType(route.Operation, resp)
	if err != nil {
		return err
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: clone, Route: route, PathParams: params,
		},
		Status: resp.StatusCode,
		Header: resp.Header,
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true,
			MultiError:            true,
			ExcludeResponseBody:   req.Method == http.MethodHead || described != "application/json",
		},
	}
	input.SetBodyBytes(body)
	return openapi3filter.ValidateResponse(req.Context(), input)
}

// documentedType returns the media type of a response, which must be documented for its status. It
// is empty if the documented response has no body.
func documentedType(op *openapi3.Operation, resp *http.Response) (string, error) {
	ref := op.Responses.Status(resp.StatusCode)
	if ref == nil {
		return "", errors.New("undocumented status")
	}
	if len(ref.Value.Content) == 0 {
		return "", nil
	}
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return "", err
	}
	if ref.Value.Content.Get(mediaType) == nil {
		return "", errors.New("undocumented content type " + mediaType)
	}
	return mediaType, nil
}

// isOutside reports whether a path is outside the documented API.
func (s *Spec) isOutside(req *http.Request) bool {
	path, inside := strings.CutPrefix(req.URL.Path, s.base)
	return !inside || path == "openapi.json"
}

func isJSON(resp *http.Response) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json")
}

func checkRequestID(resp *http.Response) error {
	if resp.Header.Get("X-Request-Id") == "" {
		return errors.New("missing header X-Request-Id")
	}
	return nil
}

// checkUnknown checks the response to an undocumented path or method against the error schema.
func (s *Spec) checkUnknown(req *http.Request, resp *http.Response, body []byte) error {
	switch {
	case resp.StatusCode < 400:
		return errors.New("undocumented path or method")
	case resp.StatusCode == http.StatusMethodNotAllowed && resp.Header.Get("Allow") == "":
		return errors.New("missing header Allow")
	case req.Method == http.MethodHead:
		return checkRequestID(resp)
	case !isJSON(resp):
		return errors.New("content type " + resp.Header.Get("Content-Type"))
	}
	if err := checkRequestID(resp); err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return err
	}
	return s.doc.Components.Schemas[errorSchema].Value.VisitJSON(value,
		openapi3.EnableJSONSchema2020(), openapi3.MultiErrors())
}
