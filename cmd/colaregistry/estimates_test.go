package main

import (
	"encoding/csv"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

// TestExportOnly fills an empty registry from TTB's export alone, which has no approval dates, and
// finds every label by its brand and its ID.
func TestExportOnly(t *testing.T) {
	export := sharedData(t, "ttb/cola_export.csv")
	h := embedded(t)
	h.run(t, "import", "colas", export)
	s := startServer(t, h)
	st, requests, key := mustOpen(t, h), 0, ""
	get := func(path string) answer {
		t.Helper()
		if requests%100 == 0 { // to stay below each account's rate limit
			_, secret, _ := mustAccount(t, st, fmt.Sprintf("export%d@example.com", requests), cola.TierPro)
			key = secret.Reveal()
		}
		requests++
		return s.get(t, path, key)
	}
	for path, want := range map[string]float64{
		"/colas?date_range=all&q=howling":                                              16,
		"/colas?date_range=all&brand_name=tomasello":                                   1,
		"/colas?date_range=all":                                                        231,
		"/colas?date_range=all&derived_subcategory=liquor%3Ewhiskey":                   26, // by class
		"/colas?date_range=all&derived_subcategory=Liquor%3ESake":                      6,
		"/colas?date_range=all&estimated_dates=exclude":                                0,
		"/colas?approval_date_from=2005-01-01":                                         231,
		"/colas?approval_date_from=2009-04-01&approval_date_to=2009-04-30&q=tomasello": 1,
	} {
		if got := get(path).at("pagination", "total"); got != want {
			t.Errorf("%s: %v labels, want %v", path, got, want)
		}
	}
	if notes, _ := get("/colas?q=howling").at("notes").([]any); !slices.ContainsFunc(notes, func(n any) bool {
		return strings.Contains(n.(string), "outside the default window") && strings.Contains(n.(string), "date_range")
	}) {
		t.Errorf("notes on the default window = %v", notes)
	}
	for _, row := range rowsOf(t, export) {
		id, brand := row[0], row[5]
		byID := get("/colas?q=" + id)
		if label, _ := byID.at("data").([]any); len(label) != 1 || label[0].(map[string]any)["approval_date"] != nil ||
			label[0].(map[string]any)["date_is_estimated"] != true || label[0].(map[string]any)["approval_date_estimate"] == nil {
			t.Errorf("label %s by ID = %v", id, label)
		}
		ids := []string{}
		for cursor := ""; len(ids) == 0 || cursor != ""; {
			page := get("/colas?date_range=all&per_page=100&brand_name=" + url.QueryEscape(brand) + "&cursor=" + cursor)
			cursor, _ = page.at("pagination", "next_cursor").(string)
			if ids = append(ids, page.ids()...); len(ids) == 0 {
				break
			}
		}
		if !slices.Contains(ids, id) {
			t.Errorf("brand %q: labels %v, want %s among them", brand, ids, id)
		}
	}
}

// rowsOf returns the rows of a CSV file after its header.
func rowsOf(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}
