package registry_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestRowLimit checks that a page truncated to fit the response size is charged only for the rows
// returned, and that the cursor continues at the next row.
func TestRowLimit(t *testing.T) {
	w := mustWorld(t, 300)
	c := w.mustCaller(t, "fit@example.com", cola.TierPro)
	params := cola.SearchParams{ApprovalDateFrom: cola.NewDate(2005, 1, 1), PerPage: cola.Some(20)}
	whole, _, err := w.SearchColas(t.Context(), c, params)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	first, state, err := w.SearchColasLimited(t.Context(), c, params, func(rows []cola.ColaSummary) int { total = len(rows); return 7 })
	if err != nil || total != 20 || len(first.Colas) != 7 || state.Used.ListRecords != 27 || !first.Pagination.HasMore {
		t.Fatalf("first page: %d of %d rows, %d list records, %+v, %v", len(first.Colas), total, state.Used.ListRecords, first.Pagination, err)
	}
	params.Cursor = first.Pagination.NextCursor
	second, state, err := w.SearchColasLimited(t.Context(), c, params, func([]cola.ColaSummary) int { return 1000 })
	if err != nil || len(second.Colas) != 20 || state.Used.ListRecords != 47 {
		t.Fatalf("second page: %d rows, %d list records, %v", len(second.Colas), state.Used.ListRecords, err)
	}
	if diff := cmp.Diff(whole.Colas, append(first.Colas, second.Colas[:13]...)); diff != "" {
		t.Errorf("labels (-page +cursors):\n%s", diff)
	}

	permittees, state, err := w.SearchPermitteesLimited(t.Context(), c, cola.PermitteeParams{}, func([]cola.PermitteeSummary) int { return 3 })
	if err != nil || len(permittees.Permittees) != 3 || state.Used.ListRecords != 50 || !permittees.Pagination.HasMore {
		t.Errorf("permittees: %d rows, %d list records, %v", len(permittees.Permittees), state.Used.ListRecords, err)
	}
}

// TestSortedCursors checks that in every order, following cursors returns the same labels as one
// large page, even if each page is truncated, and that a cursor is rejected with a different order.
func TestSortedCursors(t *testing.T) {
	w := mustWorld(t, 300)
	c := w.mustCaller(t, "sort@example.com", cola.TierPro)
	for _, sort := range []string{"-approval_date", "approval_date", "brand"} {
		params := cola.SearchParams{DateRange: cola.AllDates, Sort: sort, PerPage: cola.Some(100)}
		whole, _, err := w.SearchColas(t.Context(), c, params)
		if err != nil || len(whole.Colas) != 100 {
			t.Fatalf("%s: %d rows, %v", sort, len(whole.Colas), err)
		}
		var walked []cola.ColaSummary
		for len(walked) < 100 {
			page, _, err := w.SearchColasLimited(t.Context(), c, params, func([]cola.ColaSummary) int { return 9 })
			if err != nil || page.Pagination.Total != whole.Pagination.Total {
				t.Fatalf("%s: total %d, want %d, %v", sort, page.Pagination.Total, whole.Pagination.Total, err)
			}
			walked = append(walked, page.Colas...)
			params.Cursor = page.Pagination.NextCursor
		}
		if diff := cmp.Diff(whole.Colas, walked[:100]); diff != "" {
			t.Errorf("%s (-page +cursors):\n%s", sort, diff)
		}
		params.Sort = map[string]string{"brand": "approval_date"}[sort]
		if sort == "-approval_date" {
			params.Sort = "brand"
		}
		if _, _, err := w.SearchColas(t.Context(), c, params); code(err) != cola.CodeValidation {
			t.Errorf("cursor for sort %s used with sort %q: error = %v, want validation_error", sort, params.Sort, err)
		}
	}
}

func TestBarcodeRowLimit(t *testing.T) {
	w := mustWorld(t, 300)
	c := w.mustCaller(t, "fit@example.com", cola.TierPro)
	value := w.barcode(t, c)
	whole, _, err := w.Barcode(t.Context(), c, value)
	if err != nil || len(whole.Colas) == 0 {
		t.Fatalf("Barcode = %+v, %v", whole, err)
	}
	none, state, err := w.BarcodeLimited(t.Context(), c, value, func([]cola.ColaSummary) int { return 0 })
	if err != nil || len(none.Colas) != 0 || none.TotalColas != whole.TotalColas || state.Charged != 0 {
		t.Errorf("BarcodeLimited to no rows = %+v, %+v, %v, want no rows and no charge", none, state, err)
	}
}

// barcode returns the barcode of any label that has one.
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

// TestClassCategory checks that detail views, searches and saved searches derive a missing category
// from the label's class, and that the derived category isn't stored.
func TestClassCategory(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "class@example.com", cola.TierPro)
	const id = "24001001000001"
	label := bottle(24_001_001_000_001, "OAK", cola.DateOf(testNow)-1)
	label.ClassID, label.ClassName = "101", "STRAIGHT BOURBON WHISKY"
	w.mustImport(t, store.Commit, label)

	const path = "Liquor > Whiskey > Bourbon > Straight Bourbon"
	found, _, err := w.Cola(t.Context(), c, id, "")
	if err != nil || found.Value.LLMCategoryPath != path || found.Value.LLMCategory != "" {
		t.Errorf("Cola = path %q, category %q, %v", found.Value.LLMCategoryPath, found.Value.LLMCategory, err)
	}
	stored, err := w.store.Cola(t.Context(), 24_001_001_000_001)
	if err != nil || stored.LLMCategoryPath != "" {
		t.Errorf("stored path = %q, %v, want none", stored.LLMCategoryPath, err)
	}
	for subcategory, want := range map[string]int{"liquor > whiskey": 1, "Wine": 0} {
		page, _, err := w.SearchColas(t.Context(), c, cola.SearchParams{DerivedSubcategory: subcategory})
		if err != nil || page.Pagination.Total != want {
			t.Errorf("search for %s: %d labels, %v, want %d", subcategory, page.Pagination.Total, err, want)
		}
	}
	bourbons := alert("bourbons")
	bourbons.Filters = &cola.SavedSearchFilters{DerivedLiquor: cola.Some(true), DerivedCategory: "Liquor > Whiskey > Bourbon"}
	search := w.mustSave(t, c, bourbons).Search.UUID
	why, _, err := w.ExplainSavedSearch(t.Context(), c, search, id)
	if err != nil || !why.Matches {
		t.Errorf("ExplainSavedSearch = %+v, %v, want a match", why, err)
	}
}

// TestStanding checks that reading the quota state does not count toward the rate limit, works when
// the limit is exhausted, and requires a valid key.
func TestStanding(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustCaller(t, "standing@example.com", cola.TierFree)
	for range 20 {
		if state, err := w.Standing(t.Context(), c); err != nil || !state.Known() || state.Tier != cola.TierFree {
			t.Fatalf("Standing = %+v, %v, want the free tier", state, err)
		}
	}
	for i := range 11 {
		_, err := w.Admit(t.Context(), c)
		if full := code(err) == cola.CodeQuotaExceeded; full != (i == 10) {
			t.Fatalf("request %d: error = %v", i+1, err)
		}
	}
	for range 3 {
		if _, err := w.Standing(t.Context(), c); err != nil {
			t.Errorf("Standing at the rate limit: %v", err)
		}
		if _, err := w.Admit(t.Context(), c); code(err) != cola.CodeQuotaExceeded {
			t.Errorf("Admit after Standing: error = %v, want quota_exceeded", err)
		}
	}
	days, err := w.store.DailyUsage(t.Context(), c.Account, cola.DateOf(testNow), cola.DateOf(testNow))
	if err != nil || len(days) != 1 || days[0].Requests != 10 {
		t.Errorf("today's usage = %+v, %v", days, err)
	}
	if err := w.store.RevokeKey(t.Context(), 0, c.Credential.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Standing(t.Context(), c); code(err) != cola.CodeUnauthorized {
		t.Errorf("Standing with a revoked key: error = %v, want unauthorized", err)
	}
}

func TestVocabulary(t *testing.T) {
	w := mustWorld(t, 300)
	words, err := w.Vocabulary(t.Context())
	if err != nil || len(words.Categories) < 10 || len(words.States) < 5 {
		t.Fatalf("Vocabulary = %+v, %v", words, err)
	}
}

// TestIdentifiers checks that surrounding white space is ignored and that errors say what is wrong
// with an identifier.
func TestIdentifiers(t *testing.T) {
	w := mustWorld(t, 50)
	c := w.mustCaller(t, "ids@example.com", cola.TierPro)
	id := w.newest(t, c, cola.SearchParams{PerPage: cola.Some(1)})[0].TTBID
	if label, _, err := w.Cola(t.Context(), c, " \t"+id.String()+" ", ""); err != nil || label.Value.TTBID != id {
		t.Errorf("ID with surrounding spaces: Cola = %v, %v", label.Value.TTBID, err)
	}
	areas, _, err := w.AVAs(t.Context(), c, cola.AVAParams{})
	if err != nil || len(areas.Rows) == 0 {
		t.Fatalf("AVAs = %d rows, %v", len(areas.Rows), err)
	}
	if area, _, err := w.AVA(t.Context(), c, " "+areas.Rows[0].AVAID+" ", ""); err != nil || area.Value.AVAID != areas.Rows[0].AVAID {
		t.Errorf("ID with surrounding spaces: AVA = %v, %v", area.Value.AVAID, err)
	}
	for name, hint := range map[string]bool{
		"00000000000000": false, "99999999999999": false, " 99999999999999": false, "": true, "1105400100004": true, "110540010000490": true, "1105400100004a": true, "１１０５４００１００００４９": true,
	} {
		_, _, err := w.Cola(t.Context(), c, name, "")
		if cola.CodeOf(err) != cola.CodeNotFound || strings.Contains(err.Error(), "14 digits") != hint {
			t.Errorf("Cola(%q): error = %v", name, err)
		}
	}
}

// BenchmarkSearchColas measures a search through the whole service: parameters, index, and the
// charge committed to the embedded ledger. Requests run in parallel and share commits, as on a
// server.
func BenchmarkSearchColas(b *testing.B) {
	w := mustWorld(b, 20_000)
	callers := make([]cola.Caller, 200)
	for i := range callers {
		callers[i] = w.mustCaller(b, string(rune('a'+i/26))+string(rune('a'+i%26))+"@example.com", cola.TierPro)
	}
	b.SetParallelism(64)
	var next atomic.Int64
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			w.clock.Add(time.Minute.Microseconds()) // never exhausts the rate limit
			p := cola.SearchParams{Q: "oak", ApprovalDateFrom: cola.NewDate(2005, 1, 1), PerPage: cola.Some(1)}
			if _, _, err := w.SearchColas(b.Context(), callers[next.Add(1)%int64(len(callers))], p); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func TestSearchCharge(t *testing.T) {
	w := mustWorld(t, 2_000)
	c := w.mustCaller(t, "search@example.com", cola.TierPro)
	page, state, err := w.SearchColas(t.Context(), c, cola.SearchParams{PerPage: cola.Some(7)})
	if err != nil || len(page.Colas) != 7 || state.Used.ListRecords != 7 || state.Used.DetailViews != 0 {
		t.Fatalf("SearchColas = %d rows, %+v, %v, want 7 rows and 7 list records", len(page.Colas), state.Used, err)
	}
	if page.Defaults == nil || page.Defaults.DateFrom.String() != "2025-11-20" {
		t.Errorf("defaults = %+v, want the last 365 days", page.Defaults)
	}
	empty, state, err := w.SearchColas(t.Context(), c, cola.SearchParams{Q: "nothinglikethis"})
	if err != nil || len(empty.Colas) != 0 || state.Used.ListRecords != 7 || empty.Pagination.Pages != 0 {
		t.Errorf("empty page: %+v, %+v, %v", empty.Pagination, state.Used, err)
	}
	_, state, err = w.SearchColas(t.Context(), c, cola.SearchParams{PerPage: cola.Some(1000)})
	if code(err) != cola.CodeValidation || state.Used.ListRecords != 7 || !state.Known() {
		t.Errorf("invalid parameter: %v, %+v, want validation_error without a charge", err, state.Used)
	}
}

// TestCursorWalk checks that paging through results returns every label once and in order, whatever
// the page sizes.
func TestCursorWalk(t *testing.T) {
	w := mustWorld(t, 1_500)
	c := w.mustCaller(t, "walk@example.com", cola.TierPro)
	params := cola.SearchParams{ApprovalDateFrom: cola.NewDate(2005, 1, 1), PerPage: cola.Some(100)}
	var walked []cola.TTBID
	total, page := 0, 0
	for {
		got, _, err := w.SearchColas(t.Context(), c, params)
		if err != nil {
			t.Fatal(err)
		}
		page++
		if got.Pagination.Page != page || got.Pagination.HasMore != (got.Pagination.NextCursor != "") {
			t.Fatalf("page %d: pagination = %+v", page, got.Pagination)
		}
		for _, row := range got.Colas {
			walked = append(walked, row.TTBID)
		}
		total = got.Pagination.Total
		params.Cursor = got.Pagination.NextCursor
		if params.Cursor == "" {
			break
		}
		params.PerPage = cola.Some(40 + page)
		if page == 3 { // the cursor stays valid after midnight
			w.clock.Add(int64(24 * time.Hour / time.Microsecond))
		}
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(walked)))
	if len(walked) != total || len(distinct) != total {
		t.Errorf("walk returned %d labels, %d distinct, want %d", len(walked), len(distinct), total)
	}
}

func TestPageTruncatedByQuota(t *testing.T) {
	w := mustWorld(t, 1_000)
	c := w.mustCaller(t, "cut@example.com", cola.TierFree)
	w.spend(t, c, 9_990)
	params := cola.SearchParams{ApprovalDateFrom: cola.NewDate(2005, 1, 1)}
	cut, state, err := w.SearchColas(t.Context(), c, params)
	if err != nil || len(cut.Colas) != 10 || !cut.Pagination.HasMore || cut.Pagination.NextCursor == "" || !cut.Pagination.TruncatedByQuota || state.ListRecordsRemaining() != 0 {
		t.Fatalf("truncated page: %d rows, %+v, %+v, %v, want 10 rows and more pages", len(cut.Colas), cut.Pagination, state, err)
	}
	_, _, err = w.SearchColas(t.Context(), c, params)
	var limitErr *cola.Error
	if !errors.As(err, &limitErr) || limitErr.UpgradeURL != publicURL+"/plans" || limitErr.Details["reason"] != "list_records" {
		t.Fatalf("quota exhausted: error = %v, want quota_exceeded with an upgrade URL", err)
	}
	if err := w.store.SetTier(t.Context(), c.Account, cola.TierStarter); err != nil {
		t.Fatal(err)
	}
	params.Cursor = cut.Pagination.NextCursor
	rest := w.newest(t, c, params)
	whole := w.newest(t, w.mustCaller(t, "whole@example.com", cola.TierPro), cola.SearchParams{ApprovalDateFrom: cola.NewDate(2005, 1, 1), PerPage: cola.Some(30)})
	if got, _, err := w.SearchColas(t.Context(), c, params); err != nil || got.Pagination.TruncatedByQuota {
		t.Errorf("after an upgrade: pagination = %+v, %v, want a complete page", got.Pagination, err)
	}
	if got := append(cut.Colas, rest...); !slices.Equal(got, whole) {
		t.Error("truncated page and following pages differ from the whole list")
	}
}

func TestSingleRecords(t *testing.T) {
	w := mustWorld(t, 500)
	c := w.mustCaller(t, "detail@example.com", cola.TierPro)
	var withImages cola.ColaSummary
	rows := w.newest(t, c, cola.SearchParams{PerPage: cola.Some(100)})
	for _, row := range rows {
		if row.ImageCount > 0 {
			withImages = row
		}
	}
	label, state, err := w.Cola(t.Context(), c, withImages.TTBID.String(), "")
	if err != nil || label.Value.ColaSummary != withImages || state.Used.DetailViews != 1 {
		t.Fatalf("Cola = %+v, %+v, %v, want the listed label for one detail view", label.Value.ColaSummary, state.Used, err)
	}
	if url := string(label.Value.Images[0].ImageURL); url != publicURL+"/images/"+label.Value.Images[0].TTBImageID {
		t.Errorf("image_url = %q, want the public URL", url)
	}
	for _, ifNoneMatch := range []string{label.ETag, `"x", ` + label.ETag, "*, " + strings.TrimPrefix(label.ETag, "W/")} {
		got, state, err := w.Cola(t.Context(), c, withImages.TTBID.String(), ifNoneMatch)
		if err != nil || !got.NotModified || state.Used.DetailViews != 1 {
			t.Errorf("If-None-Match %s: modified = %v, %+v, %v, want a free 304", ifNoneMatch, !got.NotModified, state.Used, err)
		}
	}
	for i, ifNoneMatch := range []string{`"other"`, "*", ` * , "x"`} {
		other, state, err := w.Cola(t.Context(), c, withImages.TTBID.String(), ifNoneMatch)
		if err != nil || other.NotModified || state.Used.DetailViews != i+2 {
			t.Errorf("If-None-Match %s: modified = %v, %+v, %v, want the record and a charge", ifNoneMatch, !other.NotModified, state.Used, err)
		}
	}
	permittee, state, err := w.Permittee(t.Context(), c, " "+withImages.PermitNumber, "")
	if err != nil || permittee.Value.Colas == 0 || len(permittee.Value.RecentColas) == 0 || state.Used.DetailViews != 5 {
		t.Errorf("Permittee = %+v, %+v, %v", permittee.Value, state.Used, err)
	}
	overlong := strings.Repeat("9", 5000)
	for name, missing := range map[string]func() error{
		"unknown id":       func() error { _, _, err := w.Cola(t.Context(), c, "99999999999999", ""); return err },
		"malformed id":     func() error { _, _, err := w.Cola(t.Context(), c, "abc", ""); return err },
		"unknown permit":   func() error { _, _, err := w.Permittee(t.Context(), c, "XX-X-0", ""); return err },
		"unknown barcode":  func() error { _, _, err := w.Barcode(t.Context(), c, "4006381333931"); return err },
		"unknown area":     func() error { _, _, err := w.AVA(t.Context(), c, "atlantis", ""); return err },
		"overlong id":      func() error { _, _, err := w.Cola(t.Context(), c, overlong, ""); return err },
		"overlong permit":  func() error { _, _, err := w.Permittee(t.Context(), c, overlong, ""); return err },
		"overlong barcode": func() error { _, _, err := w.Barcode(t.Context(), c, overlong); return err },
		"overlong area":    func() error { _, _, err := w.AVA(t.Context(), c, overlong, ""); return err },
		"overlong image":   func() error { _, _, err := w.DrawableImage(t.Context(), overlong); return err },
	} {
		if err := missing(); code(err) != cola.CodeNotFound || len(err.Error()) > 200 {
			t.Errorf("%s: error = %.300v, want a short not_found error", name, err)
		}
	}
	if usage, _, err := w.Usage(t.Context(), c); err != nil || usage.DetailViews.Used != 5 || usage.ListRecords.Used != len(rows) {
		t.Errorf("usage = %+v, %v, want no charge for missing records", usage, err)
	}
}

func TestDrawableImage(t *testing.T) {
	w := mustWorld(t, 200)
	c := w.mustCaller(t, "image@example.com", cola.TierPro)
	for _, row := range w.newest(t, c, cola.SearchParams{PerPage: cola.Some(50)}) {
		label, _, err := w.Cola(t.Context(), c, row.TTBID.String(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range label.Value.Images {
			_, image, err := w.DrawableImage(t.Context(), want.TTBImageID)
			if err != nil || image.TTBImageID != want.TTBImageID {
				t.Errorf("DrawableImage(%s) = %+v, %v", want.TTBImageID, image, err)
			}
		}
	}
	for _, id := range []string{"", "x", "99999999999999-1", w.newest(t, c, cola.SearchParams{})[0].TTBID.String() + "-99"} {
		if _, _, err := w.DrawableImage(t.Context(), id); code(err) != cola.CodeNotFound {
			t.Errorf("DrawableImage(%q): error = %v, want not_found", id, err)
		}
	}
}
