package mail

import (
	"bytes"
	"embed"
	"fmt"
	html "html/template"
	"io"
	netmail "net/mail"
	"net/url"
	"strings"
	text "text/template"

	gomail "github.com/wneessen/go-mail"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// message returns the email for a message and the exchange to record. If the email can't be
// created, it returns nil and the failure.
func (s *Sender) message(m alerts.Message) (msg *gomail.Msg, exchange store.Exchange, failure alerts.Result) {
	to := recipient(m)
	switch {
	case to == "":
		return nil, exchange, alerts.Result{Fault: faultNoAddress, Final: true, OurFault: true}
	case !isAddress(to):
		return nil, exchange, alerts.Result{Fault: faultAddress, Final: true}
	}
	c, err := s.compose(m)
	if err != nil {
		s.log.Error("composing an email failed", "delivery", m.ID, "event", m.Event, "error", err)
		return nil, exchange, alerts.Result{Fault: faultCompose, OurFault: true}
	}
	return s.envelope(to, m.MessageID, c), store.Exchange{Subject: c.subject, Sent: c.public}, failure
}

// envelope returns an email with its headers.
func (s *Sender) envelope(to, messageID string, c contents) *gomail.Msg {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent(), gomail.WithEncoding(gomail.EncodingQP))
	msg.FromMailAddress(&s.from)
	msg.ToMailAddress(&netmail.Address{Address: to})
	msg.Subject(c.subject)
	msg.SetMessageIDWithValue(fmt.Sprintf("%s@%s", url.PathEscape(messageID), s.domain()))
	msg.SetDateWithValue(s.now().UTC())
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	if c.unsubscribe != "" {
		msg.SetGenHeaderPreformatted(gomail.HeaderListUnsubscribe, "<"+c.unsubscribe+">")
		msg.SetGenHeaderPreformatted(gomail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
	}
	msg.SetBodyString(gomail.TypeTextPlain, c.text)
	msg.AddAlternativeString(gomail.TypeTextHTML, c.html)
	return msg
}

// isAddress reports whether a string is a bare email address, without a display name, that the
// relay can send to.
func isAddress(address string) bool {
	a, err := netmail.ParseAddress(address)
	return err == nil && a.Address == address && a.Name == "" && oneLine(address, 320) == address &&
		!strings.ContainsAny(address, " <>,;\"")
}

// ascii reports whether the addresses of an email are ASCII.
func ascii(msg *gomail.Msg) bool {
	for _, a := range append(msg.GetTo(), msg.GetFrom()...) {
		if strings.ContainsFunc(a.Address, func(r rune) bool { return r > '~' }) {
			return false
		}
	}
	return true
}

// goesToAccount reports whether a message about an event goes to the account, not to its
// destination.
func goesToAccount(event string) bool { return event == cola.EventPaused }

//go:embed templates
var files embed.FS

var (
	texts = text.Must(text.ParseFS(files, "templates/*.txt"))
	pages = html.Must(html.New("").Funcs(html.FuncMap{"outlook": outlook}).ParseFS(files, "templates/*.html"))
)

// outlook returns markup for Outlook only. It is a function because templates drop HTML comments.
func outlook(markup string) html.HTML { return html.HTML("<!--[if mso]>" + markup + "<![endif]-->") }

// contents is the rendered content of an email.
type contents struct {
	subject, text, html string
	public              string // text with the token removed from its links; only the recipient may see the token
	unsubscribe         string // URL, if any
}

// page holds the data for both templates of an email.
type page struct {
	Subject        string
	Preview        string // preview text in inboxes
	Heading        string
	Body           any    // alertContent or notice
	Reason         string // why the email was sent
	UnsubscribeURL string // URL to unsubscribe, if any
	Site, Home     string // name and URL of the service
	Operator       string // company or person that runs the service; may be empty
}

// compose renders the email for a message.
func (s *Sender) compose(m alerts.Message) (contents, error) {
	p := page{Site: s.siteName, Home: s.public, Operator: s.operator}
	name := "notice"
	token, err := s.linkToken(m.Destination.Account, m.Destination.UUID)
	if err != nil {
		return contents{}, err
	}
	switch {
	case m.Event == cola.EventRan && m.Content != nil:
		name = "alert"
		s.alert(m, &p, token)
	case m.Event == cola.EventTest:
		s.test(m, &p, token)
	case m.Event == cola.EventConfirm:
		s.confirm(m, &p, token)
	case m.Event == cola.EventPaused:
		s.paused(m, &p)
	default:
		return contents{}, fmt.Errorf("unknown event %s", m.Event)
	}
	c, err := render(name, p)
	c.public = strings.ReplaceAll(c.text, url.PathEscape(token), "REMOVED")
	return c, err
}

// render renders a page with the text and HTML templates of the given name.
func render(name string, p page) (c contents, err error) {
	c = contents{subject: p.Subject, unsubscribe: p.UnsubscribeURL}
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

// tokenURL returns the URL of a page for a token.
func (s *Sender) tokenURL(page, token string) string {
	return strings.Join([]string{s.public, page, url.PathEscape(token)}, "/")
}
