package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// listed runs a list command with --json and returns its rows.
func listed[R any](t *testing.T, h testRegistry, args ...string) (rows []R) {
	t.Helper()
	out := h.run(t, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatalf("%s printed %q: %v", args, out, err)
	}
	return rows
}

// TestTables checks the text and JSON formats of rows, including missing values, large counts and
// text that could control a terminal.
func TestTables(t *testing.T) {
	type row struct {
		ID     int64      `json:"id"`
		Name   string     `json:"name"`
		Labels int        `json:"labels"`
		Same   bool       `json:"same"`
		Reason *string    `json:"reason"`
		UsedAt *time.Time `json:"last_used_at"`
	}
	at := time.Date(2026, 11, 24, 12, 30, 0, 5000, time.FixedZone("", 3600))
	rows := []row{{1234, "Château <x>", 1_234_567, true, nil, &at}, {7, "\x1b[2J\ttab\nnext", 8, false, orNil("why"), nil}}
	for o, want := range map[outputFlags]string{
		{}: `ID    NAME              LABELS  SAME  REASON  LAST USED
1234  Château <x>    1,234,567  yes   -       2026-11-24T11:30:00Z
7      [2J tab next          8  no    why     -
`,
		{JSON: true}: `[
  {
    "id": 1234,
    "name": "Château <x>",
    "labels": 1234567,
    "same": true,
    "reason": null,
    "last_used_at": "2026-11-24T12:30:00.000005+01:00"
  },
  {
    "id": 7,
    "name": "\u001b[2J\ttab\nnext",
    "labels": 8,
    "same": false,
    "reason": "why",
    "last_used_at": null
  }
]
`,
	} {
		var out bytes.Buffer
		if err := printRows(&out, o, rows); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("JSON %t (-want +got):\n%s", o.JSON, diff)
		}
	}
	for o, want := range map[outputFlags]string{{}: "ID  NAME  LABELS  SAME  REASON  LAST USED\n", {JSON: true}: "[]\n"} {
		var out bytes.Buffer
		if err := printRows(&out, o, []row{}); err != nil || out.String() != want {
			t.Errorf("no rows, JSON %t: %q, %v; want %q", o.JSON, out.String(), err, want)
		}
	}
}

// TestListsHaveJSON checks that every command that lists records has --json.
func TestListsHaveJSON(t *testing.T) {
	parser, err := kong.New(&cli{}, kong.DefaultEnvars("COLAREGISTRY"))
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]bool{"list": true, "links": true, "identities": true, "status": true, "copy": true}
	for _, command := range parser.Model.Leaves(false) {
		hasJSON := false
		for _, f := range command.Flags {
			hasJSON = hasJSON || f.Name == "json"
		}
		if lists[command.Name] && !hasJSON {
			t.Errorf("%s lacks --json", command.FullPath())
		}
	}
}

// TestUsageErrors checks that invalid flag values exit with code 2 and failures with code 1, with
// one message on standard error and no output.
func TestUsageErrors(t *testing.T) {
	h := embedded(t)
	h.run(t, "account", "create", "--email", "ada@example.com", "--tier", "pro")
	for args, want := range map[string]int{
		"account create --email invalid --tier pro":               exitUsage,
		"account create --email ada@example.com --tier pro":       exitFailed,
		"account create --email ada@example.com --tier gold":      exitUsage,
		"account suspend --account ada@example.com --reason \x01": exitUsage,
		"account suspend --account bob@example.com --reason late": exitFailed,
		"account set-alerts --account ada@example.com --limit 11": exitUsage,
		"account list --database-url mysql://x":                   exitUsage,
		"app register --issuer invalid --client-id x --name X":    exitUsage,
		"app disable 7": exitFailed,
		"key create --account ada@example.com --name \x01": exitUsage,
		"key revoke 7":                      exitFailed,
		"alerts tick --at noon":             exitUsage,
		"serve --request-log-days 91":       exitUsage,
		"copy --from mysql:x --to sqlite:y": exitUsage,
		"copy --from sqlite:/missing/registry.db --to sqlite:/missing": exitFailed,
		"fetch reference --contact ada@example.com --json":             exitUsage,
	} {
		call := strings.Fields(args)
		if call[0] != "copy" {
			call = append(call, "--data-dir", h.DataDir)
		}
		var out, errs bytes.Buffer
		p := program{args: call, stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
		code := p.run(t.Context())
		if code != want || out.Len() > 0 || strings.Count(errs.String(), "colaregistry: ") != 1 {
			t.Errorf("%s: exit code %d, want %d: %s%s", args, code, want, out.String(), errs.String())
		}
	}
}

// TestProgressLines checks that, without a terminal, lines show the rate and the time left and
// become less frequent.
func TestProgressLines(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	p := newProgress(&out, "Copying", "records")
	p.now, p.started, p.reported = func() time.Time { return now }, now, now
	for second := range int64(200) { // a resumed copy: 5,000 records were already copied
		now = p.started.Add(time.Duration(second) * time.Second)
		p.set(5000+second*100, 25_000)
	}
	p.set(24_900, -1)
	p.end()
	want := `Copying…
Copying: 5,500 of 25,000 records, 5s, 100/s, about 3 minutes left
Copying: 6,500 of 25,000 records, 15s, 100/s, about 3 minutes left
Copying: 8,500 of 25,000 records, 35s, 100/s, about 3 minutes left
Copying: 12,500 of 25,000 records, 1m15s, 100/s, about 2 minutes left
Copying: 18,500 of 25,000 records, 2m15s, 100/s, about 65 seconds left
Copying: 24,500 of 25,000 records, 3m15s, 100/s, about 5 seconds left
Copying: 24,900 records, 3m19s, 100/s
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}
