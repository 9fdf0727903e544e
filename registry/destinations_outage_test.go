package registry_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func (f flaky) CreateDestination(ctx context.Context, d store.NewDestination) (store.Destination, error) {
	if f.w.full.Load() {
		return store.Destination{}, errFull
	}
	return f.Store.CreateDestination(ctx, d)
}

func (f flaky) Destination(ctx context.Context, a cola.AccountID, uuid string) (store.Destination, error) {
	if f.w.full.Load() {
		return store.Destination{}, errFull
	}
	return f.Store.Destination(ctx, a, uuid)
}

func (f flaky) Destinations(ctx context.Context, a cola.AccountID, page store.Slice) ([]store.Destination, int, error) {
	if f.w.full.Load() {
		return nil, 0, errFull
	}
	return f.Store.Destinations(ctx, a, page)
}

func (f flaky) UpdateDestination(ctx context.Context, a cola.AccountID, uuid string, change func(*store.Destination) error) (store.Destination, error) {
	if f.w.destinationsReadOnly.Load() {
		return store.Destination{}, errFull
	}
	return f.Store.UpdateDestination(ctx, a, uuid, change)
}

func (f flaky) DeleteDestination(ctx context.Context, a cola.AccountID, uuid string) error {
	if f.w.destinationsReadOnly.Load() {
		return errFull
	}
	return f.Store.DeleteDestination(ctx, a, uuid)
}

func (f flaky) AddTest(ctx context.Context, a cola.AccountID, destination string, due time.Time) (cola.Delivery, error) {
	if f.w.destinationsReadOnly.Load() {
		return cola.Delivery{}, errFull
	}
	return f.Store.AddTest(ctx, a, destination, due)
}

func (f flaky) RequestConfirmation(ctx context.Context, a cola.AccountID, uuid string, request store.ConfirmationRequest, change func(*store.Destination) error) (cola.Delivery, error) {
	if f.w.destinationsReadOnly.Load() {
		return cola.Delivery{}, errFull
	}
	return f.Store.RequestConfirmation(ctx, a, uuid, request, change)
}

func (f flaky) ReplayUndelivered(ctx context.Context, a cola.AccountID, destination string, due time.Time, limit int) (int, error) {
	if f.w.destinationsReadOnly.Load() {
		return 0, errFull
	}
	return f.Store.ReplayUndelivered(ctx, a, destination, due, limit)
}

func (f flaky) Replay(ctx context.Context, a cola.AccountID, id int64, due time.Time) (cola.Delivery, error) {
	if f.w.full.Load() || f.w.destinationsReadOnly.Load() {
		return cola.Delivery{}, errFull
	}
	return f.Store.Replay(ctx, a, id, due)
}

func (f flaky) DeliveriesOf(ctx context.Context, a cola.AccountID, filter store.DeliveryFilter, page store.Slice) ([]cola.Delivery, int, error) {
	if f.w.full.Load() {
		return nil, 0, errFull
	}
	return f.Store.DeliveriesOf(ctx, a, filter, page)
}

func (f flaky) DeliveryOf(ctx context.Context, a cola.AccountID, id int64) (cola.DeliveryDetail, error) {
	if f.w.full.Load() {
		return cola.DeliveryDetail{}, errFull
	}
	return f.Store.DeliveryOf(ctx, a, id)
}

// maxDailyConfirmations is the daily limit on confirmation emails to one address.
const maxDailyConfirmations = 3

// TestDestinationOutage checks that operations on destinations fail as unavailable during an
// outage, and that an error with an unknown outcome says what to do next.
func TestDestinationOutage(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "fails@example.com", cola.TierPro)
	created := w.mustHook(t, c, hook)
	w.full.Store(true)
	for name, err := range w.everyDestinationCall(t.Context(), c, created.UUID) {
		var refusal *cola.Error
		if !errors.As(err, &refusal) || refusal.Code != cola.CodeUnavailable || refusal.RetryAfter <= 0 {
			t.Errorf("%s: error = %v, want unavailable", name, err)
		}
	}
	w.full.Store(false)
	w.destinationsReadOnly.Store(true)
	for name, err := range w.everyDestinationCall(t.Context(), c, created.UUID) {
		switch reads := name == "list" || name == "read" || name == "deliveries"; {
		case strings.HasPrefix(name, "create"), name == "resend", name == "delivery": // may fail for another reason
		case reads != (err == nil), err != nil && (code(err) != cola.CodeUnavailable || !strings.Contains(err.Error(), "same request again")):
			t.Errorf("%s without writes: error = %v", name, err)
		}
	}
	w.destinationsReadOnly.Store(false)
	if _, err := w.DeleteDestination(t.Context(), c, w.mustFind(t, c, hook+"/new")); err != nil {
		t.Fatal(err)
	}
	w.down.Store(true)
	for name, err := range w.everyDestinationCall(t.Context(), c, created.UUID) {
		if code(err) != cola.CodeUnavailable {
			t.Errorf("%s without the ledger: error = %v, want unavailable", name, err)
		}
	}
	w.down.Store(false)
	if err := w.store.RevokeKey(t.Context(), 0, c.Credential.ID); err != nil {
		t.Fatal(err)
	}
	for name, err := range w.everyDestinationCall(t.Context(), c, created.UUID) {
		if code(err) != cola.CodeUnauthorized {
			t.Errorf("%s with a revoked key: error = %v, want unauthorized", name, err)
		}
	}
	if stored := w.mustStored(t, c, created.UUID); stored.State != cola.DestinationActive || stored.Secrets.Current != created.Secret.V {
		t.Errorf("rejected request changed the destination: %+v", stored)
	}
}

// TestConfirmationOutage checks that, if the outcome is unknown, the error says how to find out
// whether a confirmation was sent, and that unsent confirmations do not count toward a limit.
func TestConfirmationOutage(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "half@example.com", cola.TierPro)
	created := w.mustAdd(t, c, mailTo("stranger@example.com"))
	w.advance(time.Hour)
	w.destinationsReadOnly.Store(true)
	for range maxDailyConfirmations + 1 {
		_, _, err := w.ResendConfirmation(t.Context(), c, created.UUID)
		if code(err) != cola.CodeUnavailable || !strings.Contains(err.Error(), "deliveries") {
			t.Errorf("ResendConfirmation without writes: error = %v, want unavailable", err)
		}
	}
	w.destinationsReadOnly.Store(false)
	if _, _, err := w.ResendConfirmation(t.Context(), c, created.UUID); err != nil {
		t.Errorf("ResendConfirmation after the outage: %v", err)
	}
}

// everyDestinationCall calls every destination and delivery operation once and returns the errors
// by name.
func (w *world) everyDestinationCall(ctx context.Context, c cola.Caller, id string) map[string]error {
	errs := map[string]error{}
	_, _, errs["list"] = w.Destinations(ctx, c, cola.SavedSearchListParams{})
	_, _, errs["read"] = w.Destination(ctx, c, id, "")
	_, _, errs["create a webhook"] = w.CreateDestination(ctx, c, webhookTo(hook+"/new"))
	_, _, errs["create an email destination"] = w.CreateDestination(ctx, c, mailTo("stranger@example.com"))
	_, _, errs["change"] = w.ChangeDestination(ctx, c, id, cola.DestinationChangeParams{Active: cola.Some(false)})
	_, errs["delete"] = w.DeleteDestination(ctx, c, id)
	_, _, errs["rotate"] = w.RotateSecret(ctx, c, id)
	_, _, errs["test"] = w.TestDestination(ctx, c, id)
	_, _, errs["confirm"] = w.ConfirmDestination(ctx, c, id, cola.DestinationConfirmParams{Code: "KX7Q-2MFA"})
	_, _, errs["resend"] = w.ResendConfirmation(ctx, c, id)
	_, _, errs["replay all"] = w.ReplayDestination(ctx, c, id)
	_, _, errs["deliveries"] = w.Deliveries(ctx, c, cola.DeliveryListParams{})
	_, _, errs["delivery"] = w.Delivery(ctx, c, "1", "")
	_, _, errs["replay"] = w.ReplayDelivery(ctx, c, "1")
	return errs
}
