package registry

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// ExportStore contains the database operations of ExportAccount.
type ExportStore interface {
	Account(ctx context.Context, id cola.AccountID) (store.Account, error)
	IdentitiesOf(ctx context.Context, account cola.AccountID) ([]store.LinkedIdentity, error)
	SignIns(ctx context.Context, account cola.AccountID) ([]store.SignIn, error)
	Keys(ctx context.Context, account cola.AccountID) ([]store.Key, error)
	Links(ctx context.Context, account cola.AccountID) ([]store.Link, error)
	SavedSearches(ctx context.Context, account cola.AccountID, offset, limit int) ([]cola.SavedSearch, int, error)
	Destinations(ctx context.Context, account cola.AccountID, page store.Slice) ([]store.Destination, int, error)
	DailyUsage(ctx context.Context, id cola.AccountID, first, last cola.Date) ([]store.DayUsage, error)
	DeliveriesAfter(ctx context.Context, account cola.AccountID, after int64, limit int) ([]cola.DeliveryDetail, error)
}

// exportPage is the number of records that are read at once.
const exportPage = 500

// The records of an export that have no type in the API.
type (
	exportedAccount struct {
		Email           *string    `json:"email"`
		Tier            cola.Tier  `json:"tier"`
		MaxAlerts       int        `json:"max_alerts"`
		CreatedAt       time.Time  `json:"created_at"`
		SuspendedAt     *time.Time `json:"suspended_at"`
		SuspendedReason *string    `json:"suspended_reason"`
	}
	exportedIdentity struct {
		Issuer  string `json:"issuer"`
		Subject string `json:"subject"`
	}
	exportedSession struct {
		Issuer     *string    `json:"issuer"` // null for a sign-in link
		Browser    string     `json:"browser"`
		CreatedAt  time.Time  `json:"created_at"`
		LastUsedAt *time.Time `json:"last_used_at"`
		ExpiresAt  time.Time  `json:"expires_at"`
	}
	exportedKey struct {
		ID         int64        `json:"id"`
		Name       string       `json:"name"`
		Prefix     string       `json:"prefix"`
		LastFour   string       `json:"last_four"`
		Scopes     []cola.Scope `json:"scopes"`
		Networks   []string     `json:"networks"` // empty for any
		CreatedAt  time.Time    `json:"created_at"`
		LastUsedAt *time.Time   `json:"last_used_at"`
		ExpiresAt  *time.Time   `json:"expires_at"`
		RevokedAt  *time.Time   `json:"revoked_at"`
	}
	exportedApp struct {
		ID         int64        `json:"id"`
		Name       string       `json:"name"`
		Issuer     string       `json:"issuer"`
		ClientID   string       `json:"client_id"`
		Scopes     []cola.Scope `json:"scopes"`
		CreatedAt  time.Time    `json:"created_at"`
		LastUsedAt *time.Time   `json:"last_used_at"`
		RevokedAt  *time.Time   `json:"revoked_at"`
	}
	exportedUsage struct {
		Day            cola.Date           `json:"day"`
		Channel        cola.Channel        `json:"channel"`
		CredentialKind cola.CredentialKind `json:"credential_kind"`
		CredentialID   int64               `json:"credential_id"`
		Meter          cola.Meter          `json:"meter"`
		Units          int                 `json:"units"`
		Requests       int                 `json:"requests"`
	}
)

// ExportAccount writes the settings, credentials, usage and deliveries of an account as one JSON
// object, without secrets. It reads a page of records at a time, so it needs little memory and holds
// no transaction open. The last field, complete, is true; an export that failed lacks it and is not
// valid JSON.
func ExportAccount(ctx context.Context, w io.Writer, st ExportStore, id cola.AccountID, now time.Time) error {
	out := bufio.NewWriterSize(w, 64<<10)
	e := &export{ctx: ctx, st: st, id: id, now: now.UTC(), out: out, json: json.NewEncoder(out)}
	e.json.SetEscapeHTML(false)
	for _, section := range []func() error{
		e.account, e.identities, e.sessions, e.keys, e.apps, e.savedSearches, e.destinations, e.usage, e.deliveries,
	} {
		if err := section(); err != nil {
			return err
		}
	}
	out.WriteString(`,"complete":true}` + "\n")
	return out.Flush() // reports earlier errors, too
}

// ExportAccount exports the data of the caller's account; see the function ExportAccount.
func (s *Service) ExportAccount(ctx context.Context, c cola.Caller, w io.Writer) (cola.QuotaState, error) {
	state, err := s.authorizeHolder(ctx, c)
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

	created time.Time // of the account
}

// exportRead reads within readTimeout.
func exportRead[T any](e *export, read func(ctx context.Context) ([]T, error)) (rows []T, err error) {
	err = withTimeout(e.ctx, readTimeout, func(ctx context.Context) (err error) {
		rows, err = read(ctx)
		return err
	})
	return rows, err
}

// section writes the rows of pages as an array. next returns a page; the section ends with an empty
// one.
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

// once returns the rows of read as the only page.
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

// pages returns the pages of a list with offsets.
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
		orNull(a.Email), a.Tier, a.ActiveLimit, a.CreatedAt, orNull(a.SuspendedAt), orNull(a.Suspended()),
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
		ManageURL    string `json:"manage_url,omitempty"` // depend on the server, not on the account
		DashboardURL string `json:"dashboard_url,omitempty"`
	}
	return section(e, "saved_searches", pages(func(ctx context.Context, offset int) ([]cola.SavedSearch, int, error) {
		return e.st.SavedSearches(ctx, e.id, offset, exportPage)
	}), func(s cola.SavedSearch) search { return search{SavedSearch: s} })
}

func (e *export) destinations() error {
	return section(e, "destinations", pages(func(ctx context.Context, offset int) ([]store.Destination, int, error) {
		return e.st.Destinations(ctx, e.id, store.Slice{Offset: offset, Limit: exportPage})
	}), func(d store.Destination) cola.Destination { return d.Destination })
}

// usage writes the usage month by month.
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
	next := func(ctx context.Context) ([]cola.DeliveryDetail, error) {
		page, err := e.st.DeliveriesAfter(ctx, e.id, after, exportPage)
		if len(page) > 0 {
			after = page[len(page)-1].ID
		}
		return page, err
	}
	return section(e, "deliveries", next, func(d cola.DeliveryDetail) cola.DeliveryDetail { return d })
}

// orNull returns nil for a zero value, which is null in JSON.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
