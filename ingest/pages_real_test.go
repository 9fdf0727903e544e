package ingest_test

import (
	"database/sql"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/ingest"
	"github.com/colaregistry/colaregistry/internal/shareddata"
)

// pagesFolder returns the source of the real pages, or skips the test if they are missing.
func pagesFolder(t *testing.T) []ingest.Source {
	return []ingest.Source{ingest.FileSource(shareddata.File(t, "ttb/pages"))}
}

// unreviewed is the condition on almost every approval.
const unreviewed = "TTB has not reviewed this label for type size, characters per inch or contrasting background. " +
	"The responsible industry member must continue to ensure that the mandatory information on the actual labels is " +
	"displayed in the correct type size, number of characters per inch, and on a contrasting background in accordance " +
	"with the TTB labeling regulations, 27 CFR parts 4, 5, 7, and 16, as applicable."

// labelOnPages returns a label with the values that most of the real pages share, changed by set.
// Each image is "position width height file name".
func labelOnPages(id cola.TTBID, brand, permit string, set func(*cola.Cola), images ...string) cola.Cola {
	c := cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: id, BrandName: brand, PermitNumber: permit, ApplicationStatus: vocabulary.StatusSurrendered,
	}}
	c.ApplicationType, c.Qualifications = "LABEL APPROVAL", unreviewed
	c.IsDistinctiveContainer, c.IsResubmission = cola.Some(false), cola.Some(false)
	for i, text := range images {
		m := cola.Image{TTBImageID: fmt.Sprintf("%s-%d", id, i+1), ImageIndex: i}
		parts := strings.SplitN(text, " ", 4)
		var width, height float64
		if _, err := fmt.Sscan(parts[1]+" "+parts[2], &width, &height); err != nil {
			panic(err)
		}
		m.ContainerPosition, m.FileName = cola.Text(parts[0]), cola.Text(parts[3])
		m.ExtensionType = cola.Text(parts[3][strings.LastIndex(parts[3], ".")+1:])
		m.WidthInches, m.HeightInches = cola.Some(width), cola.Some(height)
		c.Images = append(c.Images, m)
	}
	set(&c)
	c.Derive()
	return c
}

// labelsOnPages returns ten labels, transcribed by hand from their pages.
func labelsOnPages() []cola.Cola {
	day := cola.NewDate
	return []cola.Cola{
		labelOnPages(12175001000069, "HOWLING MOON", "DSP-NC-15011", func(c *cola.Cola) {
			c.ProductName, c.ProductType = "SPECIAL BLEND", vocabulary.DistilledSpirits
			c.ClassID, c.ClassName = "649", "OTHER SPECIALTIES & PROPRIETARIES"
			c.OriginID, c.OriginName, c.DomesticOrImported = "35", "NORTH CAROLINA", "domestic"
			c.ApplicationDate, c.ApprovalDate = day(2012, 6, 23), day(2012, 7, 26)
			c.AddressRecipient, c.AddressState, c.AddressZipCode = "HOWLING MOON, THE COPPER STILL LLC", "NC", "28804"
			c.TradeName, c.SerialNumber, c.Formula = "HOWLING MOON", "122016", "1007041"
			c.ABV, c.Volume, c.VolumeUnit = cola.Some(50.0), cola.Some(750.0), "milliliters"
		}, "front 4 3.5 Black Label copy.jpg", "back 3.25 3.5 Back Label special blend copy.jpg"),
		labelOnPages(14251001000304, "VICTORIA", "NJ-I-21067", func(c *cola.Cola) {
			c.ProductType, c.ClassID, c.ClassName = vocabulary.MaltBeverage, "952", "ALE"
			c.OriginID, c.OriginName, c.DomesticOrImported = "81", "MEXICO", "imported"
			c.ApplicationDate, c.ApprovalDate = day(2014, 9, 8), day(2014, 10, 1)
			c.AddressRecipient, c.AddressState, c.AddressZipCode = "R.R. IMPORTACIONES, INC.", "NJ", "07055"
			c.SerialNumber = "14BR04"
			c.ABV, c.Volume, c.VolumeUnit = cola.Some(4.0), cola.Some(8.0), "fluid ounces"
		}, "front 3.93 4.72 Victoria-2ND-Corrected.jpg"),
		labelOnPages(16225001000074, "AGRIOLE GUSSALLI BERETTA", "ME-I-15006", func(c *cola.Cola) {
			c.ProductType, c.ClassID, c.ClassName = vocabulary.Wine, "80", "TABLE RED WINE"
			c.OriginID, c.OriginName, c.DomesticOrImported = "50", "ITALY", "imported"
			c.ApplicationDate, c.ApprovalDate = day(2016, 8, 12), day(2016, 8, 30)
			c.AddressRecipient, c.AddressState, c.AddressZipCode = "DUE FRATELLI IMPORTS, DUE FRATELLI IMPORTS, LLC", "ME", "04101"
			c.IsResubmission, c.ForResubmissionTTBID = cola.Some(true), 16142001000011
			c.SerialNumber, c.WineAppellation, c.WineVintageYear = "16BARB", "BARBERA D'ALBA", cola.Some(2013)
			c.GrapeVarietals = []string{"Barbera"}
			c.ABV, c.Volume, c.VolumeUnit = cola.Some(13.5), cola.Some(750.0), "milliliters"
			c.Qualifications = `When new labels are printed, the alcohol content statement must be changed to one of the following: ` +
				`"Alc. ___% by Vol.."," Alc. by Vol.. __%","___% Alc. by Vol.." or "___% Alc. / Vol.". See 27 CFR 4.36 (b).` + "\n" + unreviewed
		}, "front 2.4 3.1 Barbera Brand 1.jpg", "back 2.4 2.75 Barbera Back.jpg"),
		labelOnPages(16323001000323, "ANGEL'S ENVY", "DSP-KY-15007", func(c *cola.Cola) {
			c.ProductName, c.ProductType = "FROM THE CELLARS OF LINCOLN HENDERSON", vocabulary.DistilledSpirits
			c.ClassID, c.ClassName = "641", "WHISKY SPECIALTIES"
			c.OriginID, c.OriginName, c.DomesticOrImported = "22", "KENTUCKY", "domestic"
			c.ApplicationDate, c.ApprovalDate = day(2016, 11, 18), day(2017, 1, 10)
			c.AddressRecipient, c.AddressState, c.AddressZipCode = "STRONG SPIRITS, INC.", "KY", "40004"
			c.TradeName, c.SerialNumber = "LOUISVILLE SPIRITS GROUP", "160061"
		}, "front 3.24 6.3 AngelsEnvyFrontBottleArt.jpg", "back 3.25 6.3 AngelsEnvyBackBottleArt.jpg",
			"strip 6.4 0.51 AngelsEnvyCorkStrip.jpg", "other 3.85 1.06 AngelsEnvySideBatchLabel.jpg", "other 3.85 1.06 AngelsEnvySideGovtWarning.jpg"),
		labelOnPages(19276001000953, "COASTERS", "DSP-CA-20189", func(c *cola.Cola) {
			c.ProductName, c.ProductType = "HAND CRAFTED", vocabulary.DistilledSpirits
			c.ClassID, c.ClassName = "641", "WHISKY SPECIALTIES"
			c.OriginID, c.OriginName, c.DomesticOrImported = "01", "CALIFORNIA", "domestic"
			c.ApplicationDate, c.ApprovalDate = day(2019, 10, 3), day(2019, 11, 3)
			c.AddressRecipient, c.AddressState, c.AddressZipCode = "Ublendit, LLC", "CA", "95066"
			c.TradeName, c.SerialNumber, c.Formula = "UBLENDIT", "190121", "1310670"
		}, "front 4 6 Coasters-Premium.jpeg"),
		labelOnPages(20188001000752, "DRAGONBACK ESTATE", "CA-I-21878", func(c *cola.Cola) {
			c.ProductType, c.ClassID, c.ClassName = vocabulary.Wine, "80", "TABLE RED WINE"
			c.OriginID, c.OriginName, c.DomesticOrImported = "62", "ARGENTINA", "imported"
			c.ApplicationDate, c.ApprovalDate = day(2020, 7, 6), day(2020, 7, 22)
			c.AddressRecipient, c.AddressState, c.AddressZipCode = "Finca La Malena, Finca La Malena, LLC", "CA", "92264"
			c.SerialNumber, c.WineAppellation = "202003", "MENDOZA"
			c.GrapeVarietals = []string{"malbec", "Cabernet Franc"}
		}, "front 3.54 5.9 WOO ICON BLEND.jpg", "back 2.75 4.72 DRAGONBACK ESTATES ICON BLEND 2018 BACK.png"),
		labelOnPages(22122001000150, "MARNAVELI", "MA-I-21038", func(c *cola.Cola) {
			c.ProductType, c.ClassID, c.ClassName = vocabulary.Wine, "80", "TABLE RED WINE"
			c.OriginID, c.OriginName, c.DomesticOrImported = "6E", "GEORGIA", "imported"
			c.ApplicationDate, c.ApprovalDate = day(2022, 5, 2), day(2022, 5, 9)
			c.AddressRecipient, c.AddressState, c.AddressZipCode = "Georgian Toast, A & P Wine Wholesalers LLC", "MA", "02142"
			c.TradeName, c.SerialNumber = "SAPERAVI BROTHERS", "229832"
			c.WineAppellation, c.GrapeVarietals = "KAKHETI", []string{"Saperavi"}
		}, "front 5 5 Saperavi front.jpg", "back 5 5 label 1.jpg"),
		labelOnPages(22228001000743, "CASA DOS SANTOS", "DSP-CA-131", func(c *cola.Cola) {
			c.ProductName, c.ProductType = "LOS CABOS WATERMELON", vocabulary.DistilledSpirits
			c.ClassID, c.ClassName = "649", "OTHER SPECIALTIES & PROPRIETARIES"
			c.OriginID, c.OriginName, c.DomesticOrImported = "01", "CALIFORNIA", "domestic"
			c.ApplicationDate, c.ApprovalDate = day(2022, 8, 16), day(2022, 8, 18)
			c.AddressRecipient, c.AddressState, c.AddressZipCode = "LEVECKE CORPORATION", "CA", "91752"
			c.TradeName, c.SerialNumber, c.Formula = "CASA DOS SANTOS, MIRA LOMA, CA 91752", "220616", "1362496"
		}, "front 2.8 8.6 _CasaDosSantos_Watermelon_Front.jpg", "neck 5.2 3 _CasaDosSantos_Sleeve.png", "back 3.4 5.2 _CasaDosSantos_Watermelon_Back.png"),
		labelOnPages(25100001000415, "AMMUNITION", "BW-CA-6348", func(c *cola.Cola) {
			c.ApplicationStatus, c.ExpirationDate = vocabulary.StatusExpired, day(2025, 10, 23)
			c.ProductType, c.ClassID, c.ClassName = vocabulary.Wine, "80", "TABLE RED WINE"
			c.OriginID, c.OriginName, c.DomesticOrImported = "01", "CALIFORNIA", "domestic"
			c.ApplicationDate, c.ApprovalDate = day(2025, 4, 10), day(2025, 4, 24)
			c.AddressRecipient, c.AddressState, c.AddressZipCode = "Barrel Ten Quarter Circle, Inc, BARREL TEN QUARTER CIRCLE, INC.", "CA", "94558"
			c.TradeName, c.SerialNumber = "AMMUNITION", "250053"
			c.WineAppellation, c.GrapeVarietals = "SONOMA COUNTY", []string{"Cabernet Sauvignon"}
			c.Qualifications = "NO MORE USE-UPS WILL BE GRANTED.\n" +
				"This certificate is operative for the release of not more than the following number of bottle cases/ kegs. (5000 CASES)\n" +
				"This use-up authorizes the depletion of product and labels that are currently in existence as of the date the use-up was " +
				"requested. No additional product may be made and no additional labels may be printed.\n" + unreviewed
		}, "front 2.51 3.5 N25-0053 Ammunition Cabernet Savuginon Sonoma County B Use Up Request.jpg",
			"back 4.79 3.5 N25-0053 Ammunition Cabernet Savuginon Sonoma County F Use Up Request.jpg"),
		labelOnPages(25105001000171, "HEIST BREWERY", "BR-NC-21273", func(c *cola.Cola) {
			c.ApplicationStatus, c.ProductName = vocabulary.StatusApproved, "MAPLE JUNKIE"
			c.ProductType, c.ClassID, c.ClassName = vocabulary.MaltBeverage, "906", "MALT BEVERAGES SPECIALITIES - FLAVORED"
			c.OriginID, c.OriginName, c.DomesticOrImported = "35", "NORTH CAROLINA", "domestic"
			c.ApplicationDate, c.ApprovalDate = day(2025, 4, 15), day(2025, 6, 13)
			c.AddressRecipient, c.AddressState, c.AddressZipCode = "Heist Brewing Company, LLC", "NC", "28206"
			c.SerialNumber = "25MJCN"
			c.Qualifications = `When labels are printed the net contents must include "FL" (fluid ounces) in your statement. ` +
				"Example 12 fl. oz. or 12 fluid ounces. See 27 CFR 7.70\n" +
				"This COLA is conditioned upon compliance with TTB Ruling 2015-1\n" + unreviewed
		}, "front 8 4.5 Brunch Junkie Maple 2024.jpg"),
	}
}

// TestRealPages compares all fields of ten labels with the values on their pages.
func TestRealPages(t *testing.T) {
	folder := pagesFolder(t)
	st := mustOpen(t)
	report := mustImport(t, st, ingest.Colas, folder)
	if report.Counts != (ingest.Counts{Read: 68, Added: 34, Changed: 34}) || report.Undated != 0 {
		t.Errorf("report = %s, undated = %d", report.Summary(), report.Undated)
	}
	for _, want := range labelsOnPages() {
		want.DateEstimate = mustCola(t, st, want.TTBID).DateEstimate // not on the page
		if diff := cmp.Diff(want, mustCola(t, st, want.TTBID)); diff != "" {
			t.Errorf("%s (-page +stored):\n%s", want.TTBID, diff)
		}
	}
	report = mustImport(t, st, ingest.Colas, folder)
	if report.Counts != (ingest.Counts{Read: 68, Unchanged: 68}) {
		t.Errorf("second import: report = %s", report.Summary())
	}
}

// TestFormsAlone checks that a label's form has all the data of its detail page.
func TestFormsAlone(t *testing.T) {
	both, forms := mustOpen(t), mustOpen(t)
	mustImport(t, both, ingest.Colas, pagesFolder(t))
	for _, path := range shareddata.Files(t, "ttb/pages/*/printable.html") {
		mustImport(t, forms, ingest.Colas, []ingest.Source{ingest.FileSource(path)})
		id, _ := cola.ParseTTBID(filepath.Base(filepath.Dir(path)))
		if diff := cmp.Diff(mustCola(t, both, id), mustCola(t, forms, id)); diff != "" {
			t.Errorf("%s (-both pages +form):\n%s", id, diff)
		}
	}
}

// TestPagesAfterExport checks that pages add details to labels from TTB's export without changing
// any of the exported values.
func TestPagesAfterExport(t *testing.T) {
	folder, export := pagesFolder(t), realData(t, "ttb/cola_export.csv")
	st := mustOpen(t)
	mustImport(t, st, ingest.Colas, export)
	before := map[cola.TTBID]cola.Cola{}
	for _, path := range shareddata.Files(t, "ttb/pages/*/detail.html") {
		id, _ := cola.ParseTTBID(filepath.Base(filepath.Dir(path)))
		before[id] = mustCola(t, st, id)
	}
	report := mustImport(t, st, ingest.Colas, folder)
	if report.Counts != (ingest.Counts{Read: 68, Changed: 68}) || report.Undated != 0 || len(before) != 34 {
		t.Errorf("report = %s, undated = %d, %d labels", report.Summary(), report.Undated, len(before))
	}
	for id, old := range before {
		current := mustCola(t, st, id)
		if current.ApprovalDate == 0 || current.ApplicationStatus == "" || current.AddressRecipient == "" || len(current.Images) == 0 {
			t.Errorf("%s lacks details: %+v", id, current)
		}
		facts := func(c cola.Cola) []any {
			return []any{c.BrandName, c.ProductName, c.ProductType, c.PermitNumber, c.ClassID, c.ClassName, c.OriginID, c.OriginName,
				c.DomesticOrImported, c.SerialNumber, c.LatestUpdateDate}
		}
		if diff := cmp.Diff(facts(old), facts(current)); diff != "" {
			t.Errorf("%s: the pages differ from the export (-export +pages):\n%s", id, diff)
		}
	}
	for _, sources := range [][]ingest.Source{export, folder} {
		if report := mustImport(t, st, ingest.Colas, sources); report.Unchanged != report.Read {
			t.Errorf("repeated import: report = %s", report.Summary())
		}
	}
}

// contactFields match an applicant's contact information: the block below its heading and the phone
// and fax numbers on a detail page, the captioned items on a form, and email addresses anywhere.
var contactFields = []*regexp.Regexp{
	regexp.MustCompile(`(?s)Contact Information:.*?<td[^>]*>(.*?)</td>`),
	regexp.MustCompile(`(?s)(?:Phone|Fax) Number:(.*?)</td>`),
	regexp.MustCompile(`(?s)(?:PHONE NUMBER|FAX NUMBER|EMAIL ADDRESS|PRINT NAME OF APPLICANT OR AUTHORIZED AGENT)\s*</div>\s*<div class="data">(.*?)</div>`),
	regexp.MustCompile(`()([\w.+-]+@[\w-]+\.[\w.]+)`),
}

var tag = regexp.MustCompile(`<[^>]*>`)

// contacts returns the names, phone numbers and email addresses in the contact information on a
// page.
func contacts(page string) (found []string) {
	for _, field := range contactFields {
		for _, m := range field.FindAllStringSubmatch(page, -1) {
			text := strings.ReplaceAll(html.UnescapeString(tag.ReplaceAllString(strings.Join(m[1:], ""), " ")), "\u00a0", " ")
			if text = strings.Join(strings.Fields(text), " "); text != "" && text != "webmaster@ttb.treas.gov" {
				found = append(found, text)
			}
		}
	}
	return found
}

// dump returns all values in a store's database, in lower case.
func dump(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var all strings.Builder
	for _, table := range column(t, db, `SELECT name FROM sqlite_schema WHERE type = 'table'`) {
		for _, name := range column(t, db, `SELECT name FROM pragma_table_info('`+table+`')`) {
			for _, value := range column(t, db, `SELECT "`+name+`" FROM "`+table+`"`) {
				fmt.Fprintln(&all, strings.ToLower(value))
			}
		}
	}
	return all.String()
}

// column returns the values of a single-column query, with NULL as an empty string.
func column(t *testing.T, db *sql.DB, query string) (values []string) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var value sql.NullString
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value.String)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}

// TestNoContacts checks that the database contains no contact information from the real pages,
// except names that are part of the business name.
func TestNoContacts(t *testing.T) {
	folder := pagesFolder(t)
	st, path := mustOpenAt(t)
	mustImport(t, st, ingest.Colas, folder)
	stored := dump(t, path)
	if !strings.Contains(stored, "howling moon") {
		t.Fatal("the dump has no brand names")
	}
	names, numbers := 0, 0
	for _, file := range shareddata.Files(t, "ttb/pages/*/*.html") {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		id, _ := cola.ParseTTBID(filepath.Base(filepath.Dir(file)))
		business := strings.ToLower(string(mustCola(t, st, id).AddressRecipient))
		for _, contact := range contacts(string(page)) {
			if strings.ContainsAny(contact, "0123456789@") {
				numbers++
			} else {
				names++
			}
			contact = strings.ToLower(contact)
			digits := regexp.MustCompile(`\D`).ReplaceAllString(contact, "")
			if strings.Contains(stored, contact) && !strings.Contains(business, contact) || len(digits) >= 7 && strings.Contains(stored, digits) {
				t.Errorf("%s: the database contains %q", file, contact)
			}
		}
	}
	if names < 68 || numbers < 68 {
		t.Errorf("found %d names and %d numbers on 68 pages", names, numbers)
	}
}
