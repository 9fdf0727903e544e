package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

// colaChunk is the number of labels per transaction: large enough to spread the cost of statements
// and the commit, small enough to fit into memory and to let other importers proceed.
const colaChunk = 1000

// UpsertColas implements store.Colas.
func (s *Store) UpsertColas(
	ctx context.Context, patches []cola.Patch[cola.Cola], mode store.Mode,
) ([]store.Outcome, error) {
	const operation = "upsert labels"
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	outcomes := make([]store.Outcome, 0, len(patches))
	today := s.today()
	rehearsed := &records.Colas{Today: today} // a dry run's changes so far, which are not in the database
	for chunk := range slices.Chunk(patches, colaChunk) {
		stored, err := s.apply(ctx, change{mode: mode, plan: func(ctx context.Context, q querier) (plan, error) {
			planner := rehearsed
			if mode.Writes() {
				planner = &records.Colas{History: mode == store.History, Today: today}
			}
			return planColas(ctx, q, planner, chunk)
		}})
		outcomes = append(outcomes, stored...)
		if err != nil {
			return outcomes, s.failed(ctx, operation, err)
		}
	}
	return outcomes, nil
}

// Cola implements store.Colas.
func (s *Store) Cola(ctx context.Context, id cola.TTBID) (cola.Cola, error) {
	var c cola.Cola
	err := s.read(ctx, "read label", func() error {
		known := map[cola.TTBID]*cola.Cola{}
		if err := loadSnapshot(ctx, s.general, []cola.TTBID{id}, known); err != nil {
			return err
		}
		if known[id] == nil {
			return store.ErrNotFound
		}
		c = *known[id]
		return nil
	})
	return c, err
}

var (
	colaNames    = records.Names(records.ColaColumns(new(cola.Cola)))
	imageNames   = records.Names(records.ImageColumns(new(cola.Image)))
	barcodeNames = records.Names(records.BarcodeColumns(new(cola.Barcode)))

	selectColas  = `SELECT ttb_id, ` + strings.Join(colaNames, ", ") + ` FROM colas WHERE ttb_id = ANY($1)`
	selectImages = `SELECT ttb_id, ` + strings.Join(imageNames,
		", ") + ` FROM cola_images WHERE ttb_id = ANY($1) ORDER BY ttb_id, position`
	selectBarcodes = `SELECT ttb_id, ` + strings.Join(barcodeNames,
		", ") + ` FROM cola_barcodes WHERE ttb_id = ANY($1) ORDER BY ttb_id, position`
)

// loadSnapshot is like loadColas, but reads in its own transaction, in the same round trip.
func loadSnapshot(ctx context.Context, q querier, ids []cola.TTBID, known map[cola.TTBID]*cola.Cola) error {
	b := &pgx.Batch{}
	b.Queue(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`)
	queueColas(b, ids)
	b.Queue(`COMMIT`)
	results := q.SendBatch(ctx, b)
	_, err := results.Exec()
	if err == nil {
		err = readColas(results, known)
	}
	return closeBatch(results, err)
}

// loadColas reads the existing labels with the given IDs into known, in one round trip.
func loadColas(ctx context.Context, q querier, ids []cola.TTBID, known map[cola.TTBID]*cola.Cola) error {
	b := &pgx.Batch{}
	queueColas(b, ids)
	results := q.SendBatch(ctx, b)
	return closeBatch(results, readColas(results, known))
}

func queueColas(b *pgx.Batch, ids []cola.TTBID) {
	list := bigints(ids)
	for _, query := range []string{selectColas, selectImages, selectBarcodes} {
		b.Queue(query, list)
	}
}

// bigints returns IDs as an array parameter.
func bigints(ids []cola.TTBID) []int64 {
	list := make([]int64, len(ids))
	for i, id := range ids {
		list[i] = int64(id)
	}
	return list
}

// readColas reads the results of queueColas.
func readColas(results pgx.BatchResults, known map[cola.TTBID]*cola.Cola) error {
	var found []*cola.Cola
	err := readParts(results, records.ColaColumns, func(id cola.TTBID, c cola.Cola) {
		c.TTBID = id
		known[id] = &c
		found = append(found, &c)
	})
	if err != nil {
		return err
	}
	err = readParts(results, records.ImageColumns, func(id cola.TTBID, m cola.Image) {
		if c := known[id]; c != nil {
			c.Images = append(c.Images, m)
		}
	})
	if err != nil {
		return err
	}
	err = readParts(results, records.BarcodeColumns, func(id cola.TTBID, b cola.Barcode) {
		if c := known[id]; c != nil {
			c.Barcodes = append(c.Barcodes, b)
		}
	})
	if err != nil {
		return err
	}
	for _, c := range found {
		c.Derive() // sets has_barcode and empty lists, which are not stored
	}
	return nil
}

// readParts reads rows that consist of a label's ID and the columns of one part.
func readParts[T any](results pgx.BatchResults, columns func(*T) []records.Column, add func(cola.TTBID, T)) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	var id cola.TTBID
	var part T // scanning overwrites every column, so no value from the previous row remains
	into := append(fields{&id}, targets(columns(&part))...)
	for rows.Next() {
		if err := rows.Scan(into); err != nil {
			return err
		}
		add(id, part)
	}
	return rows.Err()
}

// planColas determines the outcomes of patches and the changes to write.
func planColas(ctx context.Context, q querier, planner *records.Colas, patches []cola.Patch[cola.Cola]) (plan, error) {
	outcomes, changes, err := planner.Plan(ctx, stored{q}, patches)
	if err != nil {
		return plan{}, err
	}
	p := plan{outcomes: outcomes}
	w := newColaWrite(changes)
	if len(w.labels) > 0 {
		p.write = w.carryOut
	}
	return p, nil
}

// stored implements records.Reader.
type stored struct{ q querier }

// Colas implements records.Reader.
func (s stored) Colas(ctx context.Context, ids []cola.TTBID, found func(*cola.Cola)) error {
	known := make(map[cola.TTBID]*cola.Cola, len(ids))
	if err := loadColas(ctx, s.q, ids, known); err != nil {
		return err
	}
	for _, c := range known {
		found(c)
	}
	return nil
}

// ProcessingTimes implements records.Reader.
func (s stored) ProcessingTimes(ctx context.Context) ([]cola.ProcessingTime, error) {
	return sqlstore.ProcessingTimes(ctx, reader(s))
}

// colaWrite is the set of changes in one transaction. A label that changed more than once is
// written once.
type colaWrite struct {
	labels     []*records.ColaChange
	permittees []*records.Permittee
}

func newColaWrite(changes []*records.ColaChange) *colaWrite {
	w := &colaWrite{}
	labels, permittees := map[cola.TTBID]*records.ColaChange{}, map[string]*records.Permittee{}
	for _, c := range changes {
		if c == nil {
			continue
		}
		if first, again := labels[c.Label.TTBID]; again {
			first.Label = c.Label
			first.Row, first.Images, first.Barcodes = first.Row || c.Row, first.Images || c.Images, first.Barcodes ||
				c.Barcodes
			first.Arrives = first.Arrives || c.Arrives && !first.HadDate
			first.ArrivesAgain = first.ArrivesAgain || c.ArrivesAgain
			first.LosesDate = first.LosesDate || c.LosesDate
		} else {
			first := *c
			labels[c.Label.TTBID] = &first
			w.labels = append(w.labels, &first)
		}
		if c.Permittee != nil {
			permittees[c.Permittee.PermitNumber] = c.Permittee
		}
	}
	for _, p := range permittees {
		w.permittees = append(w.permittees, p)
	}
	return w
}

var (
	updateCola = `UPDATE colas SET (revision, ` + strings.Join(colaNames, ", ") + `) = ROW (` + placeholders(len(colaNames)+1) + `)
		WHERE ttb_id = ` + fmt.Sprintf("$%d", len(colaNames)+2)
	touchColas     = `UPDATE colas SET revision = $1 WHERE ttb_id = ANY($2)`
	deleteImages   = `DELETE FROM cola_images WHERE ttb_id = ANY($1)`
	deleteBarcodes = `DELETE FROM cola_barcodes WHERE ttb_id = ANY($1)`

	copiedCola    = append([]string{"ttb_id", "revision"}, colaNames...)
	copiedImage   = append([]string{"ttb_id", "position"}, imageNames...)
	copiedBarcode = append([]string{"ttb_id", "position"}, barcodeNames...)
)

// carryOut writes the labels with their parts and permittees.
func (w *colaWrite) carryOut(ctx context.Context, tx pgx.Tx, rev cola.Revision) error {
	if err := w.writeRows(ctx, tx, rev); err != nil {
		return err
	}
	if err := w.deleteParts(ctx, tx, rev); err != nil {
		return err
	}
	if err := w.copyParts(ctx, tx); err != nil {
		return err
	}
	if err := w.recordArrivals(ctx, tx, rev); err != nil {
		return err
	}
	return writePermittees(ctx, tx, rev, w.permittees)
}

func (w *colaWrite) writeRows(ctx context.Context, tx pgx.Tx, rev cola.Revision) error {
	var added, changed []*cola.Cola
	for _, c := range w.labels {
		switch {
		case !c.Exists:
			added = append(added, c.Label)
		case c.Row:
			changed = append(changed, c.Label)
		}
	}
	err := copyRows(ctx, tx, "colas", copiedCola, len(added), func(i int) []any {
		return append([]any{int64(added[i].TTBID), int64(rev)}, values(records.ColaColumns(added[i]))...)
	})
	if err != nil {
		return err
	}
	return executeEach(ctx, tx, updateCola, len(changed), func(i int) []any {
		return slices.Concat([]any{int64(rev)}, values(records.ColaColumns(changed[i])), []any{int64(changed[i].TTBID)})
	})
}

// deleteParts deletes the parts that will be replaced, and advances the revision of labels whose
// own row does not change.
func (w *colaWrite) deleteParts(ctx context.Context, tx pgx.Tx, rev cola.Revision) error {
	b := &pgx.Batch{}
	if ids := w.ids(func(c *records.ColaChange) bool { return c.Exists && !c.Row }); len(ids) > 0 {
		b.Queue(touchColas, int64(rev), ids)
	}
	if ids := w.ids(func(c *records.ColaChange) bool { return c.Images && c.HadImages }); len(ids) > 0 {
		b.Queue(deleteImages, ids)
	}
	if ids := w.ids(func(c *records.ColaChange) bool { return c.Barcodes && c.HadBarcodes }); len(ids) > 0 {
		b.Queue(deleteBarcodes, ids)
	}
	if b.Len() == 0 {
		return nil
	}
	return closeBatch(tx.SendBatch(ctx, b), nil)
}

func (w *colaWrite) ids(include func(*records.ColaChange) bool) (ids []int64) {
	for _, c := range w.labels {
		if include(c) {
			ids = append(ids, int64(c.Label.TTBID))
		}
	}
	return ids
}

// copyParts inserts the new images and barcodes of labels.
func (w *colaWrite) copyParts(ctx context.Context, tx pgx.Tx) error {
	var images, barcodes [][]any
	for _, c := range w.labels {
		id := int64(c.Label.TTBID)
		for i := range c.Label.Images {
			if c.Images {
				images = append(images,
					append([]any{id, int64(i)}, values(records.ImageColumns(&c.Label.Images[i]))...))
			}
		}
		for i := range c.Label.Barcodes {
			if c.Barcodes {
				barcodes = append(barcodes,
					append([]any{id, int64(i)}, values(records.BarcodeColumns(&c.Label.Barcodes[i]))...))
			}
		}
	}
	err := copyRows(ctx, tx, "cola_images", copiedImage, len(images), func(i int) []any { return images[i] })
	if err != nil {
		return err
	}
	return copyRows(ctx, tx, "cola_barcodes", copiedBarcode, len(barcodes), func(i int) []any { return barcodes[i] })
}
