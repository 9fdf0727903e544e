package dashboard

import (
	"encoding/json"
	"html"
	"net/http"
	"strings"
	"testing"
)

// toolMessages returns the MCP requests that a page shows.
func (a response) toolMessages() (messages []string) {
	parts := strings.Split(a.body, `aria-label="MCP request"><code>`)
	for _, part := range parts[1:] {
		message, _, _ := strings.Cut(part, "</code>")
		messages = append(messages, html.UnescapeString(message))
	}
	return messages
}

// TestToolMessages checks that each message is a complete JSON-RPC request, because /mcp rejects
// anything else.
func TestToolMessages(t *testing.T) {
	s := mustSite(t)
	pages := map[string]string{
		"/": "get_usage", "/usage": "get_usage", "/plans": "get_usage",
		"/brands?q=%22oak%22+%3Cb%3E": "check_brand", "/trends?group_by=year&q=%22red%22": "count_labels",
		"/explore?q=%22red+wine%22+%3C%26": "search_colas", "/explore/" + s.someLabel(): "get_cola",
		permitHref(s.somePermit()): "get_permittee", newSearchPath: "create_saved_search", newSearchPath +
			"?q=%22oak%22+%3Cb%3E": "create_saved_search",
	}
	for path, tool := range pages {
		page := s.get(path)
		page.shows(t, http.StatusOK)
		messages := page.toolMessages()
		if len(messages) != 1 {
			t.Errorf("%s has %d MCP requests, want 1", path, len(messages))
		}
		for _, text := range messages {
			var message struct {
				JSONRPC string `json:"jsonrpc"`
				ID      *int   `json:"id"`
				Method  string `json:"method"`
				Params  struct {
					Name      string         `json:"name"`
					Arguments map[string]any `json:"arguments"`
				} `json:"params"`
			}
			if err := json.Unmarshal([]byte(text), &message); err != nil {
				t.Errorf("%s: %v: %s", path, err, text)
			}
			if message.JSONRPC != "2.0" || message.ID == nil || message.Method != "tools/call" ||
				message.Params.Name != tool ||
				message.Params.Arguments == nil {
				t.Errorf("%s: invalid MCP request %s", path, text)
			}
		}
	}
}
