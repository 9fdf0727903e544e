package cola

// MaxDestinations is how many destinations an account may have.
const MaxDestinations = 20

// The kinds of destination.
const (
	KindEmail   = "email"
	KindWebhook = "webhook"
)

// The states of a destination.
const (
	DestinationActive      = "active"      // it is sent to
	DestinationUnconfirmed = "unconfirmed" // who has the address has not agreed yet; nothing but the request to agree is sent
	DestinationPaused      = "paused"      // nothing is sent; Reason says why
	DestinationDisabled    = "disabled"    // the receiver has said that it is gone; nothing is sent until it is made active again
)

// Why a destination is paused or disabled.
const (
	ReasonHolder       = "holder"       // the account holder wants it so
	ReasonUnsubscribed = "unsubscribed" // who gets the mail wants it so
	ReasonFailing      = "failing"      // a message could not be delivered for days, and nothing else got through meanwhile
	ReasonGone         = "gone"         // the receiver answered 410
)

// Destination is where messages of saved searches are sent.
type Destination struct {
	UUID            string         `json:"uuid" format:"uuid" doc:"Identifier." example:"5b1d3c52-0c5c-4a52-8f6d-7d1f6f0a9b10"`
	Kind            string         `json:"kind" enum:"email,webhook" doc:"How messages are sent." example:"webhook"`
	Address         Opt[string]    `json:"address" nullable:"true" doc:"E-mail address or URL. Null when it is the account's own e-mail address and the account has none." example:"https://hooks.example.com/labels"`
	SavedSearch     Opt[string]    `json:"saved_search" nullable:"true" doc:"UUID of the only search whose messages are sent; null: those of all searches of the account, but what has a destination of its own with the same address." example:"0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"`
	SendEmpty       bool           `json:"send_empty" doc:"Whether runs that found nothing are told, too." example:"false"`
	State           string         `json:"state" enum:"active,unconfirmed,paused,disabled" doc:"active: messages are sent. unconfirmed: an e-mail asks whoever has the address to agree. paused, disabled: messages are noted and not sent; see reason." example:"active"`
	Reason          Opt[string]    `json:"reason" nullable:"true" enum:"holder,unsubscribed,failing,gone" doc:"Why it is paused or disabled: the account holder or the recipient wants it so, messages have failed for three days, or the receiver answered 410." example:"failing"`
	CreatedAt       Timestamp      `json:"created_at" format:"date-time" doc:"When it was made (UTC)." example:"2026-11-20T13:14:15Z"`
	LastDeliveredAt Opt[Timestamp] `json:"last_delivered_at" nullable:"true" format:"date-time" doc:"When a message got through last (UTC)." example:"2026-11-23T06:00:04Z"`
	FailingSince    Opt[Timestamp] `json:"failing_since" nullable:"true" format:"date-time" doc:"Since when no message has got through (UTC); null while they do." example:"2026-11-23T06:00:04Z"`
}

// DestinationWithSecret is a destination with the secret that its webhooks are signed with, which is shown once.
type DestinationWithSecret struct {
	Destination
	Secret Opt[string] `json:"secret" nullable:"true" doc:"What webhooks to it are signed with (Standard Webhooks); shown this once. Null for an e-mail address." example:"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"`
}

// DestinationParams are the body of POST /destinations, as sent.
type DestinationParams struct {
	Decoded
	Kind        string    `json:"kind" enum:"email,webhook" doc:"How messages are sent." example:"webhook"`
	Address     string    `json:"address" maxLength:"1000" doc:"E-mail address, or URL that messages are posted to: https, of a host that is reached over the public internet. Another e-mail address than the account's own is asked to agree first." example:"https://hooks.example.com/labels"`
	SavedSearch string    `json:"saved_search,omitzero" maxLength:"36" doc:"UUID of the only search whose messages are sent; those of all searches of the account when left out." example:"0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"`
	SendEmpty   Opt[bool] `json:"send_empty,omitzero" doc:"Whether runs that find nothing are told, too: false unless said." example:"false"`
}

// DestinationChangeParams are the body of PATCH /destinations/{uuid}, as sent. What is absent stays as it is.
type DestinationChangeParams struct {
	Decoded
	Active    Opt[bool] `json:"active,omitzero" doc:"false pauses it: messages are noted and not sent. true makes it active again, whatever it was paused for." example:"true"`
	SendEmpty Opt[bool] `json:"send_empty,omitzero" doc:"Whether runs that find nothing are told, too." example:"false"`
}

// SavedSearchFeed is the address of the feed of a saved search, which is shown once.
type SavedSearchFeed struct {
	URL string `json:"url" format:"uri" doc:"Where feed readers get what the search finds, as Atom. Whoever has it can read it; it is shown this once." example:"https://example.com/feeds/2hZ0mJ7c0cT1rK9vQxYp3sVbN8eLwGdUoF5iMa4tXyE"`
}

// Replayed tells what is sent again.
type Replayed struct {
	Count int `json:"count" doc:"Deliveries that are attempted again." example:"2"`
}

// What a message tells of.
const (
	EventRan     = "saved_search.ran"    // a saved search has run
	EventTest    = "destination.test"    // the account holder tries a destination
	EventConfirm = "destination.confirm" // whoever has an e-mail address is asked to agree
	EventPaused  = "destination.paused"  // a destination was paused or disabled; told to the account's own address
)

// The states of a delivery.
const (
	DeliveryPending   = "pending"   // it is, or is again, to be attempted
	DeliveryDelivered = "delivered" // the receiver has taken it
	DeliveryFailed    = "failed"    // it is not attempted any more
	DeliverySkipped   = "skipped"   // it was not attempted, or no more, since its destination was paused
)

// DeliveryStates lists every state of a delivery.
func DeliveryStates() []string {
	return []string{DeliveryPending, DeliveryDelivered, DeliveryFailed, DeliverySkipped}
}

// Delivery is one message to one destination.
type Delivery struct {
	ID            int64          `json:"id" doc:"Number of the delivery." example:"5127"`
	MessageID     string         `json:"message_id" doc:"What the receiver knows the message by, the same at every attempt: webhook-id." example:"msg_9d3f1c7a52e84b60a1f4c2d07be8365a"`
	Event         string         `json:"event" enum:"saved_search.ran,destination.test,destination.confirm,destination.paused" doc:"What it tells of." example:"saved_search.ran"`
	Destination   string         `json:"destination" format:"uuid" doc:"Where it goes; of destination.paused, the destination that it is about." example:"5b1d3c52-0c5c-4a52-8f6d-7d1f6f0a9b10"`
	Kind          string         `json:"kind" enum:"email,webhook" doc:"How it is sent." example:"webhook"`
	SavedSearch   Opt[string]    `json:"saved_search" nullable:"true" doc:"UUID of the search that it tells of." example:"0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"`
	RunID         Opt[int64]     `json:"run_id" nullable:"true" doc:"The run that it tells of." example:"1841"`
	State         string         `json:"state" enum:"pending,delivered,failed,skipped" doc:"delivered: the receiver has taken it. failed: given up. skipped: not sent, since the destination was paused." example:"delivered"`
	Error         Opt[string]    `json:"error" nullable:"true" doc:"Why the latest attempt failed, or why it was skipped." example:"The receiver answered 503."`
	AttemptCount  int            `json:"attempt_count" doc:"Attempts so far." example:"2"`
	CreatedAt     Timestamp      `json:"created_at" format:"date-time" doc:"When it came to be sent (UTC): for a run, when it ran." example:"2026-11-23T06:00:02Z"`
	NextAttemptAt Opt[Timestamp] `json:"next_attempt_at" nullable:"true" format:"date-time" doc:"When it is attempted next (UTC); null once it is settled." example:"2026-11-23T06:05:04Z"`
	SettledAt     Opt[Timestamp] `json:"settled_at" nullable:"true" format:"date-time" doc:"When it was delivered, given up or skipped (UTC)." example:"2026-11-23T06:00:16Z"`
}

// DeliveryAttempt is one attempt to deliver.
type DeliveryAttempt struct {
	At         Timestamp   `json:"at" format:"date-time" doc:"When it began (UTC)." example:"2026-11-23T06:00:02Z"`
	DurationMS int64       `json:"duration_ms" doc:"How long it took, in milliseconds." example:"184"`
	Status     Opt[int]    `json:"status" nullable:"true" doc:"What the receiver answered: of HTTP, or of SMTP. Null when there was no answer." example:"503"`
	Error      Opt[string] `json:"error" nullable:"true" doc:"Why it failed; null when the message got through." example:"The receiver answered 503."`
}

// DeliveryDetail is a delivery with its attempts, oldest first.
type DeliveryDetail struct {
	Delivery
	Attempts []DeliveryAttempt `json:"attempts" nullable:"false" doc:"What was tried, oldest first."`
}

// DeliveryListParams are the parameters of GET /deliveries, as sent.
type DeliveryListParams struct {
	Decoded
	Destination string   `json:"destination" maxLength:"36" doc:"UUID of a destination: only what went there. The example is a placeholder." example:"5b1d3c52-0c5c-4a52-8f6d-7d1f6f0a9b10"`
	SavedSearch string   `json:"saved_search" maxLength:"36" doc:"UUID of a saved search: only what tells of it. The example is a placeholder." example:"0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"`
	State       string   `json:"state" enum:"pending,delivered,failed,skipped" doc:"Only those in this state. The example is a placeholder." example:"failed"`
	Page        Opt[int] `json:"page" minimum:"1" default:"1" doc:"Page of the result." example:"1"`
	PerPage     Opt[int] `json:"per_page" minimum:"1" maximum:"100" default:"20" doc:"Records a page." example:"20"`
}
