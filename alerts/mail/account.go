package mail

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// SendAccountEmail passes an email about an account to the relay once.
func (s *Sender) SendAccountEmail(ctx context.Context, e store.AccountEmail) alerts.Result {
	if !isAddress(e.To) {
		return alerts.Result{Fault: faultAddress, Final: true}
	}
	p, err := s.accountPage(e)
	var c contents
	if err == nil {
		c, err = render("notice", p)
	}
	if err != nil {
		s.log.Error("composing an email failed", "event", e.Event, "account", e.Account, "error", err)
		return alerts.Result{Fault: faultCompose, Final: true, OurFault: true}
	}
	msg := s.envelope(e.To, fmt.Sprintf("account_%d", e.ID), c)
	return s.pass(ctx, msg, strings.NewReplacer(e.To, "RECIPIENT"), "event", e.Event, "account", e.Account)
}

// accountPage returns the page for an email about an account.
func (s *Sender) accountPage(e store.AccountEmail) (page, error) {
	p := page{Site: s.siteName, Home: s.public, Operator: s.operator}
	p.Reason = fmt.Sprintf("Sent to %s because of a change to your %s account.", e.To, p.Site)
	about := oneLine(e.About, maxField)
	body := notice{Button: "Review your account", Link: s.public + "/account"}
	at := fmt.Sprintf("%s on %s", clockTime(e.CreatedAt), day(cola.DateOf(e.CreatedAt.UTC())))
	const notYou = "If this wasn’t you, remove the sign-in method, sign out of all other sessions and contact the operator."
	switch e.Event {
	case store.EventIdentityAdded:
		p.Subject = "New sign-in method for your account"
		body.Paragraphs = []string{fmt.Sprintf("The sign-in method %s was added to your account at %s.", about, at)}
		body.After = notYou
	case store.EventIdentityRemoved:
		p.Subject = "Sign-in method removed from your account"
		body.Paragraphs = []string{fmt.Sprintf("The sign-in method %s was removed from your account at %s.", about, at)}
		body.After = "If this wasn’t you, sign out of all other sessions and contact the operator."
	case store.EventAppConnected:
		p.Subject = "New app connected to your account"
		body.Paragraphs = []string{fmt.Sprintf("The app “%s” was used with your account for the first time at %s. "+
			"It can read data and uses your quota.", about, at)}
		body.Button, body.Link = "Review connected apps", s.public+"/apps"
		body.After = "If this wasn’t you, revoke its access."
	case store.EventDeletionRequested, store.EventDeletionReminder:
		deletes, err := time.Parse(time.RFC3339, e.About)
		if err != nil {
			return p, err
		}
		p.Subject = "Your account will be deleted"
		if e.Event == store.EventDeletionReminder {
			p.Subject = "Reminder: your account will be deleted"
		}
		body.Paragraphs = []string{fmt.Sprintf("Your account and its data will be deleted at %s on %s. Until then, API requests are "+
			"rejected, alerts don’t run, and you can sign in to keep the account or download your data.",
			clockTime(deletes), day(cola.DateOf(deletes.UTC())))}
		body.Button = "Keep my account"
		body.After = "If you didn’t request this, sign in, choose to keep the account, and sign out of all other sessions."
	case store.EventDeletionCanceled:
		p.Subject = "Your account won’t be deleted"
		body.Paragraphs = []string{fmt.Sprintf("The deletion of your account was canceled at %s.", at)}
	case store.EventDeleted:
		p.Subject = "Your account was deleted"
		body = notice{Paragraphs: []string{"Your account and its data were deleted, as requested. " +
			"Usage totals are kept without your address."}}
		p.Reason = fmt.Sprintf("Sent to %s because your %s account was deleted. This is the last email about it.",
			e.To, p.Site)
	case store.EventQuota:
		if err := s.quota(&p, &body, e); err != nil {
			return p, err
		}
	default:
		return p, fmt.Errorf("unknown event %s", e.Event)
	}
	p.Heading, p.Preview, p.Body = p.Subject, body.Paragraphs[0], body
	return p, nil
}

// quota fills the page for an email about a quota.
func (s *Sender) quota(p *page, body *notice, e store.AccountEmail) error {
	use, err := store.ParseQuotaUse(e.About)
	if err != nil {
		return err
	}
	what := "list records"
	if use.Meter == cola.MeterDetailViews {
		what = "detail views"
	}
	month := e.CreatedAt.UTC().Format("January")
	reset := time.Date(e.CreatedAt.UTC().Year(), e.CreatedAt.UTC().Month()+1, 1, 0, 0, 0, 0, time.UTC)
	p.Subject = fmt.Sprintf("You’ve used %d%% of your %s", use.Percent, what)
	lead := fmt.Sprintf("Your account has used at least %d%% of its %s for %s.", use.Percent, what, month)
	advice := "To continue now"
	rest := "Requests that need more are rejected until the quota resets"
	if use.Percent >= 100 {
		p.Subject = fmt.Sprintf("You’ve used all of your %s", what)
		lead = fmt.Sprintf("Your account has used all of its %s for %s.", what, month)
	} else {
		advice = "For a larger quota"
		rest = "When the quota is used up, requests that need more are rejected until it resets"
	}
	body.Paragraphs = []string{lead + " " + rest + " on " + day(cola.DateOf(reset)) + "."}
	body.Button, body.Link = "View usage", s.public+"/usage"
	if !use.Tier.Largest() {
		body.After = advice + ", change your plan: " + s.upgrade
	}
	p.Reason = fmt.Sprintf("We send this email to %s when your account reaches 80%% or 100%% of a monthly quota. Turn these emails off at %s/account.",
		e.To, s.public)
	return nil
}
