package mcp

import (
	"context"
	"reflect"
	"strings"

	protocol "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

const (
	jsonType        = "application/json"
	labelScheme     = "registry://colas/"
	referenceScheme = "registry://reference/"
)

// referenceResource is a free resource; reading it counts toward the rate limit.
type referenceResource struct {
	name, title, description string
	content                  func(ctx context.Context, svc Service) (object, error)
}

var referenceResources = []referenceResource{
	{
		"categories", "Category paths",
		"Category paths in use, for derived_subcategory in search_colas.",
		func(ctx context.Context, svc Service) (object, error) {
			words, err := svc.Vocabulary(ctx)
			paths, left := words.Categories, maxContentBytes
			for i, p := range paths {
				if left -= 2 * len(p); left < 0 {
					paths = paths[:i]
					break
				}
			}
			return object{
				{"roots", vocabulary.CategoryRoots()}, {"total", len(words.Categories)},
				{"paths", nonNilRows(paths)},
			}, err
		},
	},
	{
		"filters", "Filter values",
		"Filter values that search_colas accepts, with TTB's class/type codes and origins.",
		func(context.Context, Service) (object, error) { return filterWords(), nil },
	},
	{
		"tiers", "Plans and their limits",
		"Monthly quotas, rate limit and price of each plan.",
		func(context.Context, Service) (object, error) {
			var tiers []object
			for _, t := range cola.Tiers() {
				l := t.Limits()
				tiers = append(tiers, object{
					{"tier", t}, {"detail_views_per_month", l.DetailViews}, {"list_records_per_month", l.ListRecords},
					{"requests_per_minute", l.PerMinute}, {"price", t.Price()},
				})
			}
			return object{{"tiers", tiers}}, nil
		},
	},
}

// filterWords lists the values of every filter that has a fixed set of values, and TTB's tables.
func filterWords() object {
	var filters object
	for _, f := range cola.FieldsOf[cola.SearchParams]() {
		tag := reflect.TypeFor[cola.SearchParams]().FieldByIndex(f.Index).Tag
		_, isFilter := cola.FilterOf(f.Name)
		if words := tag.Get("enum"); isFilter && words != "" {
			filters = append(filters, field{f.Name, strings.Split(words, ",")})
		}
	}
	var classes, origins []object
	for _, c := range vocabulary.Classes() {
		classes = append(classes, object{
			{"class_id", c.ID}, {"class_name", c.Name},
			{"product_type", cola.Text(c.ProductType)}, {"category", cola.Text(c.Category)},
		})
	}
	for _, o := range vocabulary.Origins() {
		origins = append(origins, object{{"origin_id", o.ID}, {"origin_name", o.Name}})
	}
	return object{{"filters", filters}, {"classes", classes}, {"origins", origins}}
}

func (e *edge) addResources(s *server.MCPServer) {
	for _, r := range referenceResources {
		resource := protocol.NewResource(referenceScheme+r.name, r.name,
			protocol.WithResourceTitle(r.title), protocol.WithResourceDescription(r.description+" Free."),
			protocol.WithMIMEType(jsonType))
		s.AddResource(resource, e.resourceHandler(cola.MeterNone,
			func(ctx context.Context, req *request) ([]byte, cola.QuotaState, error) {
				state, err := e.svc.Admit(ctx, req.caller)
				if err != nil {
					return nil, state, err
				}
				content, err := r.content(ctx, e.svc)
				if err != nil {
					return nil, state, err
				}
				return sanitizeJSON(mustJSON(content)), state, nil
			}))
	}
	template := protocol.NewResourceTemplate(labelScheme+"{ttb_id}", "cola",
		protocol.WithTemplateTitle("One label"),
		protocol.WithTemplateDescription("Everything known about one label, as get_cola returns it with "+
			"response_format detailed. Costs 1 detail view; free if not found."),
		protocol.WithTemplateMIMEType(jsonType))
	s.AddResourceTemplate(template,
		server.ResourceTemplateHandlerFunc(e.resourceHandler(cola.MeterDetailViews, e.readLabel)))
}

// readLabel returns the content of a label resource.
func (e *edge) readLabel(ctx context.Context, req *request) ([]byte, cola.QuotaState, error) {
	found, state, err := e.svc.Cola(ctx, req.caller, strings.TrimPrefix(req.target, labelScheme), "")
	if err != nil {
		return nil, state, err
	}
	var a toolResult
	putRecord(&a, view{detailed: true}, found.Value)
	e.noteLocalLinks(&a)
	a.setCharge(cola.MeterDetailViews, state)
	return a.json(), state, nil
}

// resourceHandler returns a handler that reads a resource for the request in the context.
func (e *edge) resourceHandler(
	m cola.Meter, read func(context.Context, *request) ([]byte, cola.QuotaState, error),
) server.ResourceHandlerFunc {
	return func(ctx context.Context, call protocol.ReadResourceRequest) ([]protocol.ResourceContents, error) {
		var content []byte
		public := e.execute(ctx, m, func(ctx context.Context, req *request) (state cola.QuotaState, err error) {
			content, state, err = read(ctx, req)
			return state, err
		})
		if public != nil {
			return nil, requestFrom(ctx).setFailure(public)
		}
		return []protocol.ResourceContents{protocol.TextResourceContents{
			URI:      call.Params.URI,
			MIMEType: jsonType,
			Text:     string(content),
		}}, nil
	}
}

// setFailure records shown as the JSON-RPC error for the message, unless an HTTP error is already
// recorded. It returns the recorded error.
func (req *request) setFailure(shown *cola.Error) error {
	if req.failure == nil {
		req.failure = newRPCError(shown, req)
	}
	return req.failure
}
