package cola

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// MaxDestinations is the maximum number of destinations per account.
const MaxDestinations = 20

// The kinds of destination.
const (
	KindEmail   = "email"
	KindWebhook = "webhook"
)

// The states of a destination.
const (
	DestinationActive      = "active"      // messages are sent
	DestinationUnconfirmed = "unconfirmed" // an email address whose owner has not confirmed; it gets only the confirmation request
	DestinationPending     = "pending"     // an endpoint that has not confirmed; it gets only challenges
	DestinationPaused      = "paused"      // no messages are sent; Reason says why
	DestinationDisabled    = "disabled"    // the receiver returned 410 Gone; no messages are sent until reactivation
)

// DestinationStates lists every state of a destination.
func DestinationStates() []string {
	return []string{DestinationActive, DestinationUnconfirmed, DestinationPending, DestinationPaused, DestinationDisabled}
}

// Why a destination is paused or disabled.
const (
	ReasonHolder       = "holder"       // the account holder paused it
	ReasonUnsubscribed = "unsubscribed" // the recipient unsubscribed
	ReasonFailing      = "failing"      // messages failed for days
	ReasonGone         = "gone"         // the receiver returned 410
)

// Destination is where saved-search messages are sent.
type Destination struct {
	UUID            string         `json:"uuid" format:"uuid" doc:"ID of the destination." example:"5b1d3c52-0c5c-4a52-8f6d-7d1f6f0a9b10"`
	Kind            string         `json:"kind" enum:"email,webhook" doc:"How messages are sent." example:"webhook"`
	Address         Opt[string]    `json:"address" nullable:"true" doc:"Email address or URL. Null if this is the account's own address and the account has no email address. Without the scope saved_searches:write, a key or app sees only a URL's scheme and host, or an email's first letter and domain." example:"https://hooks.example.com/labels"`
	SavedSearch     Opt[string]    `json:"saved_search" nullable:"true" doc:"UUID of the saved search whose messages are sent. Null: all searches, except those with their own destination for the same address." example:"0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"`
	SendEmpty       bool           `json:"send_empty" doc:"Whether runs without matches send messages too." example:"false"`
	State           string         `json:"state" enum:"active,unconfirmed,pending,paused,disabled" doc:"active: messages are sent, unless it is an email address and the server doesn't send email. unconfirmed: the owner of the address has been asked by email to confirm. pending: the endpoint was sent a challenge. paused, disabled: see reason. Messages to a pending, paused or disabled destination are recorded as skipped." example:"active"`
	Reason          Opt[string]    `json:"reason" nullable:"true" enum:"holder,unsubscribed,failing,gone" doc:"Why it is paused or disabled. holder: paused by the account holder. unsubscribed: the recipient unsubscribed. failing: messages failed for three days. gone: the receiver responded with 410." example:"failing"`
	CreatedAt       Timestamp      `json:"created_at" format:"date-time" doc:"Creation time (UTC)." example:"2026-11-20T13:14:15Z"`
	LastDeliveredAt Opt[Timestamp] `json:"last_delivered_at" nullable:"true" format:"date-time" doc:"Time of the last delivered message (UTC)." example:"2026-11-23T06:00:04Z"`
	FailingSince    Opt[Timestamp] `json:"failing_since" nullable:"true" format:"date-time" doc:"When deliveries started failing (UTC); null if the latest one succeeded." example:"2026-11-23T06:00:04Z"`
}

// DestinationWithSecret is a destination with its webhook signing secret, which is shown once.
type DestinationWithSecret struct {
	Destination
	Secret Opt[string] `json:"secret" nullable:"true" doc:"Signing secret (Standard Webhooks), shown only once. Null for email." example:"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"`
}

// DestinationParams are the body of POST /destinations, as sent.
type DestinationParams struct {
	Decoded
	Kind        string    `json:"kind" enum:"email,webhook" doc:"How messages are sent." example:"webhook"`
	Address     string    `json:"address" maxLength:"1000" doc:"Email address, or https URL on a public host. Unless it is the account's own email, the recipient must confirm first." example:"https://hooks.example.com/labels"`
	SavedSearch string    `json:"saved_search,omitzero" maxLength:"36" doc:"UUID of the saved search whose messages are sent; default: all searches." example:"0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"`
	SendEmpty   Opt[bool] `json:"send_empty,omitzero" doc:"Whether runs without matches send messages too; default false." example:"false"`
}

// DestinationChangeParams are the body of PATCH /destinations/{uuid}, as sent. Absent fields are
// unchanged.
type DestinationChangeParams struct {
	Decoded
	Active    Opt[bool] `json:"active,omitzero" doc:"false pauses the destination: messages are recorded as skipped. true resumes it, unless the recipient must confirm first." example:"true"`
	SendEmpty Opt[bool] `json:"send_empty,omitzero" doc:"Whether runs without matches send messages too." example:"false"`
}

// DestinationConfirmParams are the body of POST /destinations/{uuid}/confirm, as sent.
type DestinationConfirmParams struct {
	Decoded
	Code string `json:"code" maxLength:"40" doc:"Code from the latest challenge that the endpoint received. Letter case, spaces and hyphens are ignored." example:"KX7Q-2MFA"`
}

// SavedSearchFeed is the URL of a saved search's feed, which is shown once.
type SavedSearchFeed struct {
	URL string `json:"url" format:"uri" doc:"URL of the Atom feed, shown only once. Anyone with the URL can read it." example:"https://example.com/feeds/2hZ0mJ7c0cT1rK9vQxYp3sVbN8eLwGdUoF5iMa4tXyE"`
}

// Replayed counts the deliveries that will be resent.
type Replayed struct {
	Count int `json:"count" doc:"Number of deliveries that will be resent." example:"2"`
}

// The events that messages report.
const (
	EventRan     = "saved_search.ran"    // a saved search has run
	EventTest    = "destination.test"    // a test message
	EventConfirm = "destination.confirm" // a challenge to an endpoint, or an email that asks its recipient for consent
	EventPaused  = "destination.paused"  // a destination was paused or disabled; sent to the account's own address
)

// The states of a delivery.
const (
	DeliveryPending   = "pending"   // waiting for its first or next attempt
	DeliveryDelivered = "delivered" // accepted by the receiver
	DeliveryFailed    = "failed"    // attempts exhausted
	DeliverySkipped   = "skipped"   // not sent because the destination was not active
)

// DeliveryStates lists every state of a delivery.
func DeliveryStates() []string {
	return []string{DeliveryPending, DeliveryDelivered, DeliveryFailed, DeliverySkipped}
}

// Delivery is one message to one destination.
type Delivery struct {
	ID            int64          `json:"id" doc:"Delivery ID." example:"5127"`
	MessageID     string         `json:"message_id" doc:"ID of the message, the same for every attempt (webhook-id)." example:"msg_9d3f1c7a52e84b60a1f4c2d07be8365a"`
	Event         string         `json:"event" enum:"saved_search.ran,destination.test,destination.confirm,destination.paused" doc:"Event that the message reports." example:"saved_search.ran"`
	Destination   string         `json:"destination" format:"uuid" doc:"UUID of the destination; for destination.paused, the one that was paused." example:"5b1d3c52-0c5c-4a52-8f6d-7d1f6f0a9b10"`
	Kind          string         `json:"kind" enum:"email,webhook" doc:"How the message is sent." example:"webhook"`
	SavedSearch   Opt[string]    `json:"saved_search" nullable:"true" doc:"UUID of the saved search." example:"0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"`
	RunID         Opt[int64]     `json:"run_id" nullable:"true" doc:"Run ID." example:"1841"`
	State         string         `json:"state" enum:"pending,delivered,failed,skipped" doc:"delivered: accepted by the receiver. failed: abandoned after the last attempt. skipped: not sent, because the destination was not active." example:"delivered"`
	Error         Opt[string]    `json:"error" nullable:"true" doc:"Why the latest attempt failed, or why the message was skipped." example:"The receiver responded with status 503."`
	AttemptCount  int            `json:"attempt_count" doc:"Attempts so far." example:"2"`
	CreatedAt     Timestamp      `json:"created_at" format:"date-time" doc:"When the message was created (UTC); for a run, when it ran." example:"2026-11-23T06:00:02Z"`
	NextAttemptAt Opt[Timestamp] `json:"next_attempt_at" nullable:"true" format:"date-time" doc:"Time of the next attempt (UTC); null once settled." example:"2026-11-23T06:05:04Z"`
	SettledAt     Opt[Timestamp] `json:"settled_at" nullable:"true" format:"date-time" doc:"When it was delivered, abandoned or skipped (UTC)." example:"2026-11-23T06:00:16Z"`
}

// DeliveryAttempt is one attempt to deliver.
type DeliveryAttempt struct {
	At         Timestamp   `json:"at" format:"date-time" doc:"Start time (UTC)." example:"2026-11-23T06:00:02Z"`
	DurationMS int64       `json:"duration_ms" doc:"Duration in milliseconds." example:"184"`
	Status     Opt[int]    `json:"status" nullable:"true" doc:"HTTP or SMTP status of the response; null without a response." example:"503"`
	Error      Opt[string] `json:"error" nullable:"true" doc:"Why the attempt failed; null if it succeeded." example:"The receiver responded with status 503."`
}

// DeliveryDetail is a delivery with its attempts, oldest first.
type DeliveryDetail struct {
	Delivery
	Attempts []DeliveryAttempt `json:"attempts" nullable:"false" doc:"Delivery attempts, oldest first."`
}

// DeliveryListParams are the parameters of GET /deliveries, as sent.
type DeliveryListParams struct {
	Decoded
	Destination string   `json:"destination" maxLength:"36" doc:"Only deliveries to this destination (UUID). The example is a placeholder." example:"5b1d3c52-0c5c-4a52-8f6d-7d1f6f0a9b10"`
	SavedSearch string   `json:"saved_search" maxLength:"36" doc:"Only deliveries about this saved search (UUID). The example is a placeholder." example:"0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"`
	State       string   `json:"state" enum:"pending,delivered,failed,skipped" doc:"Only deliveries in this state." example:"failed"`
	Page        Opt[int] `json:"page" minimum:"1" default:"1" doc:"Page number." example:"1"`
	PerPage     Opt[int] `json:"per_page" minimum:"1" maximum:"100" default:"20" doc:"Records per page." example:"20"`
}

// Apply returns d with a normalized change applied. own is true if its address is the account's
// own, which needs no consent.
//
// Activating a destination lifts any pause, but fails with CodeNotActive if the recipient has not
// agreed or has unsubscribed, because then only the recipient can activate it. Pausing an inactive
// destination keeps its reason.
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

// NeedsConsent reports whether the recipient must agree before messages are sent. Ignore the result
// for the account's own address, which needs no consent.
func (d Destination) NeedsConsent() bool {
	return d.State == DestinationUnconfirmed || d.State == DestinationPending || d.Reason.V == ReasonUnsubscribed
}

// notConfirmed returns the error for sending messages without consent.
func (d Destination) notConfirmed() error {
	resend := "POST /destinations/" + d.UUID + "/confirmation"
	switch {
	case d.State == DestinationPending:
		return inactive(d, "The endpoint hasn't been confirmed. Have it respond to the challenge, or send the code "+
			"from the challenge with POST /destinations/"+d.UUID+"/confirm. To send another challenge, use "+resend+".")
	case d.State == DestinationUnconfirmed:
		return inactive(d, "The owner of this address has not followed the confirmation link in the email yet. "+
			"To ask again, use "+resend+".")
	}
	return inactive(d, "The owner of this address has unsubscribed and must confirm again. To send another request, use "+resend+".")
}

// inactive returns the error for an operation that needs an active destination.
func inactive(d Destination, message string) *Error {
	refusal := Errorf(CodeNotActive, "%s", message)
	refusal.Details = map[string]any{"state": d.State}
	if d.Reason.OK {
		refusal.Details["reason"] = d.Reason.V
	}
	return refusal
}

// CheckActive returns nil if the destination is active, otherwise a CodeNotActive error that says
// how to activate it. own is as in Apply.
func (d Destination) CheckActive(own bool) error {
	switch {
	case d.State == DestinationActive:
		return nil
	case !own && d.NeedsConsent():
		return d.notConfirmed()
	}
	return inactive(d, "The destination is "+d.State+". To resume it, send PATCH /destinations/"+d.UUID+
		" with {\"active\": true}.")
}

// Confirmed returns the destination as it is after its recipient agrees: active, unless it is
// paused for another reason.
func (d Destination) Confirmed() Destination {
	if d.NeedsConsent() {
		d.State, d.Reason = DestinationActive, Opt[string]{}
	}
	return d
}

// Unsubscribed returns the email destination as it is after its recipient unsubscribes.
func (d Destination) Unsubscribed() Destination {
	d.State, d.Reason = DestinationPaused, Some(ReasonUnsubscribed)
	return d
}

// Asked returns the destination as it is after a request for consent.
func (d Destination) Asked() Destination {
	d.State, d.Reason = DestinationUnconfirmed, Opt[string]{}
	if d.Kind == KindWebhook {
		d.State = DestinationPending
	}
	return d
}

// Redacted returns the destination as callers without ScopeWriteSavedSearches see it: with only the
// scheme and host of a URL, whose path is often a credential, or only the first letter and domain of
// an email address.
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

// MaskEmail shortens the local part of an email address to its first letter, so that the owner can
// recognize the address but others learn little.
func MaskEmail(address string) string {
	at := strings.LastIndexByte(address, '@')
	if at < 1 {
		return ""
	}
	_, first := utf8.DecodeRuneInString(address)
	return address[:first] + "…" + address[at:]
}
