package dashboard

import (
	"context"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	"github.com/colaregistry/colaregistry/registry"
)

// oneLabel is a service with one label.
type oneLabel struct {
	Service
	page registry.LabelPage
}

func (o *oneLabel) LabelPage(context.Context, cola.Caller, string) (registry.LabelPage, cola.QuotaState, error) {
	return o.page, cola.QuotaState{}, nil
}

// mustShowLabel returns the site and a function that shows a label on it.
func mustShowLabel(t *testing.T) (s *site, show func(cola.Cola) response) {
	t.Helper()
	s = mustSite(t)
	one := &oneLabel{Service: s.registry.Service}
	s.handler = New(one, s.browsers, Options{
		PublicURL: registrytest.PublicURL,
		Logger:    slog.New(slog.DiscardHandler),
		Now:       s.registry.Now,
	})
	return s, func(c cola.Cola) response {
		one.page = registry.LabelPage{Label: c}
		s.registry.Advance(time.Second) // stays under the page rate limit
		return s.get("/explore/11054001000049")
	}
}

// fill sets every field of a struct to a nonzero value.
func fill(v reflect.Value, name string, n *int) {
	*n++
	switch field := v.Addr().Interface().(type) {
	case *cola.TTBID:
		*field = cola.TTBID(11_054_001_000_000 + *n)
	case *cola.Date:
		*field = cola.NewDate(2011, time.March, *n%28+1)
	case *cola.Opt[bool]:
		*field = cola.Some(true)
	case *cola.Opt[int]:
		*field = cola.Some(1_800 + *n)
	case *cola.Opt[float64]:
		*field = cola.Some(float64(*n) + .25)
	case *int:
		*field = 700 + *n
	case *bool:
		*field = true
	case *[]string:
		*field = []string{name + " first", name + " second"}
	case *cola.Text:
		*field = cola.Text(textFor(name))
	case *string:
		*field = textFor(name)
	default:
		fillParts(v, name, n)
	}
}

func fillParts(v reflect.Value, name string, n *int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), v.Type().Field(i).Name, n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), name, n)
		}
	case reflect.String: // a named type, such as ProductType
		v.SetString(textFor(name))
	}
}

func textFor(name string) string {
	if strings.HasSuffix(name, "URL") {
		return "https://pictures.example/" + name
	}
	return "some " + name
}

// fieldsWithin calls do with the path and value of every leaf field. In a slice of structs, it
// visits only the first element.
func fieldsWithin(v reflect.Value, path string, do func(path string, field reflect.Value)) {
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct {
		fieldsWithin(v.Index(0), path, do)
		return
	}
	_, isOpt := reflect.PointerTo(v.Type()).MethodByName("UnmarshalJSON")
	if v.Kind() == reflect.Struct && !isOpt {
		for i := range v.NumField() {
			fieldsWithin(v.Field(i), path+"."+v.Type().Field(i).Name, do)
		}
		return
	}
	do(path, v)
}

// TestLabelFields checks that every field of a label, its images and its barcodes changes the
// page. Unknown values are omitted.
func TestLabelFields(t *testing.T) {
	_, show := mustShowLabel(t)
	var full cola.Cola
	n := 0
	fill(reflect.ValueOf(&full).Elem(), "", &n)
	all := show(full)
	all.shows(t, http.StatusOK, "some BrandName", "GrapeVarietals first", "GrapeVarietals second",
		"some LLMArtworkCredit", "derived")
	all.checkHTML(t)
	main, _, _ := strings.Cut(all.body, `<div class="folds">`)
	for _, name := range []string{"Grapes", "Vintage", "Appellation"} {
		if shown := "<dt>" + name; !strings.Contains(main, shown) || strings.Count(all.body, shown) != 1 {
			t.Errorf("%s is not shown once, with the main facts", name)
		}
	}
	fields := 0
	fieldsWithin(reflect.ValueOf(&full).Elem(), "", func(path string, field reflect.Value) {
		fields++
		if strings.Contains(path, "Estimate") { // only shown if the approval date is unknown: TestEstimatedDates
			return
		}
		prev := reflect.New(field.Type()).Elem()
		prev.Set(field)
		if text, ok := prev.Interface().(cola.Text); ok && !strings.Contains(all.text, string(text)) {
			t.Errorf("%s: page lacks %q", path, text)
		}
		field.SetZero()
		without := show(full)
		if without.StatusCode != http.StatusOK || without.body == all.body {
			t.Errorf("%s: removing it does not change the page (status %d)", path, without.StatusCode)
		}
		field.Set(prev)
	})
	if fields < 60 {
		t.Errorf("%d fields, want at least 60", fields)
	}
	bare := show(cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID:        11_054_001_000_049,
		BrandName:    "BARE",
		PermitNumber: "X",
	}})
	bare.shows(t, http.StatusOK, "BARE", `class="empty"`, `<span class="state soft">status unknown`)
	bare.checkHTML(t)
	for _, name := range []string{"Grapes", "Alcohol by volume", "Hops", "Vintage"} {
		if strings.Contains(bare.body, "<dt>"+name) {
			t.Errorf("unknown %s is shown", name)
		}
	}
}

// TestClassCategory checks that a category that follows from the class is not marked as extracted
// from the images.
func TestClassCategory(t *testing.T) {
	_, show := mustShowLabel(t)
	c := cola.Cola{ColaSummary: cola.ColaSummary{TTBID: 11_054_001_000_049, BrandName: "BARE", PermitNumber: "X"}}
	c.LLMCategoryPath = "Wine > Red Wine"
	if page := show(c); !strings.Contains(page.text, "Wine > Red Wine") || strings.Contains(page.body, "derived\">") {
		t.Errorf("page = %s, want the category, not marked as derived", page.text)
	}
	c.LLMCategory = "Red Wine"
	show(c).shows(t, http.StatusOK, `derived">`)
}

// hostile returns a label with malicious text, which any applicant could get approved.
func hostile(id cola.TTBID) cola.Cola {
	const script = `"><script>alert(1)</script><img src=x onerror=alert(2)>`
	return cola.Cola{
		ColaSummary: cola.ColaSummary{
			TTBID: id, BrandName: "HOSTILE " + script, ProductName: cola.Text(strings.Repeat("LONG ",
				2000)), ProductType: vocabulary.Wine, PermitNumber: `X/1 "><script>`,
			ApprovalDate: cola.NewDate(2026, time.November,
				1), ApplicationStatus: vocabulary.StatusApproved, ClassName: "TABLE\u202eDER WINE",
			OriginName: `'"><b>`,
		},
		LLMProductDescription: cola.Text(strings.Repeat("<i>",
			3333)), QRCodeURL: "javascript:alert(1)", Qualifications: "</dd><script>alert(1)\nSECOND LINE", GrapeVarietals: []string{`</dd><script>`, "\u2066a"},
		Images: []cola.Image{
			{
				TTBImageID:        `1"><script>`,
				ContainerPosition: "front",
				ImageURL:          "javascript:alert(1)",
				WidthPixels:       cola.Some(1 << 30),
				HeightPixels:      cola.Some(1),
			},
			{
				TTBImageID:   "2",
				ImageIndex:   1,
				ImageURL:     `https://e.example/"onerror="alert(1)`,
				WidthPixels:  cola.Some(10),
				HeightPixels: cola.Some(20),
			},
		},
		Barcodes: []cola.Barcode{{BarcodeValue: `"><script>alert(1)`, BarcodeType: "UPC-A", TTBImageID: `1"><script>`}},
	}
}

func TestHostileLabels(t *testing.T) {
	s := mustSite(t)
	s.registry.AddLabels(t, hostile(26_305_001_000_999))
	for _, target := range []string{"/explore?q=hostile", "/explore/26305001000999", permitHref(`X/1 "><script>`)} {
		page := s.get(target)
		page.shows(t, http.StatusOK, "HOSTILE")
		page.checkHTML(t)
		for _, bad := range []string{
			"<script>alert", "<script></", "onerror=alert(2)>", `href="javascript`,
			`src="javascript`, "\u202e", "\u2066", "<b>", `"onerror`,
		} {
			if strings.Contains(page.body, bad) {
				t.Errorf("%s contains %q:\n%s", target, bad, page.body)
			}
		}
	}
	s.get("/explore/26305001000999").shows(t, http.StatusOK, "javascript:alert(1)", "TABLEDER WINE",
		"alert(1)</script>")
}

// TestHeavyLabels checks that the page of a label with many images and barcodes stays within the
// size limit.
func TestHeavyLabels(t *testing.T) {
	_, show := mustShowLabel(t)
	c := cola.Cola{ColaSummary: cola.ColaSummary{TTBID: 1, BrandName: "MANY"}}
	for range 1000 {
		c.Images = append(c.Images, cola.Image{
			TTBImageID:   "x",
			ImageURL:     "https://pictures.example/x",
			WidthPixels:  cola.Some(900),
			HeightPixels: cola.Some(900),
		})
		c.Barcodes = append(c.Barcodes, cola.Barcode{BarcodeValue: "036000291452", BarcodeType: "UPC-A"})
		c.GrapeVarietals = append(c.GrapeVarietals, "Zweigelt")
	}
	page := show(c)
	page.shows(t, http.StatusOK, "960 more images", "940 more barcodes", "and 900 more")
	page.checkHTML(t)
}

func TestLabels(t *testing.T) {
	s := mustSite(t)
	id := s.someLabel()
	before := s.used()
	page := s.get("/explore/" + id)
	page.checkHTML(t)
	page.shows(t, http.StatusOK, id, "1 detail view · 9,999 left", `id="holder"`,
		"https://registry.example/api/v1/colas/"+id+"'",
		`"get_cola", "arguments": {"response_format":"detailed","ttb_id":"`+id+`"}`, `src="/images/`+id)
	s.costs(before, 0, 1)
	s.get("/explore/%20"+id+"%20").shows(t, http.StatusOK, id)
	s.by("").get("/explore/" + id).redirects(t)
}

func TestUnknownLabels(t *testing.T) {
	s := mustSite(t)
	for _, id := range []string{
		"99999999999999", "00000000000000", "1", "permittee", "%3Cscript%3Ealert(1)", "%00",
		"%ff%fe", "%2e%2e%2fkeys", strings.Repeat("9", 5000), "100000000000000000000000000",
	} {
		page := s.get("/explore/" + id)
		page.shows(t, http.StatusNotFound, `id="sought"`)
		page.checkHTML(t)
		if strings.Contains(page.body, "<script>alert") {
			t.Errorf("%s: script is not escaped:\n%s", id, page.body)
		}
	}
	s.get("/explore/99999999999999").shows(t, http.StatusNotFound, `value="99999999999999"`)
	s.costs(cola.Used{}, 0, 0)
}

// TestChains checks that resubmitted applications link to each other, oldest first, with the
// current label marked.
func TestChains(t *testing.T) {
	s := mustSite(t)
	label := func(id, earlier cola.TTBID) cola.Cola {
		return cola.Cola{
			ColaSummary: cola.ColaSummary{
				TTBID:        id,
				BrandName:    "CHAINED",
				ProductType:  vocabulary.Wine,
				PermitNumber: "NJ-I-721",
				ApprovalDate: cola.NewDate(2026, time.November, 1),
			},
			IsResubmission: cola.Some(earlier != 0), ForResubmissionTTBID: earlier,
		}
	}
	s.registry.AddLabels(t, label(26_101_001_000_901, 26_001_001_000_900),
		label(26_201_001_000_902, 26_101_001_000_901))
	page := s.get("/explore/26201001000902")
	page.checkHTML(t)
	page.shows(t, http.StatusOK, `<span class="mono">26001001000900</span> <span class="soft">not in the registry`,
		`<a class="mono" href="/explore/26101001000901">`, `<strong class="mono">26201001000902</strong> this label`)
	chain := page.body[strings.Index(page.body, `class="label-chain"`):]
	at := func(id string) int { return strings.Index(chain, id) }
	if order := []int{at("26001001000900"), at("26101001000901"), at("26201001000902")}; !slices.IsSorted(order) {
		t.Errorf("chain positions %v, want ascending", order)
	}
	if strings.Count(page.body, `<li aria-current="true">`) != 1 {
		t.Error("current label is not marked exactly once")
	}
}

// formLink returns the URL of the page's link to the form for a saved search.
func (a response) formLink(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`href="(/saved-searches/new\?[^"]*)"`).FindStringSubmatch(a.body)
	if found == nil {
		t.Fatalf("no link to the form:\n%s", a.body)
	}
	return html.UnescapeString(found[1])
}

// TestLabelActions checks that a label links to its brand, its permittee, TTB's page and a form to
// watch the brand, with exact counts, and that the links themselves are free.
func TestLabelActions(t *testing.T) {
	s := mustSite(t)
	label := func(id cola.TTBID, brand string) cola.Cola {
		return cola.Cola{ColaSummary: cola.ColaSummary{
			TTBID: id, BrandName: brand, ProductType: vocabulary.Wine, PermitNumber: "NJ-I-721",
			ApprovalDate: cola.NewDate(2015, time.November, 1),
		}}
	}
	const odd = `L'Été & "Fils" <b>` // must survive escaping in HTML, URLs and search syntax
	s.registry.AddLabels(t, label(15_101_001_000_901, odd), label(15_102_001_000_902, odd), label(15_103_001_000_903, "ALONE 77"))
	before := s.used()
	page := s.get("/explore/15101001000901")
	s.costs(before, 0, 1)
	page.checkHTML(t)
	ofBrand := allHistory("brand_name", `"`+odd+`"`)
	page.shows(t, http.StatusOK, `href="`+cola.TTBID(15_101_001_000_901).PageURL()+`"`, `href="#api-call">API call`, `id="api-call"`,
		"<code>15101001000901</code>", `href="`+ofBrand+`">2 labels</a>`, `href="`+allHistory("permit_number", "NJ-I-721")+`">`)
	if n := s.get(ofBrand).total(t); n != 2 {
		t.Errorf("link to the brand finds %d labels, want 2", n)
	}
	before = s.used()
	form := s.get(page.formLink(t))
	s.costs(before, 0, 0)
	form.checkHTML(t)
	form.shows(t, http.StatusOK, `name="filters.brand_name" value=""`+odd+`""`, `name="name" value="Brand `+odd+`"`)
	form.lacks(t, "except for")

	alone := s.get("/explore/15103001000903")
	alone.lacks(t, "brand_name=%22ALONE+77%22&date_range") // no other labels
	alone.formLink(t)
}

// TestUnsearchableBrands checks that a brand that no search can express gets no links, and that a
// linked form escapes its values.
func TestUnsearchableBrands(t *testing.T) {
	_, show := mustShowLabel(t)
	for _, brand := range []string{"", "\xff", "A\x00B", strings.Repeat("long ", 2_000)} {
		page := show(cola.Cola{ColaSummary: cola.ColaSummary{TTBID: 11_054_001_000_049, BrandName: brand}})
		page.checkHTML(t)
		if strings.Contains(page.body, "/saved-searches/new?") != (watchBrandURL(brand) != "") {
			t.Errorf("%.20q: link to the form:\n%s", brand, page.body)
		}
		if strings.Contains(page.body, "brand_name=") && watchBrandURL(brand) == "" {
			t.Errorf("%.20q: link to a search:\n%s", brand, page.body)
		}
	}
	s := mustSite(t)
	form := s.get(newSearchURL(url.Values{
		"name": {`"><script>alert(1)</script>`}, "filters.permit_number_text": {"X\u202e\n\"><img src=x onerror=alert(1)>"},
		"schedule.cadence": {"never"}, "holder": {"x"}, "filters.query": {"not linkable"},
	}))
	form.checkHTML(t)
	form.lacks(t, "not linkable", "never", "\u202e")
	for _, bad := range []string{"<script>alert", "<img src=x"} {
		if strings.Contains(form.body, bad) {
			t.Errorf("form contains %q:\n%s", bad, form.body)
		}
	}
}

func TestTimeline(t *testing.T) {
	today := cola.NewDate(2026, time.November, 20)
	day := func(n int) cola.Date { return cola.NewDate(2026, time.January, n) }
	for name, test := range map[string]struct {
		label cola.Cola
		want  []moment
	}{
		"no known facts": {cola.Cola{}, nil},
		"every date": {
			cola.Cola{
				ColaSummary:     cola.ColaSummary{TTBID: 26_002_001_000_001, ApprovalDate: day(12)},
				ApplicationDate: day(1), LatestUpdateDate: day(13), ExpirationDate: cola.NewDate(2026, time.December, 13),
			},
			[]moment{
				{Name: "Applied", Day: day(1)}, {Name: "Received", Day: day(2), After: "1 day later"},
				{Name: "Approved", Day: day(12), After: "10 days later"}, {Name: "Last changed", Day: day(13), After: "1 day later"},
				{Name: "Expires", Day: cola.NewDate(2026, time.December, 13), After: "334 days later"},
			},
		},
		"all on one day": {
			cola.Cola{
				ColaSummary:     cola.ColaSummary{TTBID: 26_002_001_000_001, ApprovalDate: day(2)},
				ApplicationDate: day(2), LatestUpdateDate: day(2), ExpirationDate: day(2),
			},
			[]moment{{Name: "Applied, received, approved, last changed and expired", Day: day(2)}},
		},
		"estimated": {
			cola.Cola{
				ColaSummary:      cola.ColaSummary{TTBID: 26_002_001_000_001, ApprovalDateEstimate: day(9)},
				LatestUpdateDate: day(9),
			},
			[]moment{
				{Name: "Received", Day: day(2)}, {Name: "Approved", Estimate: day(9), After: "about 7 days later"},
				{Name: "Last changed", Day: day(9), After: "same day"},
			},
		},
		"out of order, from an ID without a date": {
			cola.Cola{
				ColaSummary:     cola.ColaSummary{TTBID: 26_999_001_000_001, ApprovalDate: 1},
				ApplicationDate: cola.NewDate(9999, time.December, 31),
			},
			[]moment{
				{Name: "Approved", Day: 1}, {Name: "Applied", Day: cola.NewDate(9999, time.December, 31), After: "3,652,058 days later"},
			},
		},
	} {
		if diff := cmp.Diff(test.want, timeline(&test.label, today)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestBarcodeLinks(t *testing.T) {
	for value, want := range map[string]string{
		"036000291452":    "/explore?date_range=all&q=036000291452",
		"0 36000 29145 2": "/explore?date_range=all&q=0+36000+29145+2",
		"11054001000049":  "/explore?barcode_value=11054001000049&date_range=all", // looks like a TTB ID
		"ABC&x=1":         "/explore?barcode_value=ABC%26x%3D1&date_range=all",
	} {
		if got := barcodeHref(value); got != want {
			t.Errorf("barcodeHref(%q) = %s, want %s", value, got, want)
		}
	}
}

func TestPermittees(t *testing.T) {
	s := mustSite(t)
	odd := hostile(26_305_001_000_999)
	odd.PermitNumber = "BR/OH 1%2F?#&+é"
	plain := hostile(26_305_001_001_000)
	plain.PermitNumber = "100%20 PROOF"
	s.registry.AddLabels(t, odd, plain)
	for _, number := range []string{odd.PermitNumber, plain.PermitNumber} {
		normalized := vocabulary.NormalizePermit(number)
		before := s.used()
		page := s.get("/explore/permittees/" + url.PathEscape(number))
		page.shows(t, http.StatusOK, normalized, "1 detail view ·", "HOSTILE",
			"/api/v1/permittees/"+url.PathEscape(normalized)+"'",
			"/explore?"+url.Values{"date_range": {"all"}, "permit_number": {normalized}}.Encode())
		page.checkHTML(t)
		s.costs(before, 0, 1)
	}
	permit := s.somePermit()
	busy := s.get(permitHref(permit))
	busy.checkHTML(t)
	busy.shows(t, http.StatusOK, `src="/images/`, `href="#api-call"`, "/trends?date_range=all&group_by=brand&permit_number=")
	before := s.used()
	form := s.get(busy.formLink(t))
	form.shows(t, http.StatusOK, `name="filters.permit_number_text" value="`+permit+`"`)
	form.lacks(t, "except for")
	s.costs(before, 0, 0)
	for _, number := range []string{"NO-SUCH-1", "%3Cscript%3E", "%00", "", "a/b/c"} {
		page := s.get("/explore/permittees/" + number)
		page.shows(t, http.StatusNotFound, `id="sought"`)
		page.checkHTML(t)
	}
	s.costs(before, 0, 0)
	s.by("").get("/explore/permittees/NJ-I-721").redirects(t)
}

// TestEstimatedDates checks that every page that shows an estimated date marks it, and that labels
// without any date are found across all dates.
func TestEstimatedDates(t *testing.T) {
	s := mustSite(t)
	label := func(id cola.TTBID, completed cola.Date) cola.Cola {
		return cola.Cola{LatestUpdateDate: completed, ColaSummary: cola.ColaSummary{
			TTBID: id, BrandName: "GUESSWORK", ProductType: vocabulary.Wine, PermitNumber: "ZZ-I-9",
		}}
	}
	s.registry.AddLabels(t, label(26_305_001_000_998, cola.NewDate(2026, time.November, 9)),
		label(15_001_001_000_998, 0), label(15_999_001_000_998, 0))
	const mark = `<span title="Estimated approval date">`
	recent := s.get("/explore?q=guesswork")
	recent.checkHTML(t)
	if n := recent.total(t); n != 1 || strings.Count(recent.body, mark) != 1 {
		t.Errorf("%d labels, %d estimates in the default window, want 1 each", n, strings.Count(recent.body, mark))
	}
	recent.shows(t, http.StatusOK, "Nov 9, 2026", "(estimated)", "date_range=all")
	all := s.get("/explore?q=guesswork&date_range=all")
	all.checkHTML(t)
	if n := all.total(t); n != 3 || strings.Count(all.body, mark) != 2 {
		t.Errorf("%d labels, %d estimates across all dates, want 3 and 2", n, strings.Count(all.body, mark))
	}
	all.shows(t, http.StatusOK, "approval date unknown", `<option value="all" selected>All dates`)
	if known := s.get("/explore?q=guesswork&date_range=all&estimated_dates=exclude"); known.total(t) != 1 {
		t.Errorf("%d labels without estimated dates, want 1, the undated one", known.total(t))
	}
	for _, target := range []string{"/explore/26305001000998", permitHref("ZZ-I-9")} {
		page := s.get(target)
		page.shows(t, http.StatusOK, mark, "Nov 9, 2026")
		page.checkHTML(t)
	}
	s.get("/explore?date_range=all&approval_date_to=2026-01-01").shows(t, http.StatusBadRequest, `href="#f-approval_date_to"`)
}
