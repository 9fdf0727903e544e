package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

// FuzzParse checks that encoding/json, which ignores the letter case of names, decodes every
// accepted message to the same values.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"q":1}}}`,
		`{"jsonrpc":"2.0","id":"x","method":"ping","METHOD":"tools/call"}`, `[{"a":[1]}]`, `{"jsonrpc":"2.0","id":null,"method":"m","params":null}`,
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{"NAME":"b","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, `{"\u006dethod":"a"}`,
		`{"jsonrpc":"2.0","id":1e3,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"b","value":""}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}`, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:b"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}` + strings.Repeat(" ", maxOtherBytes),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := parse(body)
		if cola.CodeOf(err) == cola.CodePayloadTooLarge && len(body) > maxOtherBytes {
			return
		}
		if err != nil {
			if rpcErr, ok := err.(*rpcError); !ok || rpcErr.Message == "" || rpcErr.status(true) != 400 {
				t.Errorf("parse(%q): error %+v, want a JSON-RPC error with status 400", body, err)
			}
			return
		}
		var loose struct {
			JSONRPC string
			ID      any
			Method  string
			Params  json.RawMessage
		}
		if err := json.Unmarshal(body, &loose); err != nil {
			t.Fatalf("%q accepted, but encoding/json fails: %v", body, err)
		}
		var called struct{ Name, URI, Level string }
		if json.Unmarshal(loose.Params, &called) == nil {
			target := called.Name
			switch m.method {
			case "resources/read":
				target = called.URI
			case "logging/setLevel":
				target = called.Level
			}
			if target != m.target {
				t.Errorf("%q has target %q according to encoding/json, %q according to parse", body, target, m.target)
			}
		}
		if loose.Method != m.method || (loose.ID == nil) != (m.id == nil) || loose.JSONRPC != "2.0" {
			t.Errorf("%q: encoding/json reads %+v, parse %+v", body, loose, m)
		}
		for _, a := range m.arguments {
			if !json.Valid(a.Value) {
				t.Errorf("parse(%q) returns an argument that is not JSON: %s", body, a.Value)
			}
		}
	})
}

// TestNumericTTBID checks that a TTB ID sent as a number is accepted if it is unambiguous.
func TestNumericTTBID(t *testing.T) {
	f := newFake()
	h := mustServe(t, f, &strings.Builder{})
	for number, want := range map[string]string{
		`11054001000049`: "11054001000049", `5054001000049`: "05054001000049", `11054001000049.0`: "11054001000049", `1.1054001000049e13`: "11054001000049",
		`"11054001000049"`: "11054001000049", `" 11054001000049 "`: " 11054001000049 ", `"5054001000049"`: "5054001000049",
	} {
		f.target = ""
		call(t, h, "get_cola", `{"ttb_id":`+number+`}`)
		if f.target != want {
			t.Errorf("ttb_id %s requests label %q, want %q", number, f.target, want)
		}
	}
	for _, number := range []string{`1`, `-11054001000049`, `11054001000049.5`, `110540010000490`, `0`, `505400100004`, `1e13000`} {
		f.target = ""
		got := call(t, h, "get_cola", `{"ttb_id":`+number+`}`)
		if f.target != "" || got.code(t) != "validation_error" || !strings.Contains(got.texts[0], "14 digits") {
			t.Errorf("ttb_id %s: want validation_error about 14 digits: %s", number, got.texts[0])
		}
	}
}

// TestMessageIDs checks that every response repeats the message ID as sent. An invalid ID is
// rejected, not treated as missing.
func TestMessageIDs(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	send := func(id, method string) reply {
		return mustReply(t, send(t, h, http.MethodPost, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":{"name":"get_usage"}}`))
	}
	for _, id := range []string{
		`1`, `0`, `-1`, `-0`, `9007199254740992`, `-9007199254740992`, `1.0`, `1e3`, `10E-1`, `"1"`, `""`, `"null"`, `"\u0061\/b"`, `"\ud800"`, `"<&>"`, `"` + strings.Repeat("x", 3000) + `"`,
	} {
		for _, method := range []string{"tools/call", "tools/list", "ping", "no/such"} {
			if got := send(id, method); got.StatusCode != http.StatusOK || !strings.HasPrefix(got.body, `{"jsonrpc":"2.0","id":`+id+`,"`) || !json.Valid([]byte(got.body)) {
				t.Errorf("%s, id %s: status %d, want 200 with the same id: %.100s", method, id, got.StatusCode, got.body)
			}
		}
	}
	for _, id := range []string{`null`, `1.5`, `9007199254740993`, `-9007199254740993`, `1e16`, `1e400`, `123456789012345678901234567890`, `true`, `[]`, `[1]`, `{}`} {
		got := send(id, "tools/call")
		if got.StatusCode != http.StatusBadRequest || !strings.HasPrefix(got.body, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"`) {
			t.Errorf("id %s: status %d, want 400 with id null: %s", id, got.StatusCode, got.body)
		}
	}
}

const promptToComplete = `"ref":{"type":"ref/prompt","name":"brand_clearance"}`

// malformedMessages are messages that mcp-go would misinterpret or reject with Go error messages.
var malformedMessages = []struct {
	method, params string
	code           int
	spent          int
}{
	{"tools/call", `[]`, -32600, 0},
	{"ping", `[{}]`, -32600, 0},
	{"tools/list", `"x"`, -32600, 0},
	{"tools/call", `1`, -32600, 0},
	{"tools/call", `{"name":1}`, -32602, 0},
	{"tools/call", `{"name":"get_usage","_meta":"x"}`, -32602, 0},
	{"tools/call", `{"name":"get_usage","task":1}`, -32602, 0},
	{"tools/call", `{"name":"get_usage","inputResponses":[]}`, -32602, 0},
	{"tools/call", `{}`, -32602, 1},
	{"tools/call", `{"name":null}`, -32602, 1},
	{"tools/call", `{"name":"search_cola"}`, -32602, 1},
	{"prompts/get", `{}`, -32602, 1},
	{"prompts/get", `{"name":1}`, -32602, 0},
	{"prompts/get", `{"name":"brand_clearence"}`, -32602, 1},
	{"prompts/get", `{"name":"x"}`, -32602, 1},
	{"resources/read", `{}`, -32602, 1},
	{"resources/read", `{"uri":""}`, -32602, 1},
	{"resources/read", `{"uri":1}`, -32602, 0},
	{"resources/read", `{"uri":"registry://colas/11054001000049?x=1"}`, -32002, 1},
	{"resources/read", `{"uri":"registry://colas/11054001000049#x"}`, -32002, 1},
	{"resources/read", `{"uri":"registry://colas/a/b"}`, -32002, 1},
	{"resources/read", `{"uri":"registry://colas/"}`, -32002, 1},
	{"resources/read", `{"uri":"registry://reference/tierz"}`, -32002, 1},
	{"resources/read", `{"uri":"registry://reference/"}`, -32002, 1},
	{"resources/read", `{"uri":"file:///etc/passwd"}`, -32002, 1},
	{"completion/complete", `{}`, -32602, 0},
	{"completion/complete", `{"ref":"x"}`, -32602, 0},
	{"completion/complete", `{"ref":null,"argument":{}}`, -32602, 0},
	{"completion/complete", `{"ref":{"type":"ref/bogus","name":"x"},"argument":{"name":"class","value":""}}`, -32602, 0},
	{"completion/complete", `{"ref":{"name":"x"},"argument":{"name":"class","value":""}}`, -32602, 0},
	{"completion/complete", `{"ref":{"type":"ref/prompt","type":"ref/bogus"},"argument":{"name":"class","value":""}}`, -32600, 0},
	{"completion/complete", `{"ref":{"type":"ref/prompt","name":1},"argument":{"name":"class","value":""}}`, -32602, 0},
	{"completion/complete", `{` + promptToComplete + `}`, -32602, 0},
	{"completion/complete", `{` + promptToComplete + `,"argument":"class"}`, -32602, 0},
	{"completion/complete", `{` + promptToComplete + `,"argument":{"value":""}}`, -32602, 0},
	{"completion/complete", `{` + promptToComplete + `,"argument":{"name":"class","value":1}}`, -32602, 0},
	{"completion/complete", `{` + promptToComplete + `,"argument":{"name":"class","value":""},"context":1}`, -32602, 0},
	{"completion/complete", `{` + promptToComplete + `,"argument":{"name":"class","value":""},"context":{"arguments":1}}`, -32602, 0},
	{"tools/list", `{"cursor":"bogus"}`, -32602, 0},
	{"resources/templates/list", `{"cursor":"AQ=="}`, -32602, 0},
	{"prompts/list", `{"cursor":1}`, -32602, 0},
	{"initialize", `{"protocolVersion":1}`, -32602, 0},
	{"initialize", `{"protocolVersion":"2025-06-18","capabilities":{"roots":1},"clientInfo":{}}`, -32602, 0},
}

// TestGoldenMessages checks each error's code, and compares its message with a golden file.
func TestGoldenMessages(t *testing.T) {
	var messages strings.Builder
	for _, tt := range malformedMessages {
		f := newFake()
		h := mustServe(t, f, io.Discard)
		got := rpc(t, h, tt.method, tt.params)
		status := http.StatusOK
		if tt.code == -32600 {
			status = http.StatusBadRequest
		}
		if got.StatusCode != status || got.json.Error == nil || got.json.Error.Code != tt.code || got.json.ID != 1. {
			t.Errorf("%s %s: status %d, want %d with error code %d: %s",
				tt.method, tt.params, got.StatusCode, status, tt.code, got.body)
		}
		if got.json.Error != nil {
			fmt.Fprintf(&messages, "%s %s\n\t%s\n", tt.method, tt.params, got.json.Error.Message)
		}
		if f.spent != tt.spent || f.used != (cola.Used{}) {
			t.Errorf("%s %s: %d requests counted", tt.method, tt.params, f.spent)
		}
		checkHeaders(t, got)
		if tt.params[0] != '{' || tt.method == "initialize" || strings.Contains(tt.params, "_meta") {
			continue
		}
		newest := rpc(t, h, tt.method, modern(tt.params), modernHeaders(tt.method, nameIn(tt.params))...)
		if newest.StatusCode != http.StatusBadRequest || newest.json.Error == nil || newest.json.Error.Code == -32002 || strings.Contains(newest.body, "json:") {
			t.Errorf("%s %s in the newest version: %d %s", tt.method, tt.params, newest.StatusCode, newest.body)
		}
	}
	checkGolden(t, filepath.Join("testdata", "messages.golden"), []byte(messages.String()))
}

// nameIn returns the value of the Mcp-Name header for a message's parameters.
func nameIn(params string) string {
	var p struct{ Name, URI any }
	_ = json.Unmarshal([]byte(params), &p)
	for _, v := range []any{p.Name, p.URI} {
		if v != nil {
			return fmt.Sprint(v)
		}
	}
	return ""
}

// TestUnknownCompletions checks that an unknown prompt, an unknown argument and a TTB ID have no
// completions.
func TestUnknownCompletions(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	for _, params := range []string{
		`{"ref":{"type":"ref/prompt","name":"brand_clearence"},"argument":{"name":"class","value":""}}`,
		`{` + promptToComplete + `,"argument":{"name":"klass","value":""}}`,
		`{"ref":{"type":"ref/resource","uri":"registry://colas/{ttb_id}"},"argument":{"name":"ttb_id","value":"1"}}`,
	} {
		got := rpc(t, h, "completion/complete", params)
		if completion, _ := got.json.Result["completion"].(map[string]any); completion == nil || fmt.Sprint(completion["values"]) != "[]" {
			t.Errorf("%s: want no completions: %s", params, got.body)
		}
	}
}
