package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// aliasWork imports published transitions of category paths.
type aliasWork struct {
	pipeline[cola.CategoryAlias]
	st    Target
	table map[string]string // transitions stored and read so far, as cola.AliasTable makes them; nil until they are needed
}

func newAliasWork(r *run, st Target) *aliasWork {
	w := &aliasWork{st: st}
	detectAliases := func(in *input) (format[cola.CategoryAlias], error) {
		return detect(in, aliasSchema, "alias", same(settleAlias))
	}
	w.pipeline = pipeline[cola.CategoryAlias]{run: r, detect: detectAliases, write: w.write}
	return w
}

func (w *aliasWork) finish(context.Context) error { return nil }

// write stores the transitions of a batch that lead somewhere.
func (w *aliasWork) write(ctx context.Context, patches []cola.Patch[cola.CategoryAlias], lines []int) ([]refusedRow, error) {
	if w.table == nil {
		sets, err := w.st.AllReferences(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the stored aliases: %w", err)
		}
		w.table = cola.AliasTable(sets.CategoryAliases)
	}
	kept, refused := w.leadSomewhere(patches, lines)
	if len(kept) == 0 {
		return refused, nil
	}
	outcomes, err := w.st.UpsertCategoryAliases(ctx, kept, w.run.mode())
	if err == nil && len(outcomes) != len(kept) {
		err = fmt.Errorf("the store told %d outcomes of %d aliases", len(outcomes), len(kept))
	}
	for _, outcome := range outcomes {
		w.run.report.count(outcome)
	}
	return refused, err
}

// leadSomewhere adds transitions to the table, leaving out each that would close a circle with those before it.
func (w *aliasWork) leadSomewhere(patches []cola.Patch[cola.CategoryAlias], lines []int) (kept []cola.CategoryAlias, refused []refusedRow) {
	kept = records(patches)
	together := maps.Clone(w.table)
	maps.Copy(together, cola.AliasTable(kept))
	if circle(together) == "" {
		w.table = together
		return kept, nil
	}
	kept = kept[:0]
	for i := range patches {
		alias := patches[i].Record
		with := maps.Clone(w.table)
		maps.Copy(with, cola.AliasTable([]cola.CategoryAlias{alias}))
		if from := circle(with); from != "" {
			refused = append(refused, refusedRow{lines[i], fmt.Sprintf("with the aliases before it, it leads %s round in a circle", quote(from))})
			continue
		}
		w.table = with
		kept = append(kept, alias)
	}
	return kept, refused
}

// circle returns a path that the transitions lead back to itself, or an empty one.
func circle(table map[string]string) string {
	for from := range table {
		if cola.FoldPath(cola.ResolveCategory(from, table)) == from {
			return from
		}
	}
	return ""
}

var aliasSchema = newSchema[cola.CategoryAlias]()

// settleAlias brings a transition into the form it is stored in and checks it. One that leads below its own path is a circle
// too: what it leads to is also within what was replaced.
func settleAlias(r *recordReader, a *cola.CategoryAlias, _ cola.Fields) {
	a.Alias, a.Path = cola.SettlePath(a.Alias), cola.SettleCategory(a.Path)
	r.require("alias", a.Alias != "")
	r.require("path", a.Path != "")
	switch {
	case a.Alias == "":
	case cola.FoldPath(a.Alias) == cola.FoldPath(a.Path):
		r.problems.add("path", errors.New("is the alias itself"))
	case cola.PathWithin(a.Path, a.Alias):
		r.problems.add("path", fmt.Errorf("%s is below the alias itself, which leads round in a circle", quote(a.Path)))
	}
	if root := cola.CategoryRoot(a.Path); a.Path != "" && !slices.Contains(cola.CategoryRoots(), root) {
		r.problems.add("path", fmt.Errorf("%s is under none of %s", quote(a.Path), strings.Join(cola.CategoryRoots(), ", ")))
	}
	checkTexts(r, aliasSchema, a)
}
