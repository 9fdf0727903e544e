package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/cola"
)

// endpoint returns the URL of the server's MCP endpoint.
func (s *serverProcess) endpoint() string { return strings.TrimSuffix(s.base, "/api/v1") + "/mcp" }

// assistant is an MCP client that connects with an API key.
type assistant struct{ *client.Client }

// mustConnect connects a client. It speaks the newest protocol revision unless options select an
// earlier one.
func mustConnect(t *testing.T, url, key string, options ...client.ClientOption) assistant {
	t.Helper()
	wire, err := transport.NewStreamableHTTP(url,
		transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + key}))
	if err != nil {
		t.Fatal(err)
	}
	return mustInitialize(t, client.NewClient(wire, options...))
}

func mustInitialize(t *testing.T, c *client.Client) assistant {
	t.Helper()
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	request := protocol.InitializeRequest{}
	request.Params.ClientInfo = protocol.Implementation{Name: "test", Version: "1"}
	request.Params.ProtocolVersion = protocol.LATEST_PROTOCOL_VERSION
	if _, err := c.Initialize(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	return assistant{c}
}

// result is the outcome of a tool call.
type result struct {
	failed bool
	answer        // structured content, or the error envelope
	text   string // text of the last content block
}

func (a assistant) call(t *testing.T, tool string, arguments any) result {
	t.Helper()
	request := protocol.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = tool, arguments
	got, err := a.CallTool(t.Context(), request)
	if err != nil {
		t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	r := result{failed: got.IsError}
	for i, part := range got.Content {
		r.text = part.(protocol.TextContent).Text
		if i == 0 {
			if err := json.Unmarshal([]byte(r.text), &r.json); err != nil {
				t.Fatalf("%s: %v in %s", tool, err, r.text)
			}
		}
	}
	if structured, _ := got.StructuredContent.(map[string]any); r.failed != (structured == nil) ||
		!r.failed && !cmp.Equal(structured, r.json) {
		t.Errorf("%s: failed %t, structured content %v", tool, r.failed, got.StructuredContent)
	}
	return r
}

// TestAssistants checks that clients can list and call every tool, over HTTP and over stdio, with
// and without the handshake of earlier protocol revisions.
func TestAssistants(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		s := startServer(t, h)
		_, secret, _ := mustAccount(t, mustOpen(t, h), "assistant@example.com", cola.TierPro)
		key := secret.Reveal()
		for name, connect := range map[string]func(*testing.T) assistant{
			"newest": func(t *testing.T) assistant { return mustConnect(t, s.endpoint(), key) },
			"handshake": func(t *testing.T) assistant {
				return mustConnect(t, s.endpoint(), key,
					client.WithProtocolVersion(protocol.LATEST_LEGACY_PROTOCOL_VERSION))
			},
			"pipe":  func(t *testing.T) assistant { return mustPipe(t, key, h.flags()...) },
			"relay": func(t *testing.T) assistant { return mustPipe(t, key, "--url", strings.TrimSuffix(s.base, "/api/v1")) },
		} {
			t.Run(name, func(t *testing.T) { useEveryTool(t, connect(t)) })
		}
	})
}

// TestReadOnlyEndpoint checks that a relay to the read-only endpoint offers only read-only tools.
func TestReadOnlyEndpoint(t *testing.T) {
	t.Parallel()
	s := startServer(t, embedded(t))
	a := mustPipe(t, s.key, "--url", s.endpoint()+"/readonly")
	list, err := a.ListTools(t.Context(), protocol.ListToolsRequest{})
	if err != nil || slices.ContainsFunc(list.Tools, func(tool protocol.Tool) bool { return !*tool.Annotations.ReadOnlyHint }) {
		t.Errorf("ListTools = %+v, %v; want only read-only tools", list, err)
	}
	a.call(t, "get_usage", nil)
}

// mustPipe connects to the program over stdio, as a local assistant does.
func mustPipe(t *testing.T, key string, flags ...string) assistant {
	t.Helper()
	start := func(_ context.Context, _ string, env, args []string) (*exec.Cmd, error) {
		c := command(args...)
		c.Env = env
		return c, nil
	}
	env := append(os.Environ(), "COLAREGISTRY_API_KEY="+key)
	wire := transport.NewStdioWithOptions("colaregistry", env,
		append([]string{"mcp"}, flags...), transport.WithCommandFunc(start))
	return mustInitialize(t, client.NewClient(wire))
}

func useEveryTool(t *testing.T, a assistant) {
	list, err := a.ListTools(t.Context(), protocol.ListToolsRequest{})
	if err != nil || len(list.Tools) != 17 {
		t.Fatalf("ListTools: %d tools, %v; want 17", len(list.Tools), err)
	}
	id, permit := "", ""
	for _, row := range a.call(t, "search_colas", map[string]any{"per_page": 50, "q": "oak", "response_format": "detailed"}).at("data").([]any) {
		if row := row.(map[string]any); row["has_barcode"] == true {
			id, permit = row["ttb_id"].(string), row["permit_number"].(string)
		}
	}
	detail := a.call(t, "get_cola", map[string]any{"ttb_id": id, "response_format": "detailed"})
	area := a.call(t, "search_avas",
		map[string]any{"q": "valley", "state": "CA"}).at("data").([]any)[0].(map[string]any)["ava_id"]
	calls := map[string]map[string]any{
		"search_colas": {"product_type": []string{"wine"}}, "count_labels": {"group_by": "brand"}, "get_cola": {"ttb_id": id},
		"check_brand":       {"q": "oak"},
		"lookup_barcode":    {"barcode_value": detail.at("data", "barcode_value")},
		"search_permittees": {"state": "CA"}, "get_permittee": {"permit_number": permit},
		"suggest_values": {"field": "category"},
		"get_usage":      {}, "get_processing_times": {"kind": "registration"},
		"list_production_reports": {"commodity": "wine"}, "search_avas": {"state": "OR"}, "get_ava": {"ava_id": area},
		"create_saved_search": {
			"name": "Oaks", "filters": map[string]any{"brand_name": "oak", "type_wine": true},
			"schedule": map[string]any{"cadence": "weekly", "day": 1},
		},
	}
	create := func(name string) any {
		return a.call(t, "create_saved_search",
			map[string]any{"name": name, "filters": map[string]any{"brand_name": name}}).at("data", "uuid")
	}
	calls["list_saved_searches"] = map[string]any{}
	calls["update_saved_search"] = map[string]any{
		"uuid": create("Elms"), "schedule": map[string]any{"cadence": "daily"},
	}
	calls["delete_saved_search"] = map[string]any{"uuid": create("Ashes")}
	for _, tool := range list.Tools {
		got := a.call(t, tool.Name, calls[tool.Name])
		if rows, isList := got.at("data").([]any); got.failed || isList && len(rows) == 0 {
			t.Errorf("%s %v: want records: %s", tool.Name, calls[tool.Name], got.text)
		}
	}
	number := json.Number(strings.TrimPrefix(id, "0"))
	if got := a.call(t, "get_cola", map[string]any{"ttb_id": number}); got.at("data", "ttb_id") != id {
		t.Errorf("TTB ID %s: found %v", number, got.at("data", "ttb_id"))
	}
	if concise := a.call(t, "get_cola", map[string]any{"ttb_id": id}); len(concise.text) >= len(detail.text) {
		t.Errorf("concise: %d bytes, detailed: %d", len(concise.text), len(detail.text))
	}
}

// TestLineBreaksInLabels checks that an assistant receives a description with normalized line
// breaks, and that REST returns it as stored.
func TestLineBreaksInLabels(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		const id, text = "26282001000778", "A dry red.\r\nAged in oak.\n\nServe\tcool.\u202e"
		row := fmt.Sprintf(`{"ttb_id":%q,"brand_name":"LINES","product_type":"wine","permit_number":"CA-W-1","llm_product_description":%s}`, id, mustQuote(t, text))
		file := filepath.Join(t.TempDir(), "lines.jsonl")
		if err := os.WriteFile(file, []byte(row+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		h.run(t, "import", "colas", file)
		s := startServer(t, h)
		_, secret, _ := mustAccount(t, mustOpen(t, h), "lines@example.com", cola.TierFree)
		rest := s.get(t, "/colas/"+id, secret.Reveal()).at("data", "llm_product_description")
		tool := mustConnect(t, s.endpoint(), secret.Reveal()).call(t, "get_cola",
			map[string]any{"ttb_id": id}).at("data", "llm_product_description")
		if want := "A dry red.\nAged in oak.\n\nServe cool."; tool != want || rest != text {
			t.Errorf("tool %q, want %q; REST %q", tool, want, rest)
		}
	})
}

// TestToolCursorWalk checks that following next_cursor returns every label exactly once.
func TestToolCursorWalk(t *testing.T) {
	t.Parallel()
	s := startServer(t, seeded(t))
	a := mustConnect(t, s.endpoint(), s.key)
	arguments := map[string]any{"q": "oak", "per_page": 20, "approval_date_from": "2005-01-01"}
	var ids []string
	for {
		got := a.call(t, "search_colas", arguments)
		ids = append(ids, got.ids()...)
		if got.at("pagination", "has_more") != true {
			if total := got.at("pagination", "total").(float64); int(total) != len(ids) || total < 60 {
				t.Errorf("read %d of %v labels", len(ids), total)
			}
			break
		}
		arguments["cursor"] = got.at("pagination", "next_cursor")
	}
	slices.Sort(ids)
	if distinct := slices.Compact(slices.Clone(ids)); len(distinct) != len(ids) {
		t.Errorf("%d labels read, %d distinct", len(ids), len(distinct))
	}
}

// TestSharedUsage checks that REST and MCP requests with one key share one quota and one rate
// limit, and that both report the remaining quota.
func TestSharedUsage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		s := startServer(t, h)
		st := mustOpen(t, h)
		account, secret, key := mustAccount(t, st, "both@example.com", cola.TierFree)
		spend(t, st, account, key, 9_970)
		a := mustConnect(t, s.endpoint(), secret.Reveal()) // connecting is free
		remaining := func(r result) any { return r.at("charged", "remaining") }
		first := s.get(t, "/colas?per_page=10", secret.Reveal())                  // 20 left
		second := a.call(t, "search_colas", map[string]any{"per_page": 12})       // 8 left
		third := a.call(t, "search_colas", nil)                                   // the last 8
		fourth := a.call(t, "search_colas", nil)                                  // rejected
		fifth := s.get(t, "/permittees", secret.Reveal())                         // rejected
		detail := a.call(t, "get_cola", map[string]any{"ttb_id": first.ids()[0]}) // 199 left
		sixth := s.get(t, "/usage", secret.Reveal())                              // includes the usage over MCP
		if len(first.ids()) != 10 || remaining(second) != 8. || len(third.ids()) != 8 || remaining(detail) != 199. {
			t.Errorf("%d rows, then %v left, then %d rows, then %v detail views left",
				len(first.ids()), remaining(second), len(third.ids()), remaining(detail))
		}
		if !strings.Contains(fmt.Sprint(third.at("notes")), "8 of 20 rows") {
			t.Errorf("last page: notes = %v", third.at("notes"))
		}
		if !fourth.failed || fourth.at("error", "code") != "quota_exceeded" || fourth.at("upgrade_url") == nil ||
			!strings.Contains(fourth.text, "larger plan") || fifth.StatusCode != 429 {
			t.Errorf("over quota: tool %v, %q; REST status %d, want quota_exceeded and 429", fourth.json, fourth.text, fifth.StatusCode)
		}
		if sixth.at("data", "list_records", "remaining") != 0. || sixth.at("data", "detail_views", "used") != 1. {
			t.Errorf("GET /usage = %v", sixth.at("data"))
		}
		for range 3 { // eighth through tenth requests of the minute
			a.call(t, "get_usage", nil)
		}
		full, rest := a.call(t, "get_usage", nil), s.get(t, "/usage", secret.Reveal())
		if !full.failed || full.at("error", "details", "reason") != "burst" || !strings.HasPrefix(full.text, "Wait ") ||
			rest.StatusCode != 429 {
			t.Errorf("eleventh request: tool %v; REST status %d, want burst and 429", full.json, rest.StatusCode)
		}
		if _, err := a.ListTools(t.Context(), protocol.ListToolsRequest{}); err != nil {
			t.Errorf("connecting at the rate limit: %v", err)
		}
		days, err := st.DailyUsage(t.Context(), account.ID, 0, cola.NewDate(9999, 12, 31))
		requests := map[cola.Channel]int{}
		for _, d := range days {
			requests[d.Channel] += d.Requests
		}
		if err != nil || requests[cola.ChannelMCP] != 7 || requests[cola.ChannelREST] != 3 {
			t.Errorf("requests per channel = %v, %v", requests, err)
		}
		h.run(t, "key", "revoke", fmt.Sprint(key.ID))
		if got := s.post(t, secret.Reveal(), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); got.StatusCode != 401 ||
			got.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("status right after revoking the key: %d", got.StatusCode)
		}
	})
}

// post sends a raw message with header lines ("Name: value") in addition to the usual ones.
func (s *serverProcess) post(t *testing.T, key, body string, lines ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.endpoint(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("X-API-Key", key)
	}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
		if name == "Host" {
			req.Host = value
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	a := answer{Response: resp}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal(a.body, &a.json) // a 202 response has no body
	return a
}

// TestMCPProtection checks that a running server rejects unauthenticated, cross-origin and
// malformed messages, and logs none of their content.
func TestMCPProtection(t *testing.T) {
	t.Parallel()
	s := startServer(t, seeded(t), "--allowed-origin", "https://app.example", "--allowed-host", "registry.internal")
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	tests := []struct {
		key, body, line string
		status          int
	}{
		{s.key, list, "Accept: application/json", 200},
		{"", list, "Accept: application/json", 401},
		{"lar_000000000000000000000000000000000000", list, "Accept: application/json", 401},
		{"", list, "Authorization: Bearer " + s.key, 200},
		{s.key, list, "Authorization: Bearer lar_other", 401},
		{s.key, list, "Origin: https://app.example", 200},
		{s.key, list, "Origin: " + strings.TrimSuffix(s.base, "/api/v1"), 200},
		{s.key, list, "Origin: https://evil.example", 403},
		{s.key, list, "Host: registry.internal:8443", 200},
		{s.key, list, "Host: localhost:1", 200},
		{s.key, list, "Host: evil.example", 403},
		{s.key, list, "Content-Type: text/plain", 415},
		{s.key, `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, "Accept: application/json", 413},
		{s.key, strings.Repeat("[", 1<<19), "Accept: application/json", 400},
		{s.key, "[" + list + "]", "Accept: application/json", 400},
	}
	for _, tt := range tests {
		got := s.post(t, tt.key, tt.body, tt.line)
		if got.StatusCode != tt.status {
			t.Errorf("%.40q with %q: %d %.200s, want %d", tt.body, tt.line, got.StatusCode, got.body, tt.status)
		}
		if quota := got.Header.Get("X-List-Records-Remaining"); (quota != "") != (tt.status != 401 && tt.status != 403) {
			t.Errorf("%.40q with %q: %d with quota header %q", tt.body, tt.line, got.StatusCode, quota)
		}
	}
	s.stop(t)
	if log := s.err.String(); strings.Contains(log, s.key) || strings.Contains(log, "evil.example") {
		t.Error("log contains a key or message content")
	}
}

// TestInvalidMCPFlags checks that mcp fails without a key, without a registry, and with an
// invalid URL.
func TestInvalidMCPFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		key, want string
		flags     []string
	}{
		{"", "COLAREGISTRY_API_KEY is not set", nil},
		{"lar_x", "no registry yet", []string{"--data-dir", t.TempDir()}},
		{"lar_x", "--url", []string{"--url", "registry.example"}},
		{"lar_x", "--url", []string{"--url", "https://registry.example/elsewhere"}},
	} {
		c := command(append([]string{"mcp"}, tt.flags...)...)
		c.Env = append(os.Environ(), "COLAREGISTRY_API_KEY="+tt.key)
		var out, errs bytes.Buffer
		c.Stdout, c.Stderr = &out, &errs
		if err := c.Run(); err == nil || !strings.Contains(errs.String(), tt.want) || out.Len() > 0 {
			t.Errorf("%v: error %v, want %q on stderr only:\n%s%s", tt.flags, err, tt.want, errs.String(), out.String())
		}
	}
}
