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
)

// aliasWork imports published transitions of category paths.
type aliasWork struct {
	pipeline[vocabulary.CategoryAlias]
	st    Target
	table map[string]string // transitions stored and read so far, as vocabulary.AliasTable makes them; nil until they are needed
}

func newAliasWork(r *run, st Target) *aliasWork {
	w := &aliasWork{st: st}
	detectAliases := func(in *input) (format[vocabulary.CategoryAlias], error) {
		return detect(in, aliasSchema, "alias", same(settleAlias))
	}
	w.pipeline = pipeline[vocabulary.CategoryAlias]{run: r, detect: detectAliases, write: w.write}
	return w
}

func (w *aliasWork) finish(context.Context) error { return nil }

// write stores the transitions of a batch that lead somewhere.
func (w *aliasWork) write(ctx context.Context, patches []cola.Patch[vocabulary.CategoryAlias], lines []int) ([]refusedRow, error) {
	if w.table == nil {
		sets, err := w.st.AllReferences(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the stored aliases: %w", err)
		}
		w.table = vocabulary.AliasTable(sets.CategoryAliases)
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
func (w *aliasWork) leadSomewhere(patches []cola.Patch[vocabulary.CategoryAlias], lines []int) (kept []vocabulary.CategoryAlias, refused []refusedRow) {
	kept = records(patches)
	together := maps.Clone(w.table)
	maps.Copy(together, vocabulary.AliasTable(kept))
	if circle(together) == "" {
		w.table = together
		return kept, nil
	}
	kept = kept[:0]
	for i := range patches {
		alias := patches[i].Record
		with := maps.Clone(w.table)
		maps.Copy(with, vocabulary.AliasTable([]vocabulary.CategoryAlias{alias}))
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
		if vocabulary.FoldPath(vocabulary.ResolveCategory(from, table)) == from {
			return from
		}
	}
	return ""
}

var aliasSchema = newSchema[vocabulary.CategoryAlias]()

// settleAlias brings a transition into the form it is stored in and checks it. One that leads below its own path is a circle
// too: what it leads to is also within what was replaced.
func settleAlias(r *recordReader, a *vocabulary.CategoryAlias, _ cola.Fields) {
	a.Alias, a.Path = vocabulary.NormalizePath(a.Alias), vocabulary.NormalizeCategory(a.Path)
	r.require("alias", a.Alias != "")
	r.require("path", a.Path != "")
	switch {
	case a.Alias == "":
	case vocabulary.FoldPath(a.Alias) == vocabulary.FoldPath(a.Path):
		r.problems.add("path", errors.New("is the alias itself"))
	case vocabulary.PathWithin(a.Path, a.Alias):
		r.problems.add("path", fmt.Errorf("%s is below the alias itself, which leads round in a circle", quote(a.Path)))
	}
	if root := vocabulary.CategoryRoot(a.Path); a.Path != "" && !slices.Contains(vocabulary.CategoryRoots(), root) {
		r.problems.add("path", fmt.Errorf("%s is under none of %s", quote(a.Path), strings.Join(vocabulary.CategoryRoots(), ", ")))
	}
	checkTexts(r, aliasSchema, a)
}
