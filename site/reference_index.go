package site

import (
	"fmt"
	"strings"

	"github.com/colaregistry/colaregistry/httpapi"
)

// indexOperations adds operations or tools to the search.
func (s *server) indexOperations(area, path string, sections []httpapi.Section) {
	for i := range sections {
		section := &sections[i]
		for j := range section.Operations {
			op := &section.Operations[j]
			title := op.Summary
			if area == areaTools {
				title = op.ID
			}
			e := entry{
				Area: area, Page: section.Name, Title: title, Path: path + "/" + section.Anchor + "#" + op.ID, text: operationText(op),
				fields: fieldNames(op.Body),
			}
			if area == areaReference {
				e.method, e.endpoint, e.keywords = op.Method, op.Path, op.ID
				for _, specific := range op.Errors {
					if !s.isCommon(specific.ID) {
						e.fields = append(e.fields, specific.Codes...)
					}
				}
			} else {
				e.names = []string{op.ID}
			}
			s.search.add(e)
		}
	}
}

// operationText returns the searchable text of an operation.
func operationText(op *httpapi.Operation) string {
	description := strings.NewReplacer("`", "", "**", "").Replace(op.Description)
	return op.Method + " " + op.Path + "\n" + description + "\n" + fieldsText(op.Parameters) + fieldsText(op.Body)
}

// indexParameters adds each parameter to the search. Operations with the same parameter share an
// entry.
func (s *server) indexParameters() {
	type parameter struct{ name, doc string }
	at := map[parameter]int{} // in params
	var params []entry
	for i := range s.opts.Reference.Sections {
		section := &s.opts.Reference.Sections[i]
		for j := range section.Operations {
			op := &section.Operations[j]
			for _, f := range op.Parameters {
				n, ok := at[parameter{f.Name, f.Doc}]
				if ok {
					params[n].Page += ", " + op.Summary
					continue
				}
				at[parameter{f.Name, f.Doc}] = len(params)
				params = append(params, entry{
					Area: areaReference, Page: op.Summary, Title: f.Name, names: []string{f.Name}, text: f.Doc + " " + strings.Join(f.Allowed, ", "),
					Path: referencePath + "/" + section.Anchor + "#" + op.ID + "." + f.Name, keywords: parameterKeywords,
				})
			}
		}
	}
	for _, e := range params {
		if operations := strings.Split(e.Page, ", "); len(operations) > 2 {
			e.Page = fmt.Sprintf("%s and %d more", operations[0], len(operations)-1)
		}
		s.search.add(e)
	}
}

// openAPIPath is the path of the OpenAPI document. The API serves it.
const openAPIPath = endpointBase + "openapi.json"

// indexOverview adds the overview of the reference to the search: its pages, requests, plans,
// errors and headers.
func (s *server) indexOverview() {
	ref := &s.opts.Reference
	for _, p := range []struct{ title, path, text string }{
		{areaReference, referencePath, "The operations, parameters, objects, errors and headers of the REST API."},
		{objectsTitle, objectsPath, "The JSON objects in requests and responses."},
		{"OpenAPI document", openAPIPath, "The machine-readable description of the REST API (OpenAPI 3.1, JSON). " +
			"Generate a client from it, or import it into Postman or Swagger UI."},
	} {
		s.search.add(entry{Area: areaReference, Page: areaReference, Title: p.title, Path: p.path, text: p.text})
	}
	add := func(title, id, text string, names ...string) {
		s.search.add(entry{
			Area: areaReference, Page: "Overview", Title: title, Path: referencePath + "#" + id, text: text, names: names,
		})
	}
	add("Requests", "request", "The base URL is "+ref.BaseURL+". Send your API key in the X-API-Key header.")
	plans := "Price, monthly quotas of detail views and list records, and rate limit of each plan: "
	for _, p := range ref.Plans {
		plans += fmt.Sprintf("%s ($%d per month), ", p.Tier.Name(), p.Tier.MonthlyPrice())
	}
	add("Plans and limits", "plans", strings.TrimSuffix(plans, ", "))
	for _, e := range s.commonErrors {
		add(e.Status+" "+strings.Join(e.Codes, ", "), "error-"+e.ID, e.Description, e.Codes...)
	}
	for _, h := range ref.Headers {
		add(h.Name, "header-"+h.Name, h.Doc, h.Name)
	}
}

func fieldsText(fields []httpapi.Field) (text string) {
	for _, f := range fields {
		text += f.Name + ": " + f.Doc + "\n"
	}
	return text
}

// fieldNames returns the names of fields, without the names of the objects that contain them.
func fieldNames(fields []httpapi.Field) (names []string) {
	for _, f := range fields {
		names = append(names, leaf(f.Name))
	}
	return names
}
