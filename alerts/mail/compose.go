package mail

import (
	"bytes"
	"embed"
	"fmt"
	html "html/template"
	"io"
	"net/url"
	"strings"
	text "text/template"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
)

//go:embed templates
var files embed.FS

var (
	texts = text.Must(text.ParseFS(files, "templates/*.txt"))
	pages = html.Must(html.New("").Funcs(html.FuncMap{"outlook": outlook}).ParseFS(files, "templates/*.html"))
)

// outlook returns markup that Outlook alone takes. Templates leave comments out.
func outlook(markup string) html.HTML { return html.HTML("<!--[if mso]>" + markup + "<![endif]-->") }

// contents is what a mail says.
type contents struct {
	subject, text, html string
	unsubscribe         string // where it is ended; empty when there is nothing to end
}

// page is what both templates of a mail are given.
type page struct {
	Subject string
	Lead    string // what lists of mail show beside the subject
	Heading string
	Body    any    // findings or notice
	Why     string // why it comes
	Stop    string // where it is ended; empty when there is nothing to end
	Site    string // host that it comes from
}

// compose makes what a mail of a message says.
func (s *Sender) compose(m alerts.Message) (contents, error) {
	p := page{Site: s.site()}
	name := "notice"
	token, err := s.link(m.Destination.Account, m.Destination.UUID)
	if err != nil {
		return contents{}, err
	}
	switch {
	case m.Event == cola.EventRan && m.Content != nil:
		name = "findings"
		s.findings(m, &p, token)
	case m.Event == cola.EventTest:
		s.test(m, &p, token)
	case m.Event == cola.EventConfirm:
		s.confirm(m, &p, token)
	case m.Event == cola.EventPaused:
		s.paused(m, &p)
	default:
		return contents{}, fmt.Errorf("there is no mail of %s", m.Event)
	}
	c := contents{subject: p.Subject, unsubscribe: p.Stop}
	if c.text, err = rendered(texts.ExecuteTemplate, name+".txt", p); err == nil {
		c.html, err = rendered(pages.ExecuteTemplate, name+".html", p)
	}
	return c, err
}

func rendered(execute func(io.Writer, string, any) error, name string, p page) (string, error) {
	var b bytes.Buffer
	err := execute(&b, name, p)
	return b.String(), err
}

// site returns the host that links lead to.
func (s *Sender) site() string {
	if u, err := url.Parse(s.public); err == nil && u.Host != "" {
		return u.Host
	}
	return s.public
}

// address returns the address of a page that a token opens.
func (s *Sender) address(of, token string) string {
	return strings.Join([]string{s.public, of, url.PathEscape(token)}, "/")
}
