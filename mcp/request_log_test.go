package mcp

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// TestLoggedMessages checks which messages are recorded for the account. An error is recorded with
// the status that the REST API returns for it and with the error response.
func TestLoggedMessages(t *testing.T) {
	var got []string
	h := New(newFake(), keys{}, Options{
		PublicURL: "https://" + testHost, Hosts: []string{testHost}, Logger: slog.New(slog.DiscardHandler), Timeout: 5 * time.Second,
		LogRequest: func(_ cola.AccountID, failed bool, describe func() cola.LoggedRequest) {
			r := describe()
			got = append(got, fmt.Sprintf("%t %s %s %s %d %s %t", failed, r.Channel, r.Method, r.Target, r.Status, r.Code, r.Answer != ""))
		},
	})
	rpc(t, h, "tools/call", `{"name":"search_colas","arguments":{"q":"oak"}}`)
	rpc(t, h, "tools/call", `{"name":"search_colas","arguments":{"per_page":0}}`)
	rpc(t, h, "tools/list", "{}")
	rpc(t, h, "no/such", "{}")
	send(t, h, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	send(t, h, http.MethodPost, "not JSON")
	send(t, h, http.MethodGet, "")
	want := []string{
		"false mcp tools/call search_colas 200  false",
		"true mcp tools/call search_colas 400 validation_error true",
		"true mcp no/such  400 validation_error true",
		"true mcp POST /mcp 400 validation_error true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("recorded\n%q, want\n%q", got, want)
	}
}
