package registry

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// ExportStore contains the database operations that ExportAccount uses.
type ExportStore interface {
	Account(ctx context.Context, id cola.AccountID) (store.Account, error)
	SubscriptionOf(ctx context.Context, account cola.AccountID) (store.Subscription, error)
	IdentitiesOf(ctx context.Context, account cola.AccountID) ([]store.LinkedIdentity, error)
	SignIns(ctx context.Context, account cola.AccountID) ([]store.SignIn, error)
	Keys(ctx context.Context, account cola.AccountID) ([]store.Key, error)
	Links(ctx context.Context, account cola.AccountID) ([]store.Link, error)
	SavedSearches(ctx context.Context, account cola.AccountID, offset, limit int) ([]cola.SavedSearch, int, error)
	Destinations(ctx context.Context, account cola.AccountID, page store.Slice) ([]store.Destination, int, error)
	DailyUsage(ctx context.Context, id cola.AccountID, first, last cola.Date) ([]store.DayUsage, error)
	RunsAfter(
		ctx context.Context, account cola.AccountID, uuid string, after int64, limit int,
	) ([]cola.SavedSearchRun, error)
	Refusals(ctx context.Context, account cola.AccountID, limit int) ([]store.Refusal, error)
	Requests(
		ctx context.Context, account cola.AccountID, filter store.RequestFilter, limit int,
	) ([]cola.LoggedRequest, error)
	DeliveriesAfter(ctx context.Context, account cola.AccountID, after int64, limit int) ([]store.DeliveryRecord, error)
}

// exportPage is the number of records that are read at once.
const exportPage = 500

// ExportAccount writes all stored data about an account as one JSON object, except secrets, the
// labels that its searches found (reading those is charged), and the messages sent to it (they
// contain labels). It reads a page of records at a time, so it needs little memory and holds no
// transaction open. The last field, complete, is true; a failed export lacks it and is not valid
// JSON.
func ExportAccount(ctx context.Context, w io.Writer, st ExportStore, id cola.AccountID, now time.Time) error {
	out := bufio.NewWriterSize(w, 64<<10)
	e := &export{ctx: ctx, st: st, id: id, now: now.UTC(), out: out, json: json.NewEncoder(out)}
	e.json.SetEscapeHTML(false)
	for _, section := range []func() error{
		e.account, e.subscription, e.identities, e.sessions, e.keys, e.apps, e.savedSearches, e.runs, e.destinations,
		e.deliveries, e.usage, e.requests, e.refusals,
	} {
		if err := section(); err != nil {
			return err
		}
	}
	out.WriteString(`,"complete":true}` + "\n")
	return out.Flush() // also reports earlier errors
}

// ExportAccount exports the data of the caller's account, even if its deletion was requested; see
// the function ExportAccount.
func (s *Service) ExportAccount(ctx context.Context, c cola.Caller, w io.Writer) (cola.QuotaState, error) {
	state, err := s.authorizeLeaving(ctx, c)
	if err != nil {
		return state, err
	}
	if err := ExportAccount(ctx, w, s.store, c.Account, s.now()); err != nil {
		return state, storeError(err, "export account")
	}
	return state, nil
}

// export is an export in progress.
type export struct {
	ctx  context.Context
	st   ExportStore
	id   cola.AccountID
	now  time.Time
	out  *bufio.Writer
	json *json.Encoder

	created  time.Time // when the account was created
	searches []string  // UUIDs of its saved searches
}

// exportRead reads within readTimeout.
func exportRead[T any](e *export, read func(ctx context.Context) ([]T, error)) (rows []T, err error) {
	err = withTimeout(e.ctx, readTimeout, func(ctx context.Context) (err error) {
		rows, err = read(ctx)
		return err
	})
	return rows, err
}

// section writes the rows of all pages as an array. next returns the next page, which is empty
// after the last one.
func section[T, R any](e *export, name string, next func(ctx context.Context) ([]T, error), row func(T) R) error {
	e.out.WriteString(`,"` + name + `":[`)
	for n := 0; ; {
		page, err := exportRead(e, next)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			if n++; n > 1 {
				e.out.WriteByte(',')
			}
			if err := e.json.Encode(row(r)); err != nil {
				return err
			}
		}
	}
	_, err := e.out.WriteString("]")
	return err
}

// once returns a function for section whose only page contains the rows that read returns.
func once[T any](read func(ctx context.Context) ([]T, error)) func(context.Context) ([]T, error) {
	done := false
	return func(ctx context.Context) ([]T, error) {
		if done {
			return nil, nil
		}
		done = true
		return read(ctx)
	}
}

// pages returns a function for section that reads a list by offset.
func pages[T any](read func(ctx context.Context, offset int) ([]T, int, error)) func(context.Context) ([]T, error) {
	offset := 0
	return func(ctx context.Context) ([]T, error) {
		page, _, err := read(ctx, offset)
		offset += len(page)
		return page, err
	}
}

func (e *export) account() error {
	found, err := exportRead(e, func(ctx context.Context) ([]store.Account, error) {
		a, err := e.st.Account(ctx, e.id)
		return []store.Account{a}, err
	})
	if err != nil {
		return err
	}
	a := found[0]
	e.created = a.CreatedAt
	if store.IsIdentityName(a.Email) {
		a.Email = ""
	}
	e.out.WriteString(`{"exported_at":`)
	if err := e.json.Encode(e.now); err != nil {
		return err
	}
	e.out.WriteString(`,"account":`)
	return e.json.Encode(exportedAccount{
		orNull(a.Email), a.Tier, a.ActiveLimit, !a.NoQuotaEmails, a.CreatedAt, orNull(a.SuspendedAt),
		orNull(a.Suspended()), orNull(a.DeletesAt),
	})
}

// subscription writes the account's Stripe customer and subscription, or null.
func (e *export) subscription() error {
	found, err := exportRead(e, func(ctx context.Context) ([]store.Subscription, error) {
		s, err := e.st.SubscriptionOf(ctx, e.id)
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		return []store.Subscription{s}, err
	})
	if err != nil {
		return err
	}
	e.out.WriteString(`,"subscription":`)
	if len(found) == 0 {
		return e.json.Encode(nil)
	}
	s := found[0]
	return e.json.Encode(exportedSubscription{
		s.Customer, s.ID, s.Status, s.Tier, orNull(s.PeriodEnd), orNull(s.EndsAt), orNull(s.PastDueSince),
	})
}

func (e *export) identities() error {
	return section(e, "identities", once(func(ctx context.Context) ([]store.LinkedIdentity, error) {
		return e.st.IdentitiesOf(ctx, e.id)
	}), func(i store.LinkedIdentity) exportedIdentity { return exportedIdentity{i.Issuer, i.Subject} })
}

func (e *export) sessions() error {
	return section(e, "sessions", once(func(ctx context.Context) ([]store.SignIn, error) {
		return e.st.SignIns(ctx, e.id)
	}), func(s store.SignIn) exportedSession {
		return exportedSession{orNull(s.Via), s.Browser, s.CreatedAt, orNull(s.LastUsedAt), s.ExpiresAt}
	})
}

func (e *export) keys() error {
	return section(e, "keys", once(func(ctx context.Context) ([]store.Key, error) {
		return e.st.Keys(ctx, e.id)
	}), func(k store.Key) exportedKey {
		return exportedKey{
			k.ID, k.Name, k.Prefix, k.LastFour, append([]cola.Scope{}, k.Scopes...), k.Networks.Strings(),
			k.CreatedAt, orNull(k.LastUsedAt), orNull(k.ExpiresAt), orNull(k.RevokedAt),
		}
	})
}

func (e *export) apps() error {
	return section(e, "apps", once(func(ctx context.Context) ([]store.Link, error) {
		return e.st.Links(ctx, e.id)
	}), func(l store.Link) exportedApp {
		return exportedApp{
			l.ID, l.App.Name, l.App.Issuer, l.App.ClientID, append([]cola.Scope{}, l.Effective()...),
			l.CreatedAt, orNull(l.LastUsedAt), orNull(l.RevokedAt),
		}
	})
}

func (e *export) savedSearches() error {
	type search struct {
		cola.SavedSearch
		// These hide URLs that depend on the server, not on the account.
		ManageURL    string `json:"manage_url,omitempty"`
		DashboardURL string `json:"dashboard_url,omitempty"`
	}
	return section(e, "saved_searches", pages(func(ctx context.Context, offset int) ([]cola.SavedSearch, int, error) {
		return e.st.SavedSearches(ctx, e.id, offset, exportPage)
	}), func(s cola.SavedSearch) search {
		e.searches = append(e.searches, s.UUID)
		return search{SavedSearch: s}
	})
}

// ofSearches returns a function for section that reads the records of the saved searches, one
// search after another. read returns the page after the record with the given ID; id returns a
// record's ID.
func ofSearches[T any, ID int64 | cola.TTBID](
	e *export, read func(ctx context.Context, search string, after ID) ([]T, error), id func(T) ID,
) func(context.Context) ([]searchRecord[T], error) {
	searches, after := e.searches, ID(0)
	return func(ctx context.Context) (rows []searchRecord[T], err error) {
		for len(searches) > 0 {
			page, err := read(ctx, searches[0], after)
			if err != nil && !errors.Is(err, store.ErrNotFound) { // ErrNotFound: deleted in the meantime
				return nil, err
			}
			if len(page) == 0 {
				searches, after = searches[1:], 0
				continue
			}
			after = id(page[len(page)-1])
			for _, r := range page {
				rows = append(rows, searchRecord[T]{searches[0], r})
			}
			return rows, nil
		}
		return nil, nil
	}
}

// searchRecord is a record of a saved search.
type searchRecord[T any] struct {
	search string
	record T
}

func (e *export) runs() error {
	type run struct {
		SavedSearch string `json:"saved_search"`
		cola.SavedSearchRun
	}
	next := ofSearches(e, func(ctx context.Context, search string, after int64) ([]cola.SavedSearchRun, error) {
		return e.st.RunsAfter(ctx, e.id, search, after, exportPage)
	}, func(r cola.SavedSearchRun) int64 { return r.ID })
	return section(e, "runs", next, func(r searchRecord[cola.SavedSearchRun]) run { return run{r.search, r.record} })
}

// requests writes the request log, newest first.
func (e *export) requests() error {
	var filter store.RequestFilter
	next := func(ctx context.Context) ([]cola.LoggedRequest, error) {
		page, err := e.st.Requests(ctx, e.id, filter, exportPage)
		if len(page) > 0 {
			last := page[len(page)-1]
			filter.Before = store.RequestCursor{At: last.At, ID: last.ID}
		}
		return page, err
	}
	return section(e, "requests", next, func(r cola.LoggedRequest) exportedRequest {
		return exportedRequest{
			r.At, r.RequestID, r.Channel, r.Credential.Kind, r.Credential.ID, r.Method, r.Target, r.Input, r.Status,
			orNull(r.Code), float64(r.Duration.Microseconds()) / 1000, orNull(r.Meter), r.Units, orNull(r.Answer),
		}
	})
}

func (e *export) refusals() error {
	return section(e, "rejected_requests", once(func(ctx context.Context) ([]store.Refusal, error) {
		return e.st.Refusals(ctx, e.id, store.MaxRefusals)
	}), func(r store.Refusal) exportedRefusal {
		return exportedRefusal{r.Minute, r.Channel, r.Credential.Kind, r.Credential.ID, r.Reason, r.Count, r.LastAt}
	})
}

func (e *export) destinations() error {
	return section(e, "destinations", pages(func(ctx context.Context, offset int) ([]store.Destination, int, error) {
		return e.st.Destinations(ctx, e.id, store.Slice{Offset: offset, Limit: exportPage})
	}), func(d store.Destination) cola.Destination { return d.Destination })
}

// usage writes the usage by day. It reads a month at a time.
func (e *export) usage() error {
	month := time.Date(e.created.Year(), e.created.Month(), 1, 0, 0, 0, 0, time.UTC)
	next := func(ctx context.Context) ([]store.DayUsage, error) {
		for !month.After(e.now) {
			first, last := cola.DateOf(month), cola.DateOf(month.AddDate(0, 1, -1))
			month = month.AddDate(0, 1, 0)
			if days, err := e.st.DailyUsage(ctx, e.id, first, last); err != nil || len(days) > 0 {
				return days, err
			}
		}
		return nil, nil
	}
	return section(e, "usage_by_day", next, func(d store.DayUsage) exportedUsage {
		return exportedUsage{d.Day, d.Channel, d.Credential.Kind, d.Credential.ID, d.Meter, d.Units, d.Requests}
	})
}

func (e *export) deliveries() error {
	after := int64(0)
	next := func(ctx context.Context) ([]store.DeliveryRecord, error) {
		page, err := e.st.DeliveriesAfter(ctx, e.id, after, exportPage)
		if len(page) > 0 {
			after = page[len(page)-1].ID
		}
		return page, err
	}
	return section(e, "deliveries", next, func(d store.DeliveryRecord) exportedDelivery {
		row := exportedDelivery{Delivery: d.Delivery, Attempts: make([]exportedAttempt, len(d.Attempts))}
		for i, a := range d.Attempts {
			row.Attempts[i] = exportedAttempt{
				a.DeliveryAttempt, orNull(a.Exchange.Subject), orNull(a.Exchange.Headers), orNull(a.Exchange.Response),
			}
		}
		return row
	})
}

// orNull returns nil, which is null in JSON, for a zero value.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
