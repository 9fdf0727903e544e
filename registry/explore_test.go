package registry_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

// blind is a store whose image or resubmission reads can fail.
type blind struct {
	registry.Store
	images, chains *atomic.Bool
}

func (b blind) MainImages(ctx context.Context, ids []cola.TTBID) (map[cola.TTBID]string, error) {
	if b.images.Load() {
		return nil, store.ErrUnavailable
	}
	return b.Store.MainImages(ctx, ids)
}

func (b blind) Resubmissions(ctx context.Context, id cola.TTBID) ([]cola.TTBID, error) {
	if b.chains.Load() {
		return nil, fmt.Errorf("read resubmissions: %w", store.ErrUnavailable)
	}
	return b.Store.Resubmissions(ctx, id)
}

// mustBlind creates a registry over a blind store.
func mustBlind(t *testing.T, labels int) (*world, blind) {
	b := blind{images: new(atomic.Bool), chains: new(atomic.Bool)}
	w := mustWorldOf(t, labels, func(o *registry.Options) {
		b.Store = o.Store
		o.Store = b
	})
	return w, b
}

// TestExploreSearch checks that the page and charge match those of a search, that each facet count
// matches a search with that value, and that the images belong to the labels.
func TestExploreSearch(t *testing.T) {
	w := mustWorld(t, 2_000)
	c, searcher := w.mustHolder(t, "explore@example.com", cola.TierPro), w.mustHolder(t, "search@example.com", cola.TierPro)
	for _, p := range []cola.SearchParams{
		{}, {Q: "oak", ApprovalDateFrom: cola.NewDate(2005, 1, 1)}, {Status: "expired", PerPage: cola.Some(5), Page: cola.Some(2)},
		{ProductType: []string{"wine"}, DerivedSubcategory: "wine", Origin: "american"}, {Q: "nothinglikethis"},
	} {
		got, state, err := w.Explore(t.Context(), c, p)
		if err != nil {
			t.Fatalf("Explore(%+v): %v", p, err)
		}
		page, want, _ := w.SearchColas(t.Context(), searcher, p)
		if diff := cmp.Diff(page, got.ColaPage, cmpopts.IgnoreUnexported(registry.Note{})); diff != "" {
			t.Errorf("Explore(%+v): page (-search +explore):\n%s", p, diff)
		}
		if diff := cmp.Diff(want, state); diff != "" {
			t.Errorf("Explore(%+v): charge (-search +explore):\n%s", p, diff)
		}
		w.checkFacets(t, p, got.Facets)
		w.checkImages(t, got)
	}
	days, err := w.store.DailyUsage(t.Context(), c.Account, cola.DateOf(testNow), cola.DateOf(testNow))
	if err != nil || len(days) != 1 || days[0].Channel != cola.ChannelDashboard || days[0].Requests != 5 {
		t.Errorf("usage = %+v, %v, want five dashboard requests", days, err)
	}
}

func (w *world) checkFacets(t *testing.T, p cola.SearchParams, facets []cola.Facet) {
	t.Helper()
	if len(facets) != len(cola.Facets()) {
		t.Errorf("Explore(%+v): %d facets", p, len(facets))
	}
	for _, f := range facets {
		for _, v := range f.Values {
			q, err := p.FixDates(w.now()).Choose(f.Name, v.Value).Normalize(w.now())
			if err != nil {
				t.Fatal(err)
			}
			if total := w.index.View().Search(q).Total; total != v.Count {
				t.Errorf("Explore(%+v): %s %q counts %d labels, searching for it finds %d", p, f.Name, v.Value, v.Count, total)
			}
		}
	}
}

func (w *world) checkImages(t *testing.T, got registry.ExploreResult) {
	t.Helper()
	want := map[cola.TTBID]string{}
	for _, row := range got.Colas {
		label, err := w.store.Cola(t.Context(), row.TTBID)
		if err != nil {
			t.Fatal(err)
		}
		if label.MainImageURL != "" {
			want[row.TTBID] = publicURL + string(label.MainImageURL)
		}
	}
	if len(got.Colas) > 0 && len(want) == 0 {
		t.Error("no label has an image")
	}
	if diff := cmp.Diff(want, got.Images); diff != "" && len(want)+len(got.Images) > 0 {
		t.Errorf("images (-want +got):\n%s", diff)
	}
}

// TestExportColas checks that only the dashboard can export labels, up to MaxExport of them in one
// charge.
func TestExportColas(t *testing.T) {
	w := mustWorld(t, 1_200)
	c := w.mustHolder(t, "export@example.com", cola.TierFree)
	p := cola.SearchParams{DateRange: cola.AllDates, Page: cola.Some(3), PerPage: cola.Some(10)}
	page, state, err := w.ExportColas(t.Context(), c, p)
	if err != nil || len(page.Colas) != registry.MaxExport || state.Charged != registry.MaxExport || !page.Pagination.HasMore {
		t.Errorf("ExportColas: %d labels, %+v, %v", len(page.Colas), state, err)
	}
	first, _, err := w.Explore(t.Context(), c, cola.SearchParams{DateRange: cola.AllDates})
	if err != nil || first.Colas[0] != page.Colas[0] {
		t.Errorf("the file starts with %+v (error %v)", page.Colas[0], err)
	}
	rest := c
	rest.Channel = cola.ChannelREST
	if page, _, err := w.ExportColas(t.Context(), rest, p); code(err) != cola.CodeForbidden || page.Colas != nil {
		t.Errorf("over REST: %d labels, %v", len(page.Colas), err)
	}
}

func TestExploreErrors(t *testing.T) {
	w, b := mustBlind(t, 800)
	c := w.mustHolder(t, "refused@example.com", cola.TierFree)
	bad, state, err := w.Explore(t.Context(), c, cola.SearchParams{Status: "gone", PerPage: cola.Some(1_000)})
	if code(err) != cola.CodeValidation || bad.Facets != nil || state.Used != (cola.Used{}) || !state.Known() {
		t.Errorf("invalid parameters: %+v, %+v, %v, want validation_error without a charge", bad, state, err)
	}
	b.images.Store(true)
	page, state, err := w.Explore(t.Context(), c, cola.SearchParams{})
	if err != nil || len(page.Colas) != 20 || len(page.Facets) == 0 || page.Images != nil || state.Used.ListRecords != 20 {
		t.Errorf("images unavailable: %d rows, %d facets, %v, %+v, %v, want the page without images", len(page.Colas), len(page.Facets), page.Images, state.Used, err)
	}
	b.images.Store(false)
	w.spend(t, c, cola.TierFree.Limits().ListRecords-23)
	if page, _, err = w.Explore(t.Context(), c, cola.SearchParams{Page: cola.Some(2)}); err != nil || len(page.Colas) != 3 || len(page.Images) > 3 || page.Pagination.NextCursor == "" {
		t.Errorf("three list records left: %d rows, %d images, %+v, %v", len(page.Colas), len(page.Images), page.Pagination, err)
	}
	page, _, err = w.Explore(t.Context(), c, cola.SearchParams{Page: cola.Some(3)})
	if refusal, ok := errors.AsType[*cola.Error](err); !ok || refusal.Details["reason"] != "list_records" || page.Facets != nil || page.Images != nil {
		t.Errorf("quota exhausted: %+v, %v, want quota_exceeded", page, err)
	}
	w.down.Store(true)
	if page, _, err := w.Explore(t.Context(), c, cola.SearchParams{}); code(err) != cola.CodeUnavailable || page.Facets != nil {
		t.Errorf("database unavailable: %+v, %v, want unavailable", page, err)
	}
}

// chainOf returns the IDs of a resubmission chain, with IDs missing from the registry in
// parentheses.
func chainOf(page registry.LabelPage) string {
	var ids []string
	for _, link := range page.Chain {
		id := strings.TrimLeft(link.TTBID.String(), "0")
		switch {
		case link.Summary == nil:
			id = "(" + id + ")"
		case link.Summary.TTBID != link.TTBID || link.Summary.BrandName == "":
			id += "?"
		}
		ids = append(ids, id)
	}
	return strings.Join(ids, " ")
}

func TestChains(t *testing.T) {
	w := mustWorld(t, 0)
	const last, this = 99_001_001_000_000, 5_001_001_000_000 // received in 1999 and 2005
	var labels []cola.Cola
	add := func(id, resubmits cola.TTBID) {
		c := bottle(id, "OAK", cola.NewDate(2025, 1, 1))
		c.ForResubmissionTTBID = resubmits
		labels = append(labels, c)
	}
	add(1, 0) // no resubmission
	add(11, 10)
	add(12, 11)
	add(13, 11) // fork
	add(14, 12)
	add(21, 23) // cycle
	add(22, 21)
	add(23, 22)
	add(31, 31) // resubmits itself
	add(last, 0)
	add(this, last)
	for id := cola.TTBID(101); id <= 140; id++ {
		add(id, id-1)
	}
	w.mustImport(t, store.History, labels...)
	c := w.mustHolder(t, "chains@example.com", cola.TierPro)
	for id, want := range map[cola.TTBID]string{
		1: "", 11: "(10) 11 12 13 14", 14: "(10) 11 12 13 14", 22: "21 22 23", 31: "", this: "99001001000000 5001001000000",
		120: "110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129",
		140: "121 122 123 124 125 126 127 128 129 130 131 132 133 134 135 136 137 138 139 140",
	} {
		page, _, err := w.LabelPage(t.Context(), c, id.String())
		if err != nil {
			t.Fatal(err)
		}
		if got := chainOf(page); got != want {
			t.Errorf("chain of %d = %q, want %q", id, got, want)
		}
	}
}

func TestLabelPage(t *testing.T) {
	w, b := mustBlind(t, 300)
	c := w.mustHolder(t, "label@example.com", cola.TierFree)
	found, _, err := w.Explore(t.Context(), c, cola.SearchParams{PerPage: cola.Some(1)})
	if err != nil {
		t.Fatal(err)
	}
	id := found.Colas[0].TTBID.String()
	page, state, err := w.LabelPage(t.Context(), c, " "+id+"\n")
	if err != nil || state.Used.DetailViews != 1 || state.Charged != 1 {
		t.Fatalf("LabelPage = %+v, %v, want a charge of one detail view", state, err)
	}
	label, _, err := w.Cola(t.Context(), c, id, "")
	if diff := cmp.Diff(label.Value, page.Label); diff != "" || err != nil {
		t.Errorf("label: %v (-cola +page):\n%s", err, diff)
	}
	permittee, _, err := w.Permittee(t.Context(), c, page.Label.PermitNumber, "")
	if diff := cmp.Diff(&permittee.Value.PermitteeSummary, page.Permittee); diff != "" || err != nil {
		t.Errorf("permittee: %v (-permittee +page):\n%s", err, diff)
	}
	ofBrand, _, err := w.SearchColas(t.Context(), c, cola.SearchParams{
		BrandName: `"` + page.Label.BrandName + `"`, DateRange: cola.AllDates, PerPage: cola.Some(1),
	})
	if err != nil || page.BrandLabels < 1 || page.BrandLabels != ofBrand.Pagination.Total {
		t.Errorf("BrandLabels = %d, %v, want %d, as in a search", page.BrandLabels, err, ofBrand.Pagination.Total)
	}
	for _, missing := range []string{"", "99999999999999", "x", "<script>", "\x00", strings.Repeat("9", 5_000)} {
		page, state, err := w.LabelPage(t.Context(), c, missing)
		if code(err) != cola.CodeNotFound || state.Used.DetailViews != 3 || page.Permittee != nil {
			t.Errorf("LabelPage(%.30q) = %+v, %+v, %v, want a free 404", missing, page, state.Used, err)
		}
	}
	b.chains.Store(true)
	if page, _, err := w.LabelPage(t.Context(), c, id); code(err) != cola.CodeUnavailable || page.Label.TTBID != 0 {
		t.Errorf("chain unavailable: LabelPage = %v, %v, want unavailable and no label", page.Label.TTBID, err)
	}
	b.chains.Store(false)
	if usage, _, err := w.Usage(t.Context(), c); err != nil || usage.DetailViews.Used != 3 {
		t.Errorf("usage = %+v, %v, want no further charge", usage, err)
	}
}

// TestDashboardRateLimit checks that requests from the dashboard, free or charged, neither fill the
// account's rate-limit window nor are rejected when API clients have filled it. API calls with a
// session (“Try it”) count like any others.
func TestDashboardRateLimit(t *testing.T) {
	w := mustWorld(t, 100)
	holder := w.mustHolder(t, "window@example.com", cola.TierFree)
	client := keyCaller(holder.Account, w.mustCreateKey(t, holder, registry.KeyParams{Name: "client"}).ID)
	tryIt := holder
	tryIt.Channel = cola.ChannelREST
	id := w.index.View().Search(cola.ColaSearch{PerPage: 1}).Rows[0].TTBID.String()
	free, charged := freeRequests(t, w, holder, id), chargedRequests(t, w, id)
	limit, labels := cola.TierFree.Limits().PerMinute, 1 // freeRequests read a label
	try := func(when string) {
		t.Helper()
		for name, do := range free {
			for range 3 {
				if state, err := do(holder); err != nil || !state.Known() || state.Charged != 0 {
					t.Errorf("%s: %s = %+v, %v, want success without a charge", when, name, state, err)
				}
			}
		}
		for range limit + 1 {
			labels++
			for name, do := range charged {
				if state, err := do(holder); err != nil || name == "a label" && state.Used.DetailViews != labels {
					t.Errorf("%s: %s = %+v, %v, want success and %d detail views", when, name, state, err, labels)
				}
			}
		}
	}
	try("first")
	for n := range limit {
		c := client
		if n == 0 {
			c = tryIt
		}
		if _, err := w.Admit(t.Context(), c); err != nil {
			t.Fatalf("API request %d: error = %v", n+1, err)
		}
	}
	try("in a full window") // even if no request has been rejected yet
	all := maps.Clone(free)
	maps.Copy(all, charged)
	for name, do := range all {
		for _, c := range []cola.Caller{client, tryIt} {
			if _, err := do(c); code(err) != cola.CodeQuotaExceeded {
				t.Errorf("%s from the API, with a %s: error = %v, want quota_exceeded", name, c.Credential.Kind, err)
			}
		}
	}
	try("after rejections")
}

// request makes one request as a caller.
type request func(cola.Caller) (cola.QuotaState, error)

// freeRequests returns free requests. One of them revalidates a label that the account has already
// paid to read.
func freeRequests(t *testing.T, w *world, holder cola.Caller, id string) map[string]request {
	t.Helper()
	read, _, err := w.Cola(t.Context(), holder, id, "")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]request{
		"saved searches": func(c cola.Caller) (cola.QuotaState, error) {
			_, state, err := w.SavedSearches(t.Context(), c, cola.SavedSearchListParams{})
			return state, err
		},
		"preview": func(c cola.Caller) (cola.QuotaState, error) {
			_, state, err := w.PreviewSavedSearch(t.Context(), c, cola.PreviewParams{Filters: &cola.SavedSearchFilters{BrandName: "oak"}})
			return state, err
		},
		"a missing saved search": func(c cola.Caller) (cola.QuotaState, error) {
			_, state, err := w.SavedSearch(t.Context(), c, "0b9f8c0e-6a55-4f0e-9a39-000000000000", "")
			return state, wantCode(err, cola.CodeNotFound)
		},
		"a missing label": func(c cola.Caller) (cola.QuotaState, error) {
			_, state, err := w.LabelPage(t.Context(), c, "99999999999999")
			return state, wantCode(err, cola.CodeNotFound)
		},
		"an unmodified label": func(c cola.Caller) (cola.QuotaState, error) {
			label, state, err := w.Cola(t.Context(), c, id, read.ETag)
			if err == nil && !label.NotModified {
				err = errors.New("modified")
			}
			return state, err
		},
		"an invalid search": func(c cola.Caller) (cola.QuotaState, error) {
			_, state, err := w.Explore(t.Context(), c, cola.SearchParams{Status: "gone"})
			return state, wantCode(err, cola.CodeValidation)
		},
	}
}

// chargedRequests returns requests that have a meter. One of them has no results.
func chargedRequests(t *testing.T, w *world, id string) map[string]request {
	t.Helper()
	return map[string]request{
		"a search without results": func(c cola.Caller) (cola.QuotaState, error) {
			_, state, err := w.Explore(t.Context(), c, cola.SearchParams{Q: "nothinglikethis"})
			return state, err
		},
		"a label": func(c cola.Caller) (cola.QuotaState, error) {
			_, state, err := w.LabelPage(t.Context(), c, id)
			return state, err
		},
	}
}

// wantCode returns nil for an error with the given code; otherwise it returns an error that wraps
// err.
func wantCode(err error, c cola.Code) error {
	if code(err) == c {
		return nil
	}
	return fmt.Errorf("not %s: %w", c, err)
}
