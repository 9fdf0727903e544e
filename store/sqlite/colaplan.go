package sqlite

import (
	"context"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store/records"
)

// planColas works out what becomes of patches, a step each.
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

// colaStep writes one label, and its permittee when the label tells something of it.
type colaStep struct{ *records.ColaChange }

var (
	insertCola = `INSERT INTO colas (ttb_id, revision, ` + strings.Join(records.Names(records.ColaColumns(new(cola.Cola))), ", ") + `)
		VALUES (?, ?, ` + placeholders(len(records.ColaColumns(new(cola.Cola)))) + `)`
	updateCola = `UPDATE colas SET revision = ?, ` + strings.Join(records.Names(records.ColaColumns(new(cola.Cola))), " = ?, ") + ` = ?
		WHERE ttb_id = ?`
	insertImage = `INSERT INTO cola_images (ttb_id, position, ` + strings.Join(records.Names(records.ImageColumns(new(cola.Image))), ", ") + `)
		VALUES (?, ?, ` + placeholders(len(records.ImageColumns(new(cola.Image)))) + `)`
	insertBarcode = `INSERT INTO cola_barcodes (ttb_id, position, ` + strings.Join(records.Names(records.BarcodeColumns(new(cola.Barcode))), ", ") + `)
		VALUES (?, ?, ` + placeholders(len(records.BarcodeColumns(new(cola.Barcode)))) + `)`
)

func (c colaStep) write(ctx context.Context, w *writer, rev cola.Revision) error {
	if err := c.writeRow(ctx, w, rev); err != nil {
		return err
	}
	if c.Arrives {
		if err := w.exec(ctx, insertArrival, int64(c.Label.TTBID), int64(rev), encode(&c.Label.ApprovalDate)); err != nil {
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
		return w.exec(ctx, updateCola, append(append([]any{int64(rev)}, values(records.ColaColumns(c.Label))...), id)...)
	}
	return w.exec(ctx, `UPDATE colas SET revision = ? WHERE ttb_id = ?`, int64(rev), id)
}

func (c colaStep) writeImages(ctx context.Context, w *writer) error {
	id := int64(c.Label.TTBID)
	if c.HadImages {
		if err := w.exec(ctx, `DELETE FROM cola_images WHERE ttb_id = ?`, id); err != nil {
			return err
		}
	}
	for i := range c.Label.Images {
		if err := w.exec(ctx, insertImage, append([]any{id, i}, values(records.ImageColumns(&c.Label.Images[i]))...)...); err != nil {
			return err
		}
	}
	return nil
}

func (c colaStep) writeBarcodes(ctx context.Context, w *writer) error {
	id := int64(c.Label.TTBID)
	if c.HadBarcodes {
		if err := w.exec(ctx, `DELETE FROM cola_barcodes WHERE ttb_id = ?`, id); err != nil {
			return err
		}
	}
	for i := range c.Label.Barcodes {
		if err := w.exec(ctx, insertBarcode, append([]any{id, i}, values(records.BarcodeColumns(&c.Label.Barcodes[i]))...)...); err != nil {
			return err
		}
	}
	return nil
}
