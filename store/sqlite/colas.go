package sqlite

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

// colaChunk is the number of labels planned at once: large enough to amortize the cost of reading,
// small enough to fit into memory and to let other importers proceed.
const colaChunk = 500

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
	today := cola.DateOf(s.currentTime())
	rehearsed := &records.Colas{Today: today} // a dry run's changes so far, which are not in the database
	for chunk := range slices.Chunk(patches, colaChunk) {
		stored, err := s.apply(ctx, change{
			mode:  mode,
			split: true,
			plan: func(ctx context.Context, q querier, done int) (*plan, error) {
				planner := rehearsed
				if mode.Writes() {
					planner = &records.Colas{History: mode == store.History, Today: today}
				}
				return planColas(ctx, q, planner, chunk[done:])
			},
		})
		outcomes = append(outcomes, stored...)
		if err != nil {
			return outcomes, failed(operation, err)
		}
		s.checkpointIfDue(ctx)
	}
	if !mode.Writes() {
		return outcomes, nil
	}
	return outcomes, failed(operation, s.journal.sync())
}

// Cola implements store.Colas.
func (s *Store) Cola(ctx context.Context, id cola.TTBID) (cola.Cola, error) {
	const operation = "read label"
	if err := s.start(); err != nil {
		return cola.Cola{}, failed(operation, err)
	}
	defer s.done()
	known := map[cola.TTBID]*cola.Cola{}
	err := s.read.view(ctx, func(q querier) error { return loadColas(ctx, q, []cola.TTBID{id}, known) })
	if err != nil {
		return cola.Cola{}, failed(operation, err)
	}
	c, ok := known[id]
	if !ok {
		return cola.Cola{}, failed(operation, store.ErrNotFound)
	}
	return *c, nil
}

// Column names of labels and their parts.
var (
	colaNames    = records.Names(records.ColaColumns(new(cola.Cola)))
	imageNames   = records.Names(records.ImageColumns(new(cola.Image)))
	barcodeNames = records.Names(records.BarcodeColumns(new(cola.Barcode)))
)

var (
	selectColas = `SELECT ttb_id, ` + strings.Join(colaNames, ", ") + `
		FROM colas WHERE ttb_id IN (SELECT value FROM json_each(?))`
	selectImages = `SELECT ttb_id, ` + strings.Join(imageNames, ", ") + `
		FROM cola_images WHERE ttb_id IN (SELECT value FROM json_each(?)) ORDER BY ttb_id, position`
	selectBarcodes = `SELECT ttb_id, ` + strings.Join(barcodeNames, ", ") + `
		FROM cola_barcodes WHERE ttb_id IN (SELECT value FROM json_each(?)) ORDER BY ttb_id, position`
)

// loadColas reads the existing labels with the given IDs into known.
func loadColas(ctx context.Context, q querier, ids []cola.TTBID, known map[cola.TTBID]*cola.Cola) error {
	var found []cola.TTBID
	err := loadParts(ctx, q, selectColas, ids, records.ColaColumns, func(id cola.TTBID, c cola.Cola) {
		c.TTBID = id
		known[id] = &c
		found = append(found, id)
	})
	if err != nil || len(found) == 0 {
		return err
	}
	err = loadParts(ctx, q, selectImages, found, records.ImageColumns, func(id cola.TTBID, m cola.Image) {
		known[id].Images = append(known[id].Images, m)
	})
	if err != nil {
		return err
	}
	err = loadParts(ctx, q, selectBarcodes, found, records.BarcodeColumns, func(id cola.TTBID, b cola.Barcode) {
		known[id].Barcodes = append(known[id].Barcodes, b)
	})
	if err != nil {
		return err
	}
	for _, id := range found {
		known[id].Derive() // sets has_barcode and empty lists, which are not stored
	}
	return nil
}

// loadParts reads rows that consist of a label's ID and the columns of one part.
func loadParts[T any](ctx context.Context, q querier, query string, ids []cola.TTBID,
	columns func(*T) []records.Column, add func(cola.TTBID, T)) error {
	rows, err := q.query(ctx, query, idList(ids))
	if err != nil {
		return err
	}
	defer rows.Close()
	var id cola.TTBID
	var part T // scanning overwrites every column, so no value from the previous row remains
	into := append([]any{target{&id}}, targets(columns(&part))...)
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		add(id, part)
	}
	return rows.Err()
}

// idList returns IDs as a JSON array, for json_each.
func idList[T ~int64 | ~uint64](ids []T) string {
	b := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return string(append(b, ']'))
}

// planColas determines the outcomes of patches, with one step for each patch.
func planColas(ctx context.Context, q querier, planner *records.Colas, patches []cola.Patch[cola.Cola]) (*plan, error) {
	outcomes, changes, err := planner.Plan(ctx, stored{q}, patches)
	if err != nil {
		return nil, err
	}
	p := &plan{}
	for i, c := range changes {
		if c == nil {
			p.add(outcomes[i], nil)
			continue
		}
		p.add(outcomes[i], colaStep{c})
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

// colaStep writes one label, and its permittee if the label changes it.
type colaStep struct{ *records.ColaChange }

var (
	insertCola = `INSERT INTO colas (ttb_id, revision, ` + strings.Join(colaNames, ", ") + `)
		VALUES (?, ?, ` + placeholders(len(colaNames)) + `)`
	updateCola = `UPDATE colas SET revision = ?, ` + strings.Join(colaNames, " = ?, ") + ` = ?
		WHERE ttb_id = ?`
	insertImage = `INSERT INTO cola_images (ttb_id, position, ` + strings.Join(imageNames, ", ") + `)
		VALUES (?, ?, ` + placeholders(len(imageNames)) + `)`
	insertBarcode = `INSERT INTO cola_barcodes (ttb_id, position, ` + strings.Join(barcodeNames, ", ") + `)
		VALUES (?, ?, ` + placeholders(len(barcodeNames)) + `)`
)

func (c colaStep) write(ctx context.Context, w *writer, rev cola.Revision) error {
	if err := c.writeRow(ctx, w, rev); err != nil {
		return err
	}
	if c.Arrives {
		date := c.Label.EffectiveDate()
		if err := w.exec(ctx, insertArrival, int64(c.Label.TTBID), int64(rev), encode(&date)); err != nil {
			return err
		}
	}
	if c.ArrivesAgain {
		if err := w.exec(ctx, moveArrival, int64(rev), int64(c.Label.TTBID)); err != nil {
			return err
		}
	}
	if c.Images {
		if err := c.writeImages(ctx, w); err != nil {
			return err
		}
	}
	if c.Barcodes {
		if err := c.writeBarcodes(ctx, w); err != nil {
			return err
		}
	}
	if c.Permittee == nil {
		return nil
	}
	return permitteeStep(*c.Permittee).write(ctx, w, rev)
}

func (c colaStep) writeRow(ctx context.Context, w *writer, rev cola.Revision) error {
	id := int64(c.Label.TTBID)
	switch {
	case !c.Exists:
		return w.exec(ctx, insertCola, append([]any{id, int64(rev)}, values(records.ColaColumns(c.Label))...)...)
	case c.Row:
		return w.exec(ctx, updateCola,
			append(append([]any{int64(rev)}, values(records.ColaColumns(c.Label))...), id)...)
	}
	return w.exec(ctx, `UPDATE colas SET revision = ? WHERE ttb_id = ?`, int64(rev), id)
}

func (c colaStep) writeImages(ctx context.Context, w *writer) error {
	if c.HadImages {
		if err := w.exec(ctx, `DELETE FROM cola_images WHERE ttb_id = ?`, int64(c.Label.TTBID)); err != nil {
			return err
		}
	}
	return insertParts(ctx, w, insertImage, c.Label.TTBID, c.Label.Images, records.ImageColumns)
}

func (c colaStep) writeBarcodes(ctx context.Context, w *writer) error {
	if c.HadBarcodes {
		if err := w.exec(ctx, `DELETE FROM cola_barcodes WHERE ttb_id = ?`, int64(c.Label.TTBID)); err != nil {
			return err
		}
	}
	return insertParts(ctx, w, insertBarcode, c.Label.TTBID, c.Label.Barcodes, records.BarcodeColumns)
}

// insertParts inserts a label's images or barcodes with their positions.
func insertParts[T any](ctx context.Context, w *writer, query string, id cola.TTBID, parts []T,
	columns func(*T) []records.Column) error {
	for i := range parts {
		args := append([]any{int64(id), i}, values(columns(&parts[i]))...)
		if err := w.exec(ctx, query, args...); err != nil {
			return err
		}
	}
	return nil
}
