package demo

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestPermittees(t *testing.T) {
	seen, kinds, parts := map[string]bool{}, map[string]int{}, map[int]int{}
	listed, operating := 0, 0
	holders := map[string]cola.Permittee{}
	for _, p := range Permittees(ordinary) {
		if seen[p.PermitNumber] {
			t.Fatalf("duplicate permit %s", p.PermitNumber)
		}
		seen[p.PermitNumber] = true
		holders[p.PermitNumber] = p
		kinds[string(p.PermitteeType)]++
		parts[strings.Count(p.PermitNumber, "-")+1]++
		if p.PermitNumber != vocabulary.NormalizePermit(p.PermitNumber) || p.CompanyName == "" ||
			len(p.CompanyState) != 2 || len(p.CompanyZipCode) != 5 {
			t.Fatalf("invalid permittee: %+v", p)
		}
		if p.Listed {
			listed++
		}
		if p.OperatingName != "" {
			operating++
		}
	}
	for _, kind := range []string{
		"Bonded Winery", "Bonded Wine Cellar", "Taxpaid Wine Bottling House", "Wine Producer", "Importer (Alcohol)",
		"Wholesaler (Alcohol)", "Brewery", "Distilled Spirits Plant",
	} {
		if kinds[kind] == 0 {
			t.Errorf("no permittee has type %s: %v", kind, kinds)
		}
	}
	if kinds[""] > 0 || parts[2] == 0 || parts[3] == 0 || parts[4] == 0 || len(parts) != 3 {
		t.Errorf("kinds %v, parts of permit numbers %v", kinds, parts)
	}
	if n := len(seen); listed < n*6/10 || listed > n*9/10 || operating < n/10 {
		t.Errorf("%d of %d permittees are listed, %d have an operating name", listed, n, operating)
	}
	labelsOnly := map[string]bool{}
	for c := range Labels(ordinary) {
		p, ok := holders[c.PermitNumber]
		if !ok {
			labelsOnly[c.PermitNumber] = true
		} else if c.AddressRecipient != "" && (c.AddressRecipient != p.CompanyName || c.AddressState != p.CompanyState || c.AddressZipCode != p.CompanyZipCode) {
			t.Fatalf("%s: %s %s %s, but the permittee is %+v",
				c.TTBID, c.AddressRecipient, c.AddressState, c.AddressZipCode, p)
		}
	}
	if len(labelsOnly) == 0 {
		t.Error("no permittee known only from labels")
	}
}

func TestAVAs(t *testing.T) {
	areas := AVAs(ordinary)
	if len(areas) < 40 {
		t.Fatalf("%d AVAs, want at least 40", len(areas))
	}
	current := map[string]cola.AVADetail{}
	ids := map[string]bool{}
	former := 0
	for _, a := range areas {
		if ids[a.AVAID] || a.Name == "" || len(a.States) == 0 || a.EstablishedDate == 0 ||
			!strings.HasPrefix(string(a.CFRIndex), "9.") {
			t.Errorf("invalid AVA: %+v", a)
		}
		ids[a.AVAID] = true
		if a.ValidEndDate != 0 {
			former++
			continue
		}
		if _, ok := current[a.Name]; ok {
			t.Errorf("two current boundaries of %s", a.Name)
		}
		current[a.Name] = a
	}
	if former == 0 {
		t.Error("no former boundary")
	}
	for _, a := range current {
		for _, parent := range a.ParentAVAs {
			if p, ok := current[parent]; !ok || !slices.Contains(p.ChildAVAs, a.Name) {
				t.Errorf("%s is within %s, which doesn't list it", a.Name, parent)
			}
		}
		for _, child := range a.ChildAVAs {
			if c, ok := current[child]; !ok || !slices.Contains(c.ParentAVAs, a.Name) {
				t.Errorf("%s contains %s, which doesn't list it", a.Name, child)
			}
		}
	}
	if len(current["Napa Valley"].ChildAVAs) < 4 || !slices.Contains(current["Oakville"].ParentAVAs, "North Coast") {
		t.Errorf("Napa Valley = %+v, Oakville = %+v", current["Napa Valley"], current["Oakville"])
	}
}

// sharedData returns the path of a file in the optional data folder next to the module. It skips
// the test if the file is missing.
func sharedData(t *testing.T, name string) string {
	t.Helper()
	root := os.Getenv("COLAREGISTRY_SHARED_DATA")
	for dir := "."; root == ""; dir = filepath.Join(dir, "..") {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			root = filepath.Join(dir, "..", "shared", "data")
		}
	}
	path := filepath.Join(root, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no optional data folder: %v", err)
	}
	return path
}

func TestPublishedAVAs(t *testing.T) {
	f, err := os.Open(sharedData(t, "ava/avas.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	published := map[string]cola.AVADetail{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var a cola.AVADetail
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		published[a.AVAID] = a
	}
	for _, a := range AVAs(ordinary) {
		ignored := cmpopts.IgnoreFields(cola.AVADetail{}, "ParentAVAs", "ChildAVAs", "Petitioner", "CFRAuthor")
		if diff := cmp.Diff(published[a.AVAID], a, ignored, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-published +demo):\n%s", a.AVAID, diff)
		}
	}
}

func TestProcessingTimes(t *testing.T) {
	rows := ProcessingTimes(ordinary)
	type key struct {
		commodity string
		day       cola.Date
	}
	seen, recent, unknown := map[key]bool{}, 0, 0
	for _, r := range rows {
		k := key{r.Commodity, r.SnapshotDate}
		if seen[k] || r.SnapshotDate > testDay || int(r.SnapshotDate-r.QueueFrontierDate) != r.QueueDepthDays.V ||
			r.QueueDepthDays.V < 1 {
			t.Fatalf("inconsistent row: %+v", r)
		}
		seen[k] = true
		if r.SnapshotDate > testDay-31 {
			recent++
		}
		if !r.TurnaroundDaysMedian.OK {
			unknown++
		} else if r.TurnaroundDaysMedian.V < 1 || r.TurnaroundDaysMedian.V > 40 {
			t.Fatalf("inconsistent row: %+v", r)
		}
	}
	if len(rows) < 3*12*10 || recent < 3*4 || unknown == 0 || unknown*20 > len(rows) {
		t.Errorf("%d rows, %d from the last month, %d without a median", len(rows), recent, unknown)
	}
}

func TestProcessingTimesOfLabels(t *testing.T) {
	published := map[int][]int{}
	for _, r := range ProcessingTimes(ordinary) {
		if r.Commodity == "Wine" && r.TurnaroundDaysMedian.OK {
			published[yearOf(r.SnapshotDate)] = append(published[yearOf(r.SnapshotDate)], r.TurnaroundDaysMedian.V)
		}
	}
	actual := map[int][]int{}
	for c := range Labels(ordinary) {
		if c.ProductType == vocabulary.Wine && c.ApprovalDate != 0 {
			year := yearOf(c.ApplicationDate)
			actual[year] = append(actual[year], int(c.ApprovalDate-c.ApplicationDate))
		}
	}
	median := func(v []int) int { slices.Sort(v); return v[len(v)/2] }
	for year, days := range published {
		if got, want := median(actual[year]), median(days); got-want > 3 || want-got > 3 {
			t.Errorf("%d: labels took a median of %d days, but the published median is %d", year, got, want)
		}
	}
}

func TestFormulaAndRegistrationTimes(t *testing.T) {
	types := map[string]int{}
	for _, r := range FormulaProcessingTimes(ordinary) {
		types[r.Commodity+"/"+r.FormulaType]++
		if r.SnapshotDate > testDay || int(r.SnapshotDate-r.QueueFrontierDate) != r.QueueDepthDays.V ||
			r.TurnaroundDaysMedian.V < 1 {
			t.Fatalf("inconsistent row: %+v", r)
		}
	}
	if len(types) != 9 || types["Wine/Formula Approval"] < 12*10 {
		t.Errorf("formula times = %v, want 9 types", types)
	}
	categories, unknown := map[string]int{}, 0
	for _, r := range RegistrationProcessingTimes(ordinary) {
		categories[r.Category]++
		if r.SnapshotDate > testDay || r.ReportMonth.Time().Day() != 1 || r.SnapshotDate < r.ReportMonth {
			t.Fatalf("inconsistent row: %+v", r)
		}
		if !r.TurnaroundDaysMedian.OK {
			unknown++
		}
	}
	if len(categories) != 3 || unknown == 0 {
		t.Errorf("registration times: %v, %d without a median", categories, unknown)
	}
}

func TestProductionReports(t *testing.T) {
	rows := ProductionReports(ordinary)
	redacted, kinds := 0, map[string]int{}
	var before cola.ReportKey
	done := map[cola.ReportKey]bool{}
	for _, r := range rows {
		if r.Key() != before {
			done[before], before = true, r.Key()
			if done[before] {
				t.Fatalf("rows of %+v are not adjacent", before)
			}
		}
		kinds[r.Commodity+" "+r.ReportType]++
		if r.ReportDate > testDay || yearOf(r.ReportDate) != r.Year || r.MonthNumber.OK != (r.ReportType == "monthly") {
			t.Fatalf("inconsistent row: %+v", r)
		}
		if r.IsRedacted {
			redacted++
		}
		if r.IsRedacted == r.Value.OK || r.Value.OK && r.Value.V < 0 {
			t.Fatalf("inconsistent row: %+v", r)
		}
		if r.CountIMs.OK && (r.CountIMs.V < minMembers) != r.IsRedacted {
			t.Fatalf("inconsistent row: %+v", r)
		}
	}
	if len(kinds) != 6 || redacted == 0 || redacted*5 > len(rows) {
		t.Errorf("%d rows, %d redacted, kinds %v; want 6 kinds with a few redacted rows", len(rows), redacted, kinds)
	}
	if last := rows[len(rows)-1].ReportDate; last < testDay-120 {
		t.Errorf("last report is for %s, want one from the last 120 days", last)
	}
}
