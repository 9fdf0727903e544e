package clients

import (
	"maps"
	"regexp"
	"slices"
	"testing"
)

// expectation is a known failure: every call of a client whose name matches fails.
type expectation struct {
	client string
	calls  *regexp.Regexp // of operations, or of tools as toolCalls names them
	reason string
}

// expected are the known failures. A run fails when one of them succeeds: narrow or remove the entry.
var expected = []expectation{}

// judge fails the test for every call that failed unexpectedly or did not fail as expected, and for
// every expectation that no call matched. It returns how many calls failed as expected.
func judge(t testing.TB, client string, outcomes map[string]error) (failed int) {
	t.Helper()
	for _, e := range expected {
		if e.client == client && !slices.ContainsFunc(slices.Collect(maps.Keys(outcomes)), e.calls.MatchString) {
			t.Errorf("%s: no call matches the expected failure %s; remove it", client, e.calls)
		}
	}
	for _, call := range slices.Sorted(maps.Keys(outcomes)) {
		err := outcomes[call]
		i := slices.IndexFunc(expected, func(e expectation) bool { return e.client == client && e.calls.MatchString(call) })
		switch {
		case i >= 0 && err == nil:
			t.Errorf("%s: %s is expected to fail and succeeds; narrow or remove %s", client, call, expected[i].calls)
		case i >= 0:
			failed++
			t.Logf("%s: %s fails as expected: %.200v", client, call, err)
		case err != nil:
			t.Errorf("%s: %s: %.2000v", client, call, err)
		}
	}
	return failed
}
