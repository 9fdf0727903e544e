package cola

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCodeOf(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want Code
	}{
		{nil, ""},
		{errors.New("disk full"), CodeInternal},
		{Errorf(CodeNotFound, "No label has the id %s.", "x"), CodeNotFound},
		{fmt.Errorf("search: %w", Errorf(CodeQuotaExceeded, "none left")), CodeQuotaExceeded},
	} {
		if got := CodeOf(tt.err); got != tt.want {
			t.Errorf("CodeOf(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

func TestProblems(t *testing.T) {
	var p Problems
	if err := p.Err(); err != nil {
		t.Fatalf("Err() without problems = %v, want nil", err)
	}
	p.Add("per_page", "%d is too large.", 500)
	p.Add("abv_min", "%v is above abv_max.", 50.5)
	var more Problems
	more.Add("per_page", "It must be a number.")
	more.Add("q", "%s", "50% off is text.")
	p.Merge(more)

	var e *Error
	if !errors.As(p.Err(), &e) || e.Code != CodeValidation {
		t.Fatalf("Err() = %v, want a validation error", p.Err())
	}
	want := map[string]any{
		"per_page": []string{"500 is too large.", "It must be a number."},
		"abv_min":  []string{"50.5 is above abv_max."},
		"q":        []string{"50% off is text."},
	}
	if diff := cmp.Diff(want, e.Details); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
	if want := "abv_min, per_page, q"; !strings.Contains(e.Message, want) {
		t.Errorf("message = %q, want %q in it", e.Message, want)
	}
}

func TestProblemsErrCopy(t *testing.T) {
	var p Problems
	p.Add("q", "one")
	err := p.Err()
	p.Add("q", "two")
	var e *Error
	if !errors.As(err, &e) || len(e.Details["q"].([]string)) != 1 {
		t.Errorf("error changed with its problems: %v", e.Details)
	}
}

func TestProblemsMerge(t *testing.T) {
	var a, b Problems
	b.Add("q", "one")
	a.Merge(b)
	a.Add("q", "two")
	if len(b["q"]) != 1 {
		t.Errorf("Merge changed its argument: %v", b)
	}
}

func TestTooMany(t *testing.T) {
	for wait, words := range map[time.Duration]string{
		1: "1 second", time.Second: "1 second", 1001 * time.Millisecond: "2 seconds", 2 * time.Minute: "120 seconds",
		121 * time.Second: "3 minutes", 42 * time.Minute: "42 minutes", 24 * time.Hour: "24 hours",
	} {
		err := TooMany("burst", 10, wait, "Too many.")
		want := &Error{
			Code:       CodeQuotaExceeded,
			Message:    "Too many. Try again in " + words + ".",
			RetryAfter: wait,
			Details:    map[string]any{"reason": "burst", "limit": 10, "retry_after": int((wait + time.Second - 1) / time.Second)},
		}
		if diff := cmp.Diff(want, err); diff != "" {
			t.Errorf("wait %v: TooMany (-want +got):\n%s", wait, diff)
		}
	}
	if _, ok := TooMany("burst", 0, 1, "").Details["limit"]; ok {
		t.Error("unknown limit is in the details")
	}
}

// TestOverloaded checks that the wait is within its bounds, and that RetryAfter and retry_after
// agree.
func TestOverloaded(t *testing.T) {
	for wait, want := range map[time.Duration]time.Duration{
		0: time.Second, 1500 * time.Millisecond: 1500 * time.Millisecond, time.Hour: UnavailableRetry,
	} {
		e := Overloaded(wait)
		if e.Code != CodeUnavailable || e.RetryAfter != want || e.Details["retry_after"] != roundUp(want, time.Second) {
			t.Errorf("Overloaded(%v): code %q, wait %v, details %v; want %v", wait, e.Code, e.RetryAfter, e.Details, want)
		}
	}
}
