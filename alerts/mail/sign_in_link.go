package mail

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
)

// SignInLink is a sign-in link to send.
type SignInLink struct {
	To          string
	URL         string
	SignUp      bool // using the link creates an account
	RequestedAt time.Time
	ExpiresAt   time.Time
}

// SendSignInLink passes a sign-in link to the relay once. Neither the log nor the result contains the
// address or the link.
func (s *Sender) SendSignInLink(ctx context.Context, l SignInLink) alerts.Result {
	if !isAddress(l.To) {
		return alerts.Result{Fault: faultAddress, Final: true}
	}
	c, err := render("notice", s.signInPage(l))
	if err != nil {
		s.log.Error("composing an email failed", "event", "sign-in link", "error", err)
		return alerts.Result{Fault: faultCompose, OurFault: true}
	}
	private := strings.NewReplacer(l.To, "RECIPIENT", l.URL, "LINK")
	return s.pass(ctx, s.envelope(l.To, "link_"+rand.Text(), c), private, "event", "sign-in link")
}

// signInPage returns the template data for a sign-in email.
func (s *Sender) signInPage(l SignInLink) page {
	p := page{Site: s.siteName, Home: s.public, Operator: s.operator}
	body := notice{Button: "Sign in", Link: l.URL}
	p.Subject = "Sign in to " + p.Site
	lead := "Use this link to sign in to your account."
	if l.SignUp {
		body.Button = "Create account"
		p.Subject = "Create your " + p.Site + " account"
		lead = "Use this link to confirm your email address and create your account."
	}
	expiry := "The link can be used once and expires at " + clockTime(l.ExpiresAt) + "."
	body.Paragraphs = []string{lead + " " + expiry}
	body.After = fmt.Sprintf("Requested at %s on %s. If you didn’t request it, ignore this email: no one can sign in without the link.",
		clockTime(l.RequestedAt), day(cola.DateOf(l.RequestedAt.UTC())))
	p.Heading, p.Preview, p.Body = p.Subject, expiry, body
	p.Reason = fmt.Sprintf("Sent because someone entered %s on the sign-in page of %s.", l.To, p.Site)
	return p
}
