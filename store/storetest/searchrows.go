package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// CheckSearchRows holds a store without accounts to what it makes of saved searches whose rows others have changed: execute runs
// a statement on its database.
func CheckSearchRows(t *testing.T, st store.Store, execute func(sql string)) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	want := mustCreate(t, st, newSearch(a.ID, 1))
	set := func(filters string) {
		execute(fmt.Sprintf(`UPDATE saved_searches SET filters = '%s' WHERE uuid = '%s'`, filters, want.UUID))
	}
	set(`{"scent": {"of": ["rose"]}, "brand_name": "elm", "mood": null}`) // a newer version of the program knows more filters
	want.Filters.BrandName = "elm"
	found, err := st.SavedSearch(t.Context(), a.ID, want.UUID)
	same(t, "with unknown filters", want, must(t, found, err))
	same(t, "in the list", []cola.SavedSearch{want}, mustSearches(t, st, a.ID))

	want.Name = "renamed"
	changed, err := st.UpdateSavedSearch(t.Context(), a.ID, want.UUID, maxActive, renamed(want.Name))
	same(t, "renamed, with unknown filters", want, must(t, changed, err))
	kept := `{"scent": {"of": ["rose"]}, "brand_name": "elm", "mood": null}`
	execute(fmt.Sprintf(`UPDATE saved_searches SET name = 'unknown filters were kept' WHERE filters = '%s'`, kept))
	found, err = st.SavedSearch(t.Context(), a.ID, want.UUID)
	same(t, "a search with unknown filters, renamed", "unknown filters were kept", must(t, found, err).Name)

	set(`{"brand_name":`)
	_, err = st.SavedSearch(t.Context(), a.ID, want.UUID)
	if err == nil || errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), want.UUID) {
		t.Errorf("with broken filters: %v, want an error that names the search", err)
	}
	if _, _, err := st.SavedSearches(t.Context(), a.ID, 0, 10); err == nil {
		t.Error("broken filters were read")
	}
	_, err = st.UpdateSavedSearch(t.Context(), a.ID, want.UUID, maxActive, renamed("other"))
	if err == nil || errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), want.UUID) {
		t.Errorf("with broken filters, changed: %v, want an error that names the search", err)
	}

	execute(`DELETE FROM saved_searches`)
	mustCreate(t, st, once(newSearch(a.ID, 2), "key", 1))
	execute(`DELETE FROM saved_searches`)
	made := mustCreate(t, st, once(newSearch(a.ID, 3), "key", 2)) // the search is gone, and what it was asked for with it
	same(t, "the one made then", made, mustRepeat(t, st, once(newSearch(a.ID, 4), "key", 2)))
}
