package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecordsList lists and counts labels that lack data.
func TestRecordsList(t *testing.T) {
	t.Parallel()
	h := embedded(t)
	file := filepath.Join(t.TempDir(), "labels.jsonl")
	lines := `{"ttb_id":"26001001000001","brand_name":"A","product_type":"wine","permit_number":"NJ-I-1"}
{"ttb_id":"26002001000001","brand_name":"B","product_type":"wine","permit_number":"NJ-I-1","application_status":"approved"}
{"ttb_id":"26003001000001","brand_name":"C","product_type":"wine","permit_number":"NJ-I-1","approval_date":"2026-01-09"}
`
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	h.run(t, "import", "colas", file)
	for _, tt := range []struct{ args, want string }{
		{"--missing detail", "TTB ID\n26003001000001\n26001001000001\n"},
		{"--missing detail --limit 1", "TTB ID\n26003001000001\n"},
		{"--missing detail --limit 3", "TTB ID\n26003001000001\n26001001000001\n"},
		{"--missing approval-date", "TTB ID\n26002001000001\n26001001000001\n"},
		{"--missing detail --limit 2 --json", "[\n  {\"ttb_id\": \"26003001000001\"},\n  {\"ttb_id\": \"26001001000001\"}\n]\n"},
		{"--missing image-files --json", "[\n]\n"},
		{"--missing images --count", "3\n"},
		{"--missing images --count --json", "{\n  \"labels\": 3\n}\n"},
		{"--missing barcodes --count", "3\n"},
	} {
		got := h.run(t, append([]string{"records", "list"}, strings.Fields(tt.args)...)...)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("records list %s (-want +got):\n%s", tt.args, diff)
		}
	}
	for _, args := range []string{"", "--missing x", "--missing detail --limit -1", "--missing detail --limit 0",
		"--missing detail --limit 1 --count"} {
		var out, errs bytes.Buffer
		p := program{
			args:   append([]string{"records", "list"}, append(strings.Fields(args), h.flags()...)...),
			stdout: &out, stderr: &errs,
		}
		if code := p.run(t.Context()); code != exitUsage || out.Len() > 0 {
			t.Errorf("records list %s: exit code %d, want %d: %s%s", args, code, exitUsage, out.String(), errs.String())
		}
	}
	var errs bytes.Buffer
	p := program{args: []string{"records", "list", "--missing", "detail", "--data-dir", t.TempDir()},
		stdout: &errs, stderr: &errs}
	if code := p.run(t.Context()); code != exitFailed {
		t.Errorf("without a registry: exit code %d, want %d: %s", code, exitFailed, errs.String())
	}
}
