package alerts

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/store"
)

// Message is what is to be sent to one destination.
type Message struct {
	store.DueDelivery
	Content *store.RunContent // of cola.EventRan; nil for other events. It has the labels that the run may name for free
}

// Sent is what came of sending a message.
type Sent struct {
	// Status is what the receiver answered, of HTTP or of SMTP; 0 when there was no answer.
	Status int
	// Fault is why the message did not get through, in a sentence that the account holder may read: nothing of this machine or of its network
	// is in it. Empty when the receiver has taken the message.
	Fault string
	// Final says that trying again is of no use: the receiver has said so, as an SMTP server does with a 5xx.
	Final bool
	// Ours says that what is wrong is on our side, such as our mail server being away: the destination is not blamed for it.
	Ours bool
	// Gone says that the receiver wants nothing more, ever: HTTP 410.
	Gone bool
	// Verified is true if the endpoint answered a challenge with its token.
	Verified bool
	// After is for how long at least the receiver wants not to be tried again; 0 when it did not say.
	After time.Duration
}

// Sender sends messages to the destinations of one kind. It is safe for concurrent use.
type Sender interface {
	// Send tries once to send a message. It returns when the context ends.
	Send(ctx context.Context, m Message) Sent
}
