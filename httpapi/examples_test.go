package httpapi

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// TestExampleSearch checks the label search's example response against its example call. The
// rows match the parameters, and the counts agree with each other.
func TestExampleSearch(t *testing.T) {
	page := exampleColas()
	s, err := newDecoder[cola.SearchParams]().decode(sampleOf(t, "searchColas")).Normalize(now)
	if err != nil {
		t.Fatal(err)
	}
	checkPage(t, page.Pagination, len(page.Data), s.PerPage)
	if hasCursor := page.Pagination.NextCursor != ""; hasCursor != page.Pagination.HasMore {
		t.Errorf("has next_cursor = %v, has_more = %v", hasCursor, page.Pagination.HasMore)
	}
	if s.DefaultWindow != (page.DefaultsApplied != nil) {
		t.Fatalf("default window = %v, defaults_applied = %v", s.DefaultWindow, page.DefaultsApplied)
	}
	if got := page.DefaultsApplied; got != nil && got.DateFrom != s.From {
		t.Errorf("defaults_applied.date_from = %s, but a search on %s starts at %s", got.DateFrom, cola.DateOf(now), s.From)
	}
	for i, row := range page.Data {
		if !strings.Contains(strings.ToLower(row.BrandName), s.Text) || !slices.Contains(s.ProductTypes, string(row.ProductType)) {
			t.Errorf("row %d does not match %+v: %+v", i, s.Query, row)
		}
		if row.ApprovalDate < s.From || i > 0 && row.ApprovalDate > page.Data[i-1].ApprovalDate {
			t.Errorf("row %d is outside the window or out of order: %s", i, row.ApprovalDate)
		}
	}
}

// TestExampleCounts checks that the example's counts add up and match its call.
func TestExampleCounts(t *testing.T) {
	counts := exampleCounts()
	s, err := newDecoder[cola.CountParams]().decode(sampleOf(t, "countColas")).Normalize(now)
	if err != nil {
		t.Fatal(err)
	}
	sum := counts.Others.Labels
	for i, g := range counts.Data {
		if sum += g.Count; !g.Year.OK || i > 0 && g.Year.V >= counts.Data[i-1].Year.V {
			t.Errorf("group %d has no year or is out of order: %+v", i, g)
		}
	}
	if sum != counts.Total || len(counts.Data) != s.Top || !slices.Equal(s.GroupBy, []string{cola.ByYear}) {
		t.Errorf("%d labels in %d groups by %v and the other groups, want %d in %d", sum, len(counts.Data), s.GroupBy, counts.Total, s.Top)
	}
	if s.DefaultWindow != (counts.DefaultsApplied != nil) {
		t.Errorf("default window = %v, defaults_applied = %v", s.DefaultWindow, counts.DefaultsApplied)
	}
}

func TestExampleSuggestions(t *testing.T) {
	s, err := newDecoder[cola.SuggestParams]().decode(sampleOf(t, "suggestValues")).Normalize()
	if err != nil {
		t.Fatal(err)
	}
	found, q := exampleSuggestions().Data, strings.ToUpper(s.Q)
	if len(found) > s.Limit {
		t.Errorf("%d values, but limit is %d", len(found), s.Limit)
	}
	for i, v := range found {
		begins := strings.HasPrefix(v.Value, q)
		if !begins && !strings.Contains(v.Value, " "+q) {
			t.Errorf("no word in %s begins with %s", v.Value, q)
		}
		if i > 0 && begins && (!strings.HasPrefix(found[i-1].Value, q) || found[i-1].Count < v.Count) {
			t.Errorf("%+v is after %+v", v, found[i-1])
		}
	}
}

func TestExamplePermittees(t *testing.T) {
	page := examplePermittees()
	s, err := newDecoder[cola.PermitteeParams]().decode(sampleOf(t, "searchPermittees")).Normalize(now)
	if err != nil {
		t.Fatal(err)
	}
	checkPage(t, page.Pagination, len(page.Data), s.PerPage)
	if page.Pagination.NextCursor != "" {
		t.Error("next_cursor is set, but the list does not support cursors")
	}
	for i, row := range page.Data {
		names := strings.ToLower(string(row.CompanyName + " " + row.OperatingName))
		if string(row.CompanyState) != s.State || !strings.Contains(names, strings.ToLower(s.Name)) {
			t.Errorf("row %d does not match %+v: %+v", i, s, row)
		}
		if row.ColasApproved > row.Colas || i > 0 && row.Colas > page.Data[i-1].Colas {
			t.Errorf("row %d: inconsistent or unsorted counts: %d labels, %d approved", i, row.Colas, row.ColasApproved)
		}
	}
	if one := examplePermittee(); len(one.RecentColas) != min(10, one.Colas) {
		t.Errorf("permittee with %d labels lists %d recent labels", one.Colas, len(one.RecentColas))
	}
}

func TestExampleBrands(t *testing.T) {
	page := exampleBrands()
	s, err := newDecoder[cola.BrandParams]().decode(sampleOf(t, "searchBrands")).Normalize()
	if err != nil {
		t.Fatal(err)
	}
	checkPage(t, page.Pagination, len(page.Data), s.PerPage)
	for i, row := range page.Data {
		n := row.Statuses
		total := 0
		for _, h := range row.Holders {
			total += h.Colas
		}
		if n.Approved+n.Expired+n.Surrendered+n.Revoked+n.Unknown != row.Colas || total != row.Colas ||
			len(row.Holders) != row.TotalHolders || row.FirstApproval > row.LastApproval {
			t.Errorf("row %d: inconsistent counts or dates: %+v", i, row)
		}
		if row.Score < s.MinScore || i > 0 && row.Score > page.Data[i-1].Score {
			t.Errorf("row %d: score %d is too low or out of order", i, row.Score)
		}
	}
}

func TestExampleReports(t *testing.T) {
	page := exampleReports()
	s, err := newDecoder[cola.ProductionReportParams]().decode(sampleOf(t, "listProductionReports")).Normalize()
	if err != nil {
		t.Fatal(err)
	}
	checkPage(t, cola.Pagination{
		Page: page.Meta.Page, PerPage: page.Meta.PerPage, Total: page.Meta.Total, HasMore: page.Meta.HasMore,
		Pages: (page.Meta.Total + page.Meta.PerPage - 1) / page.Meta.PerPage,
	}, len(page.Data), s.PerPage)
}

func TestExampleSavedSearches(t *testing.T) {
	page := exampleSavedSearches()
	s, err := newDecoder[cola.SavedSearchListParams]().decode(sampleOf(t, "listSavedSearches")).Normalize()
	if err != nil {
		t.Fatal(err)
	}
	checkPage(t, cola.Pagination{
		Page: page.Meta.Page, PerPage: page.Meta.PerPage, Total: page.Meta.Total, HasMore: page.Meta.HasMore, Pages: page.Meta.Total,
	}, len(page.Data), s.PerPage)
	changed, err := exampleChangeBody().Apply(exampleSavedSearch(), now)
	if diff := cmp.Diff(examplePausedSearch(), changed); err != nil || diff != "" {
		t.Errorf("example change: %v (-want +got):\n%s", err, diff)
	}
	total := 0
	for i, day := range examplePreview().Days {
		total += day.Count
		if day.Date != cola.DateOf(now).AddDays(-i) {
			t.Errorf("preview day %d = %s", i, day.Date)
		}
	}
	if p := examplePreview(); total != p.Total || len(p.Days) != cola.PreviewDays || p.TooBroad == examplePreviewBody().Filters.Narrow() {
		t.Errorf("preview days add up to %d: %+v", total, p)
	}
}

// TestExamplePagination checks the generated examples of lists, which have one row.
func TestExamplePagination(t *testing.T) {
	s := newComponents()
	for _, op := range operations(newFake()) {
		if !strings.HasPrefix(op.ID, "list") || op.Example != nil {
			continue
		}
		if example := string(mustEncode(t, s.Sample(s.Of(op.Response)))); !strings.HasSuffix(example, `}],"meta":{"total":1}}`) {
			t.Errorf("%s: example = %s, want total 1", op.ID, example)
		}
	}
}

// checkPage checks the pagination of a first page.
func checkPage(t *testing.T, p cola.Pagination, rows, perPage int) {
	t.Helper()
	if p.Page != 1 || p.PerPage != perPage || rows != min(perPage, p.Total) || p.Pages != (p.Total+perPage-1)/perPage || p.HasMore != (p.Pages > 1) {
		t.Errorf("%d rows, %d per page: inconsistent pagination %+v", rows, perPage, p)
	}
}

// sampleOf returns the query string of an operation's example call.
func sampleOf(t *testing.T, id string) string {
	t.Helper()
	ops := operations(newFake())
	i := slices.IndexFunc(ops, func(op operation) bool { return op.ID == id })
	if i < 0 || ops[i].Sample == "" {
		t.Fatalf("%s has no example call", id)
	}
	if _, err := url.ParseQuery(ops[i].Sample); err != nil {
		t.Fatal(err)
	}
	return ops[i].Sample
}
