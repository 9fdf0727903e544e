package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/schemas"
	"github.com/colaregistry/colaregistry/internal/web"
)

// apiVersion is the version of the interface description, not of the program.
const apiVersion = "1.0.0"

// description is the OpenAPI document with the order of its operations, which the document itself
// lacks.
type description struct {
	*huma.OpenAPI
	operations []documentedOperation
}

// documentedOperation is an operation in the document.
type documentedOperation struct {
	method, path string
	example      exampleCall
	*huma.Operation
}

// describe returns the OpenAPI document for the operations, titled with the site's name. Without a
// public URL, its server URL is relative. Paths outside basePath, such as /healthz and /images, are
// left out, because generators ignore path-level servers.
func describe(ops []operation, o Options) description {
	s := newComponents()
	doc := description{OpenAPI: &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title:       o.SiteName,
			Version:     apiVersion,
			Description: introduction(),
			Contact:     &huma.Contact{Name: "colaregistry", URL: "https://github.com/colaregistry/colaregistry"},
			License:     &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Servers: []*huma.Server{{URL: o.PublicURL + basePath, Description: "This service"}},
		Tags: []*huma.Tag{
			{Name: tagColas, Description: "Certificates of Label Approval (COLAs), and the barcodes on their labels."},
			{Name: tagPermittees,
				Description: "Wineries, breweries, distilleries, importers and other permit holders."},
			{Name: tagAccount, Description: "The account's usage and limits."},
			{Name: tagSearches, Description: "Saved searches and alerts."},
			{Name: tagRuns, Description: "Runs of saved searches, their matches, and feeds."},
			{Name: tagDestinations, Description: "Email addresses and webhooks that receive messages from saved " +
				"searches, and the deliveries to them."},
			{Name: tagReference, Description: "Processing times, production reports and American Viticultural Areas. " +
				"Uses no quota."},
		},
		Security: []map[string][]string{{"apiKey": {}}, {"bearer": {}}},
		Paths:    map[string]*huma.PathItem{},
		Components: &huma.Components{
			Schemas:   s.Registry(),
			Headers:   headers(s),
			Responses: errorResponses(s),
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"apiKey": {Type: "apiKey", In: "header", Name: "X-API-Key", Description: "One of the account's API keys."},
				"bearer": {Type: "http", Scheme: "bearer",
					Description: "An API key, or an OAuth access token from a connected app if the operator has " +
						"configured an issuer. A key or token needs the scope saved_searches:write to change saved searches " +
						"and destinations."},
			},
		},
	}}
	for i := range ops {
		example := newExampleCall(o.PublicURL, &ops[i])
		doc.add(documentedOperation{ops[i].method(), ops[i].Path, example, s.operation(&ops[i], example)})
	}
	s.Close(reflect.TypeFor[cola.SavedSearchParams](), reflect.TypeFor[cola.ScheduleParams](),
		reflect.TypeFor[cola.PreviewParams](),
		reflect.TypeFor[cola.SavedSearchChangeParams](), reflect.TypeFor[cola.ScheduleChangeParams](),
		reflect.TypeFor[cola.DestinationParams](), reflect.TypeFor[cola.DestinationChangeParams](),
		reflect.TypeFor[cola.DestinationConfirmParams]())
	s.Finish()
	return doc
}

func (d *description) add(op documentedOperation) {
	d.operations = append(d.operations, op)
	item := d.Paths[op.path]
	if item == nil {
		item = &huma.PathItem{}
		d.Paths[op.path] = item
	}
	switch op.method {
	case http.MethodPost:
		item.Post = op.Operation
	case http.MethodPatch:
		item.Patch = op.Operation
	case http.MethodDelete:
		item.Delete = op.Operation
	default:
		item.Get = op.Operation
	}
}

// introduction is the description of the whole API, in CommonMark.
func introduction() string {
	return strings.Join([]string{
		"The registry of US alcohol label approvals (COLAs): labels, permittees, barcodes, reference data, and " +
			"saved searches.",
		"**Quotas.** Looking up a single record uses one detail view. Counts use one list record per 50 groups; " +
			"other lists use one per record returned. Detail views and list records are counted per account per calendar month (UTC), across all keys and apps. " +
			"Every request except those to `/suggest` also counts toward the rate limit, which limits requests in any " +
			"60-second window. " +
			"Every authenticated response, including errors, has the five quota headers.",
		"**Parameters.** All problems with a request are reported at once. Unknown parameters are rejected; empty " +
			"values are ignored. " +
			"If a parameter takes multiple values, separate them with commas or repeat the parameter. Filters and " +
			"enumerated values are case-insensitive.",
		"**Formats.** Lists of labels, counts, brands, permittees, matches and reference data are also available as " +
			"`text/csv` and `application/x-ndjson` (one JSON object per line): set `Accept`. Rows, limits and cost are the same. " +
			"Headers replace the other members of the JSON body: `Link` (rel=\"next\"), `" + totalHeader + "`, `" +
			truncatedHeader + "`, `" + windowHeader + "`, `" + notesHeader + "` and, for counts, `" + otherGroupsHeader +
			"` and `" + otherLabelsHeader + "`. Errors are always JSON.",
		"**Single records** have an `ETag` that is valid for your account. Send it as `If-None-Match`; an unchanged record returns 304 at no charge. " +
			"`If-None-Match: *` is ignored for metered records. HEAD is charged like GET.",
	}, "\n\n")
}

// operation describes one endpoint.
func (s components) operation(op *operation, example exampleCall) *huma.Operation {
	o := &huma.Operation{
		OperationID: op.ID,
		Tags:        []string{op.Tag},
		Summary:     op.Summary,
		Description: op.Description + "\n\n**Cost:** " + op.Cost,
		Extensions:  extensions(op.Cost, example.curl(), op.PathParam.placeholder()),
		Responses:   map[string]*huma.Response{},
	}
	s.describeSuccess(o, op)
	codes := []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden,
		http.StatusRequestEntityTooLarge,
		http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable}
	if op.PathParam.Name != "" {
		codes = append(codes, http.StatusNotFound)
	}
	for _, p := range op.pathParams() {
		o.Parameters = append(o.Parameters, &huma.Param{
			Name: p.Name, In: "path", Required: true, Description: p.describe(), Example: p.Example,
			Schema: &huma.Schema{Type: huma.TypeString},
		})
	}
	if op.Body != nil {
		codes = append(codes, http.StatusRequestTimeout)
	}
	if op.Params != nil {
		o.Parameters = append(o.Parameters, s.parameters(op.Params)...)
	}
	if op.HasETag {
		addConditional(o)
	}
	if op.Rows != nil {
		codes = append(codes, http.StatusNotAcceptable)
	}
	for _, status := range codes {
		o.Responses[statusKey(status)] = &huma.Response{Ref: responsePrefix + errorResponseName(status)}
	}
	for _, name := range op.Errors {
		o.Responses[statusKey(kindNamed(name).status)] = &huma.Response{Ref: responsePrefix + name}
	}
	return o
}

const responsePrefix = "#/components/responses/"

func statusKey(status int) string { return strconv.Itoa(status) }

// addConditional adds If-None-Match, the ETag and the 304 response to the operation of a single
// record.
func addConditional(o *huma.Operation) {
	o.Parameters = append(o.Parameters, &huma.Param{
		Name: "If-None-Match", In: "header", Example: exampleTag, Schema: &huma.Schema{Type: huma.TypeString},
		Description: "ETags of the versions you have. * matches any version of a free record, and is ignored for a " +
			"metered one.",
	})
	names := append(commonHeaders(), "ETag")
	o.Responses["200"].Headers = headerRefs(names)
	o.Responses["304"] = &huma.Response{
		Description: "Not modified: you have the current version. Not charged.",
		Headers:     headerRefs(names),
	}
}

// describeSuccess describes an endpoint's request body and its successful response, with an
// example.
func (s components) describeSuccess(o *huma.Operation, op *operation) {
	response := &huma.Response{Description: "Success.", Headers: headerRefs(commonHeaders())}
	if op.Response != nil {
		schema := s.Of(op.Response)
		example := op.Example
		if example == nil {
			example = s.Sample(schema)
		}
		response.Content = map[string]*huma.MediaType{mediaJSON: {Schema: schema, Example: example}}
		if op.Rows != nil {
			s.describeFormats(response, op, example)
		}
	}
	o.Responses[statusKey(op.success())] = response
	switch {
	case op.Idempotent:
		response.Description = "Created, now or by an earlier identical request."
		response.Headers = headerRefs(append(commonHeaders(), "Location", replayedHeader))
		o.Parameters = append(o.Parameters, idempotencyKeyParam())
	case op.Creates:
		response.Description = "Created."
		response.Headers = headerRefs(append(commonHeaders(), "Location"))
	case op.Async:
		response.Description = "Accepted. The work continues in the background."
	case op.Response == nil:
		response.Description = "Done."
	}
	if op.Body != nil {
		o.RequestBody = &huma.RequestBody{
			Required:    true,
			Description: op.Body.Doc,
			Content:     map[string]*huma.MediaType{},
		}
		for _, media := range op.Body.Media {
			o.RequestBody.Content[media] = &huma.MediaType{Schema: s.Of(op.Body.Type), Example: op.Body.Example}
		}
	}
}

// describeFormats describes a list's formats other than JSON, with the rows of the JSON example.
func (s components) describeFormats(response *huma.Response, op *operation, example any) {
	rows := reflect.New(reflect.SliceOf(op.Rows))
	body := struct {
		Data any `json:"data"`
	}{rows.Interface()}
	if err := json.Unmarshal(mustEncodeJSON(example), &body); err != nil {
		panic(fmt.Sprintf("httpapi: decode example: %v", err)) // examples are defined in this package
	}
	t := web.Table{Rows: rows.Elem().Interface(), Fields: op.RowFields}
	for mediaType, appendTo := range map[string]func([]byte) ([]byte, error){
		mediaCSV: t.AppendCSV, mediaNDJSON: t.AppendNDJSON,
	} {
		text, err := appendTo(nil)
		if err != nil {
			panic(fmt.Sprintf("httpapi: encode example as %s: %v", mediaType, err))
		}
		response.Content[mediaType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}, Example: string(text)}
	}
	maps.Copy(response.Headers, headerRefs(listHeaders()))
}

// idempotencyKeyParam describes the Idempotency-Key header, which makes a request safe to retry.
func idempotencyKeyParam() *huma.Param {
	return &huma.Param{
		Name: idempotencyKey, In: "header", Example: "5f0c2c1e-7d6f-4a8e-9f0e-3f4f4a1d2b6c",
		Description: "A unique value, such as a UUID, that makes it safe to repeat this request for 24 hours. 1 to 255 " +
			"visible ASCII characters.",
		Schema: &huma.Schema{Type: huma.TypeString, MaxLength: new(255), Pattern: "^[!-~]{1,255}$"},
	}
}

// parameters describes the query parameters in a struct, in the order of its fields.
func (s components) parameters(t reflect.Type) []*huma.Param {
	var params []*huma.Param
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || name == "-" {
			continue
		}
		schema := s.Field(f)
		p := &huma.Param{
			Name: name, In: "query", Description: schema.Description, Schema: schema,
			Required: f.Tag.Get("required") == "true",
		}
		if len(schema.Examples) > 0 {
			p.Example = schema.Examples[0]
		}
		schema.Description, schema.Examples, schema.Nullable = "", nil, false
		if schema.Type == huma.TypeArray {
			explode := false
			p.Style, p.Explode = "form", &explode // comma-separated
		}
		params = append(params, p)
	}
	return params
}

// mustMarshal encodes the document. It panics on errors, because the input is generated by this
// package.
func mustMarshal(doc description) []byte {
	b, err := json.Marshal(doc.OpenAPI)
	if err != nil {
		panic(fmt.Sprintf("httpapi: encode OpenAPI document: %v", err))
	}
	return b
}

// extensions returns the cost and an example call, which OpenAPI has no fields for. placeholder
// names the parameter that the caller must replace; it is empty if the call works unchanged.
func extensions(cost, source, placeholder string) map[string]any {
	label := "curl"
	if placeholder != "" {
		label = placeholderLabel + placeholder
	}
	return map[string]any{
		"x-cost":        cost,
		"x-codeSamples": []map[string]string{{"lang": "Shell", "label": label, "source": source}},
	}
}

const placeholderLabel = "curl, with a placeholder for "

// defaultURL is the server URL in examples if no public URL is configured.
const defaultURL = "http://127.0.0.1:8080"

// mustEncodeJSON encodes an example. It panics on errors, because examples are defined in this
// package.
func mustEncodeJSON(v any) []byte {
	b, err := cola.AppendJSON(nil, v)
	if err != nil {
		panic(fmt.Sprintf("httpapi: encode example: %v", err))
	}
	return b
}

const schemaPrefix = schemas.Prefix

// components are the schemas of the OpenAPI document.
type components struct{ *schemas.Set }

func newComponents() components { return components{schemas.New(schemaName)} }

// schemaName returns the component name of a type: its own name for a type of the API, and a name
// derived from the content for a response body.
func schemaName(t reflect.Type, hint string) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[cola.Cola]():
		return "ColaDetail"
	case reflect.TypeFor[dataOf[cola.Cola]]():
		return "ColaDetailResponse"
	case reflect.TypeFor[colaPage]():
		return "ColaSearchResponse"
	case reflect.TypeFor[colaCounts]():
		return "ColaCountsResponse"
	case reflect.TypeFor[brandPage]():
		return "BrandSearchResponse"
	case reflect.TypeFor[permitteePage]():
		return "PermitteeSearchResponse"
	case reflect.TypeFor[cola.SavedSearchParams]():
		return "SavedSearchRequest"
	case reflect.TypeFor[cola.ScheduleParams]():
		return "ScheduleRequest"
	case reflect.TypeFor[cola.SavedSearchChangeParams]():
		return "SavedSearchChange"
	case reflect.TypeFor[cola.ScheduleChangeParams]():
		return "ScheduleChange"
	case reflect.TypeFor[cola.DestinationParams]():
		return "DestinationRequest"
	case reflect.TypeFor[cola.DestinationChangeParams]():
		return "DestinationChange"
	case reflect.TypeFor[cola.DestinationConfirmParams]():
		return "DestinationConfirmation"
	case reflect.TypeFor[cola.PreviewParams]():
		return "PreviewRequest"
	case reflect.TypeFor[web.ErrorBody]():
		return "ErrorResponse"
	case reflect.TypeFor[web.ErrorInfo]():
		return "Error"
	}
	name := huma.DefaultSchemaNamer(t, hint)
	for prefix, suffix := range map[string]string{
		"DataOf":  "Response",
		"NotedOf": "WithNotesResponse",
		"RowsOf":  "ListResponse",
		"PageOf":  "ListResponse",
	} {
		if base, ok := strings.CutPrefix(name, prefix); ok {
			return base + suffix
		}
	}
	return name
}
