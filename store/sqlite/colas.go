package sqlite

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// colaChunk is how many labels are planned at a time: enough to spread the cost of reading, little enough to hold in memory
// and to let other importers have their turn.
const colaChunk = 500

// UpsertColas implements store.Colas.
func (s *Store) UpsertColas(ctx context.Context, patches []cola.Patch[cola.Cola], mode store.Mode) ([]store.Outcome, error) {
	const operation = "upsert labels"
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	outcomes := make([]store.Outcome, 0, len(patches))
	rehearsed := new(records.Colas) // what a dry run has changed so far; there is no database to read it back from
	for chunk := range slices.Chunk(patches, colaChunk) {
		kept, err := s.apply(ctx, change{mode: mode, split: true,
			plan: func(ctx context.Context, q querier, done int) (*plan, error) {
				planner := rehearsed
				if mode.Writes() {
					planner = &records.Colas{History: mode == store.History}
				}
				return planColas(ctx, q, planner, chunk[done:])
			}})
		outcomes = append(outcomes, kept...)
		if err != nil {
			return outcomes, failed(operation, err)
		}
		s.relieve(ctx)
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

var (
	selectColas = `SELECT ttb_id, ` + strings.Join(records.Names(records.ColaColumns(new(cola.Cola))), ", ") + `
		FROM colas WHERE ttb_id IN (SELECT value FROM json_each(?))`
	selectImages = `SELECT ttb_id, ` + strings.Join(records.Names(records.ImageColumns(new(cola.Image))), ", ") + `
		FROM cola_images WHERE ttb_id IN (SELECT value FROM json_each(?)) ORDER BY ttb_id, position`
	selectBarcodes = `SELECT ttb_id, ` + strings.Join(records.Names(records.BarcodeColumns(new(cola.Barcode))), ", ") + `
		FROM cola_barcodes WHERE ttb_id IN (SELECT value FROM json_each(?)) ORDER BY ttb_id, position`
)

// loadColas reads the labels with the given ids, as far as they exist, into known.
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
		known[id].Derive() // settles has_barcode and empty lists, which are not kept
	}
	return nil
}

// loadParts reads rows that begin with a label's id and go on with the columns of one part.
func loadParts[T any](ctx context.Context, q querier, query string, ids []cola.TTBID,
	columns func(*T) []records.Column, add func(cola.TTBID, T)) error {
	rows, err := q.query(ctx, query, idList(ids))
	if err != nil {
		return err
	}
	defer rows.Close()
	var id cola.TTBID
	var part T // every column is scanned anew in each row, so nothing of the last one stays
	into := append([]any{target{&id}}, targets(columns(&part))...)
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		add(id, part)
	}
	return rows.Err()
}

// idList returns ids as the JSON list that the queries above take.
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
