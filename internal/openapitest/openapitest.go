// Package openapitest holds answers of the API against its committed description. It is for tests: whatever a server says
// that the description does not, a header that is missing or a field that is not described, fails the test.
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
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// Spec is a description that answers are held against. It is safe for concurrent use.
type Spec struct {
	doc    *openapi3.T
	router routers.Router
	base   string // path of its server
}

// errorSchema is the component of the envelope that every error comes in.
const errorSchema = "ErrorResponse"

// Load reads a description from a file, such as httpapi/openapi.json, and checks that it is itself valid. Its objects are
// closed: to clients they may grow, but here a field that is not described is a failure.
func Load(t testing.TB, path string) *Spec {
	t.Helper()
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
	return &Spec{doc: doc, router: router, base: base + "/"}
}

// closed reads a description and closes the objects among its components. That is done before it is loaded, because the
// loader copies a component wherever a reference to it has a description of its own.
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

// Validate fails the test unless the description allows resp as the response to req. Under the path
// of the description's server, an undescribed path or method must get an error in the envelope. What
// is served beside that path, and the description itself, are not described: only their request id and
// the envelope of their JSON errors are checked. The body can be read again afterwards.
func (s *Spec) Validate(t testing.TB, req *http.Request, resp *http.Response) {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err == nil {
		err = s.check(req, resp, body)
	}
	if err != nil {
		t.Errorf("%s %s answers %d, not as described: %v\n%.2000s", req.Method, req.URL, resp.StatusCode, err, body)
	}
}

func (s *Spec) check(req *http.Request, resp *http.Response, body []byte) error {
	asked := req.Clone(req.Context())
	if req.Method == http.MethodHead {
		asked.Method = http.MethodGet // answered with the same headers
	}
	route, params, err := s.router.FindRoute(asked)
	switch {
	case err != nil && s.isBeside(req) && (resp.StatusCode < 400 || !isJSON(resp)):
		return checkRequestID(resp)
	case err != nil:
		return s.checkUnknown(req, resp, body)
	}
	described, err := describedType(route.Operation, resp)
	if err != nil {
		return err
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: asked, Route: route, PathParams: params},
		Status:                 resp.StatusCode,
		Header:                 resp.Header,
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true,
			MultiError:            true,
			ExcludeResponseBody:   req.Method == http.MethodHead || described != "application/json",
		},
	}
	input.SetBodyBytes(body)
	return openapi3filter.ValidateResponse(req.Context(), input)
}

// describedType returns the media type of an answer, which the description must name for its status; empty for an answer
// that has no body by its description.
func describedType(op *openapi3.Operation, resp *http.Response) (string, error) {
	ref := op.Responses.Status(resp.StatusCode)
	if ref == nil {
		return "", errors.New("the status is not described")
	}
	if len(ref.Value.Content) == 0 {
		return "", nil
	}
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return "", err
	}
	if ref.Value.Content.Get(mediaType) == nil {
		return "", errors.New("the content type is not described: " + mediaType)
	}
	return mediaType, nil
}

// isBeside reports whether a request is for something that the description leaves out.
func (s *Spec) isBeside(req *http.Request) bool {
	path, inside := strings.CutPrefix(req.URL.Path, s.base)
	return !inside || path == "openapi.json"
}

func isJSON(resp *http.Response) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json")
}

func checkRequestID(resp *http.Response) error {
	if resp.Header.Get("X-Request-Id") == "" {
		return errors.New("the header X-Request-Id is missing")
	}
	return nil
}

// checkUnknown checks a response at an undescribed path, or to an undescribed method, against the envelope of errors.
func (s *Spec) checkUnknown(req *http.Request, resp *http.Response, body []byte) error {
	switch {
	case resp.StatusCode < 400:
		return errors.New("the path or method is not described")
	case resp.StatusCode == http.StatusMethodNotAllowed && resp.Header.Get("Allow") == "":
		return errors.New("the header Allow is missing")
	case req.Method == http.MethodHead:
		return checkRequestID(resp)
	case !isJSON(resp):
		return errors.New("the content type is " + resp.Header.Get("Content-Type"))
	}
	if err := checkRequestID(resp); err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return err
	}
	return s.doc.Components.Schemas[errorSchema].Value.VisitJSON(value, openapi3.EnableJSONSchema2020(), openapi3.MultiErrors())
}
