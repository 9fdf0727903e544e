package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// colaWork imports labels.
type colaWork struct {
	pipeline[cola.Cola]
	st     Target
	upsert func(context.Context, []cola.Patch[cola.Cola]) ([]rejectedRow, error)
	// undated is the set of labels in the input without an approval date. Its memory grows with the
	// number of such labels.
	undated   map[cola.TTBID]struct{}
	estimated int             // labels in undated that have an estimated date
	outcomes  []store.Outcome // outcomes of the current batch
}

func newColaWork(r *run, st Target) *colaWork {
	w := &colaWork{st: st, undated: map[cola.TTBID]struct{}{}}
	upsertColas := func(ctx context.Context, patches []cola.Patch[cola.Cola], mode store.Mode) ([]store.Outcome, error) {
		var err error
		w.outcomes, err = st.UpsertColas(ctx, patches, mode)
		return w.outcomes, err
	}
	w.upsert = upsert(r, upsertColas, rejectionReason)
	w.pipeline = pipeline[cola.Cola]{run: r, detect: detectColas, write: w.write}
	w.pages = format[cola.Cola]{decoder: pageDecoder, complete: w.keepImageData}
	return w
}

func (w *colaWork) finish(context.Context) error { return nil }

// write stores a batch and adds warnings about its labels.
func (w *colaWork) write(ctx context.Context, patches []cola.Patch[cola.Cola]) ([]rejectedRow, error) {
	rejected, err := w.upsert(ctx, patches)
	for i, outcome := range w.outcomes[:min(len(w.outcomes), len(patches))] {
		if outcome == store.Rejected {
			continue
		}
		if w.pipeline.format.complete == nil { // otherwise rows are pages, and a label may have several
			w.run.noteID(patches[i].Record.TTBID, w.batch.rows[w.batch.accepted[i]].line)
		}
		if warnErr := w.warnAbout(ctx, &patches[i], outcome); warnErr != nil {
			return rejected, errors.Join(err, warnErr)
		}
	}
	w.run.report.Undated, w.run.report.Estimated = len(w.undated), w.estimated
	return rejected, err
}

// noteDate records whether a label has an approval date.
func (w *colaWork) noteDate(id cola.TTBID, dated bool) {
	if _, undated := w.undated[id]; undated == !dated {
		return
	}
	change := 1
	if dated {
		change = -1
		delete(w.undated, id)
	} else {
		w.undated[id] = struct{}{}
	}
	if id.Received(cola.DateOf(w.run.opts.Now())) != 0 {
		w.estimated += change
	}
}

// warningUnitless is the warning about labels that volume filters exclude.
const warningUnitless = "volume without volume_unit; volume filters exclude the label"

// warnAbout checks a label after its patch is applied: it records a missing approval date, and
// warns about a volume without a unit.
func (w *colaWork) warnAbout(ctx context.Context, patch *cola.Patch[cola.Cola], outcome store.Outcome) error {
	dated, err := w.hasApprovalDate(ctx, patch, outcome)
	if err != nil {
		return err
	}
	w.noteDate(patch.Record.TTBID, dated)
	unitless, err := w.hasNoUnit(ctx, patch, outcome)
	if unitless {
		w.run.report.warn(Warning{Source: w.run.source, Message: warningUnitless, Rows: 1})
	}
	return err
}

// hasNoUnit reports whether a patch sets a volume on a label that has no volume unit afterward.
func (w *colaWork) hasNoUnit(ctx context.Context, patch *cola.Patch[cola.Cola], outcome store.Outcome) (bool, error) {
	switch {
	case !patch.Fields.Has(volume) || !patch.Record.Volume.OK:
		return false, nil
	case patch.Fields.Has(volumeUnit) || outcome == store.Added:
		return patch.Record.VolumeUnit == "", nil
	}
	label, err := w.stored(ctx, patch.Record.TTBID)
	return err == nil && label.VolumeUnit == "", err
}

// hasApprovalDate reports whether a label has an approval date after its patch is applied.
func (w *colaWork) hasApprovalDate(ctx context.Context, patch *cola.Patch[cola.Cola], outcome store.Outcome) (bool, error) {
	id := patch.Record.TTBID
	if patch.Fields.Has(approvalDate) {
		return patch.Record.ApprovalDate != 0, nil
	}
	if _, known := w.undated[id]; known || outcome == store.Added {
		return false, nil
	}
	label, err := w.stored(ctx, id)
	return label.ApprovalDate != 0, err
}

// stored returns the stored label, or a zero label if there is none.
func (w *colaWork) stored(ctx context.Context, id cola.TTBID) (cola.Cola, error) {
	label, err := w.st.Cola(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return cola.Cola{}, fmt.Errorf("read label %s: %w", id, err)
	}
	return label, nil
}

var (
	colaSchema = newSchema[cola.Cola]().
			computed("has_barcode", "approval_date_estimate", "date_is_estimated").
			form(textForm{prose: true}, "llm_product_description", "qualifications").
			form(textForm{zip: true}, "address_zip_code").
			form(textForm{abv: true}, "abv").
			form(textForm{volume: true}, "volume").
			synonyms(colaSynonyms)
	approvalDate = cola.FieldIndex[cola.Cola]("approval_date")
	volume       = cola.FieldIndex[cola.Cola]("volume")
	llmCategory  = cola.FieldIndex[cola.Cola]("llm_category")
	volumeUnit   = cola.FieldIndex[cola.Cola]("volume_unit")
)

func detectColas(in *input) (format[cola.Cola], error) {
	json, err := isJSON(in)
	switch {
	case err != nil:
		return format[cola.Cola]{}, err
	case json:
		return format[cola.Cola]{rows: newJSONRows(in), decoder: jsonDecoder(colaSchema, finishColaJSON)}, nil
	}
	header, err := readHeader(in, func(names []string) bool {
		_, ok := colaSchema.column(names, "ttb_id")
		return ok || isTTBHeader(names)
	})
	switch {
	case err != nil:
		return format[cola.Cola]{}, fmt.Errorf("%w; expected JSON, or CSV with a ttb_id column", err)
	case isTTBHeader(header.names):
		return ttbExport(in, header)
	}
	return csvFormat(in, colaSchema, header, finishColaCSV), nil
}

// finishColaJSON is finishCola for JSON. In API responses, a path derived from the class has a null
// llm_category, unlike a stored path. A derived path must not be stored, whatever the class of the
// record.
func finishColaJSON(r *recordReader, c *cola.Cola, present cola.Fields, patch *cola.Patch[cola.Cola]) {
	finishCola(r, c, present, patch)
	if present.Has(llmCategory) && c.LLMCategory == "" {
		patch.Record.LLMCategoryPath = ""
	}
}

// finishColaCSV is finishCola for CSV. A file made from API responses has an empty cell for null, so
// a path without a category counts as derived if it is the category of the class.
func finishColaCSV(r *recordReader, c *cola.Cola, present cola.Fields, patch *cola.Patch[cola.Cola]) {
	finishCola(r, c, present, patch)
	if c.LLMCategory == "" && string(c.LLMCategoryPath) == vocabulary.CategoryOfClass(string(c.ClassID), string(c.ClassName)) {
		patch.Record.LLMCategoryPath = ""
	}
}

// finishCola normalizes and checks a label and creates its patch, including derived fields.
func finishCola(r *recordReader, c *cola.Cola, present cola.Fields, patch *cola.Patch[cola.Cola]) {
	if r.problems.empty() {
		present = normalizeCola(r, c, present)
	}
	patch.Record, patch.Fields = *c, present
	cola.CompletePatch(patch)
}

// normalizeCola converts a label's values to their stored form and checks them. It returns present
// with the implied fields added.
func normalizeCola(r *recordReader, c *cola.Cola, present cola.Fields) cola.Fields {
	normalizeVocabulary(c)
	present = deriveCodes(c, setUnit(r, c, present))
	for i, grape := range c.GrapeVarietals {
		c.GrapeVarietals[i] = grapeShare.ReplaceAllString(grape, "")
	}
	if c.TTBID == 0 {
		r.problems.add("", errors.New("missing required field: ttb_id"))
	}
	for _, field := range neverNull {
		if present.Has(field.index) && field.empty(c) {
			r.problems.add(field.name, errors.New("must not be null or empty"))
		}
	}
	if err := cola.CheckCola(c); err != nil {
		r.problems.add("", err)
	}
	return present
}

// neverNull are the fields that no row may clear. Rows for stored labels may omit them.
var neverNull = []struct {
	name  string
	index int
	empty func(*cola.Cola) bool
}{
	{"brand_name", cola.FieldIndex[cola.Cola]("brand_name"), func(c *cola.Cola) bool { return c.BrandName == "" }},
	{"product_type", cola.FieldIndex[cola.Cola]("product_type"), func(c *cola.Cola) bool { return c.ProductType == "" }},
	{"permit_number", cola.FieldIndex[cola.Cola]("permit_number"), func(c *cola.Cola) bool { return c.PermitNumber == "" }},
}

// rejectionReason returns the reason why the store rejected a label.
func rejectionReason(patch *cola.Patch[cola.Cola]) string {
	c := &patch.Record
	err := cola.CheckNew(c)
	if err == nil {
		return "the row would clear a required field"
	}
	reason := "new label: " + err.Error()
	if c.ProductType == "" && c.ClassID == "" && c.ClassName != "" {
		return reason + fmt.Sprintf("; class %s does not imply a product type", quote(c.ClassName))
	}
	if _, ok := vocabulary.ProductTypeOfClass(string(c.ClassID)); c.ProductType == "" && c.ClassID != "" && !ok {
		reason += fmt.Sprintf("; class code %s does not imply a product type", quote(c.ClassID))
	}
	return reason
}
