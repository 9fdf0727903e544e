package site

import (
	"slices"
	"strings"
)

// endpointBase is the path that all endpoints start with. Queries may omit it.
const endpointBase = "/api/v1/"

// endpoints returns the rows of the operations that a query names by path: "/colas", "GET colas" or
// "colas/stats". A name without a slash may also be the singular, or several words: "saved search".
// If no path matches exactly, paths with matching parameters count: "colas/17001001000001". If there are
// none either, the path may be incomplete after its first hyphen: "saved-sea".
func (x *index) endpoints(query string) (rows []int) {
	method, path, ok := strings.Cut(query, " ")
	if !ok || !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, strings.ToUpper(method)) {
		method, path = "", query
	}
	path = strings.ToLower(strings.TrimSpace(path))
	path, _, _ = strings.Cut(path, "?")
	path = strings.Trim(strings.TrimPrefix(path, strings.TrimSuffix(endpointBase, "/")), "/")
	names := []string{path}
	if !strings.Contains(path, "/") {
		path = strings.NewReplacer(" ", "-", "_", "-").Replace(path)
		names = []string{path, path + "s", path + "es"}
	}
	var withParameters, longer []int
	for n, e := range x.entries {
		known := strings.TrimPrefix(e.endpoint, endpointBase)
		switch {
		case known == "", method != "" && !strings.EqualFold(method, e.method):
		case slices.Contains(names, known):
			rows = append(rows, n)
		case fillsPath(path, known):
			withParameters = append(withParameters, n)
		case strings.Contains(path, "-") && strings.HasPrefix(known, path) && !strings.Contains(known, "/"):
			longer = append(longer, n)
		}
	}
	switch {
	case len(rows) > 0:
		return rows
	case len(withParameters) > 0:
		return withParameters
	}
	return longer
}

// fillsPath reports whether a path has values for the parameters of a known path.
func fillsPath(path, known string) bool {
	parts, knownParts := strings.Split(path, "/"), strings.Split(known, "/")
	return len(parts) > 1 && slices.EqualFunc(parts, knownParts, func(part, knownPart string) bool {
		return part == knownPart || part != "" && strings.HasPrefix(knownPart, "{")
	})
}

// withEndpoints puts the operations in some rows before the other results.
func (x *index) withEndpoints(rows []int, others []result, limit int) (results []result) {
	for _, n := range rows {
		e := x.entries[n]
		results = append(results, result{
			entry: e, Heading: []span{{e.Title, false}}, Excerpt: []span{{e.method + " " + e.endpoint, true}},
		})
		others = slices.DeleteFunc(others, func(r result) bool { return r.Path == e.Path })
	}
	results = append(results, others...)
	return results[:min(limit, len(results))]
}
