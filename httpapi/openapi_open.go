package httpapi

import (
	"cmp"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// openOperation is one endpoint that needs no key, as the document describes it.
type openOperation struct {
	id, path    string
	method      string // empty: GET
	summary     string
	description string
	example     string // path of the example call
	placeholder string // parameter that the example call has a placeholder for, if any
	inBase      bool   // lies under the API's base path, not beside it
	cached      bool   // has an ETag and heeds If-None-Match
	params      []*huma.Param
	content     map[string]*huma.MediaType
	errors      []int // beside 500
	pages       bool  // tells errors on pages rather than in the envelope
}

func (s components) openOperations() []openOperation {
	status := s.Of(reflect.TypeFor[healthBody]())
	statusJSON := map[string]*huma.MediaType{"application/json": {Schema: status, Example: s.Sample(status)}}
	imageParam := &huma.Param{
		Name: "image", In: "path", Required: true,
		Description: "ttb_image_id of the image, with or without an extension." + isPlaceholder,
		Example:     "11054001000049-1", Schema: &huma.Schema{Type: huma.TypeString},
	}
	return append([]openOperation{
		{
			id: "getOpenAPI", path: "/openapi.json", example: basePath + "/openapi.json", inBase: true, cached: true,
			summary: "This description", description: "The OpenAPI 3.1 document of this API.",
			content: content("application/json", &huma.Schema{Type: huma.TypeObject, Description: "An OpenAPI 3.1 document."}),
		},
		{
			id: "getReference", path: "/docs", example: "/docs", cached: true,
			summary: "The reference page", description: "This API on one page, drawn from its description.",
			content: content("text/html", &huma.Schema{Type: huma.TypeString, Description: "A page for people."}),
		},
		{
			id: "getHealth", path: "/healthz", example: "/healthz",
			summary: "Is the process up", description: "Answers as soon as the process serves.", content: statusJSON,
		},
		{
			id: "getReadiness", path: "/readyz", example: "/readyz", errors: []int{http.StatusServiceUnavailable},
			summary:     "Is the service ready",
			description: "Answers 200 once the index is built and the database answers, 503 before.", content: statusJSON,
		},
		{
			id: "getLabelImage", path: "/images/{image}", example: "/images/11054001000049-1.svg", placeholder: "image", cached: true,
			summary: "Draw a label image",
			description: "Draws an image of a demonstration label. The format is the path's extension (.svg or .png), else `format`, " +
				"else what Accept prefers, else SVG.",
			params: append([]*huma.Param{imageParam}, s.parameters(reflect.TypeFor[imageParams]())...),
			content: map[string]*huma.MediaType{
				"image/svg+xml": {Schema: &huma.Schema{Type: huma.TypeString, Description: "A picture in the size the record states."}},
				"image/png": {Schema: &huma.Schema{
					Extensions:  map[string]any{"contentMediaType": "image/png"},
					Description: "A picture in the size the record states.",
				}},
			},
			errors: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusServiceUnavailable},
		},
	}, recipientOperations()...)
}

func content(mediaType string, schema *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{mediaType: {Schema: schema}}
}

// addOpen describes what is open without a key. All but the document itself lie outside the API's base path.
func (s components) addOpen(doc *description, publicURL string) {
	atRoot := []*huma.Server{{URL: cmp.Or(publicURL, "/"), Description: "The root of this service"}}
	for _, op := range s.openOperations() {
		doc.add(described{cmp.Or(op.method, http.MethodGet), op.path, !op.inBase, s.open(&op, publicURL)})
		if !op.inBase {
			doc.Paths[op.path].Servers = atRoot
		}
	}
}

func (s components) open(op *openOperation, publicURL string) *huma.Operation {
	o := &huma.Operation{
		OperationID: op.id, Tags: []string{tagService}, Summary: op.summary, Description: op.description,
		Security:   []map[string][]string{}, // none, rather than the document's
		Parameters: op.params,
		Responses: map[string]*huma.Response{
			"200": {Description: "What was asked for.", Headers: headerRefs([]string{"X-Request-Id"}), Content: op.content},
		},
		Extensions: extensions("Free, and without a key.", "curl "+op.flags()+"\""+cmp.Or(publicURL, defaultURL)+op.example+"\"", op.placeholder),
	}
	if op.cached {
		conditional(o, "Nothing has changed since the tag you sent.", []string{"X-Request-Id", "ETag"})
	}
	for _, status := range append(op.errors, http.StatusInternalServerError) {
		o.Responses[statusKey(status)] = &huma.Response{Ref: responsePrefix + openName(status)}
	}
	if op.pages {
		s.onPages(o, op)
	}
	return o
}
