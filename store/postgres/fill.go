package postgres

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// fillChunk is how many rows are copied at a time.
const fillChunk = 5_000

// Fill implements store.Moves. It is one transaction, so on an error nothing is kept.
func (s *Store) Fill(ctx context.Context, items iter.Seq2[*store.Item, error]) error {
	const operation = "fill database"
	if err := s.start(); err != nil {
		return failed(operation, err)
	}
	defer s.done()
	var f follower
	// Items can be had once only, so the transaction is not tried again.
	err := inTransactionOnce(ctx, s.general, fillWithin, func(tx pgx.Tx) error {
		latest, rev, err := s.nextRevision(ctx, tx)
		if err != nil {
			return err
		}
		if err := checkEmpty(ctx, tx, latest); err != nil {
			return err
		}
		w := newFiller(ctx, tx)
		for item, err := range items {
			if err != nil {
				return f.told(err)
			}
			if err := w.fill(item); err != nil {
				return fmt.Errorf("%s: %w", item.Kind, err)
			}
		}
		return w.finish(rev)
	})
	if f.err != nil {
		return fmt.Errorf("%s: %w", operation, f.err)
	}
	return s.failed(ctx, operation, err)
}

// filler copies items into empty tables.
type filler struct {
	ctx     context.Context
	tx      pgx.Tx
	tables  []*filledTable // in an order in which rows refer to earlier ones
	waiting int            // rows that are yet to be copied
	windows sums[cola.AccountID, accountRow]
	known   cola.Revision // the highest that the items tell of

	accounts, keys, apps, identities, links, signIns, searches, runs, matches, months, days *filledTable
	destinations, deliveries, attempts, creations, asked                                    *filledTable
	permittees, colas, images, barcodes, arrivals, bursts, refusals                         *filledTable
}

// filledTable is a table with the rows that are to be copied into it next.
type filledTable struct {
	name    string
	columns []string
	rows    [][]any
}

func newFiller(ctx context.Context, tx pgx.Tx) *filler {
	f := &filler{ctx: ctx, tx: tx}
	table := func(name string, columns ...string) *filledTable {
		t := &filledTable{name: name, columns: columns}
		f.tables = append(f.tables, t)
		return t
	}
	f.accounts = table("accounts", "id", "email", "email_folded", "tier", "created_at", "suspended_at", "suspended_because", "active_limit")
	f.keys = table("api_keys", "id", "account_id", "hash", "name", "prefix", "last_four", "created_at", "last_used_at", "revoked_at", "expires_at")
	f.apps = table("apps", "id", "issuer", "client_id", "name", "scopes", "created_at", "disabled_at")
	f.identities = table("identities", "issuer", "subject", "account_id")
	f.links = table("links", "id", "account_id", "app_id", "scopes", "created_at", "last_used_at", "revoked_at")
	f.signIns = table("sign_ins", "id", "account_id", "via", "browser", "created_at", "last_used_at", "ended_at", "expires_at")
	f.searches = table("saved_searches", append([]string{"id", "account_id", "mark_at", "mark_revision", "feed_hash"}, records.Names((&records.SavedSearch{}).Columns())...)...)
	f.runs = table("saved_search_runs", "search_id", "id", "ran_at", "date_from", "date_to", "match_count", "late_count", "upto", "named_labels", "manual")
	f.matches = table("saved_search_matches", "search_id", "run_id", "ttb_id", "late", "met")
	f.destinations = table("destinations", filledDestination...) // after runs: filled ones are told to nobody
	f.deliveries = table("deliveries", filledDelivery...)
	f.attempts = table("delivery_attempts", filledAttempt...)
	f.creations = table("saved_search_creations", "account_id", "once_key", "fingerprint", "uuid", "kept_until")
	f.asked = table("confirmations_asked", "account_id", "address_folded", "asked_at")
	f.months = table("usage_months", "account_id", "period", "detail_views", "list_records")
	f.days = table("usage_days", "account_id", "day", "channel", "credential_kind", "credential_id", "meter", "units", "requests")
	f.bursts = table("burst_windows", "account_id", "granted_at", "requests")
	f.refusals = table("refusals", "account_id", "minute", "channel", "credential_kind", "credential_id", "reason", "count", "last_at")
	f.permittees = table("permittees", append([]string{"permit_number", "revision", "from_labels"}, permitteeNames...)...)
	f.colas = table("colas", copiedCola...)
	f.images = table("cola_images", copiedImage...)
	f.barcodes = table("cola_barcodes", copiedBarcode...)
	f.arrivals = table("cola_arrivals", "ttb_id", "revision", "approval_date")
	return f
}

// fill takes one item.
func (f *filler) fill(i *store.Item) error {
	switch i.Kind {
	case store.ItemAccount:
		a := &i.Account
		f.add(f.accounts, int64(a.ID), a.Email, store.FoldEmail(a.Email), string(a.Tier), a.CreatedAt,
			encode(&a.SuspendedAt), orNull(a.SuspendedBecause, !a.SuspendedAt.IsZero()), int64(a.ActiveLimit))
	case store.ItemKey:
		k := &i.Key
		f.add(f.keys, k.ID, int64(k.AccountID), k.Hash[:], k.Name, k.Prefix, k.LastFour,
			k.CreatedAt, encode(&k.LastUsedAt), encode(&k.RevokedAt), encode(&k.ExpiresAt))
	case store.ItemApp, store.ItemIdentity, store.ItemLink:
		f.addConnection(i)
	case store.ItemSignIn:
		f.addSignIn(&i.SignIn)
	case store.ItemRefusal:
		f.addRefusal(&i.Refusal)
	case store.ItemDestination, store.ItemDelivery, store.ItemAttempt:
		f.addDelivery(i)
	case store.ItemCreation, store.ItemAsked:
		f.addRequest(i)
	case store.ItemMonth:
		m := &i.Month
		f.add(f.months, int64(m.Account), m.Period.String(), int64(m.Used.DetailViews), int64(m.Used.ListRecords))
	case store.ItemDay:
		d := &i.Day
		f.add(f.days, int64(d.Account), d.Day.Time(), string(d.Channel), string(d.Credential.Kind), d.Credential.ID, string(d.Meter),
			int64(d.Units), int64(d.Requests))
	case store.ItemGrant:
		f.windows.change(i.Grant.Account, func(w *accountRow) {
			w.at, w.requests = append(w.at, i.Grant.At), append(w.requests, i.Grant.Requests)
		})
	case store.ItemReferences:
		return f.fillReferences(i.References)
	case store.ItemPermittee:
		p := &i.Permittee
		f.add(f.permittees, append([]any{p.PermitNumber, int64(1), p.FromLabels}, values(records.PermitteeColumns(&p.Permittee))...)...)
	case store.ItemCola:
		f.addCola(i.Cola)
	default:
		if err := f.addRuns(i); err != nil {
			return err
		}
	}
	if f.waiting < fillChunk {
		return nil
	}
	return f.flush()
}

func (f *filler) add(t *filledTable, row ...any) {
	t.rows = append(t.rows, row)
	f.waiting++
}

// addConnection adds one item about connected apps.
func (f *filler) addConnection(i *store.Item) {
	switch i.Kind {
	case store.ItemApp:
		a := &i.App
		f.add(f.apps, a.ID, a.Issuer, a.ClientID, a.Name, encode(&a.Scopes), a.CreatedAt, encode(&a.DisabledAt))
	case store.ItemIdentity:
		f.add(f.identities, i.Identity.Issuer, i.Identity.Subject, int64(i.Identity.Account))
	case store.ItemLink:
		l := &i.Link
		f.add(f.links, l.ID, int64(l.Account), l.App.ID, encode(&l.Scopes), l.CreatedAt, encode(&l.LastUsedAt), encode(&l.RevokedAt))
	}
}

func (f *filler) addCola(c *cola.Cola) {
	id := int64(c.TTBID)
	f.add(f.colas, append([]any{id, int64(1)}, values(records.ColaColumns(c))...)...)
	for n := range c.Images {
		f.add(f.images, append([]any{id, int64(n)}, values(records.ImageColumns(&c.Images[n]))...)...)
	}
	for n := range c.Barcodes {
		f.add(f.barcodes, append([]any{id, int64(n)}, values(records.BarcodeColumns(&c.Barcodes[n]))...)...)
	}
}

// flush copies the rows that wait.
func (f *filler) flush() error {
	for _, t := range f.tables {
		if err := copyRows(f.ctx, f.tx, t.name, t.columns, len(t.rows), func(i int) []any { return t.rows[i] }); err != nil {
			return err
		}
		if t == f.accounts && len(t.rows) > 0 { // those that come with accounts are not wanted: they have their own
			if _, err := f.tx.Exec(f.ctx, `DELETE FROM destinations`); err != nil {
				return err
			}
		}
		t.rows = t.rows[:0]
	}
	f.waiting = 0
	return nil
}

// finish copies what is left, has what is new numbered after what there is, and takes a revision above those that the items tell of.
// The records carry 1: nobody has read any of them before.
func (f *filler) finish(rev cola.Revision) error {
	for _, id := range f.windows.keys {
		w := f.windows.values[id]
		f.add(f.bursts, int64(id), w.at, w.requests)
	}
	if err := f.flush(); err != nil {
		return err
	}
	b := &pgx.Batch{}
	for _, t := range []*filledTable{f.accounts, f.keys, f.apps, f.links, f.signIns, f.searches, f.runs, f.destinations, f.deliveries} {
		b.Queue(fmt.Sprintf(`SELECT setval(pg_get_serial_sequence('%s', 'id'), max(id)) FROM %[1]s`, t.name))
	}
	b.Queue(setBoth, int64(max(rev, f.known+1)))
	b.Queue(notifyChange)
	return sent(f.tx.SendBatch(f.ctx, b), nil)
}

func (f *filler) fillReferences(sets *store.ReferenceSets) error {
	if err := fillSet(f, records.AVAs, sets.AVAs); err != nil {
		return err
	}
	if err := f.fillReports(sets.ProductionReports); err != nil {
		return err
	}
	if err := fillSet(f, records.ProcessingTimes, sets.ProcessingTimes); err != nil {
		return err
	}
	if err := fillSet(f, records.FormulaProcessingTimes, sets.FormulaProcessingTimes); err != nil {
		return err
	}
	if err := fillSet(f, records.RegistrationProcessingTimes, sets.RegistrationProcessingTimes); err != nil {
		return err
	}
	return fillSet(f, records.CategoryAliases, sets.CategoryAliases)
}

func fillSet[T any](f *filler, set records.Set[T], rows []T) error {
	return copyRows(f.ctx, f.tx, set.Table, records.Names(set.Columns(new(T))), len(rows), func(i int) []any { return values(set.Columns(&rows[i])) })
}

// fillReports numbers the rows of each report; they stand together.
func (f *filler) fillReports(rows []cola.ProductionReport) error {
	position := -1
	return copyRows(f.ctx, f.tx, records.ProductionReports.Table, copiedReport, len(rows), func(i int) []any {
		if position++; i > 0 && rows[i].Key() != rows[i-1].Key() {
			position = 0
		}
		return append([]any{int64(position)}, values(records.ProductionReports.Columns(&rows[i]))...)
	})
}
