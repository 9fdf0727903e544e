package httpapi

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"strings"
	texttemplate "text/template"

	"github.com/colaregistry/colaregistry/internal/web"
)

// Paths where directories verify that the operator controls the domain.
const (
	openAIChallengePath = "/.well-known/openai-apps-challenge"
	registryAuthPath    = "/.well-known/mcp-registry-auth"
)

// Discovery configures the pages about the service for people, assistants and directories.
type Discovery struct {
	Contact         string // email address or URL of the operator, on the privacy page
	RequestLogDays  int    // for which requests are kept, on the privacy page; 0: none
	OpenAIChallenge string // served at openAIChallengePath
	RegistryAuth    string // served at registryAuthPath
}

//go:embed llms.txt
var llmsSource string

//go:embed privacy.html
var privacySource string

var (
	llmsTemplate    = texttemplate.Must(texttemplate.New("llms").Parse(llmsSource))
	privacyTemplate = template.Must(template.New("privacy").Parse(privacySource))
)

// discoveryRoutes returns the GET routes of the pages.
func (a *api) discoveryRoutes() map[string]http.HandlerFunc {
	d := a.opts.Discovery
	var llms, privacy bytes.Buffer
	if err := llmsTemplate.Execute(&llms, a.opts); err != nil {
		panic("httpapi: llms.txt: " + err.Error()) // a bug: the template is part of the program
	}
	if err := privacyTemplate.Execute(&privacy, privacyPage{contactOf(d.Contact), a.opts.SiteName, d.RequestLogDays}); err != nil {
		panic("httpapi: privacy page: " + err.Error())
	}
	text := newStaticDocument("text/plain; charset=utf-8", llms.Bytes())
	page := newStaticDocument("text/html; charset=utf-8", privacy.Bytes())
	return map[string]http.HandlerFunc{
		"/llms.txt":         a.serveDocument(&text),
		"/privacy":          a.serveDocument(&page),
		openAIChallengePath: a.serveChallenge(d.OpenAIChallenge),
		registryAuthPath:    a.serveChallenge(d.RegistryAuth),
	}
}

// serveChallenge serves the text that proves to a directory that the operator controls the domain.
// If it is empty, the path doesn't exist.
func (a *api) serveChallenge(text string) http.HandlerFunc {
	if text == "" {
		return func(w http.ResponseWriter, r *http.Request) { web.Fail(w, r, unknownPath(r.URL.Path)) }
	}
	d := newStaticDocument("text/plain; charset=utf-8", []byte(text))
	return a.serveDocument(&d)
}

// privacyPage is the data of the privacy page.
type privacyPage struct {
	contact
	SiteName       string
	RequestLogDays int
}

// contact is a link to the operator; zero if unknown.
type contact struct {
	Text string
	URL  template.URL
}

// contactOf returns the link for an email address or URL.
func contactOf(given string) contact {
	switch {
	case given == "":
		return contact{}
	case strings.HasPrefix(given, "https://"), strings.HasPrefix(given, "http://"):
		return contact{given, template.URL(given)}
	}
	return contact{given, template.URL("mailto:" + given)}
}
