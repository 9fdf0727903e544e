package sqlite

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// The date of an arrival is its label's: a trigger sees to that.
const (
	insertArrival  = `INSERT INTO cola_arrivals (ttb_id, revision, approval_date) VALUES (?, ?, ?) ON CONFLICT (ttb_id) DO NOTHING`
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
func (s *Store) ArrivedSince(ctx context.Context, approved cola.Date, yield func(store.Arrival) error) (cola.Revision, error) {
	day := approved.String()
	return s.since(ctx, "read labels that have arrived", func(q querier) error {
		at, err := arrivals(ctx, q, day)
		if err != nil || len(at) == 0 {
			return err
		}
		holders, err := arrivedHolders(ctx, q, day)
		if err != nil {
			return err
		}
		return eachCola(ctx, q, arrivedColas, arrivedBarcodes, []any{day}, func(r *cola.IndexRecord) error {
			return yield(store.Arrival{Label: r, Permittee: holders[r.Summary.PermitNumber], At: at[r.Summary.TTBID]})
		})
	})
}

// arrivals returns the revisions of the arrivals since a day.
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

// arrivedHolders returns the permittees of the labels that have arrived since a day.
func arrivedHolders(ctx context.Context, q querier, day string) (map[string]*cola.Permittee, error) {
	rows, err := q.query(ctx, arrivedPermittees, day)
	list, err := collect(rows, err, func(row scanner) (*cola.Permittee, error) {
		p := new(cola.Permittee)
		return p, row.Scan(append([]any{&p.PermitNumber}, targets(records.PermitteeColumns(p))...)...)
	})
	holders := make(map[string]*cola.Permittee, len(list))
	for _, p := range list {
		holders[p.PermitNumber] = p
	}
	return holders, err
}
