package search

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/google/go-cmp/cmp"
)

func labelWith(id cola.TTBID, edit func(c *cola.Cola)) *cola.IndexRecord {
	c := cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID:             id,
		BrandName:         "LENZ MOSER",
		ProductType:       vocabulary.Wine,
		PermitNumber:      "NJ-I-721",
		ApplicationStatus: vocabulary.StatusApproved,
		ApprovalDate:      cola.NewDate(2025, 3, 1),
	}, ApplicationDate: cola.NewDate(2025, 2, 1)}
	if edit != nil {
		edit(&c)
	}
	c.Derive()
	r := c.IndexRecord()
	return &r
}

func ids(p Page) (ids []cola.TTBID) {
	for _, r := range p.Rows {
		ids = append(ids, r.TTBID)
	}
	return ids
}

func find(v *View, text string) []cola.TTBID {
	return ids(v.Search(cola.ColaSearch{Query: cola.Query{Text: text}, Page: 1, PerPage: 100}))
}

func want(t *testing.T, query string, got, want []cola.TTBID) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: labels = %v, want %v", query, got, want)
	}
}

// TestCategoryFolding checks that a path is found regardless of letter case, accents and spacing,
// even as the target of an alias.
func TestCategoryFolding(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	u := x.Begin()
	for id, path := range map[int]string{
		1: "Beer > Lager > Märzen",
		2: "Beer > Lager > Marzen > Dunkel",
		3: "Beer > Kölsch",
	} {
		u.Label(labelWith(cola.TTBID(id), func(c *cola.Cola) { c.LLMCategoryPath = cola.Text(path) }))
	}
	u.Aliases([]vocabulary.CategoryAlias{{Alias: "Beer > Köln", Path: "Beer > Kölsch"}})
	if err := u.Commit(Marks{Labels: 1}); err != nil {
		t.Fatal(err)
	}
	for path, found := range map[string][]cola.TTBID{
		"Beer > Lager > Märzen":          {2, 1},
		"beer>lager>marzen":              {2, 1},
		"Beer > Lager > MÄRZEN > dunkel": {2},
		"Beer > Kolsch":                  {3},
		"Beer > Koln":                    {3},
		"Beer > Lager > März":            nil,
	} {
		page := x.View().Search(cola.ColaSearch{Query: cola.Query{CategoryPath: path}, Page: 1, PerPage: 100})
		want(t, path, ids(page), found)
	}
}

// TestClassCategories checks that labels without a stored category have their class's category, in
// searches, aliases, facets and suggestions.
func TestClassCategories(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	u := x.Begin()
	u.Label(labelWith(1, func(c *cola.Cola) { c.ClassID, c.ClassName = "101", "STRAIGHT BOURBON WHISKY" }))
	u.Label(labelWith(2, func(c *cola.Cola) { c.ClassName = "STRAIGHT BOURBON WHISKY" })) // no code
	u.Label(labelWith(3, func(c *cola.Cola) { c.ClassID, c.LLMCategoryPath = "101", "Liquor > Specialty" }))
	u.Label(labelWith(4, func(c *cola.Cola) { c.ClassID = "199" }))
	u.Label(labelWith(5, func(c *cola.Cola) { c.ClassID = "990" }))
	u.Aliases([]vocabulary.CategoryAlias{{Alias: "Liquor > Whisky", Path: "Liquor > Whiskey"}})
	mustCommit(t, u, Marks{Labels: 1})
	for path, found := range map[string][]cola.TTBID{
		"Liquor":                     {4, 3, 2, 1},
		"Liquor > Whiskey":           {4, 2, 1},
		"liquor > whisky > bourbon":  {2, 1},
		"Liquor > Specialty":         {3},
		"Wine":                       nil,
		"Liquor > Whiskey > Whiskey": nil,
	} {
		page := x.View().Search(cola.ColaSearch{Query: cola.Query{CategoryPath: path}, Page: 1, PerPage: 100})
		want(t, path, ids(page), found)
	}
	facets := mustFacets(t, x.View(), cola.SearchParams{DerivedSubcategory: "Liquor"})
	if got := describe(facets[2]); got != "Liquor: 4*, Liquor > Whiskey: 3, Liquor > Specialty: 1" {
		t.Errorf("categories = %s", got)
	}
	if !slices.Contains(x.View().Categories(), "Liquor > Whiskey > Bourbon > Straight Bourbon") {
		t.Errorf("Categories = %v, want class categories too", x.View().Categories())
	}
}

func TestEmptyIndex(t *testing.T) {
	x := New(Options{})
	defer x.Close()
	v := x.View()
	if p := v.Search(cola.ColaSearch{Page: 1, PerPage: 20}); p.Total != 0 || p.HasMore || p.Rows == nil ||
		len(p.Rows) != 0 {
		t.Errorf("Search(empty index) = %+v, want no rows", p)
	}
	if p := v.Permittees(cola.PermitteeSearch{Name: "a", Page: 1, PerPage: 20}); p.Total != 0 || p.HasMore ||
		p.Rows == nil {
		t.Errorf("Permittees(empty index) = %+v, want no rows", p)
	}
	if _, ok := v.Barcode("036000291452", 100); ok {
		t.Error("Barcode(empty index): ok = true, want false")
	}
	if _, ok := v.Permittee("NJ-I-721", 1, 10); ok {
		t.Error("Permittee(empty index): ok = true, want false")
	}
	if err := x.Compact(context.Background()); err != nil {
		t.Error(err)
	}
	if err := x.Save(filepath.Join(t.TempDir(), "index"), "store"); err != nil {
		t.Error(err)
	}
}

func TestCommitAndAbort(t *testing.T) {
	x := New(Options{})
	defer x.Close()
	u := x.Begin()
	u.Label(labelWith(1, nil))
	u.Abort()
	u.Abort()
	if err := u.Commit(Marks{}); err == nil {
		t.Error("Commit after Abort: error = nil, want non-nil")
	}
	u = x.Begin() // the update lock is free again
	u.Label(labelWith(2, nil))
	mustCommit(t, u, Marks{Labels: 7})
	u.Abort()
	if err := u.Commit(Marks{Labels: 8}); err == nil {
		t.Error("second Commit: error = nil, want non-nil")
	}
	want(t, "after the updates, lenz", find(x.View(), "lenz"), []cola.TTBID{2})
	if m := x.View().Marks(); m != (Marks{Labels: 7}) {
		t.Errorf("Marks = %+v, want labels at revision 7", m)
	}
	x.Reset()
	if s := x.View().Stats(); s != (Stats{}) || x.View().Marks() != (Marks{}) {
		t.Errorf("after Reset: Stats = %+v, Marks = %+v; want zero values", s, x.View().Marks())
	}
}

// TestCopiedArguments checks that an update copies its arguments.
func TestCopiedArguments(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	name := []byte("LENZ MOSER")
	p := cola.Permittee{PermitNumber: "NJ-I-721", CompanyName: cola.Text(codec.UnsafeString(name))}
	r := labelWith(1, func(c *cola.Cola) { c.BrandName = codec.UnsafeString(name); c.BarcodeValue = "QR-1" })
	aliases := []vocabulary.CategoryAlias{{Alias: "A", Path: "B"}}
	u := x.Begin()
	u.Label(r)
	u.Permittee(&p)
	u.Aliases(aliases)
	copy(name, "XXXXXXXXXX")
	aliases[0] = vocabulary.CategoryAlias{}
	*r, p = cola.IndexRecord{}, cola.Permittee{}
	mustCommit(t, u, Marks{})
	got := x.View().Search(cola.ColaSearch{Page: 1, PerPage: 1}).Rows[0].BrandName
	d, _ := x.View().Permittee("nj-i-721", 1, 1)
	if got != "LENZ MOSER" || d.CompanyName != "LENZ MOSER" || x.View().publishedAliases[0].Alias != "A" {
		t.Errorf("index contains %q, %q, %+v; want the original arguments", got, d.CompanyName, x.View().publishedAliases)
	}
}

// TestImmutableView checks that changes and compactions don't affect an existing view.
func TestImmutableView(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	u := x.Begin()
	u.Label(labelWith(1, nil))
	u.Label(labelWith(2, nil))
	u.Permittee(&cola.Permittee{PermitNumber: "NJ-I-721", CompanyName: "OLD NAME"})
	mustCommit(t, u, Marks{})
	old := x.View()
	u = x.Begin()
	u.Label(labelWith(2, func(c *cola.Cola) { c.BrandName = "OTHER"; c.ApplicationStatus = vocabulary.StatusRevoked }))
	u.Permittee(&cola.Permittee{PermitNumber: "NJ-I-721", CompanyName: "NEW NAME"})
	mustCommit(t, u, Marks{})
	if err := x.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	want(t, "old view: lenz", find(old, "lenz"), []cola.TTBID{2, 1})
	want(t, "old view: old name", find(old, `"old name"`), []cola.TTBID{2, 1})
	want(t, "old view: new name", find(old, `"new name"`), nil)
	want(t, "new view: lenz", find(x.View(), "lenz"), []cola.TTBID{1})
	want(t, "new view: new name", find(x.View(), `"new name"`), []cola.TTBID{2, 1})
	prev, _ := old.Permittee("NJ-I-721", 1, 10)
	now, _ := x.View().Permittee("NJ-I-721", 1, 10)
	if prev.ColasApproved != 2 || now.ColasApproved != 1 || prev.CompanyName != "OLD NAME" ||
		now.CompanyName != "NEW NAME" {
		t.Errorf("old view: %+v, want OLD NAME with 2 approved; new view: %+v, want NEW NAME with 1",
			prev.PermitteeSummary, now.PermitteeSummary)
	}
}

// TestReadersDuringUpdates searches from several goroutines while labels change and the index
// compacts itself. Every commit replaces all labels, so a view that mixed two commits would be
// detected.
func TestReadersDuringUpdates(t *testing.T) {
	x := New(Options{})
	defer x.Close()
	const labels, commits = 40, 60
	done := make(chan struct{})
	var readers sync.WaitGroup
	path := filepath.Join(t.TempDir(), "index")
	untilDone := func(f func()) {
		for {
			select {
			case <-done:
				return
			default:
				f()
			}
		}
	}
	readers.Go(func() {
		untilDone(func() {
			if err := x.Save(path, "store"); err != nil {
				t.Error(err)
			}
		})
	})
	for range 3 {
		readers.Go(func() { untilDone(func() { checkOneCommit(t, x.View(), labels) }) })
	}
	for c := range commits {
		u := x.Begin()
		for id := range cola.TTBID(labels) {
			u.Label(labelWith(id+1, func(l *cola.Cola) { l.BrandName, l.ImageCount = fmt.Sprint("BATCH ", c), c }))
		}
		u.Permittee(&cola.Permittee{PermitNumber: "NJ-I-721", CompanyName: cola.Text(fmt.Sprint("COMPANY ", c))})
		mustCommit(t, u, Marks{Labels: cola.Revision(c)})
	}
	close(done)
	readers.Wait()
	if s := x.View().Stats(); s.Labels != labels {
		t.Errorf("Stats = %+v, want %d labels", s, labels)
	}
}

// checkOneCommit checks that all labels of a view come from the same commit.
func checkOneCommit(t *testing.T, v *View, labels int) {
	c := int(v.Marks().Labels)
	for _, text := range []string{"", "batch", fmt.Sprintf(`"batch %d"`, c), fmt.Sprintf(`"company %d"`, c), "b*"} {
		p := v.Search(cola.ColaSearch{Query: cola.Query{Text: text}, Page: 1, PerPage: 100})
		if p.Total != 0 && p.Total != labels || p.Total != len(p.Rows) {
			t.Errorf("commit %d: Search(%q) = %d of %d labels, want 0 or %d", c, text, len(p.Rows), p.Total, labels)
		}
		for _, r := range p.Rows {
			if r.ImageCount != c {
				t.Errorf("commit %d: found a label from commit %d", c, r.ImageCount)
				return
			}
		}
	}
	if p, ok := v.Permittee("NJ-I-721", 1, 5); ok &&
		(p.Colas != labels || p.CompanyName != cola.Text(fmt.Sprint("COMPANY ", c))) {
		t.Errorf("commit %d: Permittee = %+v, want COMPANY %d with %d labels", c, p.PermitteeSummary, c, labels)
	}
}

// TestLatestDates checks that removing a permittee's latest labels updates its latest dates.
func TestLatestDates(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	day := cola.NewDate(2025, 6, 1)
	at := func(id cola.TTBID, d cola.Date, permit string) *cola.IndexRecord {
		return labelWith(id, func(c *cola.Cola) { c.ApprovalDate, c.ApplicationDate, c.PermitNumber = d, d, permit })
	}
	commit := func(labels ...*cola.IndexRecord) {
		u := x.Begin()
		u.Permittee(&cola.Permittee{PermitNumber: "A-I-1"})
		for _, l := range labels {
			u.Label(l)
		}
		mustCommit(t, u, Marks{})
	}
	check := func(colas int, last cola.Date, reason cola.Text) {
		t.Helper()
		got, ok := x.View().Permittee("A-I-1", day, 0)
		expected := cola.PermitteeSummary{
			PermitNumber:            "A-I-1",
			IsActive:                reason != "",
			ActiveReason:            reason,
			Colas:                   colas,
			ColasApproved:           colas,
			LastColaApplicationDate: last,
		}
		if diff := cmp.Diff(expected, got.PermitteeSummary); diff != "" || !ok {
			t.Errorf("Permittee: ok = %v, want true (-want +got):\n%s", ok, diff)
		}
	}
	commit(at(1, day.AddDays(-400), "A-I-1"), at(2, day.AddDays(-365), "A-I-1"))
	check(2, day.AddDays(-365), cola.ActiveRecent)
	commit(at(2, day.AddDays(-365), "A-I-2")) // moves to a permit number without a permittee
	check(1, day.AddDays(-400), "")
	commit(at(1, 0, "A-I-1"))
	check(1, 0, "")
	if p := x.View().Permittees(cola.PermitteeSearch{Page: 1, PerPage: 5}); p.Total != 1 {
		t.Errorf("Permittees = %+v, want only the registered permittee", p)
	}
}
