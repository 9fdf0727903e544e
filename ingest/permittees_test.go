package ingest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

func TestPermittees(t *testing.T) {
	const ttbColumns = "PERMIT NUMBER,OWNER NAME,OPERATING NAME,STREET,CITY,STATE,ZIP,ZIP4,COUNTY\r\n"
	owner := cola.Permittee{PermitNumber: "CA-W-1", CompanyName: "OWNER, INC.", CompanyState: "CA", CompanyZipCode: "00601", Listed: true}
	with := func(change func(*cola.Permittee)) cola.Permittee {
		p := owner
		change(&p)
		return p
	}
	for _, test := range []struct {
		name, text string
		want       []cola.Permittee
		refused    []string
		warnings   []string
	}{
		{
			name: "TTB list",
			text: "Data from a page,,,,\r\n" + ttbColumns + "ca-w-1,\"OWNER, INC.\",,1 MAIN ST,NAPA,ca,601,0,NAPA\r\nTOTAL PERMITS: 1,,,,,,,,",
			want: []cola.Permittee{with(func(p *cola.Permittee) { p.PermitteeType = "Wine Producer" })},
		},
		{
			name:     "TTB list with a wrong total and an unknown kind of permit",
			text:     ttbColumns + "XX-1-2-3,\"OWNER, INC.\",TRADE,,,CA,00601,,\r\n\"TOTAL PERMITS: 1,234\",,,,,,,,",
			want:     []cola.Permittee{with(func(p *cola.Permittee) { p.PermitNumber, p.OperatingName = "XX-1-2-3", "TRADE" })},
			warnings: []string{"-: the list says that it has 1234 permits, and 1 were read"},
		},
		{
			name:    "TTB list with bad rows",
			text:    ttbColumns + ",OWNER,,,,CA,,,\r\nCA-W-2,OWNER, INC.,,,,CA,,,\r\n",
			refused: []string{"-:2: a permittee must have permit_number", "-:3: has 10 fields, where the header has 9; a field that holds a comma must be quoted"},
		},
		{
			name: "the API's permittee",
			text: `{"data":[{"permit_number":"CA-W-1","company_name":"OWNER, INC.","company_state":"CA","company_zip_code":601,
				"permittee_type":null,"is_active":true,"active_reason":"x","colas":5,"colas_approved":3,
				"last_cola_application_date":"2024-01-01","recent_colas":[{"ttb_id":"24001001000001"}]}],"pagination":{}}`,
			want: []cola.Permittee{owner},
		},
		{
			name: "CSV, not active",
			text: "permit_number,company_name,company_state,company_zip_code,is_active\nCA-W-1,\"OWNER, INC.\",CA,00601,false\n",
			want: []cola.Permittee{with(func(p *cola.Permittee) { p.Listed = false })},
		},
		{
			name:     "an unknown name",
			text:     `{"permit_number":"CA-W-1","company_name":"OWNER, INC.","company_state":"CA","company_zip_code":"00601","company_nam":1}`,
			want:     []cola.Permittee{owner},
			warnings: []string{`-: unknown field "company_nam" is ignored; did you mean company_name? (1 row)`},
		},
		{
			name:    "too long a name",
			text:    `{"permit_number":"CA-W-1","company_name":"` + strings.Repeat("É", maxTextRunes+1) + `"}`,
			refused: []string{"has 2001 characters, more than 2000"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			st := newFakeStore()
			report, err := Import(t.Context(), st, Permittees, texts(test.text), Options{SkipInvalid: true})
			if err != nil {
				t.Fatal(err)
			}
			var got []cola.Permittee
			for _, p := range st.permittees {
				got = append(got, p)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			checkTold(t, test.refused, report.Refusals)
			checkTold(t, test.warnings, report.Warnings)
		})
	}
}

// checkTold checks that the lines of a report contain the expected texts.
func checkTold[T interface{ String() string }](t *testing.T, want []string, got []T) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("told %v, want %q", got, want)
		return
	}
	for i := range want {
		if !strings.Contains(got[i].String(), want[i]) {
			t.Errorf("told %q, want %q", got[i].String(), want[i])
		}
	}
}
