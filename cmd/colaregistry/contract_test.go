package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

// TestContractDecisions pins behavior that the interface leaves open but clients depend on. It also
// checks every response against the OpenAPI document.
func TestContractDecisions(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		file := filepath.Join(t.TempDir(), "labels.jsonl")
		row := `{"ttb_id":"240019980%05d","brand_name":"CONTRACT","product_name":%q,"product_type":%q,"permit_number":"CA-W-1","approval_date":"2024-05-31","origin_name":%q,"origin_id":%q,"barcode_value":%q}`
		rows := []string{
			fmt.Sprintf(row, 1, "STATE", "wine", "GEORGIA", "08", "036000291452"),
			fmt.Sprintf(row, 2, "COUNTRY", "wine", "GEORGIA", "6E", ""),
			fmt.Sprintf(row, 3, "BATCH 036000291452", "malt beverage", "DELAWARE", "15", ""),
			fmt.Sprintf(row, 4, "DEUTSCH", "wine", "GERMANY", "53", ""),
		}
		if err := os.WriteFile(file, []byte(strings.Join(rows, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		s := startServer(t, h)
		h.run(t, "import", "colas", file)
		_, secret, _ := mustAccount(t, mustOpen(t, h), "contract@example.com", cola.TierPro)
		get := func(query string) answer {
			return s.get(t, "/colas?approval_date_from=2005-01-01&brand_name=contract&"+query, secret.Reveal())
		}
		eventually(t, func() bool { return len(get("").ids()) == 4 })
		const state, country, beer, german = "24001998000001", "24001998000002", "24001998000003", "24001998000004"
		for query, want := range map[string]string{
			"origin=american": beer + " " + state, "origin=usa": beer + " " + state,
			"origin=GA": state, "origin=GE": country,
			"origin=georgia": country + " " + state, "origin=DE": beer, "origin=DEU": german, "origin=germany": german,
			"q=036000291452": state, "q=036000291452&product_type=wine": state,
			"q=036000291452&product_type=malt+beverage": beer,
		} {
			if got := strings.Join(get(query).ids(), " "); !sameWords(got, want) {
				t.Errorf("%s: results %s, want %s", query, got, want)
			}
		}
		for query, note := range map[string]string{
			"origin=DE": "DEU", "origin=georgia": "GE", "origin=narnia": "narnia", "origin=GA": "GAB", "origin=DEU": "",
		} {
			if notes := fmt.Sprint(get(query).at("notes")); (note == "") != (notes == "<nil>") ||
				!strings.Contains(notes, note) {
				t.Errorf("%s: notes = %s, want a mention of %q", query, notes, note)
			}
		}
		if a := get("per_page=1"); a.at("pagination", "truncated_by_quota") != false {
			t.Errorf("truncated_by_quota is not false: %s", a.body)
		}
		if a := get("page=101"); a.StatusCode != http.StatusBadRequest ||
			!strings.Contains(string(a.body), "next_cursor") {
			t.Errorf("page 101: status %d, want 400 with next_cursor: %s", a.StatusCode, a.body)
		}
		cursor, _ := get("per_page=1").at("pagination", "next_cursor").(string)
		next := s.get(t, "/colas?approval_date_from=2005-01-01&brand_name=Contract&per_page=1&cursor="+cursor,
			secret.Reveal())
		if next.StatusCode != http.StatusOK || len(next.ids()) != 1 {
			t.Errorf("cursor with the brand name in different case: status %d, want one label: %s", next.StatusCode, next.body)
		}
		if a := s.get(t, "/colas/"+country, secret.Reveal()); a.at("data", "image_count") != 0.0 {
			t.Errorf("unknown image_count = %v, want 0", a.at("data", "image_count"))
		}
		if a := s.get(t, "/processing-times?commodity=beer", secret.Reveal()); !strings.Contains(fmt.Sprint(a.at("notes")), "Malt Beverage") {
			t.Errorf("unknown commodity: want a note with Malt Beverage: %s", a.body)
		}
	})
}

// sameWords reports whether two lists contain the same words in any order.
func sameWords(a, b string) bool {
	count := map[string]int{}
	for _, w := range strings.Fields(a) {
		count[w]++
	}
	for _, w := range strings.Fields(b) {
		count[w]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}
