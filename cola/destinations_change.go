package cola

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// Apply returns a destination with a normalized change. own is true if its address is the account's
// own, which needs no consent.
//
// Making a destination active lifts any pause. It fails with CodeNotActive if only the recipient can
// do that, because they have not agreed or have unsubscribed. Pausing an inactive destination keeps
// its reason.
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

// NeedsConsent reports whether the recipient must agree before messages are sent. It does not apply
// to the account's own address.
func (d Destination) NeedsConsent() bool {
	return d.State == DestinationUnconfirmed || d.State == DestinationPending || d.Reason.V == ReasonUnsubscribed
}

// notConfirmed returns the refusal to send messages without consent.
func (d Destination) notConfirmed() error {
	resend := "POST /destinations/" + d.UUID + "/confirmation"
	switch {
	case d.State == DestinationPending:
		return inactive(d, "The endpoint has not confirmed yet. It must answer the challenge, or you send the code with POST /destinations/"+
			d.UUID+"/confirm. To send another challenge, use "+resend+".")
	case d.State == DestinationUnconfirmed:
		return inactive(d, "The owner of this address has not agreed yet; the email they received has a link for it. To ask again, use "+resend+".")
	}
	return inactive(d, "The owner of this address has unsubscribed and has to agree again. To ask them, use "+resend+".")
}

// inactive returns the refusal of an operation that needs an active destination.
func inactive(d Destination, message string) *Error {
	refusal := Errorf(CodeNotActive, "%s", message)
	refusal.Details = map[string]any{"state": d.State}
	if d.Reason.OK {
		refusal.Details["reason"] = d.Reason.V
	}
	return refusal
}

// CheckActive fails with CodeNotActive, and says how to fix it, unless the destination is active.
// own is as for Apply.
func (d Destination) CheckActive(own bool) error {
	switch {
	case d.State == DestinationActive:
		return nil
	case !own && d.NeedsConsent():
		return d.notConfirmed()
	}
	return inactive(d, "The destination is "+d.State+". To make it active again, send PATCH /destinations/"+d.UUID+" with {\"active\": true}.")
}

// Confirmed returns the destination after its recipient agreed: active, unless it is paused for
// another reason.
func (d Destination) Confirmed() Destination {
	if d.NeedsConsent() {
		d.State, d.Reason = DestinationActive, Opt[string]{}
	}
	return d
}

// Unsubscribed returns the email destination after its recipient unsubscribed.
func (d Destination) Unsubscribed() Destination {
	d.State, d.Reason = DestinationPaused, Some(ReasonUnsubscribed)
	return d
}

// Asked returns the destination after its recipient was asked to agree.
func (d Destination) Asked() Destination {
	d.State, d.Reason = DestinationUnconfirmed, Opt[string]{}
	if d.Kind == KindWebhook {
		d.State = DestinationPending
	}
	return d
}

// Redacted returns the destination as connected apps without ScopeWriteSavedSearches see it: with
// the scheme and host of a URL, whose path is often a credential, or with the first letter and the
// domain of an email address.
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

// MaskEmail shortens the local part of an email address to its first letter, so that the owner
// recognizes the address and others learn little.
func MaskEmail(address string) string {
	at := strings.LastIndexByte(address, '@')
	if at < 1 {
		return ""
	}
	_, first := utf8.DecodeRuneInString(address)
	return address[:first] + "…" + address[at:]
}
