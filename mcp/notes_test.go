package mcp

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

// TestNotesOfTheService: what the service has to say of an answer comes before what the tool says.
func TestNotesOfTheService(t *testing.T) {
	f := newFake()
	f.notes = []string{"DE was read as Delaware."}
	h := mustServe(t, f, io.Discard)
	for tool, arguments := range map[string]string{
		"search_colas": `{"origin":"DE","approval_date_from":"2005-01-01"}`, "get_processing_times": `{"commodity":"beer"}`,
		"list_production_reports": `{"commodity":"whale oil"}`, "search_avas": `{"state":"ZZ"}`,
	} {
		got := call(t, h, tool, arguments)
		if notes := fmt.Sprint(got.content["notes"]); got.failed || !strings.Contains(notes, f.notes[0]) {
			t.Errorf("%s: %s", tool, got.texts[0])
		}
	}
}

// TestSavedWordsThatNoLabelHas: the search is kept, with a note on a country that is ambiguous or that no label has.
func TestSavedWordsThatNoLabelHas(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	for filters, want := range map[string]string{
		`"country":"mars"`: `"mars"`, `"us_state":"texas"`: `"texas"`, `"derived_category":"Mead"`: `"Mead"`, `"country":"DE"`: "Delaware",
		`"country":"french"`: "", `"us_state":"OR"`: "", `"derived_category":"WINE"`: "", `"applicant_us_state":"texas"`: "",
	} {
		got := call(t, h, "create_saved_search", `{"name":"x","filters":{`+filters+`}}`)
		notes := fmt.Sprint(got.content["notes"])
		if got.failed || !strings.Contains(notes, want) || strings.Contains(notes, "finds nothing") != (want != "") {
			t.Errorf("%s: %s", filters, got.texts[0])
		}
	}
}

// TestPromptsDoubtStrangeWords: what no label has is told to the user first, and is not searched for.
func TestPromptsDoubtStrangeWords(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	for _, tt := range []struct{ prompt, arguments, told, searched, not string }{
		{"brand_clearance", `{"brand_name":"Oak","origin":"mars"}`, `Tell the user first: No label has the origin "mars".`, "per_page 20.", `origin "mars"`},
		{"brand_clearance", `{"brand_name":"Oak","category":"Wine > Wite Wine","origin":"france"}`, `Did you mean Wine > White Wine?`, `per_page 20 and origin "france".`, "derived_subcategory"},
		{"brand_clearance", `{"brand_name":"Oak","class":"TABEL RED WINE"}`, `The class "TABEL RED WINE" is not among TTB's. Did you mean TABLE RED WINE?`, `(class "TABEL RED WINE").`, "No label"},
		{"watch_brand", `{"brand_name":"Oak","category":"Wyne","origin":"orgeon"}`, `Did you mean oregon?`, `filters with brand_name "Oak"; and`, "derived_category"},
		{"permittee_report", `{"company":"Lenz","state":"ZZ"}`, `Tell the user first: No permit holder is in the state ZZ.`, `q "Lenz" and per_page 5`, `"ZZ"`},
		{"permittee_report", `{"company":"Lenz","state":"californian"}`, ``, `q "Lenz", state "CA" and per_page 5`, `Tell the user first`},
		{"brand_clearance", `{"brand_name":"Oak","class":"red wine","category":" ","origin":"Austria"}`, ``, `origin "Austria".`, `Tell the user first`},
	} {
		got := rpc(t, h, "prompts/get", `{"name":"`+tt.prompt+`","arguments":`+tt.arguments+`}`)
		messages, _ := got.json.Result["messages"].([]any)
		if len(messages) != 1 {
			t.Fatalf("%s %s: %s", tt.prompt, tt.arguments, got.body)
		}
		text := messages[0].(map[string]any)["content"].(map[string]any)["text"].(string)
		_, steps, _ := strings.Cut(text, "\n1. ")
		if !strings.Contains(text, tt.told) || !strings.Contains(text, tt.searched) || strings.Contains(steps, tt.not) || tt.told == "" && strings.Contains(text, tt.not) {
			t.Errorf("%s %s: %s", tt.prompt, tt.arguments, text)
		}
	}
	f := newFake()
	for state, want := range map[string]string{"califronia": "Did you mean california?", "dakotan": "may mean several states", "C1": "is not a US state"} {
		got := rpc(t, mustServe(t, f, io.Discard), "prompts/get", `{"name":"permittee_report","arguments":{"company":"x","state":"`+state+`"}}`)
		if got.json.Error == nil || got.json.Error.Code != -32602 || !strings.Contains(got.body, want) {
			t.Errorf("the state %s: %s", state, got.body)
		}
	}
	if f.spent != 3 || f.used != (cola.Used{}) {
		t.Errorf("%d requests spent for three refused prompts", f.spent)
	}
}
