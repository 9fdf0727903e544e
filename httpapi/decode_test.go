package httpapi

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
)

func TestDecode(t *testing.T) {
	tests := []struct {
		query string
		want  cola.SearchParams
	}{
		{"", cola.SearchParams{}},
		{"&&", cola.SearchParams{}},
		{"q=a+b%20c%2Bd", cola.SearchParams{Q: "a b c+d"}},
		{"q=a=b", cola.SearchParams{Q: "a=b"}},
		{"q=%2525", cola.SearchParams{Q: "%25"}},
		{"q=ch%C3%A2teau", cola.SearchParams{Q: "château"}},
		{"%71=x", cola.SearchParams{Q: "x"}},
		{"q=&page=&status", cola.SearchParams{}},
		{"q=&q=x", cola.SearchParams{Q: "x"}},
		{"product_type=wine,malt%20beverage", cola.SearchParams{ProductType: []string{"wine", "malt beverage"}}},
		{"product_type=wine&product_type=+distilled+spirits+,", cola.SearchParams{ProductType: []string{"wine", "distilled spirits"}}},
		{"product_type=,,", cola.SearchParams{}},
		{"approval_date_from=2024-02-29", cola.SearchParams{ApprovalDateFrom: cola.NewDate(2024, 2, 29)}},
		{"approval_date_from=+2024-02-29+", cola.SearchParams{ApprovalDateFrom: cola.NewDate(2024, 2, 29)}},
		{"page=7&per_page=+20", cola.SearchParams{Page: cola.Some(7), PerPage: cola.Some(20)}},
		{"page=0&per_page=-1", cola.SearchParams{Page: cola.Some(0), PerPage: cola.Some(-1)}},
		{"page=+", cola.SearchParams{}},
		{"abv_min=0&abv_max=14.50", cola.SearchParams{ABVMin: cola.Some(0.0), ABVMax: cola.Some(14.5)}},
		{"volume_min=1e3&volume_max=.5", cola.SearchParams{VolumeMin: cola.Some(1000.0), VolumeMax: cola.Some(0.5)}},
	}
	d := newDecoder[cola.SearchParams]()
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, d.decode(tt.query)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.query, diff)
		}
	}
}

func TestDecodeProblems(t *testing.T) {
	tests := []struct {
		query string
		want  cola.Problems
	}{
		{"page=two", cola.Problems{"page": {`"two" is not accepted; write a whole number from 1 to 100.`}}},
		{"page=1.5", cola.Problems{"page": {`"1.5" is not accepted; write a whole number from 1 to 100.`}}},
		{"page=99999999999999999999", cola.Problems{"page": {`"99999999999999999999" is not accepted; write a whole number from 1 to 100.`}}},
		{"page=%EF%BC%91", cola.Problems{"page": {`"１" is not accepted; write a whole number from 1 to 100.`}}},
		{"abv_min=strong", cola.Problems{"abv_min": {`"strong" is not accepted; write a number from 0 to 100.`}}},
		{"volume_min=NaN", cola.Problems{"volume_min": {`"NaN" is not accepted; write a number of at least 0.`}}},
		{"volume_min=inf", cola.Problems{"volume_min": {`"inf" is not accepted; write a number of at least 0.`}}},
		{"volume_min=0x10", cola.Problems{"volume_min": {`"0x10" is not accepted; write a number of at least 0.`}}},
		{"volume_min=1e999", cola.Problems{"volume_min": {`"1e999" is not accepted; write a number of at least 0.`}}},
		{"approval_date_to=2023-02-29", cola.Problems{"approval_date_to": {`"2023-02-29" is not a date; write YYYY-MM-DD, such as 2024-05-31.`}}},
		{"approval_date_to=05/31/2024", cola.Problems{"approval_date_to": {`"05/31/2024" is not a date; write YYYY-MM-DD, such as 2024-05-31.`}}},
		{"q=a&q=b&q=c", cola.Problems{"q": {`It is given 3 times, first as "a" and last as "c"; give it once.`}}},
		{"page=1&page=1", cola.Problems{"page": {`It is given 2 times, first as "1" and last as "1"; give it once.`}}},
		{"brandname=x", cola.Problems{"brandname": {"There is no such parameter; did you mean brand_name?"}}},
		{"Q=x", cola.Problems{"Q": {"There is no such parameter; did you mean q?"}}},
		{"unknown=&unknown=1", cola.Problems{"unknown": {noneNear}}},
		{"q=%zz", cola.Problems{"q": {`"%zz" has the invalid percent-encoding "%zz"; it is % and two hexadecimal digits, and a percent sign itself is %25.`}}},
		{"q=100%", cola.Problems{"q": {`"100%" has the invalid percent-encoding "%"; it is % and two hexadecimal digits, and a percent sign itself is %25.`}}},
		{"%zz=1", cola.Problems{"%zz": {`The name of this parameter has the invalid percent-encoding "%zz"; it is % and two hexadecimal digits, and a percent sign itself is %25.`}}},
		{"=x", cola.Problems{"query": {`"=x" has no parameter name before the equals sign.`}}},
		{"product_type=wine;page=2", cola.Problems{"product_type": {"A semicolon is written %3B; parameters are separated by &."}}},
		{"page=x&statsu=a&abv_max=y&q=%", cola.Problems{
			"page":    {`"x" is not accepted; write a whole number from 1 to 100.`},
			"statsu":  {"There is no such parameter; did you mean status?"},
			"abv_max": {`"y" is not accepted; write a number from 0 to 100.`},
			"q":       {`"%" has the invalid percent-encoding "%"; it is % and two hexadecimal digits, and a percent sign itself is %25.`},
		}},
	}
	d := newDecoder[cola.SearchParams]()
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, d.decode(tt.query).Problems); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.query, diff)
		}
	}
}

const noneNear = "There is no such parameter; this endpoint takes abv_max, abv_min, appellation, approval_date_from, approval_date_to, barcode_value, " +
	"brand_name, category, container_type, cursor, derived_subcategory, domestic_or_imported, grape, origin, page, per_page, permit_number, " +
	"product_type, q, status, volume_max, volume_min, volume_unit."

func TestDecodeNothing(t *testing.T) {
	got := newDecoder[cola.NoParams]().decode("q=1").Problems
	if diff := cmp.Diff(cola.Problems{"q": {"There is no such parameter; this endpoint takes none."}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeLimits(t *testing.T) {
	d := newDecoder[cola.SearchParams]()
	if got := d.decode("q=" + strings.Repeat("x", maxQueryBytes-2)); got.Problems != nil || len(got.Q) != maxQueryBytes-2 {
		t.Errorf("a query of %d bytes: %v", maxQueryBytes, got.Problems)
	}
	if got := d.decode("q=" + strings.Repeat("x", maxQueryBytes-1)).Problems; len(got["query"]) != 1 {
		t.Errorf("a query of %d bytes: %v", maxQueryBytes+1, got)
	}
	many := strings.Repeat("product_type=wine&", maxQueryPairs)
	if got := d.decode(many).Problems; got != nil {
		t.Errorf("%d parameters: %v", maxQueryPairs, got)
	}
	if got := d.decode(many + "q=x").Problems; len(got["query"]) != 1 {
		t.Errorf("%d parameters: %v", maxQueryPairs+1, got)
	}
	long := strings.Repeat("é", 200)
	for name, messages := range d.decode(url.QueryEscape(long) + "=1&page=" + url.QueryEscape(long)).Problems {
		if utf8.RuneCountInString(name) > params.MaxShown+1 || utf8.RuneCountInString(messages[0]) > 500 {
			t.Errorf("a long text is repeated in full: %q: %q", name, messages)
		}
	}
}

// TestDecodeEncoded is that what a client encodes is what the service gets, for any values of any parameters.
func TestDecodeEncoded(t *testing.T) {
	d := newDecoder[cola.SearchParams]()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		word := rapid.StringMatching(`[^, \t\n\v\f\r\x85\xA0;]+`).Filter(func(s string) bool { return strings.TrimSpace(s) == s && s != "" })
		want := cola.SearchParams{
			Q: text.Draw(t, "q"), BrandName: text.Draw(t, "brand"), Origin: text.Draw(t, "origin"),
			ApprovalDateFrom: cola.Date(rapid.IntRange(1, 3_000_000).Draw(t, "from")),
			ABVMin:           cola.Some(rapid.Float64Range(-1e9, 1e9).Draw(t, "abv")),
			Page:             cola.Some(rapid.Int().Draw(t, "page")),
		}
		if list := rapid.SliceOfN(word, 1, 4).Draw(t, "types"); len(list) > 0 {
			want.ProductType = list
		}
		values := url.Values{
			"q": {want.Q}, "brand_name": {want.BrandName}, "origin": {want.Origin},
			"approval_date_from": {want.ApprovalDateFrom.String()},
			"abv_min":            {fmt.Sprint(want.ABVMin.V)}, "page": {fmt.Sprint(want.Page.V)},
			"product_type": {strings.Join(want.ProductType, ",")},
		}
		if diff := cmp.Diff(want, d.decode(values.Encode())); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", values.Encode(), diff)
		}
	})
}

// TestUnknownNamesAreTold is that no parameter is silently ignored.
func TestUnknownNamesAreTold(t *testing.T) {
	d := newDecoder[cola.PermitteeParams]()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringN(1, params.MaxShown, -1).Draw(t, "name")
		if _, taken := d.Takes(name); taken {
			return
		}
		got := d.decode("q=x&" + url.QueryEscape(name) + "=" + url.QueryEscape(rapid.String().Draw(t, "value")))
		if got.Q != "x" || len(got.Problems) != 1 || len(got.Problems[name]) != 1 {
			t.Fatalf("%q: %v", name, got.Problems)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"q=a&page=2", "product_type=wine,beer&product_type=x", "q=%zz&=;", "approval_date_from=2024-02-30", "abv_min=1e5&%00=%FF", "page=1&page=2"} {
		f.Add(seed)
	}
	d := newDecoder[cola.SearchParams]()
	f.Fuzz(func(t *testing.T, raw string) {
		got := d.decode(raw)
		if again := d.decode(raw); !reflect.DeepEqual(got.Problems, again.Problems) {
			t.Errorf("the same query has other problems: %v, %v", got.Problems, again.Problems)
		}
		for name, messages := range got.Problems {
			if !utf8.ValidString(name) || len(messages) == 0 {
				t.Errorf("problem %q: %q", name, messages)
			}
		}
		if values, err := url.ParseQuery(raw); err != nil && len(raw) > 0 && got.Problems == nil {
			t.Errorf("net/url refuses %q (%v), the decoder finds nothing wrong", raw, err)
		} else if err == nil && got.Problems == nil {
			checkAgainstURL(t, d, values)
		}
	})
}

// checkAgainstURL holds a query without problems against what net/url reads in it.
func checkAgainstURL(t *testing.T, d decoder[cola.SearchParams], values url.Values) {
	t.Helper()
	for name, given := range values {
		several, known := d.Takes(name)
		if !known {
			t.Errorf("%q is ignored", name)
			continue
		}
		given = slices.DeleteFunc(given, func(v string) bool { return v == "" })
		if !several && len(given) > 1 {
			t.Errorf("%q is given %d times", name, len(given))
		}
	}
}
