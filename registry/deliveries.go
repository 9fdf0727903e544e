package registry

import (
	"context"
	"errors"
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/quota"
	"github.com/colaregistry/colaregistry/store"
)

// Deliveries returns a page of the caller's deliveries, newest first. It is free.
func (s *Service) Deliveries(
	ctx context.Context, c cola.Caller, p cola.DeliveryListParams,
) (PageList[cola.Delivery], cola.QuotaState, error) {
	normalized, invalid := p.Normalize()
	filter := store.DeliveryFilter{Destination: normalized.Destination, SavedSearch: normalized.SavedSearch, State: normalized.State}
	page := cola.SavedSearchPage{Page: normalized.Page, PerPage: normalized.PerPage}
	return listPage(ctx, s, c, page, invalid, "list deliveries",
		func(ctx context.Context, _ quota.Grant, part store.Slice) ([]cola.Delivery, int, error) {
			return s.store.DeliveriesOf(ctx, c.Account, filter, part)
		})
}

// Delivery returns one of the caller's deliveries with every attempt. It is free. It fails with
// CodeNotFound if the delivery is missing or belongs to another account.
func (s *Service) Delivery(
	ctx context.Context, c cola.Caller, id, ifNoneMatch string,
) (Tagged[cola.DeliveryDetail], cola.QuotaState, error) {
	return lookup(ctx, s, c, cola.MeterNone, ifNoneMatch, func() (found cola.DeliveryDetail, err error) {
		number, err := parseDeliveryID(id)
		if err != nil {
			return found, err
		}
		err = withTimeout(ctx, readTimeout, func(ctx context.Context) (err error) {
			found, err = s.store.DeliveryOf(ctx, c.Account, number)
			return err
		})
		switch {
		case errors.Is(err, store.ErrNotFound):
			return found, deliveryNotFound(id)
		case err != nil:
			return found, storeError(err, "read delivery")
		}
		return found, nil
	})
}

// Exchange is what a delivery attempt sent and received.
type Exchange = store.Exchange

// DeliveryExchanges returns what each attempt at one of the caller's deliveries sent and received,
// oldest first. It is for the dashboard only, and free: the labels in a message were free when it
// was sent. It fails with CodeNotFound if the delivery is missing or belongs to another account.
func (s *Service) DeliveryExchanges(ctx context.Context, c cola.Caller, id string) ([]Exchange, cola.QuotaState, error) {
	number, err := parseDeliveryID(id)
	if err != nil {
		return nil, cola.QuotaState{}, err
	}
	found, state, err := readManaged(ctx, s, c, "read exchanges of a delivery",
		func(ctx context.Context, _ cola.QuotaState) ([]Exchange, error) {
			return s.store.Exchanges(ctx, c.Account, number)
		})
	if errors.Is(err, store.ErrNotFound) {
		err = deliveryNotFound(id)
	}
	return found, state, err
}

// ReplayDelivery resends one of the caller's deliveries, whatever its state, under the same ID. It
// is free and needs the scope cola.ScopeWriteSavedSearches. It fails with CodeNotFound if the
// delivery is missing or belongs to another account, with CodeNotActive if its destination is not
// active, and with CodeQuotaExceeded after too many test messages.
func (s *Service) ReplayDelivery(
	ctx context.Context, c cola.Caller, id string,
) (cola.Delivery, cola.QuotaState, error) {
	number, state, err := authorizeWrite(ctx, s, c, id, parseDeliveryID)
	if err != nil {
		return cola.Delivery{}, state, err
	}
	var replayed cola.Delivery
	err = withTimeout(ctx, saveTimeout, func(ctx context.Context) error {
		prev, err := s.store.DeliveryOf(ctx, c.Account, number)
		if err == nil {
			err = s.checkServed(ctx, c.Account, prev.Delivery)
		}
		if err == nil && prev.Event == cola.EventTest {
			err = s.testLimit.take(prev.Destination)
		}
		if err != nil {
			return err
		}
		replayed, err = s.store.Replay(ctx, c.Account, number, s.now())
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return cola.Delivery{}, state, deliveryNotFound(id)
	case cola.CodeOf(err) == cola.CodeNotActive:
		return cola.Delivery{}, state, err
	case err != nil:
		return cola.Delivery{}, state, replayError(err, destinationError(err, "", sendUnconfirmed))
	}
	return replayed, state, nil
}

// checkServed fails with CodeNotActive if the server doesn't send messages to the recipient of a
// delivery.
func (s *Service) checkServed(ctx context.Context, account cola.AccountID, d cola.Delivery) error {
	if d.Kind == cola.KindEmail {
		return s.unserved(d.Kind, "")
	}
	to, err := s.store.Destination(ctx, account, d.Destination)
	if err == nil {
		err = s.unserved(d.Kind, to.Address.V)
	}
	return err
}

// replayError returns the public error for a failed replay. It returns other unless err says that
// the destination is not active.
func replayError(err, other error) error {
	if errors.Is(err, store.ErrNotActive) {
		return cola.Errorf(cola.CodeNotActive,
			"The destination of this message is not active. GET /destinations shows the reason. To resume it, send "+
				"PATCH /destinations/{uuid} with {\"active\": true}.")
	}
	return other
}

// parseDeliveryID parses a delivery ID.
func parseDeliveryID(id string) (int64, error) {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil || number < 1 || strconv.FormatInt(number, 10) != id {
		return 0, deliveryNotFound(id)
	}
	return number, nil
}

func deliveryNotFound(id string) error {
	return cola.Errorf(cola.CodeNotFound, "Your account has no delivery %s. Old deliveries are deleted.",
		cola.Quoted(id))
}
