package main

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

// TestListFormats reads all pages of a search in each format by following Link or next_cursor.
// Every format must return the same labels at the same cost.
func TestListFormats(t *testing.T) {
	t.Parallel()
	h := seeded(t)
	s := startServer(t, h)
	st := mustOpen(t, h)
	const search = "/colas?q=oak&date_range=all&per_page=17"
	var want []string
	for next := search; next != ""; {
		a := s.get(t, next, s.key)
		want = append(want, a.ids()...)
		next = ""
		if cursor, ok := a.at("pagination", "next_cursor").(string); ok {
			next = search + "&cursor=" + cursor
		}
	}
	if len(want) < 40 {
		t.Fatalf("%s finds %d labels, want at least three pages", search, len(want))
	}
	for i, tt := range []struct {
		accept, fields string
		ids            func(t *testing.T, body []byte) []string
	}{
		{"text/csv", "", csvIDs},
		{"text/csv", "&fields=ttb_id,brand_name", csvIDs},
		{"application/x-ndjson", "", ndjsonIDs},
		{"application/x-ndjson", "&fields=ttb_id", ndjsonIDs},
	} {
		account, secret, _ := mustAccount(t, st, "formats"+string(rune('a'+i))+"@example.com", cola.TierPro)
		var got []string
		pages := 0
		for address := s.base + search + tt.fields; address != ""; pages++ {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-API-Key", secret.Reveal())
			req.Header.Set("Accept", tt.accept)
			a := do(t, req)
			if a.StatusCode != http.StatusOK {
				t.Fatalf("%s as %s: %d %s", address, tt.accept, a.StatusCode, a.body)
			}
			got = append(got, tt.ids(t, a.body)...)
			address = ""
			if link, ok := strings.CutSuffix(strings.TrimPrefix(a.Header.Get("Link"), "<"), `>; rel="next"`); ok {
				next, err := req.URL.Parse(link)
				if err != nil {
					t.Fatal(err)
				}
				address = next.String()
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s%s: %d labels, JSON has %d", tt.accept, tt.fields, len(got), len(want))
		}
		if cost := spentBy(t, st, account); cost != (spent{listRecords: len(want), requests: pages}) {
			t.Errorf("%s%s: cost %+v, want %d list records and %d requests", tt.accept, tt.fields, cost, len(want), pages)
		}
	}
}

func csvIDs(t *testing.T, body []byte) (ids []string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(string(body))).ReadAll()
	if err != nil || rows[0][0] != "ttb_id" {
		t.Fatalf("CSV: %v: %.200s", err, body)
	}
	for _, row := range rows[1:] {
		ids = append(ids, row[0])
	}
	return ids
}

func ndjsonIDs(t *testing.T, body []byte) (ids []string) {
	t.Helper()
	for line := range strings.Lines(string(body)) {
		var row struct {
			ID string `json:"ttb_id"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("NDJSON: %v: %.200s", err, line)
		}
		ids = append(ids, row.ID)
	}
	return ids
}

// TestCountFormats checks CSV counts and brands. Counts have one row per group, and the rows and
// the X-Other-Labels header add up to the total. Brands have one row each. Both cost the same as
// JSON.
func TestCountFormats(t *testing.T) {
	t.Parallel()
	h := seeded(t)
	s := startServer(t, h)
	st := mustOpen(t, h)
	read := func(name, path, accept string) (a answer, rows [][]string, cost spent) {
		t.Helper()
		account, secret, _ := mustAccount(t, st, name+"@example.com", cola.TierPro)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-API-Key", secret.Reveal())
		req.Header.Set("Accept", accept)
		if a = do(t, req); a.StatusCode != http.StatusOK {
			t.Fatalf("%s as %s: %d %s", path, accept, a.StatusCode, a.body)
		}
		if accept == "text/csv" {
			if rows, err = csv.NewReader(strings.NewReader(string(a.body))).ReadAll(); err != nil {
				t.Fatal(err)
			}
		}
		return a, rows, spentBy(t, st, account)
	}
	const counts = "/colas/stats?group_by=permit&group_by=year&date_range=all&top=5"
	csvCounts, rows, cost := read("counts-csv", counts, "text/csv")
	jsonCounts, _, want := read("counts-json", counts, "application/json")
	if header := strings.Join(rows[0], ","); header != "permit,company_name,year,count,partial" || len(rows) < 10 || cost != want || cost.listRecords != (len(rows)-1+49)/50 {
		t.Errorf("counts: header %s, %d rows, cost %+v, want %+v", header, len(rows), cost, want)
	}
	sum := number(t, csvCounts.Header.Get("X-Other-Labels"))
	for _, row := range rows[1:] {
		sum += number(t, row[3])
	}
	total := number(t, csvCounts.Header.Get("X-Total-Count"))
	if others, _ := jsonCounts.at("others", "groups").(float64); sum != total || float64(total) != jsonCounts.at("total") ||
		number(t, csvCounts.Header.Get("X-Other-Groups")) != int(others) {
		t.Errorf("counts: the rows and others add up to %d of %d labels; headers %v, JSON %s", sum, total, csvCounts.Header, jsonCounts.body)
	}

	const brands = "/brands?q=oak&per_page=3"
	csvBrands, rows, cost := read("brands-csv", brands, "text/csv")
	_, _, want = read("brands-json", brands, "application/json")
	if len(rows) != 4 || cost != want || cost.listRecords != 3 || !strings.Contains(csvBrands.Header.Get("Link"), "page=2") {
		t.Errorf("brands: %d rows, cost %+v, want %+v, Link %s", len(rows)-1, cost, want, csvBrands.Header.Get("Link"))
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
