package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store/records"
)

// planColas works out what becomes of patches.
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

// colaWrite is what comes of the changes of one transaction: a label that was changed more than once is written once.
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
			first.Row, first.Images, first.Barcodes = first.Row || c.Row, first.Images || c.Images, first.Barcodes || c.Barcodes
			first.Arrives = first.Arrives || c.Arrives && !first.HadDate
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

// carryOut writes the labels with what belongs to them.
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
	if err := w.noteArrivals(ctx, tx, rev); err != nil {
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

// deleteParts deletes the parts of labels that are to have others, and moves the revision of labels of which only parts
// change.
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
	return sent(tx.SendBatch(ctx, b), nil)
}

func (w *colaWrite) ids(of func(*records.ColaChange) bool) (ids []int64) {
	for _, c := range w.labels {
		if of(c) {
			ids = append(ids, int64(c.Label.TTBID))
		}
	}
	return ids
}

// copyParts copies the images and barcodes that are new to their labels.
func (w *colaWrite) copyParts(ctx context.Context, tx pgx.Tx) error {
	var images, barcodes [][]any
	for _, c := range w.labels {
		id := int64(c.Label.TTBID)
		for i := range c.Label.Images {
			if c.Images {
				images = append(images, append([]any{id, int64(i)}, values(records.ImageColumns(&c.Label.Images[i]))...))
			}
		}
		for i := range c.Label.Barcodes {
			if c.Barcodes {
				barcodes = append(barcodes, append([]any{id, int64(i)}, values(records.BarcodeColumns(&c.Label.Barcodes[i]))...))
			}
		}
	}
	err := copyRows(ctx, tx, "cola_images", copiedImage, len(images), func(i int) []any { return images[i] })
	if err != nil {
		return err
	}
	return copyRows(ctx, tx, "cola_barcodes", copiedBarcode, len(barcodes), func(i int) []any { return barcodes[i] })
}
