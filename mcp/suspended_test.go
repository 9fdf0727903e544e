package mcp

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

// suspended is the refusal of a suspended account.
func suspended() *cola.Error {
	return &cola.Error{
		Code: cola.CodeAccountSuspended, Message: "The account is suspended: Unpaid. Ask the operator of this service; nothing of the account is lost.",
		Details: map[string]any{"reason": "Unpaid."},
	}
}

// TestSuspendedAccount: a suspended account is refused by HTTP, in a handshake and in the middle of a call, and is not asked for other credentials:
// they would not help.
func TestSuspendedAccount(t *testing.T) {
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_usage"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_colas","arguments":{"per_page":"many"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_saved_search","arguments":` + goodSearch + `}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"registry://reference/tiers"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"permittee_report","arguments":{"company":"x"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"watch_brand"},"argument":{"name":"origin","value":"f"}}}`,
		`[]`,
	} {
		for _, credential := range []string{"X-API-Key: " + testKey, "Authorization: Bearer " + testToken} {
			f := newFake()
			f.err = suspended()
			h := New(f, keys{}, Options{
				Logger: slog.New(slog.DiscardHandler), Hosts: []string{testHost}, Resource: Resource("https://"+testHost, []string{"https://issuer.example"}, nil),
			})
			got := mustReply(t, send(t, h, http.MethodPost, message, "X-API-Key:", credential))
			if got.StatusCode != http.StatusForbidden || !strings.HasPrefix(got.body, `{"error":{"code":"account_suspended"`) || !strings.Contains(got.body, `"details":{"reason":"Unpaid."}`) {
				t.Errorf("%s is answered with %d %s", message, got.StatusCode, got.body)
			}
			checkHeaders(t, got)
			if f.created.Name != "" && credential == "Authorization: Bearer "+testToken {
				t.Errorf("the service was asked for %+v", f.created)
			}
		}
	}
}

// TestSuspendedOverABridge: an assistant at the other end of a pipe is told as much.
func TestSuspendedOverABridge(t *testing.T) {
	f := newFake()
	f.err = suspended()
	got := mustBridge(t, f, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_usage"}}`)
	if len(got) != 2 {
		t.Fatalf("%d answers to two messages", len(got))
	}
	for _, r := range got {
		if r.json.Error == nil || r.json.Error.Code != refusedCode || r.json.Error.Message != suspended().Message {
			t.Errorf("%s", r.body)
		}
	}
}
