package security

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/colaregistry/colaregistry/cola"
)

var errWrong = cola.Errorf(cola.CodeUnauthorized, "Wrong.")

// from returns the context for a request from the given address.
func from(t *testing.T, address string) context.Context {
	return cola.WithClient(t.Context(), netip.MustParseAddr(address))
}

// lines decodes the log without the fields common to every line.
func lines(t *testing.T, log *bytes.Buffer) (all []map[string]any) {
	t.Helper()
	for line := range bytes.Lines(log.Bytes()) {
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatal(err)
		}
		if fields["msg"] != "security" || fields["event"] != "security" {
			t.Errorf("unexpected log line %s", line)
		}
		for _, common := range []string{"time", "level", "msg", "event"} {
			delete(fields, common)
		}
		all = append(all, fields)
	}
	return all
}

func TestRecord(t *testing.T) {
	var log bytes.Buffer
	metrics := prometheus.NewRegistry()
	e := New(Options{Logger: slog.New(slog.NewJSONHandler(&log, nil)), Metrics: metrics})
	e.Record(from(t, "203.0.113.7"), NewKey, 5, cola.Credential{Kind: cola.CredentialKey, ID: 9})
	e.Record(t.Context(), NewIdentity, 6, cola.Credential{}, slog.String("issuer", "https://issuer.example"))
	want := []map[string]any{
		{"kind": "new_key", "account": 5.0, "credential_kind": "key", "credential": 9.0, "client": "203.0.113.7"},
		{"kind": "new_identity", "account": 6.0, "issuer": "https://issuer.example"},
	}
	if diff := cmp.Diff(want, lines(t, &log)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if n := testutil.ToFloat64(e.counts[NewKey]); n != 1 {
		t.Errorf("new_key count = %v, want 1", n)
	}
	if n, err := testutil.GatherAndCount(metrics); err != nil || n != len(kinds()) {
		t.Errorf("%d series, %v, want %d", n, err, len(kinds()))
	}
}

func TestNilEvents(t *testing.T) {
	var e *Events
	e.Record(t.Context(), NewKey, 5, cola.Credential{})
	for range 2 * failuresPerMinute {
		if err := e.Failed(t.Context(), Key, errWrong); !errors.Is(err, errWrong) {
			t.Fatal(err)
		}
	}
}

// TestFailureLimit checks that an IPv4 address and an IPv6 /64 each have one limit.
func TestFailureLimit(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	e := New(Options{Now: func() time.Time { return now }})
	fail := func(address string) cola.Code { return cola.CodeOf(e.Failed(from(t, address), Key, errWrong)) }
	for n := range failuresPerMinute {
		if fail("203.0.113.7") != cola.CodeUnauthorized ||
			fail(fmt.Sprintf("2001:db8::%x", n)) != cola.CodeUnauthorized {
			t.Fatalf("failure %d was rate-limited", n)
		}
	}
	var limited *cola.Error
	if err := e.Failed(from(t, "203.0.113.7"), Key, errWrong); !errors.As(err, &limited) ||
		limited.Code != cola.CodeQuotaExceeded || limited.Details["reason"] != ReasonFailedCredentials || limited.RetryAfter != 2*time.Second {
		t.Errorf("over the limit: Failed = %+v, want quota_exceeded with a Retry-After of 2s", err)
	}
	if fail("2001:db8::1:2:3:4") != cola.CodeQuotaExceeded {
		t.Error("addresses in one IPv6 /64 have separate limits")
	}
	if fail("203.0.113.8") != cola.CodeUnauthorized || fail("2001:db8:0:1::1") != cola.CodeUnauthorized {
		t.Error("another address was rate-limited")
	}
	now = now.Add(2 * time.Second)
	if fail("203.0.113.7") != cola.CodeUnauthorized || fail("203.0.113.7") != cola.CodeQuotaExceeded {
		t.Error("after two seconds: want exactly one more failure allowed")
	}
}

// TestFailureReport checks the line that is logged each minute.
func TestFailureReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		e := New(Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			e.Run(ctx)
		}()
		for n := range 7 {
			for range 10 - n {
				_ = e.Failed(from(t, fmt.Sprintf("203.0.113.%d", n)), Key, errWrong)
			}
		}
		_ = e.Failed(from(t, "2001:db8::1"), Session, errWrong)
		time.Sleep(3 * time.Minute)
		_ = e.Failed(t.Context(), Feed, errWrong)
		stop()
		<-done
		want := []map[string]any{
			{
				"kind": "failed_credential", "count": 50.0, "addresses": 8.0, "key": 49.0, "session": 1.0,
				"busiest": []any{"203.0.113.0 10", "203.0.113.1 9", "203.0.113.2 8", "203.0.113.3 7", "203.0.113.4 6"},
			},
			{"kind": "failed_credential", "count": 1.0, "addresses": 1.0, "feed": 1.0, "busiest": []any{"unknown 1"}},
		}
		if diff := cmp.Diff(want, lines(t, &log)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}
