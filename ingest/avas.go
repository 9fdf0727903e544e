package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/colaregistry/colaregistry/cola"
)

// avaWork imports viticultural areas.
type avaWork struct{ pipeline[cola.AVADetail] }

func newAVAWork(r *run, st Target) *avaWork {
	never := func(*cola.Patch[cola.AVADetail]) string { return "the store does not take the area" }
	return &avaWork{pipeline[cola.AVADetail]{run: r, detect: detectAVAs, write: upsert(r, st.UpsertAVAs, never)}}
}

func (w *avaWork) finish(context.Context) error { return nil }

var (
	// avaSchema has the contract's names. A row that is a GeoJSON feature has its fields within properties.
	avaSchema = func() *schema {
		s := newSchema[cola.AVADetail]("type", "geometry", "bbox", "id", "crs")
		s.within = map[string]*schema{"properties": featureSchema}
		return s
	}()

	// featureSchema has the names that UC Davis gives the properties of its features; several values are separated by
	// vertical bars. The text of the rule and the maps it names are not kept.
	featureSchema = newSchema[cola.AVADetail](
		"cfr_revision_history", "approved_maps", "boundary_description", "used_maps", "lcsh", "sameas").
		form(textForm{lists: "|"}).
		alias("created", "established_date").
		alias("removed", "removed_date").
		alias("valid_start", "valid_start_date").
		alias("valid_end", "valid_end_date").
		alias("state", "states").
		alias("county", "counties").
		alias("within", "parent_avas").
		alias("contains", "child_avas")
)

func detectAVAs(in *input) (format[cola.AVADetail], error) {
	f, err := detect(in, avaSchema, "ava_id", same(settleAVA))
	if _, json := f.rows.(*jsonRows); json {
		f.rows = newJSONRows(in, "geometry", "bbox") // a boundary is most of a feature's size
	}
	return f, err
}

// settleAVA checks a viticultural area.
func settleAVA(r *recordReader, a *cola.AVADetail, _ cola.Fields) {
	if a.AVAID == "" || a.Name == "" {
		r.problems.add("", errors.New("a viticultural area must have ava_id and name"))
	}
	if a.ValidStartDate != 0 && a.ValidEndDate != 0 && a.ValidEndDate < a.ValidStartDate {
		r.problems.add("valid_end_date", fmt.Errorf("%s is before valid_start_date %s", a.ValidEndDate, a.ValidStartDate))
	}
	checkTexts(r, avaSchema, a)
}
