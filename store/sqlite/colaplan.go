package sqlite

import (
	"context"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// colaPlanner merges patches into labels as they stand, and keeps what comes of it, so that later patches see earlier ones.
type colaPlanner struct {
	labels     map[cola.TTBID]*cola.Cola // those looked at so far; nil for one that does not exist
	permittees knownPermittees
}

func newColaPlanner() *colaPlanner {
	return &colaPlanner{labels: map[cola.TTBID]*cola.Cola{}, permittees: knownPermittees{}}
}

// plan reads what the patches are about and works out what becomes of each.
func (pl *colaPlanner) plan(ctx context.Context, q querier, patches []cola.Patch[cola.Cola]) (*plan, error) {
	if err := pl.load(ctx, q, patches); err != nil {
		return nil, err
	}
	p := &plan{}
	var changes []*colaChange
	var permits []string
	for i := range patches {
		outcome, change := pl.merge(&patches[i])
		if change == nil {
			p.add(outcome, nil)
			continue
		}
		p.add(outcome, change)
		changes = append(changes, change)
		permits = append(permits, change.label.PermitNumber)
	}
	if err := pl.permittees.load(ctx, q, permits); err != nil {
		return nil, err
	}
	for _, c := range changes {
		c.permittee = pl.permittees.seenOn(c.label)
	}
	return p, nil
}

func (pl *colaPlanner) load(ctx context.Context, q querier, patches []cola.Patch[cola.Cola]) error {
	ids := make([]cola.TTBID, 0, len(patches))
	for i := range patches {
		id := patches[i].Record.TTBID
		if _, looked := pl.labels[id]; !looked {
			pl.labels[id] = nil
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return loadColas(ctx, q, ids, pl.labels)
}

// merge works out what one patch does to its label. The change is nil when it does nothing.
func (pl *colaPlanner) merge(patch *cola.Patch[cola.Cola]) (store.Outcome, *colaChange) {
	id := patch.Record.TTBID
	old := pl.labels[id]
	label := new(cola.Cola)
	if old != nil {
		*label = *old // Apply and Derive replace lists and never write into them
	}
	patch.Apply(label)
	label.TTBID = id
	label.Derive()
	if cola.CheckNew(label) != nil {
		return store.Refused, nil
	}
	c := &colaChange{label: label, values: values(colaColumns(label)), images: true, barcodes: true}
	outcome := store.Added
	if old != nil {
		outcome = store.Changed
		c.exists, c.hadImages, c.hadBarcodes = true, len(old.Images) > 0, len(old.Barcodes) > 0
		c.row = !slices.Equal(c.values, values(colaColumns(old)))
		c.images = !slices.Equal(label.Images, old.Images)
		c.barcodes = !slices.Equal(label.Barcodes, old.Barcodes)
		if !c.row && !c.images && !c.barcodes {
			return store.Unchanged, nil
		}
	}
	pl.labels[id] = label
	return outcome, c
}

// colaChange writes one label, and its permittee when the label tells something of it.
type colaChange struct {
	label                  *cola.Cola
	values                 []any // of the label's row
	exists                 bool  // the label has a row
	row                    bool  // which differs
	images, barcodes       bool  // these differ
	hadImages, hadBarcodes bool
	permittee              *permitteeState // nil when it stays as it is
}

var (
	insertCola = `INSERT INTO colas (ttb_id, revision, ` + strings.Join(names(colaColumns(new(cola.Cola))), ", ") + `)
		VALUES (?, ?, ` + placeholders(len(colaColumns(new(cola.Cola)))) + `)`
	updateCola = `UPDATE colas SET revision = ?, ` + strings.Join(names(colaColumns(new(cola.Cola))), " = ?, ") + ` = ?
		WHERE ttb_id = ?`
	insertImage = `INSERT INTO cola_images (ttb_id, position, ` + strings.Join(names(imageColumns(new(cola.Image))), ", ") + `)
		VALUES (?, ?, ` + placeholders(len(imageColumns(new(cola.Image)))) + `)`
	insertBarcode = `INSERT INTO cola_barcodes (ttb_id, position, ` + strings.Join(names(barcodeColumns(new(cola.Barcode))), ", ") + `)
		VALUES (?, ?, ` + placeholders(len(barcodeColumns(new(cola.Barcode)))) + `)`
)

func (c *colaChange) write(ctx context.Context, w *writer, rev cola.Revision) error {
	if err := c.writeRow(ctx, w, rev); err != nil {
		return err
	}
	if c.images {
		if err := c.writeImages(ctx, w); err != nil {
			return err
		}
	}
	if c.barcodes {
		if err := c.writeBarcodes(ctx, w); err != nil {
			return err
		}
	}
	if c.permittee == nil {
		return nil
	}
	return c.permittee.write(ctx, w, rev)
}

func (c *colaChange) writeRow(ctx context.Context, w *writer, rev cola.Revision) error {
	id := int64(c.label.TTBID)
	switch {
	case !c.exists:
		return w.exec(ctx, insertCola, append([]any{id, int64(rev)}, c.values...)...)
	case c.row:
		return w.exec(ctx, updateCola, append(append([]any{int64(rev)}, c.values...), id)...)
	}
	return w.exec(ctx, `UPDATE colas SET revision = ? WHERE ttb_id = ?`, int64(rev), id)
}

func (c *colaChange) writeImages(ctx context.Context, w *writer) error {
	id := int64(c.label.TTBID)
	if c.hadImages {
		if err := w.exec(ctx, `DELETE FROM cola_images WHERE ttb_id = ?`, id); err != nil {
			return err
		}
	}
	for i := range c.label.Images {
		if err := w.exec(ctx, insertImage, append([]any{id, i}, values(imageColumns(&c.label.Images[i]))...)...); err != nil {
			return err
		}
	}
	return nil
}

func (c *colaChange) writeBarcodes(ctx context.Context, w *writer) error {
	id := int64(c.label.TTBID)
	if c.hadBarcodes {
		if err := w.exec(ctx, `DELETE FROM cola_barcodes WHERE ttb_id = ?`, id); err != nil {
			return err
		}
	}
	for i := range c.label.Barcodes {
		if err := w.exec(ctx, insertBarcode, append([]any{id, i}, values(barcodeColumns(&c.label.Barcodes[i]))...)...); err != nil {
			return err
		}
	}
	return nil
}
