package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// operation is one endpoint of the API: the row that mounts its route and describes it.
type operation struct {
	ID          string // operationId
	Method      string // empty: GET, and HEAD with it
	Path        string // below basePath, as chi and OpenAPI write it
	Tag         string
	Summary     string
	Description string
	Params      reflect.Type // the struct of its query parameters
	PathParam   pathParam    // zero if the path has none
	InnerParam  pathParam    // the one after it; zero when the path has no second one
	Sample      string       // query string of the example call; may be empty
	Body        *requestBody // nil if there is none
	Creates     bool         // it makes something: 201
	Idempotent  bool         // it takes an Idempotency-Key, by which the request can be sent again
	Async       bool         // done after the response: 202
	Response    reflect.Type // body of a success; nil: 204 without a body
	Example     any          // response of the example call; nil: built from the examples of the fields
	Meter       cola.Meter   // the charged quota
	Cost        string       // how much, in words
	HasETag     bool         // answers with an ETag and heeds If-None-Match
	Errors      []string     // its own, by their names in the document, beside those that all have
	call        call
}

// method returns the method that the operation is asked with.
func (op *operation) method() string { return cmp.Or(op.Method, http.MethodGet) }

// success returns the status of a success.
func (op *operation) success() int {
	switch {
	case op.Creates:
		return http.StatusCreated
	case op.Async:
		return http.StatusAccepted
	case op.Response == nil:
		return http.StatusNoContent
	}
	return http.StatusOK
}

// pathParams returns the variable parts of the path, in order.
func (op *operation) pathParams() []pathParam {
	return slices.DeleteFunc([]pathParam{op.PathParam, op.InnerParam}, func(p pathParam) bool { return p.Name == "" })
}

// samplePath returns the path with the examples of its variable parts.
func (op *operation) samplePath() string {
	path := op.Path
	for _, p := range op.pathParams() {
		path = strings.Replace(path, "{"+p.Name+"}", url.PathEscape(p.Example), 1)
	}
	return path
}

// requestBody describes the JSON body of a request.
type requestBody struct {
	Type    reflect.Type
	Doc     string
	Media   []string // the media types that it may be sent as
	Example any      // of the example call
}

// pathParam describes the variable part of a path.
type pathParam struct {
	Name, Doc, Example string
	Placeholder        bool // the example is a placeholder: no record need have it
}

// placeholderNote ends the description of a parameter whose example is a placeholder.
const placeholderNote = " The example is a placeholder."

func (p pathParam) describe() string {
	if p.Placeholder {
		return p.Doc + placeholderNote
	}
	return p.Doc
}

// placeholder names the parameter when its example is one.
func (p pathParam) placeholder() string {
	if p.Placeholder {
		return p.Name
	}
	return ""
}

// call runs an operation for a caller.
type call func(r *http.Request, caller cola.Caller) (result, cola.QuotaState, error)

// result is the result of a successful call.
type result struct {
	body        body
	etag        string // of a single record; empty elsewhere
	notModified bool   // the caller has it already: 304 without a body
	location    string // path of the created record: 201; otherwise empty
	replayed    bool   // it was made before, by the same request
	async       bool   // done after the response: 202
	empty       bool   // 204 without a body
}

// listCall returns the call of an endpoint with query parameters. The service checks the
// parameters, and reports the decoder's problems with its own.
func listCall[P, R any](
	ask func(context.Context, cola.Caller, P) (R, cola.QuotaState, error), render func(R) result,
) call {
	d := newDecoder[P]()
	return func(r *http.Request, caller cola.Caller) (result, cola.QuotaState, error) {
		value, state, err := ask(r.Context(), caller, d.decode(r.URL.RawQuery))
		if err != nil {
			return result{}, state, err
		}
		return render(value), state, nil
	}
}

// bareCall returns the call of an endpoint without query parameters. A request with any is refused
// and counts toward the rate limit. ask gets the request for its path value and headers.
func bareCall[R any](
	svc Service, ask func(*http.Request, cola.Caller) (R, cola.QuotaState, error), render func(R) result,
) call {
	d := newDecoder[cola.NoParams]()
	return func(r *http.Request, caller cola.Caller) (result, cola.QuotaState, error) {
		if problem := d.decode(r.URL.RawQuery).Problems.Err(); problem != nil {
			state, err := svc.Refuse(r.Context(), caller, problem)
			return result{}, state, err
		}
		value, state, err := ask(r, caller)
		if err != nil {
			return result{}, state, err
		}
		return render(value), state, nil
	}
}

// recordCall returns the call of a single record, found by its path value, with an entity tag.
func recordCall[T any](svc Service, name string,
	ask func(ctx context.Context, c cola.Caller, value, ifNoneMatch string) (registry.Tagged[T], cola.QuotaState,
		error),
) call {
	return bareCall(svc,
		func(r *http.Request, caller cola.Caller) (registry.Tagged[T], cola.QuotaState, error) {
			return ask(r.Context(), caller, pathValue(r, name), ifNoneMatch(r))
		},
		func(t registry.Tagged[T]) result {
			if t.NotModified {
				return result{etag: t.ETag, notModified: true}
			}
			return result{body: jsonBody(dataOf[T]{t.Value}), etag: t.ETag}
		})
}

// pathValue returns a path parameter, decoded exactly once: canonicalPath has escaped every segment
// again.
func pathValue(r *http.Request, name string) string {
	raw := chi.URLParam(r, name)
	value, err := url.PathUnescape(raw)
	if err != nil {
		return raw // unreachable: url.PathEscape wrote it
	}
	return value
}

// dataOf is the body of a response with one object.
type dataOf[T any] struct {
	Data T `json:"data" doc:"The record."`
}

// notedOf is the body of a response with one object and notes.
type notedOf[T any] struct {
	Data  T        `json:"data" doc:"The record."`
	Notes []string `json:"notes,omitempty" nullable:"false" doc:"What to know about the record; present only when there is something to say." example:"[\"DE was read as Delaware; for Germany use germany or DEU.\"]"`
}

// rowsOf is the body of a reference list.
type rowsOf[T any] struct {
	Data  []T       `json:"data" nullable:"false" doc:"The rows that match."`
	Meta  cola.Meta `json:"meta" doc:"How many rows match."`
	Notes []string  `json:"notes,omitempty" nullable:"false" doc:"Why no row matches; present only when there is something to say." example:"[\"No row has the commodity \\\"beer\\\"; there are Distilled Spirits, Malt Beverage, Wine.\"]"`
}

// pageOf is the body of a paginated list.
type pageOf[T any] struct {
	Data  []T           `json:"data" nullable:"false" doc:"The rows of this page."`
	Meta  cola.PageMeta `json:"meta" doc:"Where this page stands."`
	Notes []string      `json:"notes,omitempty" nullable:"false" doc:"Why no row matches; present only when there is something to say." example:"[\"No row has the commodity \\\"beer\\\"; there are Distilled Spirits, Malt Beverage, Wine.\"]"`
}

// rows renders a reference list.
func rows[T any](l registry.List[T]) result {
	return result{body: jsonBody(rowsOf[T]{nonNilRows(l.Rows), l.Meta, l.Notes})}
}

// page renders a page of a list.
func page[T any](l registry.PageList[T]) result {
	return result{body: jsonBody(pageOf[T]{nonNilRows(l.Rows), l.Meta, l.Notes})}
}

// nonNilRows makes no rows an empty array, which JSON would otherwise show as null.
func nonNilRows[T any](rows []T) []T {
	if rows == nil {
		return []T{}
	}
	return rows
}

// The groups of the reference.
const (
	tagColas        = "Labels"
	tagPermittees   = "Permittees"
	tagAccount      = "Account"
	tagSearches     = "Saved searches"
	tagDestinations = "Destinations"
	tagReference    = "Reference data"
)

// free is the cost of operations that use no quota.
const free = "Free; counts in the burst."

// operations is every authenticated endpoint in the order of the reference.
func operations(svc Service) []operation {
	return slices.Concat(
		colaOperations(svc),
		barcodeOperations(svc),
		permitteeOperations(svc),
		usageOperations(svc),
		savedSearchOperations(svc),
		runOperations(svc),
		feedOperations(svc),
		destinationOperations(svc),
		deliveryOperations(svc),
		processingTimeOperations(svc),
		productionReportOperations(svc),
		avaOperations(svc),
	)
}
