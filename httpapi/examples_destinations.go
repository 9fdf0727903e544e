package httpapi

import (
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

const (
	exampleDestinationUUID = "5b1d3c52-0c5c-4a52-8f6d-7d1f6f0a9b10"
	exampleFeedToken       = "2hZ0mJ7c0cT1rK9vQxYp3sVbN8eLwGdUoF5iMa4tXyE"
	exampleMailToken       = "0f3a9c5b7e1d2468ace013579bdf02468ace1357"
)

// exampleDestinationBody asks for what exampleNewWebhook answers.
func exampleDestinationBody() cola.DestinationParams {
	return cola.DestinationParams{Kind: cola.KindWebhook, Address: "https://hooks.example.com/labels"}
}

func exampleNewWebhook() cola.DestinationWithSecret {
	return cola.DestinationWithSecret{
		Destination: cola.Destination{
			UUID: exampleDestinationUUID, Kind: cola.KindWebhook, Address: cola.Some(exampleDestinationBody().Address), State: cola.DestinationPending,
			CreatedAt: cola.TimestampOf(time.Date(2026, 11, 20, 13, 20, 0, 0, time.UTC)),
		},
		Secret: cola.Some("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw7X0nqS5yJ1k="),
	}
}

// exampleWebhook is the destination after the delivery of exampleDelivery.
func exampleWebhook() cola.Destination {
	d := exampleNewWebhook().Destination
	d.State = cola.DestinationActive
	d.LastDeliveredAt = exampleDelivery().SettledAt
	return d
}

// exampleMailbox is the account's own email address as a destination.
func exampleMailbox() cola.Destination {
	return cola.Destination{
		UUID: "c0a1f6f2-93a7-4c0e-8d0b-6f2f5f1f7a11", Kind: cola.KindEmail, Address: cola.Some("taster@example.com"), State: cola.DestinationActive,
		CreatedAt: cola.TimestampOf(time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)),
	}
}

// exampleDestinations is the first page of two.
func exampleDestinations() pageOf[cola.Destination] {
	return pageOf[cola.Destination]{
		Data: []cola.Destination{exampleMailbox()},
		Meta: cola.PageMeta{Total: 2, Page: 1, PerPage: 1, HasMore: true},
	}
}

// exampleDestinationChange leaves exampleWebhook as it is.
func exampleDestinationChange() cola.DestinationChangeParams {
	return cola.DestinationChangeParams{Active: cola.Some(true)}
}

// exampleDelivery tells the webhook of the later run of exampleRuns: it got through at the second attempt.
func exampleDelivery() cola.DeliveryDetail {
	run := exampleRuns().Data[0]
	first := run.RanAt.Time().Add(300 * time.Millisecond)
	second := first.Add(11 * time.Second)
	const took = 184
	return cola.DeliveryDetail{
		Delivery: cola.Delivery{
			ID: 5127, MessageID: "msg_9d3f1c7a52e84b60a1f4c2d07be8365a", Event: cola.EventRan, Destination: exampleDestinationUUID, Kind: cola.KindWebhook,
			SavedSearch: cola.Some(exampleUUID), RunID: cola.Some(run.ID), State: cola.DeliveryDelivered, AttemptCount: 2,
			CreatedAt: run.RanAt, SettledAt: cola.Some(cola.TimestampOf(second.Add(took * time.Millisecond))),
		},
		Attempts: []cola.DeliveryAttempt{
			{At: cola.TimestampOf(first), DurationMS: 97, Status: cola.Some(503), Error: cola.Some("The receiver answered 503.")},
			{At: cola.TimestampOf(second), DurationMS: took, Status: cola.Some(204)},
		},
	}
}

// exampleDeliveries is the first page of two.
func exampleDeliveries() pageOf[cola.Delivery] {
	return pageOf[cola.Delivery]{
		Data: []cola.Delivery{exampleDelivery().Delivery},
		Meta: cola.PageMeta{Total: 2, Page: 1, PerPage: 1, HasMore: true},
	}
}

// exampleReplayed is exampleDelivery when it has just been asked for again.
func exampleReplayed() cola.Delivery {
	d := exampleDelivery().Delivery
	d.State, d.SettledAt = cola.DeliveryPending, cola.Opt[cola.Timestamp]{}
	d.NextAttemptAt = cola.Some(cola.TimestampOf(time.Date(2026, 12, 1, 8, 30, 0, 0, time.UTC)))
	return d
}

// exampleNewDelivery is a message of an event that has just been asked for.
func exampleNewDelivery(event string) cola.Delivery {
	asked := cola.TimestampOf(time.Date(2026, 11, 20, 13, 21, 0, 0, time.UTC))
	return cola.Delivery{
		ID: 5101, MessageID: "msg_4b8a0e6d1f2c49d7b3a5968c7d0e1f23", Event: event, Destination: exampleDestinationUUID, Kind: cola.KindWebhook,
		State: cola.DeliveryPending, CreatedAt: asked, NextAttemptAt: cola.Some(asked),
	}
}

func exampleFeed() cola.SavedSearchFeed {
	return cola.SavedSearchFeed{URL: "https://example.com/feeds/" + exampleFeedToken}
}
