package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzParse: a message that is taken is read by encoding/json, which does not look at the case of names, as it is read here.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"q":1}}}`,
		`{"jsonrpc":"2.0","id":"x","method":"ping","METHOD":"tools/call"}`, `[{"a":[1]}]`, `{"jsonrpc":"2.0","id":null,"method":"m","params":null}`,
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{"NAME":"b","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, `{"\u006dethod":"a"}`,
		`{"jsonrpc":"2.0","id":1e3,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"b","value":""}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, wrong := parse(body)
		if wrong != nil {
			if refusal, ok := wrong.(*rpcError); !ok || refusal.Message == "" || refusal.status(true) != 400 {
				t.Errorf("%q is refused with %+v", body, wrong)
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
			t.Fatalf("%q is taken: %v", body, err)
		}
		var called struct{ Name string }
		if json.Unmarshal(loose.Params, &called) == nil && m.method != "resources/read" && called.Name != m.target {
			t.Errorf("%q calls %q or %q", body, called.Name, m.target)
		}
		if loose.Method != m.method || (loose.ID == nil) != (m.id == nil) || loose.JSONRPC != "2.0" {
			t.Errorf("%q is read as %+v and as %+v", body, loose, m)
		}
		for _, a := range m.arguments {
			if !json.Valid(a.Value) {
				t.Errorf("%q has the argument %s", body, a.Value)
			}
		}
	})
}

// TestIDAsANumber: an id that was sent as a number is understood when it can be told which one it is.
func TestIDAsANumber(t *testing.T) {
	f := newFake()
	h := mustServe(t, f, &strings.Builder{})
	for sent, asked := range map[string]string{
		`11054001000049`: "11054001000049", `5054001000049`: "05054001000049", `11054001000049.0`: "11054001000049", `1.1054001000049e13`: "11054001000049",
		`"11054001000049"`: "11054001000049", `" 11054001000049 "`: " 11054001000049 ", `"5054001000049"`: "5054001000049",
	} {
		f.asked = ""
		if call(t, h, "get_cola", `{"ttb_id":`+sent+`}`); f.asked != asked {
			t.Errorf("%s asks for %q, want %q", sent, f.asked, asked)
		}
	}
	for _, sent := range []string{`1`, `-11054001000049`, `11054001000049.5`, `110540010000490`, `0`, `505400100004`, `1e13000`} {
		f.asked = ""
		got := call(t, h, "get_cola", `{"ttb_id":`+sent+`}`)
		if f.asked != "" || got.code(t) != "validation_error" || !strings.Contains(got.texts[0], "send it as a string of 14 digits") {
			t.Errorf("%s is answered with %s", sent, got.texts[0])
		}
	}
}
