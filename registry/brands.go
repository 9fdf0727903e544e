package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search"
)

// BrandPage is the result of SearchBrands.
type BrandPage struct {
	Brands     []cola.BrandMatch
	Pagination cola.Pagination
	Notes      []string  // how many brands are similar, and how
	Advice     []Note    // the same notes, with the searches that they suggest
	DataAsOf   cola.Date // latest change in TTB's registry that the data includes
}

// SearchBrands returns a page of the brands with similar names, most similar first. It costs one
// list record per brand returned; a page without brands is free. If fewer list records are left,
// the page is truncated and TruncatedByQuota is true.
func (s *Service) SearchBrands(
	ctx context.Context, c cola.Caller, p cola.BrandParams,
) (BrandPage, cola.QuotaState, error) {
	return s.SearchBrandsLimited(ctx, c, p, nil)
}

// SearchBrandsLimited is SearchBrands for a response of limited size; it truncates the page to the
// rows that fit.
func (s *Service) SearchBrandsLimited(
	ctx context.Context, c cola.Caller, p cola.BrandParams, limit RowLimit[cola.BrandMatch],
) (BrandPage, cola.QuotaState, error) {
	if state, err := s.precheck(c); err != nil {
		return BrandPage{}, state, err
	}
	q, err := p.Normalize()
	if err != nil {
		state, err := s.Refuse(ctx, c, err)
		return BrandPage{}, state, err
	}
	start, view := time.Now(), s.index.View()
	found := view.Brands(q)
	s.metrics.observeSearch(similarBrands, start)
	page, state, err := chargeRows(ctx, s, c, pageOf{"brands", p, view}, found.Rows, found.HasMore, limit)
	if err != nil {
		return BrandPage{}, state, err
	}
	found.Rows = page.rows
	notes := brandNotes(&q, &found)
	return BrandPage{
		Brands:     page.rows,
		Pagination: page.pagination(q.Page, q.PerPage, found.Total),
		Notes:      noteTexts(notes),
		Advice:     notes,
		DataAsOf:   view.DataAsOf(s.today()),
	}, state, nil
}

// brandNotes states how many brands are similar to the requested name, on all pages. A page beyond
// the last one is free and has no notes.
func brandNotes(q *cola.BrandSearch, found *search.BrandPage) []Note {
	identical := "No identical brands"
	if len(q.Similarities) > 0 && !slices.Contains(q.Similarities, cola.SimilarExact) {
		identical = ""
	} else if found.Counts[cola.SimilarExact] > 0 {
		identical = "One identical brand" // spellings of a name are one brand
	}
	var others []string
	for _, kind := range cola.Similarities()[1:] {
		if n := found.Counts[kind]; n > 0 {
			others = append(others, countBrands(n, kind))
		}
	}
	if len(found.Rows) == 0 && found.Total > 0 {
		return nil
	}
	kinds := strings.Join(nonEmpty(identical, strings.Join(others, ", ")), "; ")
	switch {
	case found.Total > 0:
	case len(q.Similarities) > 0:
		kinds = "No brands are similar in these ways: " + strings.Join(q.Similarities, ", ")
	default:
		kinds = "No identical or similar brands"
	}
	summary := newNote(kinds + ". This covers labels, not trademarks.")
	if found.Total == 0 && len(q.Similarities) > 0 {
		summary.Finding = "No brands are similar in the ways you selected (" + similarityWords(q.Similarities) +
			"). This covers labels, not trademarks."
	}
	notes := []Note{summary}
	if q.MinScore > 1 {
		notes = append(notes, newNote(fmt.Sprintf("Brands that score below %d were left out.", q.MinScore)))
	}
	if len(q.Similarities) > 0 && found.Total > 0 {
		const only = "Only these kinds of similarity were checked: "
		n := newNote(only + strings.Join(q.Similarities, ", ") + ".")
		n.Finding = only + similarityWords(q.Similarities) + "."
		notes = append(notes, n)
	}
	if len(q.ProductTypes) > 0 {
		notes = append(notes, newNote("Only labels of these product types were searched: "+strings.Join(q.ProductTypes, ", ")+"."))
	}
	if found.Total == 0 {
		word := Note{Finding: "Generic words, such as \"estate\" and \"brewing\", don't count as a match."}
		word.Text = word.Finding + " To find all labels with a particular word in the brand name, search by brand_name."
		all := cola.SearchParams{ProductType: q.ProductTypes, DateRange: cola.AllDates}
		word.suggest("Search labels for this name", &all, func(p *cola.SearchParams) { p.BrandName = q.Name })
		notes = append(notes, word)
	}
	return notes
}

// similarityWords lists kinds of similarity by their dashboard names, for use in a sentence.
func similarityWords(kinds []string) string {
	var names []string
	for _, kind := range kinds {
		names = append(names, strings.ToLower(cola.SimilarityName(kind)))
	}
	return strings.Join(names, ", ")
}

// countBrands says how n brands are similar.
func countBrands(n int, kind string) string {
	words := map[string][2]string{ // for one brand, and for several
		cola.SimilarSameWords:   {"has the same words", "have the same words"},
		cola.SimilarPlural:      {"uses variants of the same words", "use variants of the same words"},
		cola.SimilarSoundsAlike: {"sounds similar", "sound similar"},
		cola.SimilarOneEdit:     {"is spelled almost the same", "are spelled almost the same"},
		cola.SimilarPrefix:      {"begins the same way", "begin the same way"},
		cola.SimilarContains:    {"shares the main words", "share the main words"},
	}[kind]
	if n == 1 {
		return "1 " + words[0]
	}
	return fmt.Sprintf("%d %s", n, words[1])
}
