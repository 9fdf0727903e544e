package registry

import (
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

func TestClassOf(t *testing.T) {
	from := cola.NewDate(2026, 1, 1)
	tests := []struct {
		query cola.Query
		want  string
	}{
		{cola.Query{}, "browse"},
		{cola.Query{From: from, To: from}, "browse"},
		{cola.Query{Text: "oak"}, "text"},
		{cola.Query{Text: "château l'oak"}, "text"},
		{cola.Query{Text: "nj-i-721"}, "text"},
		{cola.Query{Text: "1234567"}, "text"},
		{cola.Query{Text: "oa*"}, "prefix"},
		{cola.Query{Text: `"table red" wi*`}, "phrase"},
		{cola.Query{Text: "“table red”"}, "phrase"},
		{cola.Query{Text: "11054001000049"}, "id"},
		{cola.Query{Text: "036000291452"}, "barcode"},
		{cola.Query{Text: "0 36000-29145 2"}, "barcode"},
		{cola.Query{Barcode: "036000291452"}, "barcode"},
		{cola.Query{BrandName: "oak"}, "brand"},
		{cola.Query{PermitNumber: "NJ-I-721"}, "permit"},
		{cola.Query{PermitPart: "nj"}, "permit"},

		{cola.Query{ProductTypes: []string{"wine"}}, "filters"},
		{cola.Query{Categories: []string{"Wine"}}, "filters"},
		{cola.Query{CategoryPath: "Wine > Red Wine"}, "filters"},
		{cola.Query{OriginNames: []string{"FRANCE"}}, "filters"},
		{cola.Query{Domestic: vocabulary.Imported}, "filters"},
		{cola.Query{Status: vocabulary.StatusApproved}, "filters"},
		{cola.Query{AddressState: "NJ"}, "filters"},
		{cola.Query{Containers: []string{"can"}}, "filters"},
		{cola.Query{ABVMin: cola.Some(0.)}, "filters"},
		{cola.Query{ABVMax: cola.Some(14.)}, "filters"},
		{cola.Query{VolumeMin: cola.Some(700.)}, "filters"},
		{cola.Query{VolumeMax: cola.Some(700.), From: from}, "filters"},

		{cola.Query{Text: "oak", Barcode: "1", BrandName: "oak", PermitNumber: "A", Status: vocabulary.StatusApproved}, "text"},
		{cola.Query{Barcode: "1", BrandName: "oak", PermitNumber: "A", Status: vocabulary.StatusApproved}, "barcode"},
		{cola.Query{BrandName: "oak", PermitNumber: "A", Status: vocabulary.StatusApproved}, "brand"},
		{cola.Query{PermitNumber: "A", Status: vocabulary.StatusApproved}, "permit"},
	}
	for _, tt := range tests {
		if got := classOf(&tt.query).String(); got != tt.want {
			t.Errorf("%+v is of class %s, want %s", tt.query, got, tt.want)
		}
	}
}

func TestClassNames(t *testing.T) {
	seen := map[string]bool{}
	for c := range classes {
		if seen[c.String()] || c.String() == "" {
			t.Errorf("class %d is told as %q, and so is another", c, c.String())
		}
		seen[c.String()] = true
	}
}
