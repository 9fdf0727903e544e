package httpapi

import (
	"bytes"
	_ "embed"
	"net/http"
	"text/template"

	"github.com/colaregistry/colaregistry/internal/web"
)

// Paths where directories verify that the operator controls the domain.
const (
	openAIChallengePath = "/.well-known/openai-apps-challenge"
	registryAuthPath    = "/.well-known/mcp-registry-auth"
)

// Discovery configures the documents about the service for assistants and directories.
type Discovery struct {
	OpenAIChallenge string // served at openAIChallengePath
	RegistryAuth    string // served at registryAuthPath
}

//go:embed llms.txt
var llmsSource string

var llmsTemplate = template.Must(template.New("llms").Parse(llmsSource))

// discoveryRoutes returns the GET routes for the documents.
func (a *api) discoveryRoutes() map[string]http.HandlerFunc {
	d := a.opts.Discovery
	var llms bytes.Buffer
	if err := llmsTemplate.Execute(&llms, a.opts); err != nil {
		panic("httpapi: llms.txt: " + err.Error()) // a bug: the template is part of the program
	}
	text := newStaticDocument("text/plain; charset=utf-8", llms.Bytes())
	return map[string]http.HandlerFunc{
		"/llms.txt":         a.serveDocument(func() staticDocument { return text }),
		openAIChallengePath: a.serveChallenge(d.OpenAIChallenge),
		registryAuthPath:    a.serveChallenge(d.RegistryAuth),
	}
}

// serveChallenge serves the text that proves to a directory that the operator controls the domain.
// If the text is empty, the path doesn't exist.
func (a *api) serveChallenge(text string) http.HandlerFunc {
	if text == "" {
		return func(w http.ResponseWriter, r *http.Request) { web.Fail(w, r, unknownPath(r.URL.Path)) }
	}
	d := newStaticDocument("text/plain; charset=utf-8", []byte(text))
	return a.serveDocument(func() staticDocument { return d })
}
