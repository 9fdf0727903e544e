package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// The date of an arrival is its label's: a trigger sees to that.
const (
	insertArrivals = `INSERT INTO cola_arrivals (ttb_id, revision, approval_date)
		SELECT c.ttb_id, $1, c.approval_date FROM colas c WHERE c.ttb_id = ANY($2) ON CONFLICT (ttb_id) DO NOTHING`
	selectArrivals = `SELECT ttb_id, revision FROM cola_arrivals WHERE revision > 0 AND approval_date >= $1`
)

var (
	arrivedColas = indexRows + ` JOIN cola_arrivals a ON a.ttb_id = c.ttb_id
		WHERE a.revision > 0 AND a.approval_date >= $1 ORDER BY c.ttb_id`

	arrivedPermittees = `SELECT permit_number, ` + permitteeList + ` FROM permittees WHERE permit_number IN (
		SELECT c.permit_number FROM cola_arrivals a JOIN colas c ON c.ttb_id = a.ttb_id WHERE a.revision > 0 AND a.approval_date >= $1)`
)

// noteArrivals writes down which of the labels have arrived, once they are written themselves, and which cannot any more: of a date
// that came and went within the transaction the trigger knows nothing.
func (w *colaWrite) noteArrivals(ctx context.Context, tx pgx.Tx, rev cola.Revision) error {
	b := &pgx.Batch{}
	if ids := w.ids(func(c *records.ColaChange) bool { return c.Arrives }); len(ids) > 0 {
		b.Queue(insertArrivals, int64(rev), ids)
	}
	if ids := w.ids(func(c *records.ColaChange) bool { return c.LosesDate }); len(ids) > 0 {
		b.Queue(insertArrivals, int64(0), ids)
	}
	if b.Len() == 0 {
		return nil
	}
	return sent(tx.SendBatch(ctx, b), nil)
}

// ArrivedSince implements store.Arrivals.
func (s *Store) ArrivedSince(ctx context.Context, approved cola.Date, yield func(store.Arrival) error) (cola.Revision, error) {
	day := approved.Time()
	return s.since(ctx, "read labels that have arrived", func(q querier, f *follower) error {
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
		holders, err := byNumber(collect(rows, err, func(p *cola.Permittee) fields {
			return append(fields{&p.PermitNumber}, targets(records.PermitteeColumns(p))...)
		}))
		if err != nil {
			return err
		}
		r := newColaReader(func(record *cola.IndexRecord) error {
			return f.told(yield(store.Arrival{Label: record, Permittee: holders[record.Summary.PermitNumber], At: at[record.Summary.TTBID]}))
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
