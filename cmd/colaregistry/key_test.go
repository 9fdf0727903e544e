package main

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKeyCommands checks that a key is created with a scope, networks and an expiry, and that key
// list shows them and filters by account.
func TestKeyCommands(t *testing.T) {
	in := func(args ...string) []string { return append(args, "--data-dir", t.Name()) }
	t.Chdir(t.TempDir())
	for _, email := range []string{"a@example.com", "b@example.com"} {
		mustRun(t, in("account", "create", "--email", email, "--tier", "free")...)
	}
	mustRun(t, in("key", "create", "--account", "a@example.com", "--name", "full")...)
	mustRun(t, in("key", "create", "--account", "a@example.com", "--name", "report", "--scope", "read",
		"--network", "203.0.113.7/24", "--network", "2001:db8::1", "--expires", "2035-12-31")...)
	mustRun(t, in("key", "create", "--account", "b@example.com", "--name", "other")...)
	var rows []keyRow
	if err := json.Unmarshal([]byte(mustRun(t, in("key", "list", "--json", "--account", "a@example.com")...)), &rows); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		expires := "-"
		if r.ExpiresAt != nil {
			expires = r.ExpiresAt.Format("2006-01-02")
		}
		got = append(got, strings.Join([]string{r.Account, r.Name, r.Scopes.String(), r.Networks.String(), expires}, " "))
	}
	want := []string{
		"a@example.com full saved_searches:write any -", "a@example.com report read-only 203.0.113.0/24 2001:db8::1 2036-01-01",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if all := mustRun(t, in("key", "list")...); strings.Count(all, "\n") != 4 || !strings.Contains(all, "203.0.113.0/24 2001:db8::1") {
		t.Errorf("key list:\n%s", all)
	}
	for _, args := range [][]string{
		{"--scope", "admin"}, {"--network", "localhost"}, {"--network", "203.0.113.0/33"}, {"--expires", "2020-01-01"},
	} {
		out, err := command(in(append([]string{"key", "create", "--account", "a@example.com", "--name", "n"}, args...)...)...).CombinedOutput()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() != exitUsage || !strings.Contains(string(out), args[0]) {
			t.Errorf("%v: %v, want a usage error that names the flag: %s", args, err, out)
		}
	}
}
