package mcp

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// Paths of the documents that describe the endpoint at Path before a client connects.
const (
	// serverCardPath is the reserved location of the MCP Server Card (SEP-2127).
	serverCardPath = Path + "/server-card"
	// catalogPath is the path of the AI Catalog, where clients that know only the host find the
	// card.
	catalogPath = "/.well-known/ai-catalog.json"
	// serverJSONPath is the path of the file that mcp-publisher submits to the MCP Registry.
	serverJSONPath = Path + "/server.json"
)

const (
	serverCardType   = "application/mcp-server-card+json"
	serverCardSchema = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
	catalogType      = "application/ai-catalog+json"
	serverJSONSchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
)

// serverName is the name of the server in the protocol.
const serverName = "colaregistry"

// serverDescription describes the server in at most 100 characters, the limit in the schemas.
const serverDescription = "Certificates of Label Approval (COLAs) for US wine, beer and spirits, " +
	"with permittees and barcodes."

// description is a Server Card or a server.json; both have these members.
type description struct {
	Schema      string   `json:"$schema"`
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Version     string   `json:"version"`
	WebsiteURL  string   `json:"websiteUrl"`
	Remotes     []remote `json:"remotes"`
}

// remote is an endpoint.
type remote struct {
	Type     string         `json:"type"`
	URL      string         `json:"url"`
	Headers  []remoteHeader `json:"headers"`
	Versions []string       `json:"supportedProtocolVersions,omitempty"` // Server Card only
}

// remoteHeader is a request header that the user provides.
type remoteHeader struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	IsRequired  bool   `json:"isRequired"`
	IsSecret    bool   `json:"isSecret"`
}

// catalog is an AI Catalog.
type catalog struct {
	SpecVersion string         `json:"specVersion"`
	Entries     []catalogEntry `json:"entries"`
}

type catalogEntry struct {
	Identifier string `json:"identifier"`
	Type       string `json:"type"`
	URL        string `json:"url"`
}

// discoveryDocuments returns the handlers of the documents by path.
func discoveryDocuments(o Options) map[string]http.Handler {
	host := publicHost(o.PublicURL)
	d := description{
		Name: reverseDNS(host) + "/" + serverName, Title: o.SiteName, Description: serverDescription,
		Version: o.Version, WebsiteURL: o.PublicURL + "/docs",
		Remotes: []remote{{Type: "streamable-http", URL: o.PublicURL + Path, Headers: []remoteHeader{{
			Name: "X-API-Key", Description: "API key, created in the dashboard.",
			IsRequired: len(o.Resource.Issuers) == 0, IsSecret: true,
		}}}},
	}
	published, card := d, d
	published.Schema, card.Schema = serverJSONSchema, serverCardSchema
	card.Remotes = slices.Clone(d.Remotes)
	card.Remotes[0].Versions = protocolVersions
	index := catalog{"1.0", []catalogEntry{{
		"urn:air:" + host + ":mcp:" + serverName, serverCardType, o.PublicURL + serverCardPath,
	}}}
	return map[string]http.Handler{
		serverCardPath: publicDocument(serverCardType, mustJSON(card)),
		serverJSONPath: publicDocument("application/json", mustJSON(published)),
		catalogPath:    publicDocument(catalogType, mustJSON(index)),
	}
}

// publicHost returns the host name in the public URL, or localhost if the URL has an IP address or
// no host.
func publicHost(publicURL string) string {
	u, err := url.Parse(publicURL)
	if err != nil || u.Hostname() == "" {
		return "localhost"
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return "localhost"
	}
	return strings.ToLower(u.Hostname())
}

// reverseDNS returns a host name with its labels reversed, such as com.example.registry. The MCP
// Registry accepts a server name only from the owner of its domain.
func reverseDNS(host string) string {
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

// publicDocument serves a document without authentication and to pages from any origin.
func publicDocument(mediaType string, body []byte) http.Handler {
	return web.CORS{}.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			web.Fail(w, r, cola.Errorf(cola.CodeMethodNotAllowed, "%s is not allowed here; use GET.",
				displayMethod(r.Method)))
			return
		}
		w.Header().Set("Cache-Control", "public, max-age=300")
		web.Write(w, http.StatusOK, mediaType, body)
	}))
}
