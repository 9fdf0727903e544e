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

// currentList is a list of permits in TTB's 2025 format: Windows-1252, with a line break in a
// street.
const currentList = "Permit_Number,Owner_Name,Operating_Name,Street,City,State,Prem_Zip,Prem_County,Industry_Type,New_Permit_Flag\r\n" +
	"ZZ-S-20002,\"PE\xd1A, INC.\",CAF\xc9,\"ROAD 1\nEAST\",TOWN,ZZ,00715,COUNTY,DISTILLED SPIRITS PLANT,1\r\n" +
	"ZZ-I-15,OTHER,,1 MAIN ST,TOWN,ZZ,601,COUNTY,Importer (Alcohol),\r\n" +
	"ZZ-X-1,THIRD,,1 MAIN ST,TOWN,ZZ,99701,COUNTY,Something New,0\r\n" +
	"ZZ-W-7,FOURTH,,1 MAIN ST,TOWN,ZZ,99701,COUNTY,,0\r\n"

// allPermits is TTB's file of all permits, with the rows of currentList.
const allPermits = `{"Definitions":["Permit_Number","Owner_Name","Operating_Name","Street","City","State","Prem_Zip","Prem_County","Industry_Type","New_Permit_Flag"],
"Permit Data":[["ZZ-S-20002","PEÑA, INC.","CAFÉ","ROAD 1\nEAST","TOWN","ZZ","00715","COUNTY","Distilled Spirits Plant",1],
["ZZ-I-15","OTHER",null,"1 MAIN ST","TOWN","ZZ",601,"COUNTY","Importer (Alcohol)",0],
["ZZ-X-1","THIRD",null,"1 MAIN ST","TOWN","ZZ","99701","COUNTY","Something New",0],
["ZZ-W-7","FOURTH",null,"1 MAIN ST","TOWN","ZZ","99701","COUNTY","Wine Producer",0]],"Updated":[1]}`

func TestCurrentPermittees(t *testing.T) {
	want := map[string]cola.Permittee{}
	for _, p := range []cola.Permittee{
		{
			PermitNumber: "ZZ-S-20002", CompanyName: "PEÑA, INC.", OperatingName: "CAFÉ", CompanyState: "ZZ", CompanyZipCode: "00715",
			PermitteeType: "Distilled Spirits Plant", Listed: true,
		},
		{PermitNumber: "ZZ-I-15", CompanyName: "OTHER", CompanyState: "ZZ", CompanyZipCode: "00601", PermitteeType: "Importer (Alcohol)", Listed: true},
		{PermitNumber: "ZZ-X-1", CompanyName: "THIRD", CompanyState: "ZZ", CompanyZipCode: "99701", PermitteeType: "Something New", Listed: true},
		{PermitNumber: "ZZ-W-7", CompanyName: "FOURTH", CompanyState: "ZZ", CompanyZipCode: "99701", PermitteeType: "Wine Producer", Listed: true},
	} {
		want[p.PermitNumber] = p
	}
	explained := strings.NewReplacer(`"Owner_Name",`, `"Owner_Name - Legal name, if any",`).Replace(allPermits)
	object := strings.NewReplacer(`["Permit_Number",`, `{"Permit_Number":"x",`, `","`, `":1,"`, `_Flag"]`, `_Flag":null}`)
	definitions, data, _ := strings.Cut(allPermits, "\n")
	for name, text := range map[string]string{
		"weekly list": currentList, "all permits": allPermits, "explained columns": explained,
		"columns as keys": strings.Replace(object.Replace(definitions), `"x":1`, `"x"`, 1) + data,
	} {
		t.Run(name, func(t *testing.T) {
			st := newFakeStore()
			report := mustImport(t, st, Permittees, texts(text)...)
			if diff := cmp.Diff(want, st.permittees); diff != "" || report.Added != 4 {
				t.Errorf("report = %s %v (-want +got):\n%s", report.Summary(), report.Warnings, diff)
			}
			if second := mustImport(t, st, Permittees, texts(currentList, allPermits)...); second.Unchanged != 8 {
				t.Errorf("other form: report = %s, want 8 unchanged", second.Summary())
			}
		})
	}
}

// TestPermitteeColumns checks lists with unknown and missing columns, and with rows of the wrong
// length.
func TestPermitteeColumns(t *testing.T) {
	reports := golden.Load(t, "permittee_columns")
	for name, text := range map[string]string{
		"unknown column":           "Permit_Number,Owner_Name,Prem_Zip,Phone\nZZ-W-1,A,99701,1\n",
		"registry number":          "Permit/Registry_Number,Owner_Name\nZZ-W-1,A\n",
		"no owner":                 "Permit_Number,Operating_Name,Prem_Zip\nZZ-W-1,A,99701\n",
		"no number":                "Owner_Name,Prem_Zip\nA,99701\n",
		"all permits, no owner":    `{"Definitions":["Permit_Number"],"Permit Data":[["ZZ-W-1"]]}`,
		"all permits, unnamed":     `{"Permit Data":[["ZZ-W-1"]],"Definitions":["Permit_Number","Owner_Name"]}`,
		"all permits, bad names":   `{"Definitions":[1],"Permit Data":[["ZZ-W-1"]]}`,
		"all permits, short row":   `{"Definitions":["Permit_Number","Owner_Name"],"Permit Data":[["ZZ-W-1"],["ZZ-W-2","B"],[[],"C"]]}`,
		"all permits, phone":       `{"Definitions":["Permit_Number","Owner_Name","Phone"],"Permit Data":[["ZZ-W-1","A",1]]}`,
		"all permits, cut off":     `{"Definitions":["Permit_Number","Owner_Name"],"Permit Data":[["ZZ-W-1","A"],["ZZ-W-2",`,
		"all permits, after rows":  `{"permit_number":"ZZ-W-3"}{"Definitions":["Permit_Number","Owner_Name"],"Permit Data":[]}[["ZZ-W-1","A"]]`,
		"all permits, as objects":  `{"Definitions":["Permit_Number","Owner_Name"],"Permit Data":[{"permit_number":"ZZ-W-1","owner_name":"A"}]}`,
		"all permits, wrong level": `[["ZZ-W-1","A"]]`,
	} {
		report, err := Import(t.Context(), newFakeStore(), Permittees, texts(text), Options{SkipInvalid: true})
		reports.Check(t, name, outcome(report, err))
	}
}

// checkReport compares the rejections and warnings of a report with a golden case.
func checkReport(t *testing.T, reports *golden.Cases, name string, report Report) {
	t.Helper()
	lines := []string{}
	for _, r := range report.Rejections {
		lines = append(lines, r.String())
	}
	for _, w := range report.Warnings {
		lines = append(lines, "warning: "+w.String())
	}
	reports.Check(t, name, lines)
}
