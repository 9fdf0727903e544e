package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// avaWork imports viticultural areas.
type avaWork struct{ pipeline[cola.AVADetail] }

func newAVAWork(r *run, st Target) *avaWork {
	reason := func(*cola.Patch[cola.AVADetail]) string { return "rejected by the database" }
	return &avaWork{pipeline[cola.AVADetail]{run: r, detect: detectAVAs, write: upsert(r, st.UpsertAVAs, reason)}}
}

func (w *avaWork) finish(context.Context) error { return nil }

var (
	// avaSchema has the API field names. A GeoJSON feature has its fields in properties.
	avaSchema = func() *schema {
		s := newSchema[cola.AVADetail]("type", "geometry", "bbox", "id", "crs")
		s.within = map[string]*schema{"properties": featureSchema}
		return s
	}()

	// featureSchema has the property names of UC Davis, which separates list items with vertical
	// bars. The text of rules and the names of maps are not stored.
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
	f, err := detect(in, avaSchema, "ava_id", same(checkAVA))
	if _, json := f.rows.(*jsonRows); json {
		f.rows = newJSONRows(in, "geometry", "bbox") // boundaries make up most of a feature
	}
	return f, err
}

// checkAVA checks a viticultural area.
func checkAVA(r *recordReader, a *cola.AVADetail, _ cola.Fields) {
	if a.AVAID == "" || a.Name == "" {
		r.problems.add("", errors.New("missing required fields: ava_id, name"))
	}
	if a.ValidStartDate != 0 && a.ValidEndDate != 0 && a.ValidEndDate < a.ValidStartDate {
		r.problems.add("valid_end_date", fmt.Errorf("%s is before valid_start_date %s", a.ValidEndDate, a.ValidStartDate))
	}
	checkTexts(r, avaSchema, a)
}

// aliasWork imports category aliases.
type aliasWork struct {
	pipeline[vocabulary.CategoryAlias]
	st    Target
	table map[string]string // stored and imported aliases, from vocabulary.AliasTable; nil until needed
}

func newAliasWork(r *run, st Target) *aliasWork {
	w := &aliasWork{st: st}
	detectAliases := func(in *input) (format[vocabulary.CategoryAlias], error) {
		return detect(in, aliasSchema, "alias", same(normalizeAlias))
	}
	w.pipeline = pipeline[vocabulary.CategoryAlias]{run: r, detect: detectAliases, write: w.write}
	return w
}

func (w *aliasWork) finish(context.Context) error { return nil }

// write stores the aliases of a batch that are not circular.
func (w *aliasWork) write(ctx context.Context, patches []cola.Patch[vocabulary.CategoryAlias]) ([]rejectedRow, error) {
	if w.table == nil {
		sets, err := w.st.AllReferences(ctx)
		if err != nil {
			return nil, fmt.Errorf("read stored aliases: %w", err)
		}
		w.table = vocabulary.AliasTable(sets.CategoryAliases)
	}
	kept, rejected := w.dropCircular(patches)
	if len(kept) == 0 {
		return rejected, nil
	}
	outcomes, err := w.st.UpsertCategoryAliases(ctx, kept, w.run.mode())
	if err == nil && len(outcomes) != len(kept) {
		err = fmt.Errorf("the store returned %d outcomes for %d aliases", len(outcomes), len(kept))
	}
	for _, outcome := range outcomes {
		w.run.report.count(outcome)
	}
	return rejected, err
}

// dropCircular adds aliases to the table, except those that form a cycle with earlier ones.
func (w *aliasWork) dropCircular(patches []cola.Patch[vocabulary.CategoryAlias]) (kept []vocabulary.CategoryAlias, rejected []rejectedRow) {
	kept = records(patches)
	table := maps.Clone(w.table)
	maps.Copy(table, vocabulary.AliasTable(kept))
	if findCycle(table) == "" {
		w.table = table
		return kept, nil
	}
	kept = kept[:0]
	for i := range patches {
		alias := patches[i].Record
		next := maps.Clone(w.table)
		maps.Copy(next, vocabulary.AliasTable([]vocabulary.CategoryAlias{alias}))
		if from := findCycle(next); from != "" {
			rejected = append(rejected, rejectedRow{fmt.Sprintf("creates an alias cycle through %s", quote(from)), i})
			continue
		}
		w.table = next
		kept = append(kept, alias)
	}
	return kept, rejected
}

// findCycle returns the first path, in alphabetical order, that resolves to itself, or "".
func findCycle(table map[string]string) string {
	for _, from := range slices.Sorted(maps.Keys(table)) {
		if vocabulary.FoldPath(vocabulary.ResolveCategory(from, table)) == from {
			return from
		}
	}
	return ""
}

var aliasSchema = newSchema[vocabulary.CategoryAlias]()

// normalizeAlias converts an alias to its stored form and checks it. A path below its own alias is
// a cycle too, because the alias replaces all paths below it.
func normalizeAlias(r *recordReader, a *vocabulary.CategoryAlias, _ cola.Fields) {
	a.Alias, a.Path = vocabulary.NormalizePath(a.Alias), vocabulary.NormalizeCategory(a.Path)
	r.require("alias", a.Alias != "")
	r.require("path", a.Path != "")
	switch {
	case a.Alias == "":
	case vocabulary.FoldPath(a.Alias) == vocabulary.FoldPath(a.Path):
		r.problems.add("path", errors.New("must differ from alias"))
	case vocabulary.PathWithin(a.Path, a.Alias):
		r.problems.add("path", fmt.Errorf("%s is below its alias, which creates a cycle", quote(a.Path)))
	}
	if root := vocabulary.CategoryRoot(a.Path); a.Path != "" && !slices.Contains(vocabulary.CategoryRoots(), root) {
		r.problems.add("path", fmt.Errorf("%s must start with one of %s", quote(a.Path),
			strings.Join(vocabulary.CategoryRoots(), ", ")))
	}
	checkTexts(r, aliasSchema, a)
}

// timesWork imports one kind of processing times.
type timesWork[T any] struct{ pipeline[T] }

// timesKind describes a kind of processing times.
type timesKind[T any] struct {
	schema *schema
	key    string // a column that identifies CSV of this kind
	check  func(r *recordReader, row *T, present cola.Fields)
	// detect detects the format if TTB publishes a file of this kind; nil if it does not.
	detect func(in *input) (format[T], error)
}

func newTimesWork[T any](
	r *run, kind timesKind[T], write func(context.Context, []T, store.Mode) ([]store.Outcome, error),
) *timesWork[T] {
	rows := func(ctx context.Context, patches []cola.Patch[T], mode store.Mode) ([]store.Outcome, error) {
		return write(ctx, records(patches), mode)
	}
	detectTimes := kind.detect
	if detectTimes == nil {
		detectTimes = func(in *input) (format[T], error) { return detect(in, kind.schema, kind.key, same(kind.check)) }
	}
	return &timesWork[T]{pipeline[T]{
		run:    r,
		detect: detectTimes,
		write:  upsert(r, rows, func(*cola.Patch[T]) string { return "rejected by the database" }),
	}}
}

func (w *timesWork[T]) finish(context.Context) error { return nil }

// records returns the records in patches. Every patch must have all fields.
func records[T any](patches []cola.Patch[T]) []T {
	rows := make([]T, len(patches))
	for i := range patches {
		rows[i] = patches[i].Record
	}
	return rows
}

var (
	timeSchema         = newSchema[cola.ProcessingTime]("now_time").alias("turnaround_time_median", "turnaround_days_median")
	formulaSchema      = newSchema[cola.FormulaProcessingTime]()
	registrationSchema = newSchema[cola.RegistrationProcessingTime]()
)

var (
	processingTimes = timesKind[cola.ProcessingTime]{
		schema: timeSchema, key: "snapshot_date", check: checkTime, detect: detectTimes,
	}
	formulaTimes = timesKind[cola.FormulaProcessingTime]{
		schema: formulaSchema, key: "formula_type", check: checkFormulaTime, detect: detectFormulaTimes,
	}
	registrationTimes = timesKind[cola.RegistrationProcessingTime]{
		schema: registrationSchema, key: "report_month",
		check: func(r *recordReader, t *cola.RegistrationProcessingTime, _ cola.Fields) {
			normalizeCommodity(&t.Category, "Alcohol", "Tobacco", "Firearms")
			r.require("category", t.Category != "")
			r.require("application_type", t.ApplicationType != "")
			r.requireDay("report_month", t.ReportMonth)
			r.requireDay("snapshot_date", t.SnapshotDate)
			r.figure("turnaround_days_median", t.TurnaroundDaysMedian)
			checkTexts(r, registrationSchema, t)
			if day := t.ReportMonth.Time().Day(); t.ReportMonth != 0 && day != 1 {
				t.ReportMonth = t.ReportMonth.AddDays(1 - day) // figures cover whole months
			}
		},
	}
)

func checkTime(r *recordReader, t *cola.ProcessingTime, _ cola.Fields) {
	normalizeCommodity(&t.Commodity, "Wine", "Malt Beverage", "Distilled Spirits")
	r.require("commodity", t.Commodity != "")
	r.requireDay("snapshot_date", t.SnapshotDate)
	r.figure("turnaround_days_median", t.TurnaroundDaysMedian)
	r.figure("queue_depth_days", t.QueueDepthDays)
	checkTexts(r, timeSchema, t)
}

func checkFormulaTime(r *recordReader, t *cola.FormulaProcessingTime, _ cola.Fields) {
	normalizeCommodity(&t.Commodity, "Wine", "Malt Beverage", "Distilled Spirits")
	r.require("commodity", t.Commodity != "")
	r.require("formula_type", t.FormulaType != "")
	r.requireDay("snapshot_date", t.SnapshotDate)
	r.figure("turnaround_days_median", t.TurnaroundDaysMedian)
	r.figure("queue_depth_days", t.QueueDepthDays)
	checkTexts(r, formulaSchema, t)
}

// normalizeCommodity converts a commodity to the API's spelling, from any letter case and from the
// plural on TTB's pages. It leaves other values unchanged.
func normalizeCommodity(s *string, known ...string) {
	for _, k := range known {
		if strings.EqualFold(*s, k) || strings.EqualFold(*s, k+"s") {
			*s = k
			return
		}
	}
}

func (r *recordReader) require(field string, known bool) {
	if !known {
		r.problems.add(field, errors.New("is required"))
	}
}

func (r *recordReader) requireDay(field string, d cola.Date) {
	r.require(field, d != 0)
	r.day(field, d)
}

// day checks that a known date is plausible for a report.
func (r *recordReader) day(field string, d cola.Date) {
	if d != 0 && (d.Time().Year() < firstYear || d.Time().Year() > lastYear) {
		r.problems.add(field, fmt.Errorf("%s is not between %d and %d", d, firstYear, lastYear))
	}
}

// The range of years in reference data.
const firstYear, lastYear = 1900, 2200

// figure checks that a count is not negative.
func (r *recordReader) figure(field string, v cola.Opt[int]) {
	if v.V < 0 {
		r.problems.add(field, fmt.Errorf("%d is negative", v.V))
	}
}
