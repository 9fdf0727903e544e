package mcp

import (
	"io"
	"strings"
	"testing"
)

// TestLogLevels: a client may say from which level on it wants to be told, though nothing is told; it costs nothing.
func TestLogLevels(t *testing.T) {
	f := newFake()
	h := mustServe(t, f, io.Discard)
	for _, level := range logLevels {
		got := rpc(t, h, "logging/setLevel", `{"level":"`+level+`"}`)
		if got.StatusCode != 200 || got.json.Error != nil || got.json.Result == nil || len(got.json.Result) != 0 {
			t.Errorf("%s is answered with %d %s", level, got.StatusCode, got.body)
		}
		checkHeaders(t, got)
	}
	for params, want := range map[string]string{
		`{"level":"loud"}`: `no level \"loud\"; there are debug`, `{}`: "there are debug", `{"level":1}`: "there are debug", `{"Level":"info"}`: "it is spelt",
	} {
		got := rpc(t, h, "logging/setLevel", params)
		if got.json.Error == nil || !strings.Contains(got.body, want) {
			t.Errorf("%s is answered with %d %s", params, got.StatusCode, got.body)
		}
	}
	if f.spent != 0 {
		t.Errorf("%d requests spent", f.spent)
	}
	listed := rpc(t, h, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}`)
	if capabilities := listed.json.Result["capabilities"].(map[string]any); capabilities["tools"] == nil || capabilities["logging"] != nil {
		t.Errorf("the server says that it has %v", capabilities)
	}
}
