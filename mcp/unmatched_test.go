package mcp

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

const saysNothing = " So a total of 0 says nothing of the other filters: correct this one, or leave it out."

// TestWordsThatNoLabelHas: a search that finds nothing because of such a word says so; one that finds nothing otherwise does not.
func TestWordsThatNoLabelHas(t *testing.T) {
	f := newFake()
	h := mustServe(t, f, io.Discard)
	mars := `No label has the origin "mars". registry://reference/filters lists the origins.` + saysNothing
	for filters, want := range map[string][]any{
		`"origin":"mars","brand_name":"raven"`: {mars},
		`"origin":"orgeon"`:                    {`No label has the origin "orgeon". Did you mean OREGON? registry://reference/filters lists the origins.` + saysNothing},
		`"origin":"bhutan"`:                    {`No label has the origin "bhutan". registry://reference/filters lists the origins.` + saysNothing}, // TTB has it
		`"derived_subcategory":"Wine > Rde Wine"`: {
			`No label has the category path "Wine > Rde Wine". Did you mean Wine > Red Wine? registry://reference/categories lists those that labels have.` + saysNothing,
		},
		`"origin":"mars","derived_subcategory":"Whatever"`: {
			mars, `No label has the category path "Whatever". registry://reference/categories lists those that labels have.` + saysNothing,
		},
		`"origin":" ","derived_subcategory":" > ","q":"zzz"`: nil,
		`"origin":"austrian"`:                                nil,
		`"origin":"Oregon","q":"zzz"`:                        nil,
		`"derived_subcategory":"wine>red  wine"`:             nil,
		`"brand_name":"free to have"`:                        nil,
		`"origin":"american","product_type":["wine"]`:        nil,
		`"derived_subcategory":"Wine","q":"nothing now"`:     nil,
	} {
		got := call(t, h, "search_colas", `{"approval_date_from":"2005-01-01",`+filters+`}`)
		notes, _ := got.content["notes"].([]any)
		if diff := cmp.Diff(want, notes); got.failed || diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", filters, got.texts[0], diff)
		}
	}
	if f.used.ListRecords != 6 {
		t.Errorf("%d list records for two searches that found three each", f.used.ListRecords)
	}
}

// TestSavedWordsThatNoLabelHas: the search is kept, and it is said that it finds nothing.
func TestSavedWordsThatNoLabelHas(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	const finds = " The search finds nothing until a label has it."
	for filters, want := range map[string]string{
		`"country":"mars"`:             `No label has the country "mars". registry://reference/filters lists the origins.` + finds,
		`"us_state":"texas"`:           `No label is from the US state "texas".` + finds,
		`"derived_category":"Mead"`:    `No label has the category path "Mead". registry://reference/categories lists those that labels have.` + finds,
		`"country":"french"`:           "",
		`"us_state":"OR"`:              "",
		`"derived_category":"WINE"`:    "",
		`"applicant_us_state":"texas"`: "",
	} {
		got := call(t, h, "create_saved_search", `{"name":"x","filters":{`+filters+`}}`)
		notes := fmt.Sprint(got.content["notes"])
		if got.failed || !strings.Contains(notes, want) || strings.Contains(notes, "No label") != (want != "") {
			t.Errorf("%s: %s", filters, got.texts[0])
		}
	}
}

// TestWordsThatNoRowHas: a reference list without rows says which words it has.
func TestWordsThatNoRowHas(t *testing.T) {
	f := newFake()
	h := mustServe(t, f, io.Discard)
	for _, tt := range []struct {
		tool, arguments string
		want            []any
	}{
		{"get_processing_times", `{"commodity":"vine"}`, []any{`No row has the commodity "vine"; there are Distilled Spirits, Malt Beverage, Wine. Did you mean Wine?`}},
		{"get_processing_times", `{"commodity":" WINE "}`, nil},
		{"get_processing_times", `{"kind":"registration","category":"x"}`, []any{"The registry holds no figures of this kind."}},
		{"list_production_reports", `{"commodity":"whale oil","year":1999}`, []any{
			`No row has the year "1999"; there are some of 2018 to 2019.`, `No row has the commodity "whale oil"; there are Beer, Wine.`,
		}},
		{"list_production_reports", `{"commodity":"wine","year":2019,"month":3}`, []any{"There are rows with each of these filters, and none with all of them; leave one out."}},
		{"list_production_reports", `{"month":12,"commodity":" "}`, nil},
		{"list_production_reports", `{"commodity":"BEER"}`, nil},
	} {
		got := call(t, h, tt.tool, tt.arguments)
		notes, _ := got.content["notes"].([]any)
		if diff := cmp.Diff(tt.want, notes); got.failed || diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.tool, tt.arguments, diff)
		}
	}
	for i := range 30 {
		f.words.Times["commodity"] = append(f.words.Times["commodity"], fmt.Sprint("Commodity ", i))
	}
	if got := call(t, h, "get_processing_times", `{"commodity":"zzzzz"}`); !strings.Contains(got.texts[0], "Commodity 16 and 13 others.") {
		t.Errorf("many words: %s", got.texts[0])
	}
}

// TestPromptsDoubtStrangeWords: what no label has is told to the user first, and is not searched for.
func TestPromptsDoubtStrangeWords(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	for _, tt := range []struct{ prompt, arguments, told, searched, not string }{
		{"brand_clearance", `{"brand_name":"Oak","origin":"mars"}`, `Tell the user first: No label has the origin "mars".`, "per_page 20.", `origin "mars"`},
		{"brand_clearance", `{"brand_name":"Oak","category":"Wine > Wite Wine","origin":"france"}`, `Did you mean Wine > White Wine?`, `per_page 20 and origin "france".`, "derived_subcategory"},
		{"brand_clearance", `{"brand_name":"Oak","class":"TABEL RED WINE"}`, `The class "TABEL RED WINE" is not among TTB's. Did you mean TABLE RED WINE?`, `(class "TABEL RED WINE").`, "No label"},
		{"watch_brand", `{"brand_name":"Oak","category":"Wyne","origin":"orgon"}`, `Did you mean OREGON?`, `filters with brand_name "Oak"; and`, "derived_category"},
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
