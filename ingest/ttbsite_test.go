package ingest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/ttbsite"
)

// TestTTBSite imports the export and the pages of a simulated TTB site, and checks that the stored
// labels match the simulated ones. Rows with an ambiguous comma in a name are rejected.
func TestTTBSite(t *testing.T) {
	site, err := ttbsite.New(ttbsite.Options{Seed: 1, Labels: 300, Ambiguous: 4})
	if err != nil {
		t.Fatal(err)
	}
	server := site.Start()
	defer server.Close()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Jar: jar}
	text := func(response *http.Response, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	get := func(path string) string {
		t.Helper()
		return text(client.Get(server.URL + ttbsite.Path + path))
	}
	get("publicSearchColasBasic.do")
	text(client.PostForm(server.URL+ttbsite.Path+"publicSearchColasBasicProcess.do?action=search", url.Values{
		"searchCriteria.dateCompletedFrom": {"01/01/2026"}, "searchCriteria.dateCompletedTo": {"12/31/2026"},
	}))
	st := newFakeStore()
	export := mustWrite(t, get("publicSaveSearchResultsToFile.do?path=/publicSearchColasBasicProcess"))
	report, err := Import(t.Context(), st, Colas, []Source{FileSource(export)}, Options{SkipInvalid: true})
	if err != nil || report.Counts != (Counts{Read: 300, Added: 296, Rejected: 4}) {
		t.Fatalf("export: %s, %v", report.Summary(), err)
	}
	oneLine := func(s string) string { return strings.ReplaceAll(s, "\n", " ") }
	for _, l := range site.Labels() {
		stored, ok := st.colas[l.ID]
		if ambiguous := strings.HasPrefix(l.Brand, "1,000"); ambiguous == ok {
			t.Errorf("%s: in the store: %t", l.ID, ok)
		}
		if ok && (stored.BrandName != oneLine(l.Brand) || string(stored.ProductName) != l.Fanciful || stored.LatestUpdateDate != l.Completed ||
			string(stored.ClassID) != l.Class.ID || string(stored.OriginID) != l.Origin.ID || stored.PermitNumber != l.Permit) {
			t.Errorf("%s: stored %+v, want %+v", l.ID, stored.ColaSummary, l)
		}
		action := "publicFormDisplay"
		if l.Paper {
			action = "publicDisplaySearchBasic"
		}
		page := mustWrite(t, get(fmt.Sprintf("viewColaDetails.do?action=%s&ttbid=%s", action, l.ID)))
		mustImport(t, st, Colas, FileSource(page))
		stored = st.colas[l.ID]
		got := []any{stored.BrandName, stored.ProductName, stored.ApprovalDate, string(stored.ApplicationStatus), stored.OriginName, len(stored.Images)}
		want := []any{oneLine(l.Brand), cola.Text(l.Fanciful), l.Approved, strings.ToLower(l.Status), cola.Text(l.Origin.Name), len(l.Images)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-site +stored):\n%s", l.ID, diff)
		}
	}
}
