package registry_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/store"
)

// labelOf returns a label from this year whose only text is "hapax", after applying edit to it.
func labelOf(id cola.TTBID, edit func(c *cola.Cola)) cola.Cola {
	var c cola.Cola
	c.TTBID, c.BrandName, c.ProductType, c.PermitNumber = id, "HAPAX", vocabulary.Wine, "NJ-I-721"
	c.ApprovalDate = cola.DateOf(testNow)
	edit(&c)
	return c
}

// TestSearchNotes checks that each note appears in exactly the searches it applies to.
func TestSearchNotes(t *testing.T) {
	w := mustWorld(t, 300)
	c := w.mustCaller(t, "notes@example.com", cola.TierPro)
	w.mustImport(t, store.History,
		labelOf(26001001000001, func(c *cola.Cola) { c.ABV, c.Volume, c.VolumeUnit = cola.Some(12.0), cola.Some(750.0), "milliliters" }),
		labelOf(26001001000002, func(*cola.Cola) {}),
		labelOf(26001001000003, func(c *cola.Cola) { c.BrandName, c.ApprovalDate = "BYGONE", cola.NewDate(2009, 5, 1) }),
		labelOf(26001001000004, func(c *cola.Cola) { c.BrandName, c.ApprovalDate = "TOMORROW", cola.DateOf(testNow).AddDays(1) }),
		labelOf(26001001000005, func(c *cola.Cola) { c.BrandName, c.OriginName = "TWOFOLD", "DELAWARE" }),
		labelOf(26001001000006, func(c *cola.Cola) { c.BrandName, c.OriginName, c.OriginID = "TWOFOLD", "GEORGIA", "6E" }),
		labelOf(26001001000007, func(c *cola.Cola) {
			c.BrandName, c.GrapeVarietals, c.WineAppellation = "VITIS", []string{"Zinfandel"}, "NAPA VALLEY"
		}),
		labelOf(26001001000011, func(c *cola.Cola) { c.BrandName = "GINGER'S HAWK" }),
		labelOf(26001001000012, func(c *cola.Cola) { c.BrandName = "TRICK OR TREAT" }),
		labelOf(26001001000014, func(c *cola.Cola) { c.BrandName, c.OriginName = "QUIXOTIC", "CHILE" }),
		labelOf(26001001000015, func(c *cola.Cola) { c.BrandName, c.OriginName = "QUIXOTIC", "GRENADA" }),
		labelOf(26001001000016, func(c *cola.Cola) {
			c.BrandName, c.GrapeVarietals, c.WineAppellation = "ZEPHYRUS", []string{"Grenache", "Lambrusca Nera"}, "ST. HELENA"
		}),
		labelOf(26001001000017, func(c *cola.Cola) { c.BrandName, c.WineAppellation = "MONTE RIO", "MONTEREY" }),
		labelOf(26001001000018, func(c *cola.Cola) {
			c.BrandName, c.GrapeVarietals, c.WineAppellation = "COFERMENT", []string{"Xynisteri", "Xynomavro"}, "YADKIN VALLEY"
		}),
		labelOf(26001001000019, func(c *cola.Cola) { c.BrandName, c.GrapeVarietals = "COFERMENT", []string{"Xynomavro"} }),
		labelOf(26001001000020, func(c *cola.Cola) { c.BrandName = "XYNODE XYNOM" }),
		labelOf(26001001000021, func(c *cola.Cola) {
			c.BrandName, c.OriginName, c.GrapeVarietals = "COFERMENT", "DELAWARE", []string{"Xynomavro"}
		}),
		labelOf(26001001000013, func(c *cola.Cola) { c.BrandName = "PICNIC TABLE LANTERN HARVEST MEADOW ORCHARD" }),
		labelOf(26001001000008, func(c *cola.Cola) { c.BrandName, c.ApprovalDate = "GUESSED", 0 }),
		labelOf(15001001000009, func(c *cola.Cola) { c.BrandName, c.ApprovalDate = "GUESSED LONG AGO", 0 }),
		labelOf(15999001000010, func(c *cola.Cola) { c.BrandName, c.ApprovalDate = "DATELESS", 0 }),
	)
	for name, tt := range map[string]struct {
		params cola.SearchParams
		want   []string // a fragment of each note
	}{
		"found":                    {cola.SearchParams{Q: "hapax"}, nil},
		"an unused name":           {cola.SearchParams{BrandName: "hapax vitis"}, []string{"No label matches the given brand name."}},
		"an unknown word":          {cola.SearchParams{Q: "hapax ornithorhynchus"}, []string{`No label contains the word "ornithorhynchus".`}},
		"a misspelled word":        {cola.SearchParams{Q: "hapx"}, []string{`No label contains the word "hapx". Did you mean hapax (2 labels)?`}},
		"the start of a word":      {cola.SearchParams{Q: "gues"}, []string{`No label contains the word "gues". Did you mean gues* (1 label)?`}},
		"misspelled, filtered":     {cola.SearchParams{Q: "hapx", ABVMin: cola.Some(10.0)}, []string{"Did you mean hapax (1 label)?"}},
		"misspelled, excluded":     {cola.SearchParams{Q: "hapx", ABVMin: cola.Some(90.0)}, []string{"Did you mean hapax?"}},
		"misspelled, too old":      {cola.SearchParams{Q: "bygune"}, []string{"Did you mean bygone (1 label across all dates)?"}},
		"two misspelled words":     {cola.SearchParams{Q: "hapx bygune"}, []string{`No label contains the word "hapx".`, `No label contains the word "bygune".`}},
		"a word and a prefix":      {cola.SearchParams{Q: "hakw gingre*"}, []string{`No label contains the word "hakw".`, `No label has a word that begins with "gingre". Did you mean hawk ginger* (1 label)?`, "has a similar name"}},
		"two misspelled names":     {cola.SearchParams{BrandName: "gingr hakw"}, []string{`No brand name contains "gingr".`, `No brand name contains "hakw". Did you mean ginger hawk (1 label)?`, "has a similar name"}},
		"six misspelled words":     {cola.SearchParams{Q: " pcnic  tabel lantren harvst medow orchrad"}, []string{`"pcnic".`, `"tabel".`, `"lantren".`, `"harvst".`, `"medow". Did you mean picnic table lantern harvest meadow orchard (1 label)?`, "has a similar name"}},
		"a repeated name":          {cola.SearchParams{BrandName: "hakw hakw"}, []string{`No brand name contains "hakw".`}},
		"an origin in q":           {cola.SearchParams{Q: "twofold Delaware"}, []string{`Keyword search doesn't cover origins. 1 label matches with origin="Delaware" and q="twofold".`}},
		"a grape in q":             {cola.SearchParams{Q: "vitis zinfandel"}, []string{`Keyword search doesn't cover grape varieties. 1 label matches with grape="zinfandel" and q="vitis".`}},
		"two values in q":          {cola.SearchParams{Q: "zinfandel vitis napa valley"}, []string{`Keyword search doesn't cover appellations or grape varieties. 1 label matches with appellation="napa valley" and grape="zinfandel" and q="vitis".`}},
		"part of a value":          {cola.SearchParams{Q: "vitis napa"}, []string{`Keyword search doesn't cover appellations. 1 label matches with appellation="NAPA VALLEY" and q="vitis".`}},
		"only values":              {cola.SearchParams{Q: "napa", BrandName: "vitis"}, []string{`1 label matches with appellation="NAPA VALLEY" instead of q.`}},
		"a misspelled origin in q": {cola.SearchParams{Q: "delawere", BrandName: "twofold"}, []string{`Keyword search doesn't cover origins. 1 label matches with origin="DELAWARE" instead of q.`}},
		"a misspelled value":       {cola.SearchParams{Q: "vitis nappa vally"}, []string{`1 label matches with appellation="NAPA VALLEY" and q="vitis".`}},
		"a misspelled grape in q":  {cola.SearchParams{Q: "vitis zinfandal"}, []string{`1 label matches with grape="Zinfandel" and q="vitis".`}},
		"a preposition":            {cola.SearchParams{Q: "twofold from Delaware"}, []string{`1 label matches with origin="Delaware" and q="twofold".`}},
		"the start of a grape":     {cola.SearchParams{Q: "zephyrus lambrusca"}, []string{`Keyword search doesn't cover grape varieties. 1 label matches with grape="Lambrusca Nera" and q="zephyrus".`}},
		"a half-typed grape":       {cola.SearchParams{Q: "zephyrus lambru"}, []string{`1 label matches with grape="Lambrusca Nera" and q="zephyrus".`}},
		"part of a grape filter":   {cola.SearchParams{Grape: "lambrusca", BrandName: "zephyrus"}, []string{`No label has the grape variety "lambrusca". Did you mean Lambrusca Nera?`}},
		"part of an appellation":   {cola.SearchParams{Appellation: "napa"}, []string{"Did you mean NAPA VALLEY?"}},
		"part of a class":          {cola.SearchParams{Class: "red wine"}, []string{"Did you mean TABLE RED WINE?"}},
		"several grapes":           {cola.SearchParams{Q: "coferment xyn"}, []string{`Keyword search doesn't cover grape varieties. 3 labels match with grape="Xynomavro"`, `1 label matches with grape="Xynisteri" and q="coferment".`, `The brand "COFERMENT" has a similar name.`}},
		"a grape or a prefix":      {cola.SearchParams{Q: "xyno"}, []string{`3 labels match with grape="Xynomavro" instead of q.`, `Did you mean xynom (1 label)?`}},
		"a known half-typed grape": {cola.SearchParams{Q: "yadkin xynom"}, []string{`1 label matches with appellation="YADKIN VALLEY" and grape="Xynomavro" instead of q.`}},
		"names in any order":       {cola.SearchParams{Q: "xynom, yadkin"}, []string{`1 label matches with grape="Xynomavro" and appellation="YADKIN VALLEY" instead of q.`}},
		"a grape from a place":     {cola.SearchParams{Q: "xynom from delaware"}, []string{`1 label matches with origin="delaware" and grape="Xynomavro" instead of q.`}},
		"punctuation":              {cola.SearchParams{Q: "(zephyrus), grenach!"}, []string{`1 label matches with grape="Grenache" and q="(zephyrus)".`}},
		"several grape filters":    {cola.SearchParams{Grape: "xyn", BrandName: "coferment"}, []string{`No label has the grape variety "xyn". Did you mean Xynomavro?`, "Or did you mean Xynisteri?"}},
		"a distant origin":         {cola.SearchParams{Q: "chim"}, []string{`No label contains the word "chim".`}},
		"two similar values":       {cola.SearchParams{Q: "zephyrus grenach"}, []string{`1 label matches with grape="Grenache" and q="zephyrus".`}},
		"a value with a period":    {cola.SearchParams{Q: "zephyrus st helna"}, []string{`1 label matches with appellation="ST. HELENA" and q="zephyrus".`}},
		"a value and a brand":      {cola.SearchParams{Q: "monterio"}, []string{`1 label matches with appellation="MONTEREY" instead of q.`, `The brand "MONTE RIO" has a similar name.`}},
		"a misspelled word beside": {cola.SearchParams{Q: "vitsi napa"}, []string{`1 label matches with appellation="NAPA VALLEY" and q="vitis".`}},
		"an excluded value":        {cola.SearchParams{Q: "twofold -delaware"}, []string{`"-delaware" was treated as the word "delaware".`, `Keyword search doesn't cover origins, such as "delaware".`}},
		"a short value":            {cola.SearchParams{Q: "twofold D.E."}, []string{`The brand "TWOFOLD" has a similar name.`}},
		"a name and a value":       {cola.SearchParams{Q: "twofold delaware", BrandName: "hapax"}, []string{`Keyword search doesn't cover origins, such as "delaware".`}},
		"values and a word":        {cola.SearchParams{Q: "vitis and zinfandel, napa valley"}, []string{`and q="vitis and".`}},
		"a value and a filter":     {cola.SearchParams{Q: "napa", Appellation: "napa valley", BrandName: "vitis"}, []string{`No label contains the word "napa".`}},
		"a quoted value":           {cola.SearchParams{Q: `vitis "napa valley"`}, []string{`No label contains the word "napa".`}},
		"an empty combination":     {cola.SearchParams{Q: "hapax delaware"}, []string{`Keyword search doesn't cover origins, such as "delaware".`}},
		"a text and a brand":       {cola.SearchParams{Q: "gingre", BrandName: "hakw"}, []string{`No label contains the word "gingre".`, `No brand name contains "hakw". Did you mean ginger with brand name hawk (1 label)?`}},
		"an unknown prefix":        {cola.SearchParams{Q: "hapx*"}, []string{`No label has a word that begins with "hapx". Did you mean hapax* (2 labels)?`}},
		"no similar prefix":        {cola.SearchParams{Q: "hapax zyxwv*"}, []string{`No label has a word that begins with "zyxwv".`}},
		"an excluded word":         {cola.SearchParams{Q: "hapax -hapax"}, []string{`"-hapax" was treated as the word "hapax".`}},
		"a hyphen":                 {cola.SearchParams{Q: "hapax - hapax-hapax"}, []string{"No label matches the given keywords."}},
		"a quoted hyphen":          {cola.SearchParams{Q: `hapax "-hapax"`}, nil},
		"a number":                 {cola.SearchParams{Q: "hapax -196"}, []string{`No label contains the word "196".`}},
		"alternatives":             {cola.SearchParams{Q: "hapax OR hapax"}, []string{"OR was treated as a word."}},
		"lower-case words":         {cola.SearchParams{Q: "hapax or not hapax"}, []string{`No label contains the word "not".`}},
		"NOT":                      {cola.SearchParams{Q: "NOT bygone", DateRange: cola.AllDates}, []string{"NOT was treated as a word.", `No label contains the word "not".`}},
		"Oregon":                   {cola.SearchParams{Q: "Trick OR"}, nil},
		"AND":                      {cola.SearchParams{Q: "hapax AND hapax"}, nil},
		"a name with OR":           {cola.SearchParams{Q: "TRICK OR TREAT"}, nil},
		"a similar search":         {cola.SearchParams{Q: "trick OR treat"}, []string{"OR was treated as a word."}},
		"a misspelled brand":       {cola.SearchParams{BrandName: "twofld"}, []string{`No brand name contains "twofld". Did you mean twofold (2 labels)?`}},
		"a barcode as text":        {cola.SearchParams{Q: "9 99999 99999 3", DateRange: cola.AllDates}, []string{`No label has the barcode "9 99999 99999 3".`}},
		"an unknown ID":            {cola.SearchParams{Q: "26268001009999"}, []string{`No label has the TTB ID "26268001009999".`}},
		"one filter":               {cola.SearchParams{ApplicantState: "GU", DateRange: cola.AllDates}, []string{"No label matches the given applicant state."}},
		"joined words":             {cola.SearchParams{Q: "gingerhawk"}, []string{`No label contains the word "gingerhawk".`, `The brand "GINGER'S HAWK" has a similar name.`}},
		"a brand with &":           {cola.SearchParams{BrandName: "hapax & twofld"}, []string{`No brand name contains "twofld".`}},
		"a whole brand":            {cola.SearchParams{BrandName: `"hapax" `}, nil},
		"part of a brand":          {cola.SearchParams{BrandName: `"ginger"`}, []string{`No label has the brand name "ginger". 1 label matches without the quotes.`}},
		"excluded part":            {cola.SearchParams{BrandName: `"ginger"`, ABVMin: cola.Some(90.0)}, []string{`No label has the brand name "ginger". Other brand names contain it.`}},
		"similar whole brand":      {cola.SearchParams{BrandName: `"ginger hack"`}, []string{`No label has the brand name "ginger hack".`, "Did you mean GINGER'S HAWK (1 label)?"}},
		"no word":                  {cola.SearchParams{Q: "&"}, []string{`No label matches "&", because it has no letters or digits.`}},
		"no word in a brand":       {cola.SearchParams{Q: "hapax", BrandName: "--"}, []string{`No label matches "--"`}},
		"an unknown permit":        {cola.SearchParams{PermitNumber: "lenz"}, []string{`No label has the permit number "LENZ".`}},
		"an unknown barcode":       {cola.SearchParams{BarcodeValue: "036000291452"}, []string{`No label has the main barcode "036000291452".`}},
		"an unused barcode":        {cola.SearchParams{Q: "036000291452"}, []string{`No label has the barcode "036000291452".`}},
		"an ambiguous code":        {cola.SearchParams{Q: "twofold", Origin: "DE"}, []string{"DE was interpreted as Delaware"}},
		"an unambiguous code":      {cola.SearchParams{Q: "twofold", Origin: "GE"}, nil},
		"two Georgias":             {cola.SearchParams{Q: "twofold", Origin: "georgian"}, []string{"use GA for the state"}},
		"an unknown origin":        {cola.SearchParams{Origin: "narnia"}, []string{`No label is from "narnia".`}},
		"two origins":              {cola.SearchParams{Origin: "france,italy"}, []string{`No label is from "france,italy". This filter takes only one value.`}},
		"a name with a comma":      {cola.SearchParams{Class: "table red, wine"}, []string{"Did you mean TABLE RED WINE? This filter alone"}},
		"a misspelled origin":      {cola.SearchParams{Origin: "frrance"}, []string{"Did you mean FRANCE?"}},
		"an unknown path":          {cola.SearchParams{DerivedSubcategory: "Wine > Rde Wine"}, []string{"Did you mean Wine > Red Wine?", "the category is unknown"}},
		"before the window":        {cola.SearchParams{Q: "bygone"}, []string{"1 label matches outside the default window"}},
		"after the window":         {cola.SearchParams{Q: "tomorrow"}, []string{"1 label matches outside the default window"}},
		"some in the window":       {cola.SearchParams{Q: "guessed"}, []string{"1 label matches outside the default window"}},
		"all dates":                {cola.SearchParams{Q: "guessed", DateRange: cola.AllDates}, nil},
		"estimates excluded":       {cola.SearchParams{Q: "guessed", EstimatedDates: "exclude", DateRange: cola.AllDates}, []string{"2 labels match every other filter, but the approval date is only estimated."}},
		"undated":                  {cola.SearchParams{Q: "dateless"}, []string{"1 label matches, but the approval date is unknown"}},
		"undated in a range":       {cola.SearchParams{Q: "dateless", ApprovalDateFrom: cola.NewDate(2005, 1, 1)}, []string{"1 label matches, but the approval date is unknown"}},
		"undated, all dates":       {cola.SearchParams{Q: "dateless", DateRange: cola.AllDates}, nil},
		"within given dates":       {cola.SearchParams{Q: "bygone", ApprovalDateFrom: cola.NewDate(2010, 1, 1)}, []string{"1 label matches every filter except approval date."}},
		"unknown ABV":              {cola.SearchParams{Q: "hapax", ABVMin: cola.Some(90.0)}, []string{"1 label matches every other filter, but the ABV is unknown."}},
		"one known ABV":            {cola.SearchParams{Q: "hapax", ABVMin: cola.Some(10.0)}, []string{"1 label matches every other filter, but the ABV is unknown."}},
		"unknown status":           {cola.SearchParams{Q: "hapax", Status: vocabulary.StatusApproved}, []string{"2 labels match every other filter, but the status is unknown."}},
		"unknown volume":           {cola.SearchParams{Q: "hapax", VolumeMax: cola.Some(1.0), VolumeUnit: "liters", ABVMin: cola.Some(90.0)}, []string{"1 label matches every filter except ABV."}},
		"unknown container":        {cola.SearchParams{Q: "hapax", ContainerType: []string{"pod"}}, []string{"2 labels match every other filter, but the container type is unknown."}},
		"unknown category":         {cola.SearchParams{Q: "hapax", Category: []string{"Beer"}}, []string{"the category is unknown"}},
		"an unknown grape":         {cola.SearchParams{Grape: "zinfandal"}, []string{"Did you mean Zinfandel?"}},
		"a known grape":            {cola.SearchParams{Grape: "ZINFANDEL", BrandName: "hapax"}, []string{"2 labels match every filter except grape variety.", "1 label matches every filter except brand name."}},
		"no such combination":      {cola.SearchParams{Q: "hapax", Grape: "zinfandel"}, []string{"2 labels match every filter except grape variety."}},
		"a similar brand":          {cola.SearchParams{Q: "ginger hack"}, []string{`No label contains the word "hack".`, `The brand "GINGER'S HAWK" has a similar name. Did you mean GINGER'S HAWK (1 label)?`}},
		"a compound":               {cola.SearchParams{BrandName: "gingers hawk"}, nil},
		"a misspelled class":       {cola.SearchParams{Class: "table red wime"}, []string{"Did you mean TABLE RED WINE?"}},
		"a misspelled place":       {cola.SearchParams{Appellation: "Napa Vally"}, []string{"Did you mean NAPA VALLEY?"}},
		"unknown provenance":       {cola.SearchParams{Q: "hapax", DomesticOrImported: "imported"}, []string{"the domestic/imported status is unknown"}},
	} {
		page, _, err := w.SearchColas(t.Context(), c, tt.params)
		text := strings.Join(page.Notes, "\n")
		if err != nil || len(page.Notes) != len(tt.want) {
			t.Errorf("%s: %d labels, notes = %q, %v, want %q", name, page.Pagination.Total, page.Notes, err, tt.want)
		}
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: notes = %q, want one that contains %q", name, page.Notes, want)
			}
		}
	}
}

// TestSuggestedSearches checks that the searches suggested by notes find labels.
func TestSuggestedSearches(t *testing.T) {
	w := mustWorld(t, 100)
	c := w.mustCaller(t, "advice@example.com", cola.TierPro)
	w.mustImport(t, store.History,
		labelOf(26001001000001, func(c *cola.Cola) {
			c.GrapeVarietals, c.WineAppellation, c.OriginName = []string{"Zinfandel"}, "NAPA VALLEY", "GEORGIA"
		}),
		labelOf(26001001000002, func(c *cola.Cola) { c.BrandName, c.ApprovalDate = "BYGONE", cola.NewDate(2009, 5, 1) }),
		labelOf(26001001000003, func(c *cola.Cola) { c.BrandName, c.ApprovalDate = "GUESSED", 0 }),
		labelOf(15999001000004, func(c *cola.Cola) { c.BrandName, c.ApprovalDate = "DATELESS", 0 }),
		labelOf(26001001000005, func(c *cola.Cola) { c.BrandName = "PINO ROSSO" }),
		labelOf(26001001000006, func(c *cola.Cola) { c.BrandName = "PINO BIANCO" }),
		labelOf(26001001000007, func(c *cola.Cola) { c.BrandName = "PINOT HAPAX" }),
	)
	for name, p := range map[string]cola.SearchParams{
		"a word":              {Q: "HAPX!"},
		"a quoted word":       {Q: `"hapx" hapax`, Page: cola.Some(1)},
		"a word, dated":       {Q: "gussed", DateRange: cola.AllDates},
		"a filtered word":     {Q: "hapx", Grape: "zinfandel"},
		"a repeated word":     {Q: "hapx hapx, hapx"},
		"a context":           {Q: "pinto hapax"},
		"a brand in context":  {BrandName: "pinto, hapax"},
		"a word with accents": {Q: "HÁPX"},
		"a list of values":    {Q: "napa valley, zinfandel"},
		"a prefix":            {Q: "HAPX*"},
		"a brand":             {BrandName: "hapx"},
		"part of a brand":     {BrandName: `"hap"`},
		"a grape":             {Grape: "zinfandal", Q: "hapax"},
		"an unsearched value": {Q: "hapax georgia"},
		"a partial value":     {Q: "hapax napa"},
		"a place":             {Appellation: "napa vally", Q: "hapax"},
		"an origin":           {Origin: "georgja", Q: "hapax"},
		"a combination":       {Grape: "zinfandel", Q: "guessed"},
		"before":              {Q: "bygone"},
		"undated":             {Q: "dateless", ApprovalDateFrom: cola.NewDate(2005, 1, 1)},
		"estimated dates":     {Q: "guessed", EstimatedDates: "exclude", DateRange: cola.AllDates},
	} {
		page, _, err := w.SearchColas(t.Context(), c, p)
		if err != nil || len(page.Advice) != 1 || page.Advice[0].Search == nil {
			t.Errorf("%s: advice = %+v, %v, want one suggested search", name, page.Advice, err)
			continue
		}
		found, _, err := w.SearchColas(t.Context(), c, *page.Advice[0].Search)
		if err != nil || found.Pagination.Total == 0 {
			t.Errorf("%s: %+v finds %d labels, %v", name, *page.Advice[0].Search, found.Pagination.Total, err)
		}
		if _, count, ok := strings.Cut(page.Advice[0].Action, "("); ok && !strings.HasPrefix(count, fmt.Sprint(found.Pagination.Total, " label")) {
			t.Errorf("%s: %q, but the search finds %d labels", name, page.Advice[0].Action, found.Pagination.Total)
		}
	}
	several, _, err := w.SearchColas(t.Context(), c, cola.SearchParams{Q: `"tabel red wnie"`})
	if err != nil || len(several.Advice) != 2 || several.Advice[0].Search != nil {
		t.Errorf("two corrections: advice = %+v, %v, want one search", several.Advice, err)
	} else if search := several.Advice[1].Search; search == nil || search.Q != `"table red wine"` {
		t.Errorf("two corrections suggest %+v", search)
	}
	hopeless, _, err := w.SearchColas(t.Context(), c, cola.SearchParams{Q: "hapx zyxwv"})
	if err != nil || len(hopeless.Advice) != 2 || hopeless.Advice[0].Search != nil {
		t.Errorf("a word without a correction: advice = %+v, %v, want no search", hopeless.Advice, err)
	}
}

// TestAmbiguousNames checks that each suggestion for an ambiguous or half-typed name finds the number
// of labels that it says.
func TestAmbiguousNames(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustCaller(t, "ambiguous@example.com", cola.TierPro)
	id := cola.TTBID(26001001000001)
	for _, wine := range []struct {
		brand, grape, area string
		year               int
	}{
		{"HAPAX", "Cabernet Sauvignon", "NAPA VALLEY", 0}, {"HAPAX", "Cabernet Sauvignon", "SONOMA VALLEY", 0},
		{"HAPAX", "Cabernet Franc", "SONOMA COAST", 0}, {"HAPAX", "Cabernet Pfeffer", "SONOMA COUNTY", 2009},
		{"HAPAX", "Cabernet Dorsa", "LODI", 2009}, {"HAPAX", "Cabernet Jura", "LODI", 2010},
		{"CABERNET", "Merlot", "LODI", 0}, {"CAB ROUGE", "Sangiovese", "LODI", 0}, {"SAN FELIPE", "Cabernet Jura", "LODI", 2009},
	} {
		w.mustImport(t, store.History, labelOf(id, func(c *cola.Cola) {
			c.BrandName, c.GrapeVarietals, c.WineAppellation = wine.brand, []string{wine.grape}, cola.Text(wine.area)
			if wine.year != 0 {
				c.ApprovalDate = cola.NewDate(wine.year, 5, 1)
			}
		}))
		id++
	}
	const all = " across all dates"
	for _, tt := range []struct {
		params cola.SearchParams
		want   []string // suggestions, without the number of labels
	}{
		{cola.SearchParams{Q: "hapax cab"}, []string{
			`Filter by grape variety Cabernet Sauvignon and search for "hapax" (2 labels)`,
			`Or filter by grape variety Cabernet Franc and search for "hapax" (1 label)`,
			`Or filter by grape variety Cabernet Jura and search for "hapax" (1 label` + all + ")",
		}},
		{cola.SearchParams{Q: "cabernet"}, []string{"Filter by grape variety Cabernet Sauvignon instead of keywords (2 labels)"}},
		{cola.SearchParams{Q: "cabernet", Grape: "merlot"}, nil},
		{cola.SearchParams{Q: "cab sau sonoma"}, []string{
			"Filter by grape variety Cabernet Sauvignon and appellation SONOMA VALLEY instead of keywords (1 label)",
		}},
		{cola.SearchParams{Q: "san felipe cab"}, []string{
			`Filter by grape variety Cabernet Jura and search for "san felipe" (1 label` + all + ")",
			"Did you mean SAN FELIPE (1 label" + all + ")?", // a brand
		}},
		{cola.SearchParams{Appellation: "sonoma"}, []string{
			"Did you mean SONOMA COAST?", "Or did you mean SONOMA VALLEY?",
		}},
		{cola.SearchParams{Grape: "cab", Appellation: "sonoma coast"}, []string{"Did you mean Cabernet Franc?"}},
	} {
		page, _, err := w.SearchColas(t.Context(), c, tt.params)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range page.Advice {
			if n.Search == nil || n.Action == "show" {
				continue
			}
			got = append(got, n.Action)
			found, _, err := w.SearchColas(t.Context(), c, *n.Search)
			_, count, ok := strings.Cut(n.Action, "(")
			if err != nil || found.Pagination.Total == 0 || ok && !strings.HasPrefix(count, fmt.Sprint(found.Pagination.Total, " label")) {
				t.Errorf("%+v: %q finds %d labels, %v", tt.params, n.Action, found.Pagination.Total, err)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.params, diff)
		}
	}
}

// TestSearchNoteCharge checks that the counts behind a note are free.
func TestSearchNoteCharge(t *testing.T) {
	w := mustWorld(t, 100)
	c := w.mustCaller(t, "free@example.com", cola.TierPro)
	page, state, err := w.SearchColas(t.Context(), c, cola.SearchParams{Origin: "narnia", ABVMin: cola.Some(1.0)})
	if err != nil || page.Notes == nil || state.Charged != 0 || state.Used.ListRecords != 0 {
		t.Errorf("notes = %q, state = %+v, %v, want no charge", page.Notes, state, err)
	}
}

// TestListNotes checks that the notes on an empty reference list name the unknown value and list
// the known ones.
func TestListNotes(t *testing.T) {
	w := mustWorld(t, 10)
	c := w.mustCaller(t, "lists@example.com", cola.TierPro)
	times := func(commodity string) []string {
		list, _, err := w.ProcessingTimes(t.Context(), c, cola.ProcessingTimeParams{Commodity: commodity})
		if err != nil {
			t.Fatal(err)
		}
		return list.Notes
	}
	if got := fmt.Sprint(times("beer")); !strings.Contains(got, `"beer"`) || !strings.Contains(got, "Malt Beverage") {
		t.Errorf("notes for beer = %s", got)
	}
	if got := fmt.Sprint(times("vine")); !strings.Contains(got, "Did you mean Wine?") {
		t.Errorf("notes for vine = %s", got)
	}
	if got := times("wine"); got != nil {
		t.Errorf("notes for wine = %q, want none", got)
	}
	formulas, _, err := w.FormulaProcessingTimes(t.Context(), c, cola.FormulaProcessingTimeParams{FormulaType: "nope", Commodity: "Wine"})
	if err != nil || len(formulas.Notes) != 1 || !strings.Contains(formulas.Notes[0], "formula_type") {
		t.Errorf("notes for formulas = %q, %v", formulas.Notes, err)
	}
	reports, _, err := w.ProductionReports(t.Context(), c, cola.ProductionReportParams{Year: cola.Some(1901), Commodity: "beer"})
	if err != nil || len(reports.Notes) != 1 || !strings.Contains(reports.Notes[0], "1901") {
		t.Errorf("notes for reports = %q, %v", reports.Notes, err)
	}
	beer := cola.ProductionReportParams{Year: cola.Some(2015), Commodity: "beer", ReportType: "yearly", StatisticalGroup: "barrels produced"}
	reports, _, err = w.ProductionReports(t.Context(), c, beer)
	if got := strings.Join(reports.Notes, " "); err != nil || len(reports.Notes) != 3 ||
		!strings.Contains(got, "report_type values match your other filters: monthly.") || !strings.Contains(got, "statistical_group values match your other filters: Taxable removals by state.") {
		t.Errorf("notes for yearly beer = %q, %v", reports.Notes, err)
	}
	beer.ReportType, beer.StatisticalDetail = "monthly", "production"
	if reports, _, err = w.ProductionReports(t.Context(), c, beer); err != nil || reports.Meta.Total != 12 || reports.Notes != nil {
		t.Errorf("%d rows for monthly beer, notes = %q, %v", reports.Meta.Total, reports.Notes, err)
	}
	areas, _, err := w.AVAs(t.Context(), c, cola.AVAParams{State: "AK"})
	if err != nil || len(areas.Notes) != 1 || !strings.Contains(areas.Notes[0], `"AK"`) {
		t.Errorf("notes for areas = %q, %v", areas.Notes, err)
	}
}

// TestTruncatedByQuota checks that permittee and barcode results report truncation if and only if
// the quota is the reason.
func TestTruncatedByQuota(t *testing.T) {
	w := mustWorld(t, 300)
	rich, poor := w.mustCaller(t, "rich@example.com", cola.TierPro), w.mustCaller(t, "poor@example.com", cola.TierFree)
	value := "036000291452"
	w.mustImport(t, store.History,
		labelOf(26001001000001, func(c *cola.Cola) { c.BarcodeValue = cola.Text(value) }),
		labelOf(26001001000002, func(c *cola.Cola) { c.BarcodeValue = cola.Text(value) }),
	)
	whole, _, err := w.Barcode(t.Context(), rich, value)
	permittees, _, err2 := w.SearchPermittees(t.Context(), rich, cola.PermitteeParams{PerPage: cola.Some(3)})
	if err != nil || err2 != nil || whole.TruncatedByQuota || len(whole.Colas) < 2 || permittees.Pagination.TruncatedByQuota || !permittees.Pagination.HasMore {
		t.Fatalf("Barcode = %+v, %v; SearchPermittees = %+v, %v", whole, err, permittees.Pagination, err2)
	}
	w.spend(t, poor, 9_998)
	cut, _, err := w.SearchPermittees(t.Context(), poor, cola.PermitteeParams{PerPage: cola.Some(3)})
	if err != nil || !cut.Pagination.TruncatedByQuota || !cut.Pagination.HasMore || len(cut.Permittees) != 2 {
		t.Errorf("truncated list = %+v, %v", cut.Pagination, err)
	}
	poorer := w.mustCaller(t, "poorer@example.com", cola.TierFree)
	w.spend(t, poorer, 9_999)
	if part, _, err := w.Barcode(t.Context(), poorer, value); err != nil || !part.TruncatedByQuota || len(part.Colas) != 1 || part.TotalColas != whole.TotalColas {
		t.Errorf("truncated barcode = %+v, %v", part, err)
	}
}

// TestQueryWords checks that the vocabulary matches the records, in the spellings that filters
// accept.
func TestQueryWords(t *testing.T) {
	w := mustWorld(t, 500)
	words, err := w.Vocabulary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := w.mustCaller(t, "words@example.com", cola.TierPro)
	start := cola.NewDate(2005, 1, 1)
	for _, origin := range []string{"french", "France", "mars", "american", "bhutan", "Georgia", "kentucky"} {
		found := len(w.newest(t, c, cola.SearchParams{Origin: origin, ApprovalDateFrom: start, PerPage: cola.Some(1)})) > 0
		if words.HasOrigin(origin) != found {
			t.Errorf("origin %s: HasOrigin = %t, search finds any = %t", origin, words.HasOrigin(origin), found)
		}
	}
	for _, path := range append([]string{"Wine > Nothing", "wine>red  wine", "Mead", "Wine > Red"}, words.Categories...) {
		found := len(w.newest(t, c, cola.SearchParams{DerivedSubcategory: path, ApprovalDateFrom: start, PerPage: cola.Some(1)})) > 0
		if words.HasCategory(path) != found {
			t.Errorf("category %s: HasCategory = %t, search finds any = %t", path, words.HasCategory(path), found)
		}
	}
	for query, want := range map[string]int{"raven OR oak": 1, "raven -oak": 1, "RAVEN OR OAK": 0, "raven oak": 0} {
		if notes := words.SavedSearchNotes(cola.SavedSearchFilters{Query: query}); len(notes) != want {
			t.Errorf("notes on a saved search for %s = %q, want %d", query, notes, want)
		}
	}
	for state, has := range map[string]bool{"CA": true, "california": true, "Guam": false} {
		if words.HasUSState(state) != has {
			t.Errorf("HasUSState(%s) = %t", state, !has)
		}
	}
}

// TestUnknownSavedSearchWords checks the notes on saved searches that match no labels.
func TestUnknownSavedSearchWords(t *testing.T) {
	w := mustWorld(t, 0)
	w.mustImport(t, store.History, labelOf(26001001000001, func(c *cola.Cola) {
		c.GrapeVarietals, c.WineAppellation, c.ClassName = []string{"Zinfandel"}, "NAPA VALLEY", "TABLE RED WINE"
		c.OriginName = "OREGON"
	}))
	words, err := w.Vocabulary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		filters cola.SavedSearchFilters
		want    string // empty for no notes
	}{
		{cola.SavedSearchFilters{Query: "hapax", Grape: "zinfandel"}, ""},
		{cola.SavedSearchFilters{Query: "quokkas"}, `No label contains the word "quokkas".`},
		{cola.SavedSearchFilters{Query: "hapx"}, "Did you mean hapax (1 label)?"},
		{cola.SavedSearchFilters{BrandName: "hapx"}, `No brand name contains "hapx".`},
		{cola.SavedSearchFilters{Query: "hapax napa"}, `Filter by appellation NAPA VALLEY and search for "hapax" (1 label).`},
		{cola.SavedSearchFilters{Query: "zinf"}, "Filter by grape variety Zinfandel instead of keywords (1 label)."},
		{cola.SavedSearchFilters{Query: "hapax oregon"}, "Filter by origin oregon"},
		{cola.SavedSearchFilters{Query: "hapax oregon", USState: "CA"}, `Keyword search doesn't cover origins, such as "oregon".`},
		{cola.SavedSearchFilters{Grape: "zinfandal"}, "Did you mean Zinfandel?"},
		{cola.SavedSearchFilters{Appellation: "napa vally"}, "Did you mean NAPA VALLEY?"},
		{cola.SavedSearchFilters{Class: "table red wime"}, "Did you mean TABLE RED WINE?"},
	} {
		notes := words.UnknownWords(tt.filters)
		if text := strings.Join(notes, "\n"); !strings.Contains(text, tt.want) || (len(notes) == 0) != (tt.want == "") {
			t.Errorf("notes on %+v = %q, want one that contains %q", tt.filters, notes, tt.want)
		}
	}
}

// TestFormerPaths checks that the vocabulary has a former category path if and only if it has the
// current one.
func TestFormerPaths(t *testing.T) {
	w := mustWorld(t, 200)
	o := demo.Options{Colas: 200, Seed: 1, AsOf: cola.DateOf(testNow)}
	words, err := w.Vocabulary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	aliases := demo.CategoryAliases(o)
	if len(aliases) == 0 {
		t.Fatal("demo data has no category aliases")
	}
	for _, a := range aliases {
		if words.HasCategory(a.Alias) != words.HasCategory(a.Path) {
			t.Errorf("HasCategory differs for %s and %s", a.Alias, a.Path)
		}
	}
}

// TestListWords checks that each value appears once, in order, and that the vocabulary has exactly
// the values with rows.
func TestListWords(t *testing.T) {
	w := mustWorld(t, 10)
	words, err := w.Vocabulary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Distilled Spirits", "Malt Beverage", "Wine"}, words.Times["commodity"]); diff != "" {
		t.Errorf("commodities (-want +got):\n%s", diff)
	}
	c := w.mustCaller(t, "lists@example.com", cola.TierPro)
	for _, commodity := range []string{"wine", " BEER ", "Distilled  Spirits", "whale oil"} {
		reports, _, err := w.ProductionReports(t.Context(), c, cola.ProductionReportParams{Commodity: commodity})
		if found := reports.Meta.Total > 0; err != nil || words.Reports.Has("commodity", commodity) != found {
			t.Errorf("reports for %q: found = %t, %v", commodity, found, err)
		}
	}
	for name, list := range map[string][]string{
		"formula_type": words.FormulaTimes["formula_type"], "category": words.RegistrationTimes["category"], "application_type": words.RegistrationTimes["application_type"],
		"year": words.Reports["year"], "report_type": words.Reports["report_type"], "statistical_group": words.Reports["statistical_group"],
	} {
		if len(list) == 0 {
			t.Errorf("no values for %s", name)
		}
	}
}
