package httpapi

import (
	"context"
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// sending is the fake's state for destinations.
type sending struct {
	rules     cola.DestinationRules
	created   cola.Destination             // latest requested
	change    cola.DestinationChangeParams // latest, normalized
	page      cola.DeliveryPage            // latest, normalized
	done      string                       // latest operation and its target
	recipient registry.Subscription        // identified by exampleMailToken
	feed      registry.Feed                // identified by exampleFeedToken
	err       error                        // error for every recipient request, if set
}

func newSending() sending {
	return sending{rules: cola.DestinationRules{SendsMail: true}, recipient: registry.Subscription{Address: "t…@example.com", State: cola.DestinationActive}, feed: exampleShownFeed()}
}

// exampleShownFeed returns the feed of exampleSavedSearch.
func exampleShownFeed() registry.Feed {
	search := exampleSavedSearch()
	feed := registry.Feed{Search: search, URL: "http://127.0.0.1:8080/feeds/" + exampleFeedToken}
	for i, row := range exampleColas().Data {
		feed.Runs = append(feed.Runs, registry.FeedRun{Run: exampleRuns().Data[0], Labels: []registry.FeedLabel{{ColaSummary: row, Late: i > 0}}})
		feed.Runs[i].Run.ID -= int64(i)
	}
	return feed
}

func (f *fake) Destinations(_ context.Context, _ cola.Caller, p cola.SavedSearchListParams) (registry.PageList[cola.Destination], cola.QuotaState, error) {
	page, err := p.Normalize()
	l, state, err := rowsFor(f, err, exampleMailbox(), exampleWebhook())
	return registry.PageList[cola.Destination]{Rows: l.Rows, Meta: cola.PageMeta{Total: 2, Page: page.Page, PerPage: page.PerPage}}, state, err
}

func (f *fake) Destination(_ context.Context, _ cola.Caller, id, ifNoneMatch string) (registry.Tagged[cola.Destination], cola.QuotaState, error) {
	return tagged(f, exampleDestinationUUID, id, ifNoneMatch, exampleWebhook(), cola.MeterNone)
}

func (f *fake) CreateDestination(_ context.Context, c cola.Caller, p cola.DestinationParams) (cola.DestinationWithSecret, cola.QuotaState, error) {
	state, err := f.admit()
	if err == nil && !c.Has(cola.ScopeWriteSavedSearches) {
		err = cola.InsufficientScope(cola.ScopeWriteSavedSearches)
	}
	if err == nil {
		f.sending.created, err = p.Normalize(f.sending.rules)
	}
	if err != nil {
		return cola.DestinationWithSecret{}, state, err
	}
	created := cola.DestinationWithSecret{Destination: f.sending.created}
	created.UUID, created.State, created.CreatedAt = exampleDestinationUUID, cola.DestinationUnconfirmed, cola.TimestampOf(now)
	if created.Kind == cola.KindWebhook {
		created.State, created.Secret = cola.DestinationPending, exampleNewWebhook().Secret
	}
	return created, state, nil
}

// onOne runs the checks common to the operations that need the write scope: it admits the call,
// requires the scope and compares the ID.
func (f *fake) onOne(c cola.Caller, what, want, id string) (cola.QuotaState, error) {
	state, err := f.admit()
	f.received = id
	switch {
	case err != nil:
	case !c.Has(cola.ScopeWriteSavedSearches):
		err = cola.InsufficientScope(cola.ScopeWriteSavedSearches)
	case id != want:
		err = cola.Errorf(cola.CodeNotFound, "There is no %s.", cola.Quoted(id))
	default:
		f.sending.done = what + " " + id
	}
	return state, err
}

func (f *fake) ChangeDestination(_ context.Context, c cola.Caller, id string, p cola.DestinationChangeParams) (cola.Destination, cola.QuotaState, error) {
	state, err := f.onOne(c, "change", exampleDestinationUUID, id)
	if err == nil {
		f.sending.change, err = p.Normalize()
	}
	if err != nil {
		return cola.Destination{}, state, err
	}
	changed, err := f.sending.change.Apply(exampleWebhook(), false)
	return changed, state, err
}

func (f *fake) DeleteDestination(_ context.Context, c cola.Caller, id string) (cola.QuotaState, error) {
	return f.onOne(c, "delete", exampleDestinationUUID, id)
}

func (f *fake) RotateSecret(_ context.Context, c cola.Caller, id string) (cola.DestinationWithSecret, cola.QuotaState, error) {
	state, err := f.onOne(c, "rotate", exampleDestinationUUID, id)
	return exampleNewWebhook(), state, err
}

func (f *fake) TestDestination(_ context.Context, c cola.Caller, id string) (cola.Delivery, cola.QuotaState, error) {
	state, err := f.onOne(c, "test", exampleDestinationUUID, id)
	return exampleNewDelivery(cola.EventTest), state, err
}

func (f *fake) ResendConfirmation(_ context.Context, c cola.Caller, id string) (cola.Delivery, cola.QuotaState, error) {
	state, err := f.onOne(c, "ask", exampleDestinationUUID, id)
	return exampleNewDelivery(cola.EventConfirm), state, err
}

func (f *fake) ConfirmDestination(_ context.Context, c cola.Caller, id string, p cola.DestinationConfirmParams) (cola.Destination, cola.QuotaState, error) {
	state, err := f.onOne(c, "confirm", exampleDestinationUUID, id)
	if err == nil {
		_, err = p.Normalize()
	}
	if err != nil {
		return cola.Destination{}, state, err
	}
	return exampleWebhook(), state, nil
}

func (f *fake) ReplayDestination(_ context.Context, c cola.Caller, id string) (cola.Replayed, cola.QuotaState, error) {
	state, err := f.onOne(c, "replay", exampleDestinationUUID, id)
	return cola.Replayed{Count: 2}, state, err
}

func (f *fake) Deliveries(_ context.Context, _ cola.Caller, p cola.DeliveryListParams) (registry.PageList[cola.Delivery], cola.QuotaState, error) {
	var err error
	f.sending.page, err = p.Normalize()
	l, state, err := rowsFor(f, err, exampleDelivery().Delivery, exampleNewDelivery(cola.EventTest))
	return registry.PageList[cola.Delivery]{Rows: l.Rows, Meta: cola.PageMeta{Total: 2, Page: f.sending.page.Page, PerPage: f.sending.page.PerPage}}, state, err
}

// exampleDeliveryID is the ID of exampleDelivery.
func exampleDeliveryID() string { return strconv.FormatInt(exampleDelivery().ID, 10) }

func (f *fake) Delivery(_ context.Context, _ cola.Caller, id, ifNoneMatch string) (registry.Tagged[cola.DeliveryDetail], cola.QuotaState, error) {
	return tagged(f, exampleDeliveryID(), id, ifNoneMatch, exampleDelivery(), cola.MeterNone)
}

func (f *fake) ReplayDelivery(_ context.Context, c cola.Caller, id string) (cola.Delivery, cola.QuotaState, error) {
	state, err := f.onOne(c, "replay delivery", exampleDeliveryID(), id)
	return exampleReplayed(), state, err
}

func (f *fake) CreateFeed(_ context.Context, c cola.Caller, id string) (cola.SavedSearchFeed, cola.QuotaState, error) {
	state, err := f.onOne(c, "make feed", exampleUUID, id)
	return exampleFeed(), state, err
}

func (f *fake) DeleteFeed(_ context.Context, c cola.Caller, id string) (cola.QuotaState, error) {
	return f.onOne(c, "end feed", exampleUUID, id)
}

// receive runs the checks common to all recipient operations.
func (f *fake) receive(what, want, token string) error {
	if f.panic != nil {
		panic(f.panic)
	}
	if f.sending.err != nil {
		return f.sending.err
	}
	if token != want {
		return cola.Errorf(cola.CodeNotFound, "This link is no longer valid.")
	}
	f.sending.done = what
	return nil
}

func (f *fake) Subscription(_ context.Context, token string) (registry.Subscription, error) {
	return f.sending.recipient, f.receive("show", exampleMailToken, token)
}

func (f *fake) Unsubscribe(_ context.Context, token string) (registry.Subscription, error) {
	if err := f.receive("unsubscribe", exampleMailToken, token); err != nil {
		return registry.Subscription{}, err
	}
	f.sending.recipient.State, f.sending.recipient.Reason = cola.DestinationPaused, cola.ReasonUnsubscribed
	return f.sending.recipient, nil
}

func (f *fake) Confirm(_ context.Context, token string) (registry.Subscription, error) {
	if err := f.receive("confirm", exampleMailToken, token); err != nil {
		return registry.Subscription{}, err
	}
	if !f.sending.recipient.Confirmed() {
		f.sending.recipient.State, f.sending.recipient.Reason = cola.DestinationActive, ""
	}
	return f.sending.recipient, nil
}

func (f *fake) Feed(_ context.Context, token string) (registry.Feed, error) {
	return f.sending.feed, f.receive("read feed", exampleFeedToken, token)
}
