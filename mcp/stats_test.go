package mcp

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// TestCountLabels checks the members of a result. A group of labels without a brand keeps the brand
// member.
func TestCountLabels(t *testing.T) {
	f := newFake()
	f.labels[0].ProductName = ""
	got := call(t, mustServe(t, f, io.Discard), "count_labels", `{"group_by":"brand,year","top":2,"date_range":"all"}`)
	if got.failed {
		t.Fatal(got.texts[0])
	}
	first := got.content["data"].([]any)[0].(map[string]any)
	if _, hasBrand := first["brand"]; !hasBrand || first["count"] != 1.0 || len(first) != 3 {
		t.Errorf("first group = %v, want brand, year and count", first)
	}
	want := map[string]any{"total": 3.0, "others": map[string]any{"groups": 1.0, "labels": 1.0}, "data_as_of": dataAsOf.String()}
	for name, value := range want {
		if diff := cmp.Diff(value, got.content[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if charged := got.content["charged"].(map[string]any); charged["units"] != 1.0 {
		t.Errorf("charged = %v, want one list record", charged)
	}
}

// TestCountLabelsDimensions checks that missing and invalid dimensions are reported together with
// other problems, and that the call counts as one request.
func TestCountLabelsDimensions(t *testing.T) {
	for _, arguments := range []string{
		`{"abv_min":"x"}`, `{"group_by":null,"abv_min":"x"}`, `{"group_by":[],"abv_min":"x"}`,
		`{"group_by":["years"],"abv_min":"x"}`, `{"group_by":["year","month","brand"],"abv_min":"x"}`,
	} {
		f := newFake()
		got := call(t, mustServe(t, f, io.Discard), "count_labels", arguments)
		if problems := got.problems(t); problems["group_by"] == nil || problems["abv_min"] == nil || f.spent != 1 {
			t.Errorf("%s: problems %v and %d requests, want problems with group_by and abv_min and one request", arguments, problems, f.spent)
		}
	}
}

// TestLargestCount checks that groups beyond the response size limit are neither returned nor
// charged, and that the "others" member counts them.
func TestLargestCount(t *testing.T) {
	f := newFake()
	f.limits, f.labels = cola.TierPro.Limits(), nil
	for range 1000 {
		f.labels = append(f.labels, cola.ColaSummary{ProductName: cola.Text(strings.Repeat(`<&>"Ä`, 20))})
	}
	got := call(t, mustServe(t, f, io.Discard), "count_labels", `{"group_by":["brand","class"],"top":1000,"date_range":"all"}`)
	rows := rowsOf(got.content)
	if n := tokens(got.body); got.failed || n >= maxTokens || rows == 0 || rows == 1000 {
		t.Fatalf("%d tokens, %d rows, want some rows and fewer than %d tokens", n, rows, maxTokens)
	}
	if others := got.content["others"].(map[string]any); others["labels"] != float64(1000-rows) {
		t.Errorf("others = %v with %d of 1000 rows", others, rows)
	}
	if want := (rows + cola.GroupsPerRecord - 1) / cola.GroupsPerRecord; f.used.ListRecords != want {
		t.Errorf("%d list records charged for %d rows, want %d", f.used.ListRecords, rows, want)
	}
	if !strings.Contains(fmt.Sprint(got.content["notes"]), fmt.Sprintf("%d of 1000", rows)) {
		t.Errorf("notes = %v, want the number of rows", got.content["notes"])
	}
}
