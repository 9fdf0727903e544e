package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

const (
	selectRevision          = `SELECT revision FROM meta`
	selectReferenceRevision = `SELECT reference_revision FROM meta`
)

// Revision implements store.Changes.
func (s *Store) Revision(ctx context.Context) (cola.Revision, error) {
	return s.revision(ctx, "read revision", selectRevision)
}

// ReferenceRevision implements store.Changes.
func (s *Store) ReferenceRevision(ctx context.Context) (cola.Revision, error) {
	return s.revision(ctx, "read reference revision", selectReferenceRevision)
}

func (s *Store) revision(ctx context.Context, operation, query string) (rev cola.Revision, err error) {
	err = s.read(ctx, operation, func() error { return s.general.QueryRow(ctx, query).Scan(fields{&rev}) })
	return rev, err
}

// Wakeups implements store.Changes.
func (s *Store) Wakeups() <-chan struct{} { return s.upkeep.wakeups }

// ColasSince implements store.Changes.
func (s *Store) ColasSince(
	ctx context.Context, after cola.Revision, yield func(*cola.IndexRecord) error,
) (cola.Revision, error) {
	return s.since(ctx, "read changed labels", func(q querier, f *callbackErrors) error {
		query, args := allColas, []any(nil)
		if after > 0 {
			query, args = changedColas, []any{int64(after)}
		}
		r := newColaReader(func(record *cola.IndexRecord) error { return f.keep(yield(record)) })
		if err := eachRow(ctx, q, query, args, r.row); err != nil {
			return err
		}
		return r.flush()
	})
}

// PermitteesSince implements store.Changes.
func (s *Store) PermitteesSince(
	ctx context.Context, after cola.Revision, yield func(*cola.Permittee) error,
) (cola.Revision, error) {
	return s.since(ctx, "read changed permittees", func(q querier, f *callbackErrors) error {
		var p cola.Permittee
		into := append(fields{&p.PermitNumber}, targets(records.PermitteeColumns(&p))...)
		return eachRow(ctx, q, selectChangedPermittees, []any{int64(after)}, func(rows pgx.Rows) error {
			if err := rows.Scan(into); err != nil {
				return err
			}
			return f.keep(yield(&p))
		})
	})
}

// callbackErrors records an error from the caller's callback, to distinguish it from a database
// error.
type callbackErrors struct{ err error }

// keep records an error and returns it.
func (f *callbackErrors) keep(err error) error {
	f.err = err
	return err
}

// since reads one consistent snapshot and returns its revision.
func (s *Store) since(
	ctx context.Context, operation string, read func(q querier, f *callbackErrors) error,
) (rev cola.Revision, err error) {
	if err := s.start(); err != nil {
		return 0, failed(operation, err)
	}
	defer s.done()
	var f callbackErrors
	err = s.view(ctx, func(q querier) error {
		if err := q.QueryRow(ctx, selectRevision).Scan(fields{&rev}); err != nil {
			return err
		}
		return read(q, &f)
	})
	switch {
	case f.err != nil:
		return 0, fmt.Errorf("%s: %w", operation, f.err)
	case err != nil:
		return 0, s.failed(ctx, operation, err)
	}
	return rev, nil
}

// eachRow calls row for each row of a result. If row fails, eachRow cancels the query and closes
// its connection, because the remaining rows may be most of the registry.
func eachRow(ctx context.Context, q querier, query string, args []any, row func(pgx.Rows) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := row(rows); err != nil {
			cancel()
			rows.Close()
			return err
		}
	}
	return rows.Err()
}

var indexNames = records.Names(records.IndexColumns(new(cola.IndexRecord), new(string)))

// One query joins labels with their barcodes. Few labels have more than one barcode, so the join
// repeats few labels. The result streams through one connection, and the database merges two tables
// that are already in the same order.
var (
	indexRows = `SELECT c.` + strings.Join(indexNames, ", c.") + `, b.position, b.barcode_value, b.barcode_type
		FROM colas c LEFT JOIN cola_barcodes b ON b.ttb_id = c.ttb_id`
	allColas     = indexRows + ` ORDER BY c.ttb_id`
	changedColas = indexRows + ` WHERE c.revision > $1 ORDER BY c.ttb_id`
)

// colaReader reads index records from rows of labels joined with their barcodes. In columns with
// few distinct strings, it allocates each string once.
type colaReader struct {
	yield    func(*cola.IndexRecord) error
	record   cola.IndexRecord // the current label
	parts    []barcodePart    // barcodes of the current label
	kind     string           // type of the current label's main barcode
	next     indexRow
	targets  []any               // pointers into next
	interned []map[string]string // strings by column; nil for columns with too many
}

// indexRow is a label with one of its barcodes.
type indexRow struct {
	record  cola.IndexRecord
	kind    string // type of the main barcode
	barcode barcodePart
}

type barcodePart struct {
	position    int
	value, kind string
}

// maxInterned is the maximum number of strings interned per column. Interning avoids allocating a
// class, origin and status string for each label. In a column with more distinct strings, it would
// not pay off.
const maxInterned = 4096

func newColaReader(yield func(*cola.IndexRecord) error) *colaReader {
	r := &colaReader{yield: yield}
	row := targets(records.IndexColumns(&r.next.record, &r.next.kind))
	row = append(row, &r.next.barcode.position, &r.next.barcode.value, &r.next.barcode.kind)
	for i, field := range row {
		to := target(field)
		if c, ok := to.(column); ok {
			to = &sharedColumn{c, r, i}
		}
		r.targets = append(r.targets, to)
		r.interned = append(r.interned, map[string]string{})
	}
	return r
}

// sharedColumn is a column whose strings are shared between rows.
type sharedColumn struct {
	column
	reader *colaReader
	at     int
}

// ScanBytes implements pgtype.BytesScanner.
func (c *sharedColumn) ScanBytes(v []byte) error {
	switch f := c.field.(type) {
	case *string:
		*f = c.reader.text(c.at, v)
	case *cola.Text:
		*f = cola.Text(c.reader.text(c.at, v))
	case *vocabulary.ProductType:
		*f = vocabulary.ProductType(c.reader.text(c.at, v))
	default:
		return c.mismatch(v != nil)
	}
	return nil
}

// row reads one row: a new label, or another barcode of the current one.
func (r *colaReader) row(rows pgx.Rows) error {
	if err := rows.Scan(r.targets...); err != nil {
		return err
	}
	if r.next.record.Summary.TTBID != r.record.Summary.TTBID {
		if err := r.flush(); err != nil {
			return err
		}
		barcodes := r.record.Barcodes
		r.record, r.kind = r.next.record, r.next.kind
		r.record.Barcodes = barcodes // reuse their memory
	}
	if r.next.barcode.value != "" {
		r.parts = append(r.parts, r.next.barcode)
	}
	return nil
}

// text returns the shared copy of a column's string, or an empty string for NULL.
func (r *colaReader) text(column int, raw []byte) string {
	seen := r.interned[column]
	if seen == nil || len(raw) == 0 {
		return string(raw)
	}
	if s, ok := seen[string(raw)]; ok {
		return s
	}
	s := string(raw)
	if seen[s] = s; len(seen) == maxInterned {
		r.interned[column] = nil
	}
	return s
}

// flush yields the current label, if any, with its barcodes in order.
func (r *colaReader) flush() error {
	if r.record.Summary.TTBID == 0 {
		return nil
	}
	r.record.Summary.SetEstimate(r.record.DateEstimate)
	r.record.Summary.HasBarcode = r.record.MainBarcode != ""
	r.record.Barcodes = r.record.Barcodes[:0]
	r.record.AddBarcode(r.record.MainBarcode, r.kind)
	slices.SortFunc(r.parts, func(a, b barcodePart) int { return cmp.Compare(a.position, b.position) })
	for _, p := range r.parts {
		r.record.AddBarcode(p.value, p.kind)
	}
	r.parts = r.parts[:0]
	return r.yield(&r.record)
}

// When a label's effective date changes, a trigger updates the date of its arrival.
const (
	insertArrivals = `INSERT INTO cola_arrivals (ttb_id, revision, approval_date)
		SELECT c.ttb_id, $1, coalesce(c.approval_date, c.date_estimate) FROM colas c WHERE c.ttb_id = ANY($2) ON CONFLICT (ttb_id) DO NOTHING`
	moveArrivals   = `UPDATE cola_arrivals SET revision = $1 WHERE ttb_id = ANY($2) AND revision > 0`
	selectArrivals = `SELECT ttb_id, revision FROM cola_arrivals WHERE revision > 0 AND approval_date >= $1`
)

var (
	arrivedColas = indexRows + ` JOIN cola_arrivals a ON a.ttb_id = c.ttb_id
		WHERE a.revision > 0 AND a.approval_date >= $1 ORDER BY c.ttb_id`

	arrivedPermittees = `SELECT permit_number, ` + permitteeList + ` FROM permittees WHERE permit_number IN (
		SELECT c.permit_number FROM cola_arrivals a JOIN colas c ON c.ttb_id = a.ttb_id WHERE a.revision > 0 AND a.approval_date >= $1)`
)

// recordArrivals records which of the written labels have arrived, and which never will. It also
// covers a date that was set and cleared within the transaction, which the trigger does not see.
func (w *colaWrite) recordArrivals(ctx context.Context, tx pgx.Tx, rev cola.Revision) error {
	b := &pgx.Batch{}
	if ids := w.ids(func(c *records.ColaChange) bool { return c.Arrives }); len(ids) > 0 {
		b.Queue(insertArrivals, int64(rev), ids)
	}
	if ids := w.ids(func(c *records.ColaChange) bool { return c.ArrivesAgain }); len(ids) > 0 {
		b.Queue(moveArrivals, int64(rev), ids)
	}
	if ids := w.ids(func(c *records.ColaChange) bool { return c.LosesDate }); len(ids) > 0 {
		b.Queue(insertArrivals, int64(0), ids)
	}
	if b.Len() == 0 {
		return nil
	}
	return closeBatch(tx.SendBatch(ctx, b), nil)
}

// ArrivedSince implements store.Arrivals.
func (s *Store) ArrivedSince(
	ctx context.Context, approved cola.Date, yield func(store.Arrival) error,
) (cola.Revision, error) {
	day := approved.Time()
	return s.since(ctx, "read arrivals", func(q querier, f *callbackErrors) error {
		rows, err := q.Query(ctx, selectArrivals, day)
		list, err := collect(rows, err, func(a *store.StoredArrival) fields { return fields{&a.TTBID, &a.At} })
		if err != nil || len(list) == 0 {
			return err
		}
		at := make(map[cola.TTBID]cola.Revision, len(list))
		for _, a := range list {
			at[a.TTBID] = a.At
		}
		rows, err = q.Query(ctx, arrivedPermittees, day)
		permittees, err := byNumber(collect(rows, err, func(p *cola.Permittee) fields {
			return append(fields{&p.PermitNumber}, targets(records.PermitteeColumns(p))...)
		}))
		if err != nil {
			return err
		}
		r := newColaReader(func(record *cola.IndexRecord) error {
			return f.keep(yield(store.Arrival{
				Label:     record,
				Permittee: permittees[record.Summary.PermitNumber],
				At:        at[record.Summary.TTBID],
			}))
		})
		if err := eachRow(ctx, q, arrivedColas, []any{day}, r.row); err != nil {
			return err
		}
		return r.flush()
	})
}

func byNumber(list []cola.Permittee, err error) (map[string]*cola.Permittee, error) {
	numbered := make(map[string]*cola.Permittee, len(list))
	for i := range list {
		numbered[list[i].PermitNumber] = &list[i]
	}
	return numbered, err
}
