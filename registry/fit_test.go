package registry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// TestFit: a page that is cut to the room of an answer costs the rows that are left, and is gone on with at the next of them.
func TestFit(t *testing.T) {
	w := mustWorld(t, 300)
	c := w.mustCaller(t, "fit@example.com", cola.TierPro)
	params := cola.SearchParams{ApprovalDateFrom: cola.NewDate(2005, 1, 1), PerPage: cola.Some(20)}
	whole, _, err := w.SearchColas(t.Context(), c, params)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	first, state, err := w.SearchColasFit(t.Context(), c, params, func(rows []cola.ColaSummary) int { asked = len(rows); return 7 })
	if err != nil || asked != 20 || len(first.Colas) != 7 || state.Used.ListRecords != 27 || !first.Pagination.HasMore {
		t.Fatalf("%d rows of %d, %d list records, %+v, %v", len(first.Colas), asked, state.Used.ListRecords, first.Pagination, err)
	}
	params.Cursor = first.Pagination.NextCursor
	second, state, err := w.SearchColasFit(t.Context(), c, params, func([]cola.ColaSummary) int { return 1000 })
	if err != nil || len(second.Colas) != 20 || state.Used.ListRecords != 47 {
		t.Fatalf("%d rows, %d list records, %v", len(second.Colas), state.Used.ListRecords, err)
	}
	if diff := cmp.Diff(whole.Colas, append(first.Colas, second.Colas[:13]...)); diff != "" {
		t.Errorf("the walk differs from the page (-page +walk):\n%s", diff)
	}

	holders, state, err := w.SearchPermitteesFit(t.Context(), c, cola.PermitteeParams{}, func([]cola.PermitteeSummary) int { return 3 })
	if err != nil || len(holders.Permittees) != 3 || state.Used.ListRecords != 50 || !holders.Pagination.HasMore {
		t.Errorf("%d permittees, %d list records, %v", len(holders.Permittees), state.Used.ListRecords, err)
	}
}

func TestFitOfABarcode(t *testing.T) {
	w := mustWorld(t, 300)
	c := w.mustCaller(t, "fit@example.com", cola.TierPro)
	value := w.barcode(t, c)
	whole, _, err := w.Barcode(t.Context(), c, value)
	if err != nil || len(whole.Colas) == 0 {
		t.Fatalf("%+v, %v", whole, err)
	}
	none, state, err := w.BarcodeFit(t.Context(), c, value, func([]cola.ColaSummary) int { return 0 })
	if err != nil || len(none.Colas) != 0 || none.TotalColas != whole.TotalColas || state.Charged != 0 {
		t.Errorf("%+v, %+v, %v", none, state, err)
	}
}

// barcode returns the barcode of some label.
func (w *world) barcode(t *testing.T, c cola.Caller) string {
	t.Helper()
	for _, row := range w.newest(t, c, cola.SearchParams{ApprovalDateFrom: cola.NewDate(2005, 1, 1), PerPage: cola.Some(100)}) {
		if row.HasBarcode {
			label, err := w.store.Cola(t.Context(), row.TTBID)
			if err != nil {
				t.Fatal(err)
			}
			return string(label.BarcodeValue)
		}
	}
	t.Fatal("no label has a barcode")
	return ""
}

// TestStanding: to look costs no place in the window, not even a full one, and needs a key that holds.
func TestStanding(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustCaller(t, "standing@example.com", cola.TierFree)
	for range 20 {
		if state, err := w.Standing(t.Context(), c); err != nil || !state.Known() || state.Tier != cola.TierFree {
			t.Fatalf("%+v, %v", state, err)
		}
	}
	for i := range 11 {
		_, err := w.Admit(t.Context(), c)
		if full := code(err) == cola.CodeQuotaExceeded; full != (i == 10) {
			t.Fatalf("request %d: %v", i+1, err)
		}
	}
	for range 3 {
		if _, err := w.Standing(t.Context(), c); err != nil {
			t.Errorf("a look through a full window: %v", err)
		}
		if _, err := w.Admit(t.Context(), c); code(err) != cola.CodeQuotaExceeded {
			t.Errorf("a look made room: %v", err)
		}
	}
	days, err := w.store.DailyUsage(t.Context(), c.Account, cola.DateOf(instant), cola.DateOf(instant))
	if err != nil || len(days) != 1 || days[0].Requests != 10 {
		t.Errorf("the day has %+v, %v", days, err)
	}
	if err := w.store.RevokeKey(t.Context(), 0, c.Credential.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Standing(t.Context(), c); code(err) != cola.CodeUnauthorized {
		t.Errorf("a revoked key sees %v", err)
	}
}

func TestWords(t *testing.T) {
	w := mustWorld(t, 300)
	words, err := w.Words(t.Context())
	if err != nil || len(words.Categories) < 10 || len(words.States) < 5 {
		t.Fatalf("%+v, %v", words, err)
	}
}
