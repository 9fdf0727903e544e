package search

import (
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
	"github.com/colaregistry/colaregistry/internal/shareddata"
)

// TestNamesAsTyped searches for names as people type them. Each query must find exactly the listed
// labels.
func TestNamesAsTyped(t *testing.T) {
	t.Parallel()
	names := []string{
		"CHÂTEAU D'YQUEM", "COOPER'S HAWK", "L'ESPRIT DU TEMPS", "COPPER & KINGS", "BOUCHARD PÈRE & FILS", "FOUR BARREL",
		"A.B.C.", "RAVEN & OAK", "SNAKE RIVER", "GEESE ISLAND", "O'BRIEN", "ROCK'N'ROLL", "J. P. WISER'S", "Y SERIES",
		"PROSPER", "ÉTOILES DE L’OR", "BERRY HOUSES", "ST. GEORGE", "19 CRIMES", "DON'T PANIC", "A & W", "TWELVE 5",
		"CHÂTEAU L'ANGÉLUS", "MOSCATO D'ASTI", "MEN'S CLUB", "ALL SAINTS", "LUCKY SEVENS", "MOUNTS BAY", "J.W. DANT",
		"P.S. I LOVE YOU", "YSARN", "D'ANGELO", "JACK DANIEL'S", "JIM BEAM S WHITE", "D ARENBERG", "ANGELO & DAUGHTER",
	}
	h := namedLabels(t, names)
	for query, want := range map[string][]string{
		"yquem": {"CHÂTEAU D'YQUEM"}, "d'yquem": {"CHÂTEAU D'YQUEM"}, "dyquem": {"CHÂTEAU D'YQUEM"},
		"chateau yquem": {"CHÂTEAU D'YQUEM"}, "d’Yquem château": {"CHÂTEAU D'YQUEM"}, `"yquem"`: {"CHÂTEAU D'YQUEM"},
		"cooper hawk": {"COOPER'S HAWK"}, "coopers hawk": {"COOPER'S HAWK"}, "cooper's hawks": {"COOPER'S HAWK"},
		"cooper-hawk": {"COOPER'S HAWK"}, `"cooper's hawk"`: {"COOPER'S HAWK"}, `"cooper hawk"`: {"COOPER'S HAWK"}, `"coopers hawks"`: {},
		"esprit du temps": {"L'ESPRIT DU TEMPS"}, "l'esprit du temps": {"L'ESPRIT DU TEMPS"}, "lesprit": {"L'ESPRIT DU TEMPS"},
		"copper and kings": {"COPPER & KINGS"}, "copper & king": {"COPPER & KINGS"}, "copper + kings": {"COPPER & KINGS"},
		"copper kings": {"COPPER & KINGS"}, `"copper and kings"`: {"COPPER & KINGS"}, "copper-and-kings": {"COPPER & KINGS"},
		"bouchard pere et fils": {"BOUCHARD PÈRE & FILS"}, "bouchard pere and fils": {"BOUCHARD PÈRE & FILS"},
		"pere y fils": {"BOUCHARD PÈRE & FILS"}, `"père & fils"`: {"BOUCHARD PÈRE & FILS"},
		"4 barrel": {"FOUR BARREL"}, "four barrels": {"FOUR BARREL"}, `"4 barrel"`: {}, "five": {"TWELVE 5"}, "12 five": {"TWELVE 5"},
		"abc": {"A.B.C."}, "a.b.c.": {"A.B.C."}, "A.B.C": {"A.B.C."}, "a b c": {"A.B.C."}, "ab": {}, "ab*": {"A.B.C."},
		"raven and oak": {"RAVEN & OAK"}, "ravens oaks": {"RAVEN & OAK"}, "snake rivers": {"SNAKE RIVER"}, `"rivers"`: {},
		"goose island": {"GEESE ISLAND"}, "obrien": {"O'BRIEN"}, "o'brien": {"O'BRIEN"}, "brien": {"O'BRIEN"}, "o'briens": {"O'BRIEN"},
		"rock roll": {"ROCK'N'ROLL"}, "rocknroll": {"ROCK'N'ROLL"}, "jp wiser": {"J. P. WISER'S"}, "j.p. wisers": {"J. P. WISER'S"},
		"y": {"Y SERIES"}, "y series": {"Y SERIES"}, "rose": {}, "etoile or": {"ÉTOILES DE L’OR"}, "berries house": {"BERRY HOUSES"},
		"st george": {"ST. GEORGE"}, "crime": {"19 CRIMES"}, "don": {}, "dont panic": {"DON'T PANIC"}, "aw": {}, "a w": {"A & W"},
		"chateau-yquem": {"CHÂTEAU D'YQUEM"}, "men club": {"MEN'S CLUB"}, "men's club": {"MEN'S CLUB"}, "all saint": {"ALL SAINTS"},
		"all st": {"ALL SAINTS"}, "lucky seven": {"LUCKY SEVENS"}, "lucky 7": {"LUCKY SEVENS"}, "mount bay": {"MOUNTS BAY"},
		`"w dant"`: {"J.W. DANT"}, "jw dant": {"J.W. DANT"}, "j w dant": {"J.W. DANT"}, "ps i love you": {"P.S. I LOVE YOU"},
		"d'ysarn": {"YSARN"}, "dysarn d'ysarn": {}, `"moscato asti"`: {"MOSCATO D'ASTI"},
		"d angelo": {"D'ANGELO"}, `"d angelo"`: {}, "d-angelo": {}, "D. angelo": {}, "d* angelo": {"ANGELO & DAUGHTER", "D'ANGELO"},
		"jack daniel s": {"JACK DANIEL'S"}, "o brien": {"O'BRIEN"}, "o brien s": {"O'BRIEN"}, "l esprit du temps": {"L'ESPRIT DU TEMPS"},
		"don t panic": {"DON'T PANIC"}, "cooper s hawk": {"COOPER'S HAWK"}, "chateau d yquem d": {"CHÂTEAU D'YQUEM"},
		"jim beam's": {"JIM BEAM S WHITE"}, "jim beams": {"JIM BEAM S WHITE"}, `"jim beams"`: {"JIM BEAM S WHITE"}, "jim beam s": {"JIM BEAM S WHITE"},
		"darenberg": {"D ARENBERG"}, "d'arenberg": {"D ARENBERG"}, "darenb*": {"D ARENBERG"}, "d arenberg": {"D ARENBERG"},
		"m club": {}, "d and angelo": {}, "d angelo s daughter": {},
	} {
		slices.Sort(want)
		q := cola.Query{Text: query}
		if diff := cmp.Diff(want, h.names(q)); diff != "" {
			t.Errorf("q=%s (-want +got):\n%s", query, diff)
		}
	}
	for part, want := range map[string][]string{
		"cooper hawk": {"COOPER'S HAWK"}, "copper and kings": {"COPPER & KINGS"}, "copper & k": {"COPPER & KINGS"},
		"copper kings": {"COPPER & KINGS"}, "bouchard pere et fils": {"BOUCHARD PÈRE & FILS"}, "yquem": {"CHÂTEAU D'YQUEM"},
		"4 barrel": {"FOUR BARREL"}, "abc": {"A.B.C."}, "a.b.": {"A.B.C."}, "rivers": {"SNAKE RIVER"}, "rose": {},
		"rosp": {"PROSPER"}, "ravens & oak": {"RAVEN & OAK"}, "st george": {"ST. GEORGE"}, "st. g": {"ST. GEORGE"},
		"oak raven": {}, "esprit du temp": {"L'ESPRIT DU TEMPS"}, "jp wiser": {"J. P. WISER'S"}, "!": {},
		"chateau yquem": {"CHÂTEAU D'YQUEM"}, "chateau angelus": {"CHÂTEAU L'ANGÉLUS"}, "moscato asti": {"MOSCATO D'ASTI"},
		"d'ysarn": {"YSARN"}, "men club": {"MEN'S CLUB"}, "w dant": {"J.W. DANT"}, "all saint": {"ALL SAINTS"},
		"d angelo": {"D'ANGELO"}, "jack daniel s": {"JACK DANIEL'S"}, "l esprit du": {"L'ESPRIT DU TEMPS"}, "o brien": {"O'BRIEN"},
		"jim beam's": {"JIM BEAM S WHITE"}, "darenberg": {"D ARENBERG"}, "d'arenberg": {"D ARENBERG"}, "cooper s hawk": {"COOPER'S HAWK"},
	} {
		slices.Sort(want)
		if diff := cmp.Diff(want, h.names(cola.Query{BrandName: part})); diff != "" {
			t.Errorf("brand_name=%s (-want +got):\n%s", part, diff)
		}
		page := h.view.Permittees(cola.PermitteeSearch{Name: part, Page: 1, PerPage: 100})
		found := []string{}
		for _, row := range page.Rows {
			found = append(found, string(row.CompanyName))
		}
		if slices.Sort(found); !slices.Equal(found, want) {
			t.Errorf("permittees named %s: %q, want %q", part, found, want)
		}
	}
}

// TestWholeBrand checks that a brand name in quotes finds all spellings of the brand and no others.
func TestWholeBrand(t *testing.T) {
	t.Parallel()
	h := namedLabels(t, []string{"RAVEN & OAK", "Raven and Oak", "RAVEN OAK", "RAVEN", "RAVEN & OAK RESERVE", "RAVENS OAK", `"Q"`, "!!!", "'"})
	ravens := []string{"RAVEN & OAK", "RAVEN OAK", "Raven and Oak"}
	for name, want := range map[string][]string{
		`"RAVEN & OAK"`: ravens, ` “raven oak” `: ravens, `"  Ravén+Oak. "`: ravens, `«RAVEN»`: {"RAVEN"}, `"oak"`: {},
		`"rav"`: {}, `""Q""`: {`"Q"`}, `"q"`: {`"Q"`}, `"!!!"`: {"!!!"}, `"!"`: {}, `"'"`: {}, `""`: {}, `"`: {},
		`"raven`: {"RAVEN", "RAVEN & OAK", "RAVEN & OAK RESERVE", "RAVEN OAK", "RAVENS OAK", "Raven and Oak"},
	} {
		if diff := cmp.Diff(want, h.names(cola.Query{BrandName: name})); diff != "" {
			t.Errorf("brand_name=%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestUnknownWords checks which words of a query occur in no label, and their corrections.
func TestUnknownWords(t *testing.T) {
	t.Parallel()
	v := namedLabels(t, []string{"RAVEN & OAK", "RAVEN ROCK", "RAVINE", "CHÂTEAU D'YQUEM", "A.B.C.", "ROW"}).view
	for query, want := range map[string][]string{
		"ravin and oak": {"ravin"}, "ravens & oaks": nil, `"oak and ravne"`: {"ravne"}, "ab*": nil, "ravi* xy": {"xy"},
		"yquem abc": nil, "24001001000000": nil, "24001001999999": {"24001001999999"}, "1 & 2 ravin ravin": {"1", "2", "ravin"},
	} {
		if diff := cmp.Diff(want, v.UnknownWords(query)); diff != "" {
			t.Errorf("UnknownWords(%s) (-want +got):\n%s", query, diff)
		}
	}
	for word, want := range map[string]string{
		"ravin": "raven ravine", "ravne": "raven ravine", "ravines": "ravine", "chatau": "chateau", "Yqeum": "yquem", "bat": "", "oka": "",
		"aven": "", "rovxn": "", "raveen": "raven", "raviner": "ravine",
	} {
		if got := strings.Join(v.NearestWords(word), " "); got != want {
			t.Errorf("NearestWords(%s) = %q, want %q", word, got, want)
		}
	}
}

// TestUnknownPrefixes checks which prefixes in a query match no word or ID, and their corrections.
func TestUnknownPrefixes(t *testing.T) {
	t.Parallel()
	v := namedLabels(t, []string{"RAVENSWOOD", "RAVENNA", "RAVINE", "CHÂTEAU"}).view
	for query, want := range map[string][]string{
		"rav* oak": nil, "oak": nil, "2400*": nil, "2401*": {"2401"}, "RAVX* ravx* chatau*": {"ravx", "chatau"}, `"raven oak*"`: {"oak"},
	} {
		if diff := cmp.Diff(want, v.UnknownPrefixes(query)); diff != "" {
			t.Errorf("UnknownPrefixes(%s) (-want +got):\n%s", query, diff)
		}
	}
	for prefix, want := range map[string]string{"ravemn": "ravenn", "ravxn": "raven ravin", "chatau": "chateau", "xyz": "", "qqqq": ""} {
		if got := strings.Join(v.NearestPrefixes(prefix), " "); got != want {
			t.Errorf("NearestPrefixes(%s) = %q, want %q", prefix, got, want)
		}
	}
}

// namedIndex is a view of labels that the tests identify by name.
type namedIndex struct {
	view *View
	name map[cola.TTBID]string
}

// namedLabels indexes a label and a permittee with each name.
func namedLabels(t *testing.T, names []string) namedIndex {
	t.Helper()
	x := New(Options{ManualCompaction: true})
	t.Cleanup(x.Close)
	n := namedIndex{name: map[cola.TTBID]string{}}
	u := x.Begin()
	for i, name := range names {
		id := cola.TTBID(24_001_001_000_000 + i)
		u.Label(&cola.IndexRecord{Summary: cola.ColaSummary{TTBID: id, BrandName: name, ApprovalDate: 7}})
		u.Permittee(&cola.Permittee{PermitNumber: fmt.Sprintf("CA-I-%d", i), CompanyName: cola.Text(name)})
		n.name[id] = name
	}
	if err := u.Commit(Marks{}); err != nil {
		t.Fatal(err)
	}
	n.view = x.View()
	return n
}

// names returns the names of the labels that match.
func (n namedIndex) names(q cola.Query) []string {
	names := []string{}
	for _, row := range n.view.Search(cola.ColaSearch{Query: q, Page: 1, PerPage: 1000}).Rows {
		names = append(names, n.name[row.TTBID])
	}
	slices.Sort(names)
	return names
}

// TestRealNames runs queries on the labels of a real export and compares the results with a golden
// file.
func TestRealNames(t *testing.T) {
	t.Parallel()
	file, err := os.Open(shareddata.File(t, "ttb/cola_export.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	u := x.Begin()
	for _, row := range rows[1:] { // TTB ID, permit, serial number, completed, product, brand, origin, …, class
		id, ok := cola.ParseTTBID(row[0])
		if !ok {
			t.Fatalf("%q is not a TTB ID", row[0])
		}
		u.Label(&cola.IndexRecord{Summary: cola.ColaSummary{
			TTBID: id, PermitNumber: row[1], ProductName: cola.Text(row[4]), BrandName: row[5], ClassName: cola.Text(row[9]),
		}})
	}
	if err := u.Commit(Marks{}); err != nil {
		t.Fatal(err)
	}
	queries, err := os.ReadFile("testdata/real_names.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := golden.Load(t, "real_names")
	for query := range strings.Lines(string(queries)) {
		query = strings.TrimSpace(query)
		q := cola.Query{Text: query}
		if part, ok := strings.CutPrefix(query, "brand_name: "); ok {
			q = cola.Query{BrandName: part}
		}
		ids := []string{}
		for _, row := range x.View().Search(cola.ColaSearch{Query: q, Page: 1, PerPage: 1000}).Rows {
			ids = append(ids, row.TTBID.String())
		}
		cases.Check(t, query, ids)
	}
}
