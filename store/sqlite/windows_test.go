package sqlite

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/store"
)

func TestGrants(t *testing.T) {
	at := time.Date(2026, 11, 24, 10, 0, 0, 123_000, time.UTC)
	for _, want := range [][]store.Grant{
		nil,
		{{At: at, Requests: 1}},
		{{At: time.UnixMicro(0).UTC(), Requests: 0}, {At: at, Requests: 4096}, {At: at.Add(time.Minute), Requests: 3}},
	} {
		got, err := parseGrants(formatGrants(want))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("parseGrants(formatGrants(%v)) error = %v (-want +got):\n%s", want, err, diff)
		}
	}
	for _, text := range []string{
		"x", "[", "[[]]", "[[1]]", "[[1,2]", "[[1,2],]", "[1,2]", "[[1,2][3,4]]", "[[-1,2]]", "[[1,2,3]]", "[[1,2]]]",
		"[[99999999999999999999,1]]", "[[1 ,2]]",
	} {
		if got, err := parseGrants(text); err == nil {
			t.Errorf("parseGrants(%q) = %v, want an error", text, got)
		}
	}
}

// TestSchemaBeforeWindows checks that the migration keeps the grants from the last minute, and that
// a process running the previous version can no longer grant requests.
func TestSchemaBeforeWindows(t *testing.T) {
	path := oldDatabase(t, 25, `INSERT INTO accounts (email, email_folded, tier, created_at) VALUES ('a@example.com', 'a@example.com', 'pro', 1);
		INSERT INTO burst_grants VALUES (1, 1763640030000000, 2), (1, 1763640010000000, 1)`)
	s := mustOpen(t, path, Options{Logger: quiet(), Now: func() time.Time { return time.Unix(1763640040, 0) }})
	state, err := s.AccountUsage(t.Context(), 1)
	want := []store.Grant{
		{At: time.Unix(1763640010, 0).UTC(), Requests: 1}, {At: time.Unix(1763640030, 0).UTC(), Requests: 2},
	}
	if diff := cmp.Diff(want, state.Grants); err != nil || diff != "" {
		t.Errorf("AccountUsage error = %v, grants (-want +got):\n%s", err, diff)
	}
	if _, err := s.ledger.conn.ExecContext(t.Context(), `INSERT INTO burst_grants VALUES (1, 1763640040000000, 1)`); err == nil {
		t.Error("the previous version can still grant requests")
	}
}

// FuzzParseGrants compares parseGrants with encoding/json.
func FuzzParseGrants(f *testing.F) {
	f.Add("[]")
	f.Add("[[1700000000000000,1],[1700000000000001,20]]")
	f.Add("[[1,2],[3,4")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseGrants(text)
		if err != nil || text == "" {
			return
		}
		var want [][2]int64
		if json.Unmarshal([]byte(text), &want) != nil {
			return // encoding/json rejects leading zeros
		}
		if len(got) != len(want) {
			t.Fatalf("parseGrants(%q) = %v, want %v", text, got, want)
		}
		for i, g := range got {
			if g.At.UnixMicro() != want[i][0] || int64(g.Requests) != want[i][1] {
				t.Errorf("parseGrants(%q)[%d] = %v, want %v", text, i, g, want[i])
			}
		}
	})
}
