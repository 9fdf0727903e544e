package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExpectedFailures checks that the list contains only checks that require the suite's fixtures.
func TestExpectedFailures(t *testing.T) {
	failures, err := readBaseline("expected-failures.yml")
	if err != nil {
		t.Fatal(err)
	}
	warnings, err := readBaseline("accepted-warnings.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range failures {
		if !strings.HasPrefix(e.reason, "test_") && !strings.HasPrefix(e.reason, "test://") ||
			strings.ContainsAny(e.reason, " \t") {
			t.Errorf("%s: reason %q is not one of the suite's fixtures", e, e.reason)
		}
		for _, w := range warnings {
			if e.same(w) {
				t.Errorf("%s is in both lists", e)
			}
		}
	}
	if len(failures) == 0 || len(warnings) == 0 {
		t.Errorf("%d expected failures and %d expected warnings, want some of each", len(failures), len(warnings))
	}
}

func TestParseBaseline(t *testing.T) {
	got, err := parseBaseline("# all\n\nserver:\n  # some\n  - a:b # test_c\n\n  - a:d # why so\n")
	if diff := cmp.Diff([]entry{{"a", "b", "test_c"}, {"a", "d", "why so"}}, got, cmp.AllowUnexported(entry{})); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, want := formatBaseline(got), "server:\n  - a:b\n  - a:d\n"; got != want {
		t.Errorf("formatBaseline = %q, want %q", got, want)
	}
	for content, want := range map[string]string{
		"  - a:b # c":                         "line 1",
		"client:\n":                           "line 1",
		"server:\n  - a # c":                  `is not "  - scenario:check # reason"`,
		"server:\n- a:b # c":                  "is not",
		"server:\n  - a: b # c":               "is not",
		"server:\n  - a:b":                    "line 2: a:b has no reason",
		"server:\n  - a:b # ":                 "has no reason",
		"server:\n  - a:b # c\nclient:":       "line 3",
		"server:\n  - a:b # c\n  - a:b # d\n": "line 3: duplicate entry a:b",
	} {
		if _, err := parseBaseline(content); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseBaseline(%q): %v, want %s", content, err, want)
		}
	}
}

func FuzzParseBaseline(f *testing.F) {
	f.Add("server:\n  - a:b # c\n")
	f.Add("# x\nserver:\n  - a-1:b:c # d # e")
	f.Fuzz(func(t *testing.T, content string) {
		entries, err := parseBaseline(content)
		if err != nil {
			return
		}
		for _, e := range entries {
			if e.scenario == "" || e.check == "" || e.reason == "" || strings.ContainsAny(e.String(), "\n ") {
				t.Errorf("parseBaseline(%q) = %+v, want complete entries", content, e)
			}
		}
	})
}
