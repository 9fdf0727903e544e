package ingest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
)

func TestPermittees(t *testing.T) {
	const ttbColumns = "PERMIT NUMBER,OWNER NAME,OPERATING NAME,STREET,CITY,STATE,ZIP,ZIP4,COUNTY\r\n"
	owner := cola.Permittee{PermitNumber: "CA-W-1", CompanyName: "OWNER, INC.", CompanyState: "CA", CompanyZipCode: "00601", Listed: true}
	with := func(change func(*cola.Permittee)) cola.Permittee {
		p := owner
		change(&p)
		return p
	}
	reports := golden.Load(t, "permittees")
	for _, test := range []struct {
		name, text string
		want       []cola.Permittee
	}{
		{
			name: "TTB list",
			text: "Data from a page,,,,\r\n" + ttbColumns + "ca-w-1,\"OWNER, INC.\",,1 MAIN ST,NAPA,ca,601,0,NAPA\r\nTOTAL PERMITS: 1,,,,,,,,",
			want: []cola.Permittee{with(func(p *cola.Permittee) { p.PermitteeType = "Wine Producer" })},
		},
		{
			name: "TTB list with a wrong total and an unknown kind of permit",
			text: ttbColumns + "XX-1-2-3,\"OWNER, INC.\",TRADE,,,CA,00601,,\r\n\"TOTAL PERMITS: 1,234\",,,,,,,,",
			want: []cola.Permittee{with(func(p *cola.Permittee) { p.PermitNumber, p.OperatingName = "XX-1-2-3", "TRADE" })},
		},
		{
			name: "TTB list with bad rows",
			text: ttbColumns + ",OWNER,,,,CA,,,\r\nCA-W-2,OWNER, INC.,,,,CA,,,\r\n",
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
			name: "an unknown name",
			text: `{"permit_number":"CA-W-1","company_name":"OWNER, INC.","company_state":"CA","company_zip_code":"00601","company_nam":1}`,
			want: []cola.Permittee{owner},
		},
		{
			name: "too long a name",
			text: `{"permit_number":"CA-W-1","company_name":"` + strings.Repeat("É", maxTextRunes+1) + `"}`,
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
			checkReport(t, reports, test.name, report)
		})
	}
}

// checkReport compares the rejections and warnings of a report with a golden case.
func checkReport(t *testing.T, reports *golden.Cases, name string, report Report) {
	t.Helper()
	lines := []string{}
	for _, r := range report.Refusals {
		lines = append(lines, r.String())
	}
	for _, w := range report.Warnings {
		lines = append(lines, "warning: "+w.String())
	}
	reports.Check(t, name, lines)
}
