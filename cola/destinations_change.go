package cola

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// Apply returns a destination with a normalized change. own says that its address is the account's own, which needs no consent.
//
// Making a destination active lifts any pause. It fails with CodeNotActive where only the recipient can do that, because they have
// not agreed or have unsubscribed. Pausing a destination that is not active changes nothing, so the reason is kept.
func (p DestinationChangeParams) Apply(d Destination, own bool) (Destination, error) {
	d.SendEmpty = p.SendEmpty.Or(d.SendEmpty)
	switch {
	case !p.Active.OK:
	case p.Active.V && !own && d.NeedsConsent():
		return Destination{}, d.notConfirmed()
	case p.Active.V:
		d.State, d.Reason, d.FailingSince = DestinationActive, Opt[string]{}, Opt[Timestamp]{}
	case d.State == DestinationActive:
		d.State, d.Reason = DestinationPaused, Some(ReasonHolder)
	}
	return d, nil
}

// NeedsConsent reports whether the recipient has to agree before anything is sent, unless the address is the account's own.
func (d Destination) NeedsConsent() bool {
	return d.State == DestinationUnconfirmed || d.State == DestinationPending || d.Reason.V == ReasonUnsubscribed
}

// notConfirmed refuses to send anything without consent.
func (d Destination) notConfirmed() error {
	resend := "POST /destinations/" + d.UUID + "/confirmation"
	switch {
	case d.State == DestinationPending:
		return inactive(d, "The endpoint has not confirmed yet. It confirms by answering the challenge, or with the code from it: POST /destinations/"+
			d.UUID+"/confirm. To send another challenge, use "+resend+".")
	case d.State == DestinationUnconfirmed:
		return inactive(d, "The owner of this address has not agreed to get messages yet; the email they were sent has a link for it. To ask again, use "+resend+".")
	}
	return inactive(d, "The owner of this address has unsubscribed and has to agree again. To ask them, use "+resend+".")
}

// inactive refuses an operation that needs an active destination.
func inactive(d Destination, message string) *Error {
	refusal := Errorf(CodeNotActive, "%s", message)
	refusal.Details = map[string]any{"state": d.State}
	if d.Reason.OK {
		refusal.Details["reason"] = d.Reason.V
	}
	return refusal
}

// CheckActive fails with CodeNotActive, saying what to do, unless messages are sent to the destination. own is as for Apply.
func (d Destination) CheckActive(own bool) error {
	switch {
	case d.State == DestinationActive:
		return nil
	case !own && d.NeedsConsent():
		return d.notConfirmed()
	}
	return inactive(d, "The destination is "+d.State+", so nothing is sent to it. To make it active again, send PATCH /destinations/"+d.UUID+" with {\"active\": true}.")
}

// Confirmed returns a destination whose recipient has agreed: active, unless it is paused for a reason other than the recipient's.
func (d Destination) Confirmed() Destination {
	if d.NeedsConsent() {
		d.State, d.Reason = DestinationActive, Opt[string]{}
	}
	return d
}

// Unsubscribed returns an email destination that its recipient has unsubscribed.
func (d Destination) Unsubscribed() Destination {
	d.State, d.Reason = DestinationPaused, Some(ReasonUnsubscribed)
	return d
}

// Asked returns a destination whose recipient is asked to agree, perhaps again.
func (d Destination) Asked() Destination {
	d.State, d.Reason = DestinationUnconfirmed, Opt[string]{}
	if d.Kind == KindWebhook {
		d.State = DestinationPending
	}
	return d
}

// Redacted returns a destination as connected apps without ScopeWriteSavedSearches see it. The path of a webhook URL is often a
// credential, so only its scheme and host are left; of an email address, the first letter and the domain.
func (d Destination) Redacted() Destination {
	switch {
	case !d.Address.OK:
	case d.Kind == KindEmail:
		d.Address = Some(MaskEmail(d.Address.V))
	default:
		u, err := url.Parse(d.Address.V)
		if err != nil || u.Host == "" {
			d.Address = Opt[string]{}
			break
		}
		d.Address = Some(u.Scheme + "://" + u.Host)
	}
	return d
}

// MaskEmail returns an email address with only the first letter of its local part: its owner recognizes it, others learn little.
func MaskEmail(address string) string {
	at := strings.LastIndexByte(address, '@')
	if at < 1 {
		return ""
	}
	_, first := utf8.DecodeRuneInString(address)
	return address[:first] + "…" + address[at:]
}
