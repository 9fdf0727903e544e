package records

import (
	"context"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// Reader reads stored records.
type Reader interface {
	// Colas calls found with each existing label, complete and with derived fields.
	Colas(ctx context.Context, ids []cola.TTBID, found func(*cola.Cola)) error
	// Permittees calls found with each existing permittee.
	Permittees(ctx context.Context, numbers []string, found func(Permittee)) error
	// ProcessingTimes returns the processing times of label applications.
	ProcessingTimes(ctx context.Context) ([]cola.ProcessingTime, error)
}

// Colas merges patches into stored labels and caches the results, so that later patches see earlier
// ones. The zero value is empty.
type Colas struct {
	History    bool                      // labels don't arrive
	Today      cola.Date                 // receipt dates after it are implausible
	labels     map[cola.TTBID]*cola.Cola // loaded labels; nil for IDs without a label
	permittees Permittees
	times      []cola.ProcessingTime // read when an estimate first needs them
	timesRead  bool
}

// ColaChange is a change to one label.
type ColaChange struct {
	Label                  *cola.Cola
	Exists                 bool       // the label has a stored row
	Row                    bool       // the row changes
	Images, Barcodes       bool       // these parts change
	HadImages, HadBarcodes bool       // these parts have stored rows
	HadDate                bool       // the label had an effective date
	LosesDate              bool       // the change clears the effective date
	Arrives                bool       // the row gets an effective date; the label arrives if it never had one
	ArrivesAgain           bool       // the approval date becomes known, replacing an estimate
	Permittee              *Permittee // also to be written; nil if unchanged
}

// Plan loads the records that the patches affect, and returns an outcome and a change for each
// patch. The change is nil if there is nothing to write.
func (pl *Colas) Plan(
	ctx context.Context, r Reader, patches []cola.Patch[cola.Cola],
) ([]store.Outcome, []*ColaChange, error) {
	err := pl.load(ctx, r, patches)
	if err != nil {
		return nil, nil, err
	}
	outcomes, changes := make([]store.Outcome, len(patches)), make([]*ColaChange, len(patches))
	var permits []string
	for i := range patches {
		if outcomes[i], changes[i], err = pl.merge(ctx, r, &patches[i]); err != nil {
			return nil, nil, err
		}
		if changes[i] != nil {
			permits = append(permits, changes[i].Label.PermitNumber)
		}
	}
	if err := pl.permittees.Load(ctx, r, permits); err != nil {
		return nil, nil, err
	}
	for _, c := range changes {
		if c != nil {
			c.Permittee = pl.permittees.SeenOn(c.Label)
		}
	}
	return outcomes, changes, nil
}

func (pl *Colas) load(ctx context.Context, r Reader, patches []cola.Patch[cola.Cola]) error {
	if pl.labels == nil {
		pl.labels = make(map[cola.TTBID]*cola.Cola, len(patches))
	}
	ids := make([]cola.TTBID, 0, len(patches))
	for i := range patches {
		id := patches[i].Record.TTBID
		if _, loaded := pl.labels[id]; !loaded {
			pl.labels[id] = nil
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return r.Colas(ctx, ids, func(c *cola.Cola) { pl.labels[c.TTBID] = c })
}

// merge applies one patch to its label. The change is nil if the label does not change.
func (pl *Colas) merge(
	ctx context.Context, r Reader, patch *cola.Patch[cola.Cola],
) (store.Outcome, *ColaChange, error) {
	id := patch.Record.TTBID
	old := pl.labels[id]
	label := new(cola.Cola)
	if old != nil {
		*label = *old // safe: Apply and Derive replace lists instead of modifying them
	}
	patch.Apply(label)
	label.TTBID = id
	if err := pl.estimateDate(ctx, r, label, old); err != nil {
		return 0, nil, err
	}
	label.Derive()
	if cola.CheckNew(label) != nil {
		return store.Rejected, nil, nil
	}
	c := &ColaChange{Label: label, Row: true, Images: true, Barcodes: true}
	outcome := store.Added
	if old != nil {
		outcome = store.Changed
		c.Exists = true
		c.HadDate = old.EffectiveDate() != 0
		c.HadImages = len(old.Images) > 0
		c.HadBarcodes = len(old.Barcodes) > 0
		c.Row = !Same(ColaColumns(label), ColaColumns(old))
		c.Images = !slices.Equal(label.Images, old.Images)
		c.Barcodes = !slices.Equal(label.Barcodes, old.Barcodes)
		if !c.Row && !c.Images && !c.Barcodes {
			return store.Unchanged, nil, nil
		}
	}
	c.LosesDate = c.HadDate && label.EffectiveDate() == 0
	c.Arrives = !pl.History && !c.HadDate && label.EffectiveDate() != 0
	c.ArrivesAgain = !pl.History && c.HadDate && old.ApprovalDate == 0 && label.ApprovalDate != 0
	pl.labels[id] = label
	return outcome, c, nil
}

// estimateDate sets the estimated approval date of a label, even if the approval date is known, so
// that the two can be compared. A later completion date belongs to a different status change, so it
// doesn't move the estimate, and neither do processing times imported later.
func (pl *Colas) estimateDate(ctx context.Context, r Reader, label, old *cola.Cola) (err error) {
	if old != nil && old.DateEstimate != 0 && (old.LatestUpdateDate == label.LatestUpdateDate ||
		old.LatestUpdateDate != 0 && old.LatestUpdateDate < label.LatestUpdateDate) {
		label.DateEstimate = old.DateEstimate
		return nil
	}
	label.DateEstimate = cola.EstimateApproval(label.TTBID, label.LatestUpdateDate, pl.Today,
		func(received cola.Date) int {
			if !pl.timesRead {
				pl.times, err = r.ProcessingTimes(ctx)
				pl.timesRead = err == nil
			}
			return cola.MedianProcessingDays(pl.times, label.ProductType, received)
		})
	return err
}

// Permittee is a permittee with its internal fields.
type Permittee struct {
	store.StoredPermittee
	Exists bool
}

// Permittees caches loaded permittees by permit number. The zero value is empty.
type Permittees struct{ known map[string]Permittee }

// Load reads the permittees with the given numbers, unless they are loaded already.
func (ps *Permittees) Load(ctx context.Context, r Reader, numbers []string) error {
	if ps.known == nil {
		ps.known = map[string]Permittee{}
	}
	var missing []string
	for _, n := range numbers {
		if _, loaded := ps.known[n]; !loaded {
			ps.known[n] = Permittee{StoredPermittee: store.StoredPermittee{Permittee: cola.Permittee{PermitNumber: n}}}
			missing = append(missing, n)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return r.Permittees(ctx, missing, func(p Permittee) { ps.known[p.PermitNumber] = p })
}

// Merge applies a patch to its loaded permittee. It returns nil if the permittee does not change.
func (ps *Permittees) Merge(patch *cola.Patch[cola.Permittee]) (store.Outcome, *Permittee) {
	old := ps.known[patch.Record.PermitNumber]
	p := old
	p.Exists, p.FromLabels = true, false
	patch.Apply(&p.Permittee)
	p.PermitNumber = patch.Record.PermitNumber
	p.Listed = old.Listed || patch.Record.Listed
	if p == old {
		return store.Unchanged, nil
	}
	ps.known[p.PermitNumber] = p
	if !old.Exists {
		return store.Added, &p
	}
	return store.Changed, &p
}

// SeenOn updates a label's loaded permittee with the label's applicant, and returns the permittee
// if it is new or changed.
func (ps *Permittees) SeenOn(c *cola.Cola) *Permittee {
	old := ps.known[c.PermitNumber]
	if old.Exists && !old.FromLabels {
		return nil
	}
	p := old
	if !old.Exists {
		p.Exists, p.FromLabels = true, true
		p.PermitteeType = cola.Text(vocabulary.PermitteeTypeOf(c.PermitNumber))
	}
	fill(&p.CompanyName, c.AddressRecipient)
	fill(&p.CompanyState, c.AddressState)
	fill(&p.CompanyZipCode, c.AddressZipCode)
	if p == old {
		return nil
	}
	ps.known[c.PermitNumber] = p
	return &p
}

// fill sets a field if it is empty.
func fill(t *cola.Text, from cola.Text) {
	if *t == "" {
		*t = from
	}
}
