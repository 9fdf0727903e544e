package registry_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// TestSearchBrands checks the rows, notes and charge of a search for similar brands.
func TestSearchBrands(t *testing.T) {
	w := mustWorld(t, 50)
	c := w.mustCaller(t, "clear@example.com", cola.TierPro)
	brand := func(name string, kind vocabulary.ProductType, permit string) func(*cola.Cola) {
		return func(l *cola.Cola) {
			l.BrandName, l.ProductType, l.PermitNumber, l.ApplicationStatus = name, kind, permit, vocabulary.StatusApproved
		}
	}
	w.mustImport(t, store.History,
		labelOf(26001001000001, brand("ZANZIBAR & QUAGGA", vocabulary.Wine, "CA-W-9001")),
		labelOf(26001001000002, brand("Zanzibar and Quagga", vocabulary.DistilledSpirits, "CA-W-9002")),
		labelOf(26001001000003, brand("QUAGGA ZANZIBAR", vocabulary.MaltBeverage, "CA-W-9001")),
		labelOf(26001001000004, brand("ZANZIBAR", vocabulary.Wine, "CA-W-9003")),
	)
	for name, tt := range map[string]struct {
		params cola.BrandParams
		want   []string
		note   string
	}{
		"all": {
			cola.BrandParams{Q: "Zanzibarr Quagga"},
			[]string{"ZANZIBAR & QUAGGA sounds_alike 2", "QUAGGA ZANZIBAR sounds_alike 1", "ZANZIBAR sounds_alike 1"},
			"No identical brands; 3 sound similar.",
		},
		"one product type": {
			cola.BrandParams{Q: "zanzibar quagga", ProductType: []string{"wine"}},
			[]string{"ZANZIBAR & QUAGGA exact 1", "ZANZIBAR prefix 1"}, "Only labels of these product types were searched: wine.",
		},
		"one strategy": {
			cola.BrandParams{Q: "zanzibar quagga", Strategies: []string{"same_words"}},
			[]string{"QUAGGA ZANZIBAR same_words 1"}, "1 has the same words.",
		},
		"highest scores": {
			cola.BrandParams{Q: "zanzibar quagga", MinScore: cola.Some(96)},
			[]string{"ZANZIBAR & QUAGGA exact 2"}, "Brands that score below 96 were left out.",
		},
		"second page": {
			cola.BrandParams{Q: "zanzibar quagga", PerPage: cola.Some(1), Page: cola.Some(2)},
			[]string{"QUAGGA ZANZIBAR same_words 1"}, "One identical brand; 1 has the same words, 1 begins the same way.",
		},
		"not similar in this way": {
			cola.BrandParams{Q: "zanzibar quagga", Strategies: []string{"plural"}}, nil, "No brands are similar in these ways: plural.",
		},
		"not similar": {cola.BrandParams{Q: "xylophonist"}, nil, "No identical or similar brands."},
	} {
		page, state, err := w.SearchBrands(t.Context(), c, tt.params)
		var got []string
		for _, b := range page.Brands {
			got = append(got, fmt.Sprintf("%s %s %d", b.BrandName, b.Similarity, b.Colas))
		}
		if err != nil || !slices.Equal(got, tt.want) || state.Charged != len(tt.want) || page.DataAsOf == 0 {
			t.Errorf("%s: %q, charged %d, data as of %v, %v; want %q", name, got, state.Charged, page.DataAsOf, err, tt.want)
		}
		if !strings.Contains(fmt.Sprint(page.Notes), tt.note) {
			t.Errorf("%s: notes = %q, want one that contains %q", name, page.Notes, tt.note)
		}
	}
	pastEnd := cola.BrandParams{Q: "zanzibar quagga", Page: cola.Some(9)}
	if page, state, err := w.SearchBrands(t.Context(), c, pastEnd); err != nil || state.Charged != 0 || len(page.Notes) > 0 {
		t.Errorf("page beyond the last: charged %d, notes %q, %v; want none", state.Charged, page.Notes, err)
	}
	if _, state, err := w.SearchBrands(t.Context(), c, cola.BrandParams{}); cola.CodeOf(err) != cola.CodeValidation || state.Charged != 0 {
		t.Errorf("no name: charged %d, %v; want 0, validation_error", state.Charged, err)
	}
}

// TestBrandLimits checks that only returned brands are charged: those that fit the response and the
// quota.
func TestBrandLimits(t *testing.T) {
	w := mustWorld(t, 10)
	for i := range 5 {
		w.mustImport(t, store.History, labelOf(cola.TTBID(26001001000001+i), func(l *cola.Cola) {
			l.BrandName = "ZANZIBAR" + strings.Repeat(" ONE", i)
		}))
	}
	params := cola.BrandParams{Q: "zanzibar", MinScore: cola.Some(1), PerPage: cola.Some(5)}
	c := w.mustCaller(t, "fit@example.com", cola.TierPro)
	page, state, err := w.SearchBrandsLimited(t.Context(), c, params, func(rows []cola.BrandMatch) int { return len(rows) - 1 })
	if err != nil || len(page.Brands) != 4 || state.Charged != 4 || !page.Pagination.HasMore || page.Pagination.Total != 5 ||
		page.Pagination.TruncatedByQuota {
		t.Errorf("limited: %d rows, charged %d, %+v, %v", len(page.Brands), state.Charged, page.Pagination, err)
	}
	poor := w.mustCaller(t, "poor@example.com", cola.TierFree)
	w.spend(t, poor, 9_998)
	page, state, err = w.SearchBrands(t.Context(), poor, params)
	if err != nil || len(page.Brands) != 2 || state.Charged != 2 || !page.Pagination.HasMore || !page.Pagination.TruncatedByQuota {
		t.Errorf("quota: %d rows, charged %d, %+v, %v", len(page.Brands), state.Charged, page.Pagination, err)
	}
}
