package mcp

import (
	"net/http"
	"slices"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// wellKnown is where a client that knows no more than the host looks for the server's description (RFC 9728, section 3). One that
// knows the endpoint looks below it, at the endpoint's path.
const wellKnown = "/.well-known/oauth-protected-resource"

// paths are those that the edge answers at.
var paths = []string{Path, wellKnown, wellKnown + Path}

// Handles reports whether a path is one that the edge answers at.
func Handles(path string) bool { return slices.Contains(paths, path) }

// Resource describes the edge to clients of OAuth. publicURL is the scheme and host that callers reach it at, without a slash at
// its end.
func Resource(publicURL string, issuers, scopes []string) auth.Resource {
	return auth.Resource{ID: publicURL + Path, Metadata: publicURL + wellKnown + Path, Issuers: issuers, Scopes: scopes}
}

// metadata is the description (RFC 9728, section 2). It leaves out the scope that writes: clients ask for all that is listed, and
// should not ask for that before it is needed.
type metadata struct {
	Resource      string   `json:"resource"`
	Issuers       []string `json:"authorization_servers"`
	Scopes        []string `json:"scopes_supported,omitempty"`
	Methods       []string `json:"bearer_methods_supported"`
	Name          string   `json:"resource_name"`
	Documentation string   `json:"resource_documentation"`
}

// describeResource serves the description. Anybody may read it, from a page of any origin too: it is the first thing that an
// assistant asks for, before it has credentials.
func (e *edge) describeResource() http.Handler {
	r := e.opts.Resource
	body := mustJSON(metadata{r.ID, r.Issuers, r.Scopes, []string{"header"}, serverTitle, e.opts.PublicURL + "/docs"})
	return web.CORS{}.Handler(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case len(r.Issuers) == 0:
			web.Fail(w, req, cola.Errorf(cola.CodeNotFound, "This server takes API keys only; there is no sign-in for apps."))
		case req.Method != http.MethodGet && req.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			web.Fail(w, req, cola.Errorf(cola.CodeMethodNotAllowed, "%s is not allowed here; use GET.", shownMethod(req.Method)))
		default:
			w.Header().Set("Cache-Control", "public, max-age=300")
			web.WriteJSON(w, http.StatusOK, body)
		}
	}))
}
