package httpapi

import (
	"bytes"
	"context"
	_ "embed"
	"html/template"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// subscriptionService contains the operations for recipients of messages, who are identified only
// by the token in a link. They are neither authenticated nor metered.
type subscriptionService interface {
	Subscription(ctx context.Context, token string) (registry.Subscription, error)
	Unsubscribe(ctx context.Context, token string) (registry.Subscription, error)
	Confirm(ctx context.Context, token string) (registry.Subscription, error)
	Feed(ctx context.Context, token string) (registry.Feed, error)
}

// Paths of the token links. The tokens are secrets, so logs and metrics contain only these
// patterns.
const (
	unsubscribePath = "/unsubscribe/{token}"
	confirmPath     = "/confirm/{token}"
	feedPath        = "/feeds/{token}"
)

// noticePage is a small page with a message and possibly buttons.
type noticePage struct {
	Title   string
	Lines   []string
	Buttons []button
}

// button is a button that sends a POST to a path.
type button struct {
	Path, Label string
	Main        bool // the primary button
}

//go:embed notice_page.html
var noticeSource string

var noticeTemplate = template.Must(template.New("notice").Parse(noticeSource))

// noticePolicy allows the style sheet and font of package site, and forms that submit to this
// server, but no scripts.
const noticePolicy = "default-src 'none'; style-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// showUnsubscribe shows the unsubscribe page. A GET has no effect, because link scanners follow the
// links in messages.
func (a *api) showUnsubscribe(w http.ResponseWriter, r *http.Request) {
	token := pathValue(r, "token")
	s, err := a.svc.Subscription(r.Context(), token)
	if err != nil {
		a.writeErrorNotice(w, r, err)
		return
	}
	page := subscriptionPage(s, token, "Unsubscribe?")
	page.Buttons[0].Main = true
	a.writeNotice(w, r, http.StatusOK, page)
}

// showConfirm shows the confirmation page. Like showUnsubscribe, it changes nothing.
func (a *api) showConfirm(w http.ResponseWriter, r *http.Request) {
	token := pathValue(r, "token")
	s, err := a.svc.Subscription(r.Context(), token)
	if err != nil {
		a.writeErrorNotice(w, r, err)
		return
	}
	a.writeNotice(w, r, http.StatusOK, subscriptionPage(s, token, "You’re subscribed"))
}

// unsubscribe ends a subscription. The request comes from the button on the page, or is a one-click
// request from a mail program (RFC 8058), which has no cookies or origin and gets plain text.
func (a *api) unsubscribe(w http.ResponseWriter, r *http.Request) {
	web.ShortenBodyTimeout(w, r)
	token, oneClick := pathValue(r, "token"), isOneClick(r)
	s, err := a.svc.Unsubscribe(r.Context(), token)
	switch {
	case err != nil && oneClick:
		reportError(w, r, err, func(e *cola.Error) { writeText(w, web.StatusOf(e.Code), e.Message) })
	case err != nil:
		a.writeErrorNotice(w, r, err)
	case oneClick:
		writeText(w, http.StatusOK, "You’re unsubscribed.")
	default:
		a.writeNotice(w, r, http.StatusOK, subscriptionPage(s, token, ""))
	}
}

func (a *api) confirm(w http.ResponseWriter, r *http.Request) {
	web.ShortenBodyTimeout(w, r)
	token := pathValue(r, "token")
	s, err := a.svc.Confirm(r.Context(), token)
	if err != nil {
		a.writeErrorNotice(w, r, err)
		return
	}
	a.writeNotice(w, r, http.StatusOK, subscriptionPage(s, token, "You’re subscribed"))
}

// isOneClick reports whether a POST is a one-click request (RFC 8058), in either form encoding.
func isOneClick(r *http.Request) bool {
	body, err := web.ReadBody(r, 4<<10, "The form is larger than %d bytes.")
	if err != nil {
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return strings.EqualFold(r.PostFormValue("List-Unsubscribe"), "One-Click")
}

// subscriptionPage shows the state of a subscription. title is the title for an active one.
func subscriptionPage(s registry.Subscription, token, title string) noticePage {
	agree := button{"/confirm/" + token, "Subscribe", true}
	end := button{"/unsubscribe/" + token, "Unsubscribe", false}
	topic, recipient := subscriptionTopic(s), recipientName(s)
	text := "We send " + topic + " to " + recipient + "."
	switch {
	case s.Ended():
		agree.Label = "Subscribe again"
		return noticePage{"You’re unsubscribed", []string{"We no longer send " + topic + " to " + recipient + "."},
			[]button{agree}}
	case !s.Confirmed():
		end.Label = "No, thanks"
		return noticePage{"Subscribe?", []string{
			"Someone asked us to send " + topic + " to " + recipient + ".",
			"If you didn’t expect this, close this page. You won’t get any alerts unless you subscribe.",
		}, []button{agree, end}}
	case s.State != cola.DestinationActive:
		text = "You’re subscribed to " + topic + " at " + recipient + ". Messages are currently paused."
	}
	return noticePage{title, []string{text}, []button{end}}
}

// subscriptionTopic describes the messages. It includes the search's name only once the recipient
// has confirmed, because the account holder could put anything in the name.
func subscriptionTopic(s registry.Subscription) string {
	switch {
	case s.Search == "":
		return "alerts about new label approvals"
	case !s.Confirmed():
		return "alerts about new label approvals that match a saved search"
	}
	return "alerts about new label approvals that match the saved search “" + s.Search + "”"
}

func recipientName(s registry.Subscription) string {
	if s.Address == "" {
		return "this address"
	}
	return s.Address
}

// writeErrorNotice shows an error as a page.
func (a *api) writeErrorNotice(w http.ResponseWriter, r *http.Request, err error) {
	reportError(w, r, err, func(e *cola.Error) {
		l := noticePage{Title: "Something went wrong", Lines: []string{e.Message}}
		switch e.Code {
		case cola.CodeNotFound:
			l.Title = "Link not found"
			l.Lines = append(l.Lines, "If you still get messages, use the link in the latest one, and check that the "+
				"whole link was copied.")
		case cola.CodeInternal:
			l.Lines = append(l.Lines, "Request ID: "+web.EventOf(r.Context()).RequestID)
		}
		a.writeNotice(w, r, web.StatusOf(e.Code), l)
	})
}

// reportError records an error for the log and calls write with its public form. It is for
// responses that don't use the JSON error envelope.
func reportError(w http.ResponseWriter, r *http.Request, err error, write func(*cola.Error)) {
	if web.IsClientGone(r, err) {
		w.WriteHeader(web.StatusClientGone)
		return
	}
	event := web.EventOf(r.Context())
	public, fault := web.PublicError(err, event.RequestID)
	event.Code, event.Fault = public.Code, fault
	if public.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(web.RetrySeconds(public.RetryAfter), 10))
	}
	write(public)
}

func (a *api) writeNotice(w http.ResponseWriter, r *http.Request, status int, l noticePage) {
	var b bytes.Buffer
	if err := noticeTemplate.Execute(&b, struct {
		noticePage
		SiteName string
	}{l, a.opts.SiteName}); err != nil {
		web.Fail(w, r, err)
		return
	}
	w.Header().Set("Content-Security-Policy", noticePolicy)
	writePrivate(w, status, "text/html; charset=utf-8", b.Bytes())
}

func writeText(w http.ResponseWriter, status int, text string) {
	writePrivate(w, status, "text/plain; charset=utf-8", []byte(text+"\n"))
}

// writePrivate writes a response that must not be cached or indexed, and whose URL must not leak in
// a Referer header.
func writePrivate(w http.ResponseWriter, status int, contentType string, content []byte) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(content)))
	w.WriteHeader(status)
	w.Write(content)
}
