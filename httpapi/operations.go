package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"reflect"
	"slices"

	"github.com/go-chi/chi/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// operation is one endpoint of the API. The route and the OpenAPI description are generated from
// it.
type operation struct {
	ID          string // operationId
	Method      string // empty: GET and HEAD
	Path        string // below basePath, in the syntax of chi and OpenAPI
	Tag         string
	Summary     string
	Description string
	Params      reflect.Type // struct type of its query parameters
	PathParam   pathParam    // zero if the path has none
	InnerParam  pathParam    // the second path parameter; zero if there is only one
	Sample      string       // query string of the example call; may be empty
	Body        *requestBody // nil if there is none
	Creates     bool         // responds with 201
	Idempotent  bool         // accepts an Idempotency-Key
	Async       bool         // responds with 202; the work continues afterward
	Response    reflect.Type // body of a success; 204 without a body if nil
	Rows        reflect.Type // row type of a list in the formats of listMedia; nil for JSON only
	RowFields   []string     // members of the example call's rows; nil for all
	Example     any          // response to the example call; default: built from the examples of the fields
	Meter       cola.Meter   // the charged quota
	Cost        string       // description of the charge
	HasETag     bool         // sends an ETag and supports If-None-Match
	Errors      []string     // component names of errors specific to the operation
	call        call
}

// method returns the HTTP method of the operation.
func (op *operation) method() string { return cmp.Or(op.Method, http.MethodGet) }

// success returns the status code of a successful response.
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

// requestBody describes the JSON body of a request.
type requestBody struct {
	Type    reflect.Type
	Doc     string
	Media   []string // accepted media types
	Example any      // body of the example call

	Placeholders []Placeholder // values in Example that the caller must replace
}

// pathParam describes the variable part of a path.
type pathParam struct {
	Name, Doc, Example string
	Placeholder        bool // the example need not identify an existing record
}

// placeholderNote is appended to the description of a parameter whose example is a placeholder.
const placeholderNote = " The example is a placeholder."

func (p pathParam) describe() string {
	if p.Placeholder {
		return p.Doc + placeholderNote
	}
	return p.Doc
}

// placeholder returns the parameter's name if its example is a placeholder, otherwise "".
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
	list        list   // the body of an operation with Rows, for the other formats
	etag        string // ETag of a single record; otherwise empty
	notModified bool   // 304 without a body
	location    string // path of the created record: 201; otherwise empty
	replayed    bool   // an earlier request with the same idempotency key created the record
	async       bool   // 202: the work continues after the response
	empty       bool   // 204 without a body
}

// listCall returns the call for an endpoint with query parameters. The service checks the
// parameters and reports the decoder's problems together with its own.
func listCall[P, R any](
	fetch func(context.Context, cola.Caller, P) (R, cola.QuotaState, error), render func(R) result,
) call {
	d := newDecoder[P]()
	return func(r *http.Request, caller cola.Caller) (result, cola.QuotaState, error) {
		value, state, err := fetch(r.Context(), caller, d.decode(r.URL.RawQuery))
		if err != nil {
			return result{}, state, err
		}
		return render(value), state, nil
	}
}

// bareCall returns the call for an endpoint without query parameters. A request with a query string
// is rejected and counts toward the rate limit. fetch gets the request so that it can read path
// values and headers.
func bareCall[R any](
	svc Service, fetch func(*http.Request, cola.Caller) (R, cola.QuotaState, error), render func(R) result,
) call {
	d := newDecoder[cola.NoParams]()
	return func(r *http.Request, caller cola.Caller) (result, cola.QuotaState, error) {
		if problem := d.decode(r.URL.RawQuery).Problems.Err(); problem != nil {
			state, err := svc.Refuse(r.Context(), caller, problem)
			return result{}, state, err
		}
		value, state, err := fetch(r, caller)
		if err != nil {
			return result{}, state, err
		}
		return render(value), state, nil
	}
}

// recordCall returns the call that fetches a single record by its path value, with an entity tag.
func recordCall[T any](svc Service, name string,
	fetch func(ctx context.Context, c cola.Caller, value, ifNoneMatch string) (registry.Tagged[T], cola.QuotaState,
		error),
) call {
	return bareCall(svc,
		func(r *http.Request, caller cola.Caller) (registry.Tagged[T], cola.QuotaState, error) {
			return fetch(r.Context(), caller, pathValue(r, name), ifNoneMatch(r))
		},
		func(t registry.Tagged[T]) result {
			if t.NotModified {
				return result{etag: t.ETag, notModified: true}
			}
			return result{body: jsonBody(dataOf[T]{t.Value}), etag: t.ETag}
		})
}

// pathValue returns a decoded path parameter. It decodes exactly once, because canonicalPath has
// escaped every segment again.
func pathValue(r *http.Request, name string) string {
	raw := chi.URLParam(r, name)
	value, err := url.PathUnescape(raw)
	if err != nil {
		return raw // unreachable: canonicalPath escaped it
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
	Notes []string `json:"notes,omitempty" nullable:"false" doc:"Notes on the filters. Omitted if empty." example:"[\"DE was interpreted as Delaware; for Germany, use germany or DEU.\"]"`
}

// rowsOf is the body of a reference list.
type rowsOf[T any] struct {
	Data  []T       `json:"data" nullable:"false" doc:"Matching rows."`
	Meta  cola.Meta `json:"meta" doc:"Number of matching rows."`
	Notes []string  `json:"notes,omitempty" nullable:"false" doc:"Why no rows match. Omitted if empty." example:"[\"No row has the commodity \\\"beer\\\". Available: Distilled Spirits, Malt Beverage, Wine.\"]"`
}

// pageOf is the body of a paginated list.
type pageOf[T any] struct {
	Data  []T           `json:"data" nullable:"false" doc:"Rows on this page."`
	Meta  cola.PageMeta `json:"meta" doc:"Pagination details."`
	Notes []string      `json:"notes,omitempty" nullable:"false" doc:"Why no rows match. Omitted if empty." example:"[\"No row has the commodity \\\"beer\\\". Available: Distilled Spirits, Malt Beverage, Wine.\"]"`
}

// rows renders a reference list.
func rows[T any](l registry.List[T]) result {
	return result{
		body: jsonBody(rowsOf[T]{nonNilRows(l.Rows), l.Meta, l.Notes}),
		list: list{rows: web.Table{Rows: l.Rows}, total: l.Meta.Total, notes: l.Notes},
	}
}

// page renders a page of a list.
func page[T any](l registry.PageList[T]) result {
	return result{
		body: jsonBody(pageOf[T]{nonNilRows(l.Rows), l.Meta, l.Notes}),
		list: list{
			rows: web.Table{Rows: l.Rows}, total: l.Meta.Total, truncated: l.Meta.TruncatedByQuota, notes: l.Notes,
			next: pageAfter(l.Meta.Page, l.Meta.HasMore, l.Meta.TruncatedByQuota),
		},
	}
}

// nonNilRows replaces a nil slice, which JSON would encode as null.
func nonNilRows[T any](rows []T) []T {
	if rows == nil {
		return []T{}
	}
	return rows
}

// Operation tags. Each has its own page in the reference.
const (
	tagColas        = "Labels"
	tagPermittees   = "Permittees"
	tagAccount      = "Account"
	tagSearches     = "Saved searches"
	tagRuns         = "Runs and feeds"
	tagDestinations = "Destinations"
	tagReference    = "Reference data"
)

// isPublicTag reports whether the operations with a tag read records that are the same for all
// accounts.
func isPublicTag(tag string) bool {
	return tag == tagColas || tag == tagPermittees || tag == tagReference
}

// free is the cost of operations that use no quota.
const free = "Free; counts toward the rate limit."

// operations returns every authenticated endpoint, in the order of the reference.
func operations(svc Service) []operation {
	return slices.Concat(
		colaOperations(svc),
		countOperations(svc),
		barcodeOperations(svc),
		brandOperations(svc),
		permitteeOperations(svc),
		suggestOperations(svc),
		usageOperations(svc),
		savedSearchOperations(svc),
		runOperations(svc),
		feedOperations(svc),
		destinationOperations(svc),
		deliveryOperations(svc),
		coverageOperations(svc),
		processingTimeOperations(svc),
		productionReportOperations(svc),
		avaOperations(svc),
	)
}
