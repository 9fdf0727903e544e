package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// colaChunk is how many labels make a transaction: enough to spread the cost of the statements and the commit, little
// enough to hold in memory and to let other importers have their turn.
const colaChunk = 1000

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
		kept, err := s.apply(ctx, change{mode: mode, plan: func(ctx context.Context, q querier) (plan, error) {
			planner := rehearsed
			if mode.Writes() {
				planner = &records.Colas{History: mode == store.History}
			}
			return planColas(ctx, q, planner, chunk)
		}})
		outcomes = append(outcomes, kept...)
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
		if err := loadOneState(ctx, s.general, []cola.TTBID{id}, known); err != nil {
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

	selectColas    = `SELECT ttb_id, ` + strings.Join(colaNames, ", ") + ` FROM colas WHERE ttb_id = ANY($1)`
	selectImages   = `SELECT ttb_id, ` + strings.Join(imageNames, ", ") + ` FROM cola_images WHERE ttb_id = ANY($1) ORDER BY ttb_id, position`
	selectBarcodes = `SELECT ttb_id, ` + strings.Join(barcodeNames, ", ") + ` FROM cola_barcodes WHERE ttb_id = ANY($1) ORDER BY ttb_id, position`
)

// loadOneState is loadColas outside a transaction, in one round trip that is one.
func loadOneState(ctx context.Context, q querier, ids []cola.TTBID, known map[cola.TTBID]*cola.Cola) error {
	b := &pgx.Batch{}
	b.Queue(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`)
	queueColas(b, ids)
	b.Queue(`COMMIT`)
	results := q.SendBatch(ctx, b)
	_, err := results.Exec()
	if err == nil {
		err = readColas(results, known)
	}
	return sent(results, err)
}

// loadColas reads the labels with the given ids, as far as they exist, into known, in one round trip.
func loadColas(ctx context.Context, q querier, ids []cola.TTBID, known map[cola.TTBID]*cola.Cola) error {
	b := &pgx.Batch{}
	queueColas(b, ids)
	results := q.SendBatch(ctx, b)
	return sent(results, readColas(results, known))
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

// readColas reads what queueColas asked for.
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
		c.Derive() // settles has_barcode and empty lists, which are not kept
	}
	return nil
}

// readParts reads rows that begin with a label's id and go on with the columns of one part.
func readParts[T any](results pgx.BatchResults, columns func(*T) []records.Column, add func(cola.TTBID, T)) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	var id cola.TTBID
	var part T // every column is scanned anew in each row, so nothing of the last one stays
	into := append(fields{&id}, targets(columns(&part))...)
	for rows.Next() {
		if err := rows.Scan(into); err != nil {
			return err
		}
		add(id, part)
	}
	return rows.Err()
}
