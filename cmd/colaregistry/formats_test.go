package main

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"slices"
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
