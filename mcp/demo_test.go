package mcp

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
)

// TestDemoResponseSizes checks that every demo label, and every page of 100 labels,
// is returned whole in either response format.
func TestDemoResponseSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("encodes twenty thousand labels")
	}
	largest, heaviest := map[string]int{}, map[string]int{}
	weigh := func(what string, a toolResult) {
		t.Helper()
		if w := encodedSize(a.data); w > heaviest[what] {
			heaviest[what] = w
		} else {
			return
		}
		b, err := json.Marshal(a.callResult())
		if err != nil {
			t.Fatal(err)
		}
		largest[what] = max(largest[what], tokens(string(b)))
		if len(a.notes) > 0 {
			t.Errorf("%s is truncated: %v", what, a.notes)
		}
	}
	var page []cola.ColaSummary
	o := demo.Options{Colas: 20_000, Seed: 1, AsOf: cola.DateOf(now)}
	for label := range demo.Labels(o) {
		label.Derive()
		for _, v := range []view{{false}, {true}} {
			var a toolResult
			putRecord(&a, v, *label)
			weigh("get_cola", a)
		}
		page = append(page, label.ColaSummary)
		if len(page) == cola.MaxPerPage {
			for _, v := range []view{{false}, {true}} {
				rows := rowLimiter[cola.ColaSummary]{view: v}
				var a toolResult
				if fits := rows.limit(page); fits != len(page) {
					t.Errorf("%d of %d rows fit", fits, len(page))
				}
				a.setData(v.append(nil, page))
				weigh("search_colas", a)
			}
			page = page[:0]
		}
	}
	for what, n := range largest {
		t.Logf("largest %s response: about %d tokens in both copies", what, n)
		if n >= maxTokens {
			t.Errorf("%s: %d tokens", what, n)
		}
	}
}

// TestDemoReferenceSizes checks that detailed responses with reference data stay within the size
// limit, truncated if necessary.
func TestDemoReferenceSizes(t *testing.T) {
	o := demo.Options{Colas: 100, Seed: 1, AsOf: cola.DateOf(now)}
	f := newFake()
	f.times, f.reports = demo.ProcessingTimes(o), demo.ProductionReports(o)
	h := mustServe(t, f, io.Discard)
	for tool, arguments := range map[string]string{
		"get_processing_times": `{"response_format":"detailed"}`, "list_production_reports": `{"response_format":"detailed","per_page":100}`,
	} {
		got := call(t, h, tool, arguments)
		if n := tokens(got.body); got.failed || n >= maxTokens || rowsOf(got.content) < 100 {
			t.Errorf("%s: %d rows in %d tokens", tool, rowsOf(got.content), n)
		}
	}
	for _, area := range demo.AVAs(o) {
		var a toolResult
		putRecord(&a, view{detailed: true}, area)
		if len(a.notes) > 0 || encodedSize(a.data) > maxContentBytes {
			t.Errorf("%s is truncated: %v", area.AVAID, a.notes)
		}
	}
}

// TestRealLabelSizes checks that published records of real labels stay far below the limit.
func TestRealLabelSizes(t *testing.T) {
	folder := os.Getenv("COLAREGISTRY_SHARED_DATA")
	if folder == "" {
		folder = filepath.Join("..", "..", "shared", "data")
	}
	file, err := os.Open(filepath.Join(folder, "ttb", "cola_records.jsonl"))
	if err != nil {
		t.Skipf("no real data to test with: %v", err)
	}
	defer file.Close()
	largest := 0
	for d := json.NewDecoder(file); d.More(); {
		var record json.RawMessage
		if err := d.Decode(&record); err != nil {
			t.Fatal(err)
		}
		largest = max(largest, encodedSize(record)*2/7)
	}
	t.Logf("largest real label: about %d tokens", largest)
	if largest == 0 || largest > maxTokens/4 {
		t.Errorf("largest real label: %d tokens, want at most %d", largest, maxTokens/4)
	}
}
