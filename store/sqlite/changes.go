package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// Revision implements store.Changes.
func (s *Store) Revision(ctx context.Context) (cola.Revision, error) {
	return s.revision(ctx, "read revision", `SELECT revision FROM meta`)
}

// ReferenceRevision implements store.Changes.
func (s *Store) ReferenceRevision(ctx context.Context) (cola.Revision, error) {
	return s.revision(ctx, "read reference revision", `SELECT reference_revision FROM meta`)
}

func (s *Store) revision(ctx context.Context, operation, query string) (rev cola.Revision, err error) {
	if err := s.start(); err != nil {
		return 0, failed(operation, err)
	}
	defer s.done()
	err = s.read.row(ctx, query).Scan(&rev)
	return rev, failed(operation, err)
}

// Wakeups implements store.Changes. SQLite has no notifications.
func (s *Store) Wakeups() <-chan struct{} { return nil }

// ColasSince implements store.Changes.
func (s *Store) ColasSince(
	ctx context.Context, after cola.Revision, yield func(*cola.IndexRecord) error,
) (cola.Revision, error) {
	return s.since(ctx, "read changed labels", func(q querier) error { return colasSince(ctx, q, after, yield) })
}

// PermitteesSince implements store.Changes.
func (s *Store) PermitteesSince(
	ctx context.Context, after cola.Revision, yield func(*cola.Permittee) error,
) (cola.Revision, error) {
	return s.since(ctx, "read changed permittees", func(q querier) error {
		rows, err := q.query(ctx, selectChangedPermittees, int64(after))
		if err != nil {
			return err
		}
		defer rows.Close()
		var p cola.Permittee
		into := append([]any{&p.PermitNumber}, targets(records.PermitteeColumns(&p))...)
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				return err
			}
			if err := yield(&p); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// since reads one consistent snapshot and returns its revision after syncing it to disk: a caller
// may save the result in a file, which must not be ahead of the database.
func (s *Store) since(
	ctx context.Context, operation string, read func(q querier) error,
) (rev cola.Revision, err error) {
	if err := s.start(); err != nil {
		return 0, failed(operation, err)
	}
	defer s.done()
	err = s.read.view(ctx, func(q querier) error {
		if err := q.row(ctx, `SELECT revision FROM meta`).Scan(&rev); err != nil {
			return err
		}
		return read(q)
	})
	if err == nil {
		err = s.journal.syncTo(rev)
	}
	if err != nil {
		return 0, failed(operation, err)
	}
	return rev, nil
}

var indexNames = strings.Join(records.Names(records.IndexColumns(new(cola.IndexRecord), new(string))), ", ")

// A full read scans the label and barcode tables in primary key order. Changes are found by
// revision and sorted into the same order before their rows are read.
var (
	allColas    = `SELECT ` + indexNames + ` FROM colas ORDER BY ttb_id`
	allBarcodes = `SELECT ttb_id, barcode_value, barcode_type FROM cola_barcodes ORDER BY ttb_id, position`

	changed         = `WITH changed (ttb_id) AS MATERIALIZED (SELECT ttb_id FROM colas INDEXED BY colas_by_revision WHERE revision > ? ORDER BY ttb_id) `
	changedColas    = changed + `SELECT ` + indexNames + ` FROM changed CROSS JOIN colas USING (ttb_id) ORDER BY ttb_id`
	changedBarcodes = changed + `SELECT b.ttb_id, b.barcode_value, b.barcode_type FROM changed CROSS JOIN cola_barcodes b USING (ttb_id) ORDER BY b.ttb_id, b.position`
)

func colasSince(ctx context.Context, q querier, after cola.Revision, yield func(*cola.IndexRecord) error) error {
	labels, barcodes, args := allColas, allBarcodes, []any(nil)
	if after > 0 {
		labels, barcodes, args = changedColas, changedBarcodes, []any{int64(after)}
	}
	return eachCola(ctx, q, labels, barcodes, args, yield)
}

// eachCola yields the labels of one query with the barcodes of another. Both are ordered by label.
func eachCola(
	ctx context.Context, q querier, labels, barcodes string, args []any, yield func(*cola.IndexRecord) error,
) error {
	parts, err := openBarcodes(ctx, q, barcodes, args)
	if err != nil {
		return err
	}
	defer parts.rows.Close()
	rows, err := q.query(ctx, labels, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var r cola.IndexRecord
	var mainType string
	into := targets(records.IndexColumns(&r, &mainType))
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		r.Summary.SetEstimate(r.DateEstimate)
		r.Summary.HasBarcode = r.MainBarcode != ""
		r.Barcodes = r.Barcodes[:0]
		r.AddBarcode(r.MainBarcode, mainType)
		if err := parts.addTo(&r); err != nil {
			return err
		}
		if err := yield(&r); err != nil {
			return err
		}
	}
	return rows.Err()
}

// barcodeCursor walks through barcodes, ordered by label.
type barcodeCursor struct {
	rows  *sql.Rows
	id    cola.TTBID // label of the current row; above every ID at the end
	value string
	kind  string
	into  []any
}

func openBarcodes(ctx context.Context, q querier, query string, args []any) (*barcodeCursor, error) {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	c := &barcodeCursor{rows: rows}
	c.into = []any{target{&c.id}, target{&c.value}, target{&c.kind}}
	if err := c.next(); err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	return c, nil
}

func (c *barcodeCursor) next() error {
	if c.rows.Next() {
		return c.rows.Scan(c.into...)
	}
	c.id = ^cola.TTBID(0)
	return c.rows.Err()
}

// addTo adds the barcodes of a label. Call it for labels in ascending order.
func (c *barcodeCursor) addTo(r *cola.IndexRecord) error {
	for c.id <= r.Summary.TTBID {
		if c.id == r.Summary.TTBID {
			r.AddBarcode(c.value, c.kind)
		}
		if err := c.next(); err != nil {
			return err
		}
	}
	return nil
}

// AllReferences implements store.References. It returns only data that is on disk.
func (s *Store) AllReferences(ctx context.Context) (store.ReferenceSets, error) {
	sets, err := s.control.AllReferences(ctx)
	if err == nil {
		err = failed("read reference data", s.journal.syncTo(sets.Revision))
	}
	return sets, err
}

// A trigger sets an arrival's date to the effective date of its label.
const (
	insertArrival  = `INSERT INTO cola_arrivals (ttb_id, revision, approval_date) VALUES (?, ?, ?) ON CONFLICT (ttb_id) DO NOTHING`
	moveArrival    = `UPDATE cola_arrivals SET revision = ? WHERE ttb_id = ? AND revision > 0`
	selectArrivals = `SELECT ttb_id, revision FROM cola_arrivals INDEXED BY cola_arrivals_by_date WHERE revision > 0 AND approval_date >= ?`
	arrived        = `WITH arrived (ttb_id) AS MATERIALIZED (
		SELECT ttb_id FROM cola_arrivals INDEXED BY cola_arrivals_by_date WHERE revision > 0 AND approval_date >= ? ORDER BY ttb_id) `
)

var (
	arrivedColas = arrived + `SELECT ` + indexNames + ` FROM arrived CROSS JOIN colas USING (ttb_id) ORDER BY ttb_id`

	arrivedBarcodes = arrived + `SELECT b.ttb_id, b.barcode_value, b.barcode_type
		FROM arrived CROSS JOIN cola_barcodes b USING (ttb_id) ORDER BY b.ttb_id, b.position`

	arrivedPermittees = arrived + `SELECT permit_number, ` + permitteeNames + ` FROM permittees
		WHERE permit_number IN (SELECT c.permit_number FROM arrived CROSS JOIN colas c USING (ttb_id))`
)

// ArrivedSince implements store.Arrivals.
func (s *Store) ArrivedSince(
	ctx context.Context, approved cola.Date, yield func(store.Arrival) error,
) (cola.Revision, error) {
	day := approved.String()
	return s.since(ctx, "read arrivals", func(q querier) error {
		at, err := arrivals(ctx, q, day)
		if err != nil || len(at) == 0 {
			return err
		}
		permittees, err := readArrivedPermittees(ctx, q, day)
		if err != nil {
			return err
		}
		return eachCola(ctx, q, arrivedColas, arrivedBarcodes, []any{day}, func(r *cola.IndexRecord) error {
			return yield(store.Arrival{
				Label:     r,
				Permittee: permittees[r.Summary.PermitNumber],
				At:        at[r.Summary.TTBID],
			})
		})
	})
}

// arrivals returns the revisions of arrivals on or after the given day.
func arrivals(ctx context.Context, q querier, day string) (map[cola.TTBID]cola.Revision, error) {
	rows, err := q.query(ctx, selectArrivals, day)
	list, err := collect(rows, err, func(row scanner) (a store.StoredArrival, err error) {
		return a, row.Scan(target{&a.TTBID}, &a.At)
	})
	at := make(map[cola.TTBID]cola.Revision, len(list))
	for _, a := range list {
		at[a.TTBID] = a.At
	}
	return at, err
}

// readArrivedPermittees returns the permittees of labels that arrived on or after the given day.
func readArrivedPermittees(ctx context.Context, q querier, day string) (map[string]*cola.Permittee, error) {
	rows, err := q.query(ctx, arrivedPermittees, day)
	list, err := collect(rows, err, func(row scanner) (*cola.Permittee, error) {
		p := new(cola.Permittee)
		return p, row.Scan(append([]any{&p.PermitNumber}, targets(records.PermitteeColumns(p))...)...)
	})
	permittees := make(map[string]*cola.Permittee, len(list))
	for _, p := range list {
		permittees[p.PermitNumber] = p
	}
	return permittees, err
}
