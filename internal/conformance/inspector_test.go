package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestToolExamples checks that the documented tools and the examples have the same names.
func TestToolExamples(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, heading := range regexp.MustCompile(`(?m)^## ([a-z_]+)$`).FindAllStringSubmatch(string(content), -1) {
		documented = append(documented, heading[1])
	}
	if err := examplesFit(documented); err != nil {
		t.Error(err)
	}
}

func TestExamplesFit(t *testing.T) {
	all := slices.Concat(toolNames(), slices.Collect(maps.Keys(chatGPTTools)))
	for _, tt := range []struct {
		listed []string
		want   string
	}{
		{all, ""},
		{append(slices.Clip(all), "new_tool"), "new_tool"},
		{all[1:], all[0]},
		{nil, "no tools are listed"},
	} {
		if err := examplesFit(tt.listed); (err == nil) != (tt.want == "") ||
			err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("examplesFit(%v) = %v, want %s", tt.listed, err, tt.want)
		}
	}
}

func TestComplaints(t *testing.T) {
	const one, other = "Warning: tool \"a\"\n  Path: x\n  Issue: `type` is an array ([\"string\"]).", "Error: tool \"b\"\n  Issue: no type"
	expected, others := complaints(one + "\n\n" + other + "\n\n" + one + "\n\n0 errors, 3 warnings across 2 tools.\n")
	if expected != 2 || others != other {
		t.Errorf("complaints = %d, %q; want 2, %q", expected, others, other)
	}
	if expected, others := complaints("\n"); expected != 0 || others != "" {
		t.Errorf("complaints(empty output) = %d, %q; want 0", expected, others)
	}
}

func TestFill(t *testing.T) {
	known := map[string]string{"ttb_id": `1"2\`}
	if got, err := (example{arguments: `{"a":"$ttb_id"}`}).fill(known); got != `{"a":"1\"2\\"}` || err != nil {
		t.Errorf("fill = %s, %v; want the escaped ID", got, err)
	}
	if _, err := (example{arguments: `{"a":"$ttb_id","b":"$ava_id"}`}).fill(known); err == nil ||
		!strings.Contains(err.Error(), "$ava_id") {
		t.Errorf("unknown reference: %v, want an error that names it", err)
	}
	if got, err := fillTemplate("a://{ttb_id}/x", map[string]string{"ttb_id": "1"}); got != "a://1/x" || err != nil {
		t.Errorf("fillTemplate = %s, %v; want a://1/x", got, err)
	}
	if got, err := fillTemplate("a://{other}/x", known); err == nil {
		t.Errorf("unknown variable: fillTemplate = %s", got)
	}
}

func TestKeep(t *testing.T) {
	label := func(id string, barcode bool) any {
		return map[string]any{"ttb_id": id, "permit_number": "P", "has_barcode": barcode}
	}
	known := map[string]string{}
	if err := keepLabel(map[string]any{"data": []any{label("1", false), label("2", true)}}, known); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(map[string]string{"ttb_id": "2", "permit_number": "P"}, known); diff != "" {
		t.Error(diff)
	}
	for _, content := range []map[string]any{
		nil, {"data": []any{label("1", false)}}, {"data": []any{label("", true)}},
	} {
		if err := keepLabel(content, known); err == nil {
			t.Errorf("keepLabel(%v) returned no error", content)
		}
	}
	if keepArea(nil, known) == nil || keepBarcode(nil, known) == nil ||
		keepArea(map[string]any{"data": []any{7}}, known) == nil {
		t.Error("no error for missing records")
	}
}

func TestCheckRevision(t *testing.T) {
	call := func(revision string) exchange {
		return exchange{method: "POST", path: endpoint, rpcMethod: "tools/call", revision: revision}
	}
	probe := exchange{method: "POST", path: endpoint, rpcMethod: "initialize", revision: "2020-01-01"}
	for _, tt := range []struct {
		exchanges []exchange
		want      string
	}{
		{[]exchange{probe, call("2025-11-25"), call("2025-11-25")}, ""},
		{[]exchange{call("2025-11-25"), call("2026-07-28")}, `in revision "2026-07-28"`},
		{[]exchange{probe}, "no calls"},
	} {
		if err := checkRevision("2025-11-25", tt.exchanges); (err == nil) != (tt.want == "") ||
			err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("checkRevision = %v, want %q", err, tt.want)
		}
	}
}

func TestFlagTarget(t *testing.T) {
	for want, flags := range map[string][]string{
		"x": {"--a", "b", "--uri", "x"}, "": {"--strict"}, "y": {"--prompt-name", "y", "--prompt-args"},
	} {
		if got := flagTarget(flags); got != want {
			t.Errorf("flagTarget(%v) = %q, want %q", flags, got, want)
		}
	}
}

func TestParts(t *testing.T) {
	chosen, err := options{only: []string{"oauth", "suite"}}.parts()
	if err != nil || len(chosen) != 2 || chosen[0].name != "suite" || chosen[1].name != "oauth" {
		t.Errorf("chosen parts = %v, %v; want suite and oauth", chosen, err)
	}
	if _, err := (options{only: []string{"suit"}}).parts(); err == nil || !strings.Contains(err.Error(), "suite inspector") {
		t.Errorf("unknown part: err = %v, want an error that lists the parts", err)
	}
}
