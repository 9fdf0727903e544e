package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/colaregistry/colaregistry/cola"
)

// way is how a class is asked of plain SQL: the page alone, page and count in one round trip, or both by one statement.
type way struct {
	mode    *mode
	clients int // at once
	page    *statement
	count   *statement // nil unless it is asked beside the page
	whole   bool       // page tells the total in its last column
}

// plain is plain SQL by pgx, in this process, each class asked in the way chosen for it.
type plain map[*class]way

// among returns p as one of a number of clients.
func (p plain) among(clients int) plain {
	crowd := plain{}
	for c, w := range p {
		w.clients = clients
		crowd[c] = w
	}
	return crowd
}

func (p plain) client(int) client { return p }

func (p plain) ask(ctx context.Context, q *question) (reply, time.Duration, error) {
	begun := time.Now()
	r, err := p[q.class].ask(ctx, q)
	if err != nil {
		err = fmt.Errorf("%s: %w", q.path, err)
	}
	return r, time.Since(begun), err
}

func (w way) ask(ctx context.Context, q *question) (*sqlReply, error) {
	r := &sqlReply{total: -1, permittees: q.class.sql == "permittee", unpaged: q.barcode != ""}
	if w.count == nil {
		rows, err := w.mode.pool(w.clients).Query(ctx, w.page.sql, w.page.values(q)...)
		if err != nil {
			return r, err
		}
		return r, r.read(rows, w.whole)
	}
	var batch pgx.Batch
	batch.Queue(w.count.sql, w.count.values(q)...).QueryRow(func(row pgx.Row) error { return row.Scan(&r.total) })
	batch.Queue(w.page.sql, w.page.values(q)...).Query(func(rows pgx.Rows) error { return r.read(rows, false) })
	return r, w.mode.pool(w.clients).SendBatch(ctx, &batch).Close()
}

// labelRow and permitteeRow are rows as the queries show them.
type labelRow struct {
	id                             int64
	brand, kind, permit            string
	product, class, origin, status pgtype.Text
	approved                       pgtype.Date
	images                         pgtype.Int4
	barcode                        bool
}

func (l *labelRow) targets() []any {
	return []any{&l.id, &l.brand, &l.product, &l.kind, &l.class, &l.origin, &l.permit, &l.status, &l.approved, &l.images, &l.barcode}
}

type permitteeRow struct {
	number                               string
	company, operating, state, zip, kind pgtype.Text
	listed                               bool
	colas, approved                      int
	lastApplication, lastApproval        pgtype.Date
}

func (p *permitteeRow) targets() []any {
	return []any{&p.number, &p.company, &p.operating, &p.state, &p.zip, &p.kind, &p.listed, &p.colas, &p.approved,
		&p.lastApplication, &p.lastApproval}
}

type sqlReply struct {
	permittees bool
	unpaged    bool // all rows belong to the answer
	total      int
	labels     []labelRow
	holders    []permitteeRow
}

// read reads the rows of a page; when whole their last column is the total.
func (r *sqlReply) read(rows pgx.Rows, whole bool) error {
	defer rows.Close()
	var label labelRow
	var holder permitteeRow
	targets := label.targets()
	if r.permittees {
		targets = holder.targets()
	}
	if whole {
		r.total = 0
		targets = append(targets, &r.total)
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		if r.permittees {
			r.holders = append(r.holders, holder)
		} else {
			r.labels = append(r.labels, label)
		}
	}
	return rows.Err()
}

func (r *sqlReply) rows() (answer, error) {
	a := answer{total: r.total}
	for _, p := range r.holders[:min(len(r.holders), perPage)] {
		a.keys = append(a.keys, p.number)
	}
	page := r.labels
	if !r.unpaged && len(page) > perPage { // the row that tells that there are more
		page, a.more = page[:perPage], true
	}
	for i := range page {
		id := cola.TTBID(page[i].id)
		a.keys = append(a.keys, id.String())
		a.last = cola.Position{Date: cola.DateOf(page[i].approved.Time), TTBID: id}
	}
	return a, nil
}
