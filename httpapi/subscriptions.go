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

// subscriptionService contains the operations for recipients of messages, who have no account but
// the token of a link. They are neither authenticated nor counted.
type subscriptionService interface {
	Subscription(ctx context.Context, token string) (registry.Subscription, error)
	Unsubscribe(ctx context.Context, token string) (registry.Subscription, error)
	Confirm(ctx context.Context, token string) (registry.Subscription, error)
	Feed(ctx context.Context, token string) (registry.Feed, error)
}

// The addresses in messages. Their tokens are secrets, so logs and metrics contain these patterns
// only.
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

// button sends a POST.
type button struct {
	Path, Label string
	Main        bool // the primary button
}

//go:embed notice_page.html
var noticeSource string

var noticeTemplate = template.Must(template.New("leaf").Parse(noticeSource))

// noticePolicy allows inline styles and forms to our own site, and no scripts.
const noticePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// showUnsubscribe shows the page to unsubscribe. A GET changes nothing, because programs follow
// links in messages.
func (a *api) showUnsubscribe(w http.ResponseWriter, r *http.Request) {
	token := pathValue(r, "token")
	s, err := a.svc.Subscription(r.Context(), token)
	if err != nil {
		a.writeErrorNotice(w, r, err)
		return
	}
	page := subscriptionPage(s, token, "Stop these messages?")
	page.Buttons[0].Main = true
	a.writeNotice(w, r, http.StatusOK, page)
}

// showConfirm shows the page to confirm, and changes nothing.
func (a *api) showConfirm(w http.ResponseWriter, r *http.Request) {
	token := pathValue(r, "token")
	s, err := a.svc.Subscription(r.Context(), token)
	if err != nil {
		a.writeErrorNotice(w, r, err)
		return
	}
	a.writeNotice(w, r, http.StatusOK, subscriptionPage(s, token, "You get these messages"))
}

// unsubscribe ends the messages to the token's owner. The request comes from the button of the
// page, or from the one-click link of a mail program (RFC 8058), without cookies or an origin; that
// gets no page.
func (a *api) unsubscribe(w http.ResponseWriter, r *http.Request) {
	web.ShortenBodyTimeout(w, r)
	token, oneClick := pathValue(r, "token"), isOneClick(r)
	s, err := a.svc.Unsubscribe(r.Context(), token)
	switch {
	case err != nil && oneClick:
		reportError(w, r, err, func(shown *cola.Error) { writeText(w, web.StatusOf(shown.Code), shown.Message) })
	case err != nil:
		a.writeErrorNotice(w, r, err)
	case oneClick:
		writeText(w, http.StatusOK, "You are unsubscribed.")
	default:
		a.writeNotice(w, r, http.StatusOK, subscriptionPage(s, token, ""))
	}
}

// confirm starts the messages to the token's owner.
func (a *api) confirm(w http.ResponseWriter, r *http.Request) {
	web.ShortenBodyTimeout(w, r)
	token := pathValue(r, "token")
	s, err := a.svc.Confirm(r.Context(), token)
	if err != nil {
		a.writeErrorNotice(w, r, err)
		return
	}
	a.writeNotice(w, r, http.StatusOK, subscriptionPage(s, token, "Thank you"))
}

// isOneClick reports whether a POST is a one-click request (RFC 8058), in either form encoding.
func isOneClick(r *http.Request) bool {
	body, err := web.ReadBody(r, 4<<10, "A form has %d bytes at most.")
	if err != nil {
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return strings.EqualFold(r.PostFormValue("List-Unsubscribe"), "One-Click")
}

// subscriptionPage shows the state of a subscription. title is the title for an active one.
func subscriptionPage(s registry.Subscription, token, title string) noticePage {
	agree, end := button{"/confirm/" + token, "Send me these messages", true}, button{"/unsubscribe/" + token,
		"Stop these messages", false}
	what := "Messages about " + subscriptionTopic(s) + " are sent to " + recipientName(s) + "."
	switch {
	case s.Ended():
		agree.Label = "Get them again"
		return noticePage{"You are unsubscribed",
			[]string{"No more messages about " + subscriptionTopic(s) + " are sent to " + recipientName(s) + ".",
				"Was that a mistake?"}, []button{agree}}
	case !s.Confirmed():
		end.Label = "No, thank you"
		return noticePage{"Do you want these messages?", []string{
			"Somebody asks to have messages about " + subscriptionTopic(s) + " sent to " + recipientName(s) + ".",
			"If you did not expect this, do nothing: then nothing is sent.",
		}, []button{agree, end}}
	case s.State != cola.DestinationActive:
		what = "Messages about " + subscriptionTopic(s) + " may be sent to " + recipientName(s) +
			". Just now they are paused, and not by you."
	}
	return noticePage{title, []string{what}, []button{end}}
}

// subscriptionTopic describes the messages. The name of the search is shown only after the
// recipient agreed, because the account holder could write anything in it.
func subscriptionTopic(s registry.Subscription) string {
	switch {
	case s.Search == "":
		return "new label approvals that saved searches find"
	case !s.Confirmed():
		return "new label approvals that a saved search finds"
	}
	return "new label approvals that the saved search “" + s.Search + "” finds"
}

func recipientName(s registry.Subscription) string {
	if s.Address == "" {
		return "this address"
	}
	return s.Address
}

// writeErrorNotice shows an error as a page.
func (a *api) writeErrorNotice(w http.ResponseWriter, r *http.Request, err error) {
	reportError(w, r, err, func(shown *cola.Error) {
		l := noticePage{Title: "That did not work", Lines: []string{shown.Message}}
		switch shown.Code {
		case cola.CodeNotFound:
			l.Title = "There is nothing here any more"
			l.Lines = append(l.Lines, "If messages go on coming, use the link in the latest one; make sure that the "+
				"address is whole.")
		case cola.CodeInternal:
			l.Lines = append(l.Lines, "The request is "+web.EventOf(r.Context()).RequestID+".")
		}
		a.writeNotice(w, r, web.StatusOf(shown.Code), l)
	})
}

// reportError logs an error, and calls tell to write the public error in a format other than the
// JSON envelope.
func reportError(w http.ResponseWriter, r *http.Request, err error, tell func(*cola.Error)) {
	if web.IsClientGone(r, err) {
		w.WriteHeader(web.StatusClientGone)
		return
	}
	event := web.EventOf(r.Context())
	shown, fault := web.PublicError(err, event.RequestID)
	event.Code, event.Fault = shown.Code, fault
	if shown.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(web.RetrySeconds(shown.RetryAfter), 10))
	}
	tell(shown)
}

func (a *api) writeNotice(w http.ResponseWriter, r *http.Request, status int, l noticePage) {
	var b bytes.Buffer
	if err := noticeTemplate.Execute(&b, l); err != nil {
		web.Fail(w, r, err)
		return
	}
	w.Header().Set("Content-Security-Policy", noticePolicy)
	writePrivate(w, status, "text/html; charset=utf-8", b.Bytes())
}

func writeText(w http.ResponseWriter, status int, text string) {
	writePrivate(w, status, "text/plain; charset=utf-8", []byte(text+"\n"))
}

// writePrivate writes a response that must not be cached or indexed, and whose address must not
// leak in a Referer header.
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
