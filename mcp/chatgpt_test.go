package mcp

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// TestChatGPTTools checks that only ChatGPT's endpoint offers search and fetch, in addition to the
// tools at Path.
func TestChatGPTTools(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	want := append(toolNames(tools()), "search", "fetch")
	var got []string
	for _, one := range listed(t, at(ChatGPTPath, h)) {
		got = append(got, one["name"].(string))
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	for _, path := range []string{Path, ReadOnlyPath} {
		if refused := rpc(t, at(path, h), "tools/call", `{"name":"search","arguments":{"query":"oak"}}`); refused.json.Error == nil {
			t.Errorf("search at %s: %s, want an error for an unknown tool", path, refused.body)
		}
	}
}

// TestSearchDocuments checks that search returns the same labels as search_colas across all dates,
// as documents and at the same cost.
func TestSearchDocuments(t *testing.T) {
	f, other := newFake(), newFake()
	got := call(t, at(ChatGPTPath, mustServe(t, f, io.Discard)), "search", `{"query":"oak"}`)
	want := call(t, mustServe(t, other, io.Discard), "search_colas", `{"q":"oak","date_range":"all"}`)
	if f.used != other.used || f.used.ListRecords == 0 || f.search.DefaultWindow {
		t.Errorf("used %+v, search_colas uses %+v", f.used, other.used)
	}
	if !slices.Equal(slices.Collect(maps.Keys(got.content)), []string{"results"}) {
		t.Errorf("members = %v, want only results", got.content)
	}
	rows := want.content["data"].([]any)
	for i, one := range got.content["results"].([]any) {
		one := one.(map[string]any)
		id := rows[i].(map[string]any)["ttb_id"].(string)
		if one["id"] != id || !strings.HasSuffix(one["url"].(string), "ttbid="+id) || one["title"] == "" || len(one) != 3 {
			t.Errorf("result %d = %v, want id, title and url of %s", i, one, id)
		}
	}
	long := call(t, at(ChatGPTPath, mustServe(t, f, io.Discard)), "search", `{"query":"`+strings.Repeat("oak ", 60)+`"}`)
	if problems := long.problems(t); len(problems) != 1 || problems["query"] == nil {
		t.Errorf("problems with a long query = %v", problems)
	}
	none := call(t, at(ChatGPTPath, mustServe(t, newFake(), io.Discard)), "search", `{"query":"no label has this"}`)
	if none.texts[0] != `{"results":[]}` {
		t.Errorf("search without results = %s", none.texts[0])
	}
	f.notes = []string{"No label contains the word \"ravin\"."}
	f.limits, f.used = cola.Limits{DetailViews: 200, ListRecords: 1, PerMinute: 10}, cola.Used{}
	noted := call(t, at(ChatGPTPath, mustServe(t, f, io.Discard)), "search", `{"query":"oak"}`)
	checkNotes(t, "an incomplete list", noted, "list records are used up", "ravin")
	if len(noted.texts) != 1 || len(noted.content["results"].([]any)) != 1 {
		t.Errorf("incomplete list = %s, want one result in one text", noted.texts)
	}
}

// TestFetchDocument checks that fetch returns the same record as get_cola at the same cost.
func TestFetchDocument(t *testing.T) {
	f, other := newFake(), newFake()
	got := call(t, at(ChatGPTPath, mustServe(t, f, io.Discard)), "fetch", `{"id":"11054001000049"}`)
	want := call(t, mustServe(t, other, io.Discard), "get_cola", `{"ttb_id":"11054001000049"}`)
	if f.used != other.used || f.used.DetailViews != 1 {
		t.Errorf("used %+v, get_cola uses %+v", f.used, other.used)
	}
	var text any
	if err := json.Unmarshal([]byte(got.content["text"].(string)), &text); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.content["data"], text); diff != "" {
		t.Errorf("text (-get_cola +fetch):\n%s", diff)
	}
	if keys := slices.Sorted(maps.Keys(got.content)); !slices.Equal(keys, []string{"id", "metadata", "text", "title", "url"}) {
		t.Errorf("members = %v", keys)
	}
	f.used = cola.Used{}
	unknown := call(t, at(ChatGPTPath, mustServe(t, f, io.Discard)), "fetch", `{"id":"1"}`)
	if unknown.code(t) != "not_found" || f.used != (cola.Used{}) || !strings.Contains(unknown.texts[1], "search") {
		t.Errorf("unknown ID: %v, used %+v", unknown.texts, f.used)
	}
}

// TestDocumentTitle checks label titles, and that their text is sanitized.
func TestDocumentTitle(t *testing.T) {
	date := cola.NewDate(2011, 3, 18)
	for want, label := range map[string]cola.ColaSummary{
		"A – B (CLASS, OREGON, approved, 2011-03-18)": {BrandName: "A", ProductName: "B", ClassName: "CLASS", OriginName: "OREGON", ApplicationStatus: "approved", ApprovalDate: date},
		"A (wine, 2011-03-18)":                        {BrandName: "A", ProductType: "wine", ApprovalDateEstimate: date},
		"B (wine)":                                    {ProductName: "B", ProductType: "wine"},
	} {
		if got := documentOf(&label).Title; got != want {
			t.Errorf("title = %q, want %q", got, want)
		}
	}
	var a toolResult
	a.setWhole(results{Results: []document{{ID: "1", Title: "a\u202eb\u0007c"}}})
	if got := string(a.json()); got != `{"results":[{"id":"1","title":"abc","url":""}]}` {
		t.Errorf("result = %s", got)
	}
}
