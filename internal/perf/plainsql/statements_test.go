package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

func TestNewStatement(t *testing.T) {
	got := newStatement("-- Not this @one.\nSELECT {permittee} FROM t\n  -- nor @that\nWHERE a @@ @words AND b = @from AND c < @words\n")
	want := statement{params: []string{"words", "from"}, sql: "SELECT permit_number, company_name, operating_name, company_state, company_zip_code, " +
		"permittee_type, listed, colas, colas_approved, last_application, last_approval FROM t\nWHERE a @@ $1 AND b = $2 AND c < $1"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(statement{})); diff != "" {
		t.Error(diff)
	}
}

func TestReadWays(t *testing.T) {
	all, err := readWays(`before the first
-- name: frame.page
SELECT 1 WHERE {where}
-- name: frame.count
SELECT 2 WHERE {where}
-- name: one.where
-- why
x = @from
-- name: one.count
SELECT 3
-- name: other, third.page
SELECT 4
`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*ways{
		"one": {
			page:  []statement{{sql: "SELECT 1 WHERE x = $1", params: []string{"from"}}},
			count: []statement{{sql: "SELECT 2 WHERE x = $1", params: []string{"from"}}, {sql: "SELECT 3"}},
		},
		"other": {page: []statement{{sql: "SELECT 4"}}},
		"third": {page: []statement{{sql: "SELECT 4"}}},
	}
	if diff := cmp.Diff(want, all, cmp.AllowUnexported(ways{}, statement{})); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"-- name: page\n", "-- name: one.pages\nSELECT 1\n", "-- name: frame.x\n{where}\n-- name: one.where\nx\n"} {
		if _, err := readWays(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// TestQueriesAnswerEveryClass holds the file of queries against the classes: each can be asked with a total and without, and
// names no parameter that no question has.
func TestQueriesAnswerEveryClass(t *testing.T) {
	all, err := readWays(queriesSQL)
	if err != nil {
		t.Fatal(err)
	}
	v := testVocabulary()
	used := map[string]bool{}
	for _, c := range classes() {
		w := all[c.sql]
		if used[c.sql] = true; w == nil || len(w.page) == 0 || len(w.count)+len(w.whole) == 0 {
			t.Errorf("%s: no statements %q for a page, or none with a total", c.name, c.sql)
			continue
		}
		q := c.draw(newDraws(v, testNow, 1), c)
		for _, s := range slices.Concat(w.page, w.count, w.whole) {
			if got := s.values(&q); len(got) != len(s.params) {
				t.Errorf("%s: %d values for %v", c.name, len(got), s.params)
			}
			if strings.ContainsAny(s.sql, "{}") || strings.Contains(s.sql, "--") {
				t.Errorf("%s: something was left in %s", c.name, s.sql)
			}
		}
	}
	for name := range maps.Keys(all) {
		if !used[name] {
			t.Errorf("no class asks %q", name)
		}
	}
}

func TestCommands(t *testing.T) {
	got := commands("-- name\nCREATE FUNCTION f() AS $$\n    SELECT ';'\n$$;\n\n-- why\nSELECT 1;\nSELECT 2\n")
	want := []string{"CREATE FUNCTION f() AS $$\n    SELECT ';'\n$$", "SELECT 1", "SELECT 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

var testNow = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// testVocabulary is two labels.
func testVocabulary() *vocabulary {
	v := newVocabulary(2)
	for i, brand := range []string{"GOLDEN OAK'S Château", "50% MOON"} {
		v.offer(&cola.IndexRecord{
			Summary: cola.ColaSummary{TTBID: cola.TTBID(11054001000049 - i), BrandName: brand, ProductType: cola.Wine, ClassName: "TABLE RED WINE",
				OriginName: "FRANCE", PermitNumber: "NJ-I-721", ApprovalDate: cola.NewDate(2011, 3, 18)},
			ContainerType: "bottle", CategoryPath: "Wine > Red Wine", MainBarcode: "0 36000 29145 2", AddressRecipient: "NIEDERHOFF IMPORTS INC",
		})
	}
	v.settle()
	return v
}
