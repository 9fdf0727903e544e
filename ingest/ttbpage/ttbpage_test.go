package ttbpage

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/internal/shareddata"
)

func mustParse(t *testing.T, file string) *Page {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return p
}

func mustLabel(t *testing.T, file string) Label {
	t.Helper()
	l, err := mustParse(t, file).Label()
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return l
}

func TestDetail(t *testing.T) {
	want := Label{
		TTBID: "24031001000007", Status: "APPROVED", PermitNumber: "BWN-OR-99999", BrandName: "SAMPLE & DAUGHTERS",
		SerialNumber: "24EX01", ClassName: "TABLE WHITE WINE", OriginName: "OREGON", ApplicationType: "LABEL APPROVAL",
		Applicant: "SAMPLE CELLARS, SAMPLE CELLARS LLC", State: "OR", ZIP: "97132",
		Varietals: "Albariño", Vintage: "2023", Approval: "02/14/2024", Qualifications: []string{"First condition.", "Second condition."},
	}
	if diff := cmp.Diff(want, mustLabel(t, "testdata/detail.html")); diff != "" {
		t.Errorf("label (-want +got):\n%s", diff)
	}
}

func TestPrintable(t *testing.T) {
	want := Label{
		TTBID: "24031001000007", Status: "APPROVED", PermitNumber: "BWN-OR-99999", BrandName: "SAMPLE & DAUGHTERS",
		ClassCode: "81", ClassName: "TABLE WHITE WINE", OriginCode: "38", ProductType: "Wine", Source: "Domestic",
		ForSaleIn: "OR", BottleCapacity: "760 MILLILITERS", ResubmissionOf: "23350001000001", DistinctiveChecked: true, ResubmissionChecked: true,
		Applicant: "SAMPLE CELLARS, SAMPLE CELLARS LLC", TradeName: "SAMPLE & DAUGHTERS",
		State: "OR", ZIP: "97132",
		Varietals: "Albariño", Appellation: "DUNDEE HILLS", NetContents: []string{"750 MILLILITERS", "1.5 LITERS"}, AlcoholContent: "12.5 % by vol",
		Application: "01/31/2024", Approval: "02/14/2024", Expiration: "03/01/2026",
		Qualifications: []string{"First condition.", "Second condition."}, HasImages: true,
		Images: []Image{{"Brand (front) or keg collar", "Front 1.jpg", 2.4, 3.1}, {"Neck", "neck&more.png", 4, 1}},
	}
	got := mustLabel(t, "testdata/printable.html")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("label (-want +got):\n%s", diff)
	}
}

// TestContact checks that a label contains no data from the contact block.
func TestContact(t *testing.T) {
	for _, file := range []string{"testdata/detail.html", "testdata/printable.html"} {
		text := strings.ToLower(fmt.Sprint(mustLabel(t, file)))
		for _, secret := range []string{"secret", "010-0000"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s: label contains %q: %s", file, secret, text)
			}
		}
	}
}

func TestKind(t *testing.T) {
	for text, want := range map[string]Kind{
		`<html><h1>Search Results: COLAs</h1>`: Results,
		`<html><title>Request Rejected</title><body>The requested URL was rejected. Your support ID is: 123`: Blocked,
		`<html><body>What code is in the image?<img src="/captcha.jpg">`:                                     Captcha,
		`<html><title>Error 500</title><body>Internal Server Error`:                                          SiteError,
		`<html><body>The site is temporarily unavailable.`:                                                   SiteError,
		`<html><form><input type="text" name="searchCriteria.dateCompletedFrom"> Error`:                      SearchForm,
		`<html><title>Error</title><body>Your session has expired. Please start a new search.`:               SessionEnded,
		`<html><title>Session Timeout</title><body>Error`:                                                    SessionEnded,
		`<html><h1>Error</h1>An error has occurred in the system. <li>Unable to process request. Call us.`:   NoPage,
		`<html><body>No results were found that match the search criteria specified.`:                        Results,
		`<html><title>Wine shop</title><body>Buy now`:                                                        Unknown,
	} {
		p, err := Parse([]byte(text))
		if err != nil || p.Kind != want {
			t.Errorf("Parse(%q).Kind = %q, %v, want %q", text, p.Kind, err, want)
		}
		if _, err := p.Label(); !errors.Is(err, ErrNoLabel) {
			t.Errorf("label of %q: %v, want ErrNoLabel", text, err)
		}
	}
}

func TestTotal(t *testing.T) {
	const heading, none = "<h1>Search Results: COLAs</h1>", "No results were found that match the search criteria specified."
	type total struct {
		matching, listed int
		ok               bool
	}
	for text, want := range map[string]total{
		heading + "1 to 20 of 1000 (Total Matching Records: 5954)":                    {5954, 1000, true},
		heading + "1 to 20 of 1,000 (Total Matching Records: 5,954)":                  {5954, 1000, true},
		heading + "1 to 1 of 1\n (Total Matching Records: 1) | <b>Next</b>":           {1, 1, true},
		heading + strings.Repeat("<p>1 to 2 of 2 (Total Matching Records: 2)</p>", 2): {2, 2, true},
		heading + none: {0, 0, true},
		"<title>Search</title><b>Error</b>" + none: {0, 0, true},
		// Pages without a consistent total or a visible statement that there are no results.
		heading:               {},
		heading + "0 results": {},
		heading + "1 to 20 of 1000 (Total Matching Records: )":                                      {},
		heading + "1 to 0 of 0 (Total Matching Records: 0)":                                         {},
		heading + "1 to 20 of 30 (Total Matching Records: 29)":                                      {},
		heading + "1 to 20 of 10 (Total Matching Records: 10)":                                      {},
		heading + "1 to 9 of 9 (Total Matching Records: 9) 1 to 9 of 9 (Total Matching Records: 8)": {},
		heading + "1 to 9 of 9 (Total Matching Records: 99999999999999999999)":                      {},
		"<h1>COLA Detail</h1>" + none:                                                               {},
		"Your support ID is: 7. " + none:                                                            {},
		"1 to 20 of 20 (Total Matching Records: 20)":                                                {},
		heading + "<script>var text = '" + none + "'</script>":                                      {},
	} {
		p, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var got total
		if got.matching, got.listed, got.ok = p.Total(); got != want {
			t.Errorf("total of %q = %v, want %v", text, got, want)
		}
	}
}

func TestSupportID(t *testing.T) {
	for text, want := range map[string]string{
		"<title>Request Rejected</title>Please consult with your administrator.<br>Your support ID is: 8203<br>": "8203",
		"<noscript>Please enable JavaScript.<br/>Your support ID is: 1-2.</noscript>":                            "1-2",
		"<p>Support ID: a7":                     "a7",
		"<p>Quote your support ID.":             "",
		"<h1>COLA Detail</h1>support ID is: 12": "",
	} {
		p, err := Parse([]byte(text))
		if err != nil || p.SupportID() != want {
			t.Errorf("support ID of %q = %q, %v, want %q", text, p.SupportID(), err, want)
		}
	}
}

// TestApplicationType checks which boxes of a form imply the type of application.
func TestApplicationType(t *testing.T) {
	const approval, exemption, distinctive, resubmission = `alt="Type of Application"`, `alt="Certificate of label Approval"`,
		`alt="Distinctive Liquor Bottle Approval"`, `alt="Previous TTB Id"`
	for _, test := range []struct {
		checked []string
		want    string
	}{
		{[]string{approval}, "LABEL APPROVAL"},
		{[]string{approval, resubmission}, "LABEL APPROVAL"},
		{[]string{approval, exemption}, ""},
		{[]string{approval, distinctive}, ""},
		{[]string{exemption}, ""},
		{[]string{resubmission}, ""},
		{nil, ""},
	} {
		text, err := os.ReadFile("testdata/printable.html")
		if err != nil {
			t.Fatal(err)
		}
		form := string(text)
		for _, box := range []string{approval, exemption, distinctive, resubmission} {
			form = strings.Replace(form, "checked "+box, box, 1)
			if slices.Contains(test.checked, box) {
				form = strings.Replace(form, box, "checked "+box, 1)
			}
		}
		p, err := Parse([]byte(form))
		if err != nil {
			t.Fatal(err)
		}
		if l, err := p.Label(); err != nil || l.ApplicationType != test.want {
			t.Errorf("boxes %q: application type = %q, %v, want %q", test.checked, l.ApplicationType, err, test.want)
		}
	}
}

func TestIsHTML(t *testing.T) {
	for text, want := range map[string]bool{
		"\n\n <HTML><head>": true, "\ufeff<!DOCTYPE html>": true, "<!-- x --><html>": true, `{"ttb_id":1}`: false, "TTB ID,Permit No.": false, "": false,
	} {
		if got := IsHTML([]byte(text)); got != want {
			t.Errorf("IsHTML(%q) = %t, want %t", text, got, want)
		}
	}
}

// crashers are pages that once crashed Label: they have boxes in a cell without a row.
var crashers = []string{
	`<title>OMB No. 1513-0020</title><template><td><div class="label">TYPE OF APPLICATION</div><input checked alt="Previous TTB Id"></td></template>`,
	`<title>OMB No. 1513-0020</title><svg><td><foreignObject><div class="label">TYPE OF APPLICATION</div><input checked alt="Previous TTB Id">`,
}

func TestBoxesWithoutRow(t *testing.T) {
	for _, text := range crashers {
		if p, err := Parse([]byte(text)); err != nil || p.Kind != Printable || p.printable().ResubmissionOf != "" {
			t.Errorf("%s: %+v, %v", text, p, err)
		}
	}
}

// TestHostilePages checks pages that would take hours if the text after every name were read to the
// end of the cell.
func TestHostilePages(t *testing.T) {
	for start, repeated := range map[string]string{
		`<h1>COLA Detail</h1>`:                            `<strong>Status:</strong>x`,
		`<title>OMB No. 1513-0020</title><table><tr><td>`: `<div class="label data">TYPE OF APPLICATION</div><input checked alt="Previous TTB Id">`,
	} {
		p, err := Parse([]byte(start + strings.Repeat(repeated, 1<<20/len(repeated))))
		if err != nil {
			t.Fatal(err)
		}
		if l, err := p.Label(); !errors.Is(err, ErrNoLabel) {
			t.Errorf("label = %+v, %v", l, err)
		}
	}
}

// TestRepeatedNames checks that a value ends at the next name, and that only the first of several
// identical names is used.
func TestRepeatedNames(t *testing.T) {
	p, err := Parse([]byte(`<h1>COLA Detail</h1><p><strong>Status:</strong> A <i>B</i> <strong>TTB ID:</strong> 1 <strong>Status:</strong> C`))
	if err != nil {
		t.Fatal(err)
	}
	if l, err := p.Label(); err != nil || l.Status != "A B" || l.TTBID != "1" {
		t.Errorf("label = %+v, %v, want status A B and ID 1", l, err)
	}
}

// TestRealPages checks that both pages of each real label agree, and that the forms have images.
func TestRealPages(t *testing.T) {
	for _, file := range shareddata.Files(t, "ttb/pages/*/detail.html") {
		detail, form := mustLabel(t, file), mustLabel(t, strings.Replace(file, "detail", "printable", 1))
		sharedFields := func(l Label) []string {
			return []string{l.TTBID, l.Status, l.PermitNumber, l.BrandName, l.FancifulName, l.SerialNumber, l.Formula, l.ClassName, l.Approval,
				l.ApplicationType, l.Applicant, l.State, l.ZIP, strings.Join(l.Qualifications, "|")}
		}
		if diff := cmp.Diff(sharedFields(detail), sharedFields(form)); diff != "" {
			t.Errorf("%s and its form differ (-detail +form):\n%s", file, diff)
		}
		if form.ClassCode == "" || form.OriginCode == "" || form.ProductType == "" || form.Source == "" || form.Application == "" || detail.OriginName == "" {
			t.Errorf("%s: incomplete: %+v %+v", file, detail, form)
		}
		if len(form.Images) == 0 {
			t.Errorf("%s: no images", file)
		}
		for _, image := range form.Images {
			if image.FileName == "" || image.Position == "" || image.Width == 0 || image.Height == 0 {
				t.Errorf("%s: image %+v", file, image)
			}
		}
	}
	for _, file := range shareddata.Files(t, "ttb/pages/search_*.html") {
		p := mustParse(t, file)
		if matching, listed, ok := p.Total(); p.Kind != Results || !ok || listed == 0 || listed != min(matching, 1000) {
			t.Errorf("%s: %s with %d of %d results, %t", file, p.Kind, listed, matching, ok)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, file := range []string{"testdata/detail.html", "testdata/printable.html"} {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range crashers {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		if l, err := p.Label(); (err == nil) != (l.TTBID != "") {
			t.Errorf("Label() = %+v, %v", l, err)
		}
		if matching, listed, ok := p.Total(); listed < 0 || listed > matching || !ok && matching != 0 {
			t.Errorf("Total() = %d, %d, %t", matching, listed, ok)
		}
	})
}
