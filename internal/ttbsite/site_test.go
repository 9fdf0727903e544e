package ttbsite

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/ingest/ttbpage"
	"github.com/colaregistry/colaregistry/internal/shareddata"
)

func mustNew(t *testing.T, o Options) *Site {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// browser sends requests in one session.
type browser struct {
	t    *testing.T
	base string
	http *http.Client
}

func newBrowser(t *testing.T, s *Site) *browser {
	t.Helper()
	server := s.Start()
	t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t, server.URL + Path, &http.Client{Jar: jar}}
}

func (b *browser) get(address string) string {
	b.t.Helper()
	r, err := b.http.Get(b.base + address)
	return b.text(r, err)
}

func (b *browser) text(r *http.Response, err error) string {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func (b *browser) search(first, last cola.Date, from, to string) *ttbpage.Page {
	b.t.Helper()
	form := url.Values{"searchCriteria.classTypeFrom": {from}, "searchCriteria.classTypeTo": {to}}
	form.Set("searchCriteria.dateCompletedFrom", day(first))
	form.Set("searchCriteria.dateCompletedTo", day(last))
	r, err := b.http.PostForm(b.base+"publicSearchColasBasicProcess.do?action=search", form)
	return b.parse(b.text(r, err))
}

func (b *browser) parse(text string) *ttbpage.Page {
	b.t.Helper()
	p, err := ttbpage.Parse([]byte(text))
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *browser) export() string {
	return b.get("publicSaveSearchResultsToFile.do?path=/publicSearchColasBasicProcess")
}

func formOf(id cola.TTBID) string {
	return fmt.Sprintf("viewColaDetails.do?action=publicFormDisplay&ttbid=%s", id)
}

// TestGenerated checks that labels are spread over weekdays, and that equal options give equal
// labels.
func TestGenerated(t *testing.T) {
	o := Options{Seed: 5, Labels: 3000, Busy: 1100}
	labels := mustNew(t, o).Labels()
	if diff := cmp.Diff(labels, mustNew(t, o).Labels(), cmp.AllowUnexported(Label{}, LabelImage{})); diff != "" {
		t.Errorf("labels differ:\n%s", diff)
	}
	days, ids := map[cola.Date]int{}, map[cola.TTBID]bool{}
	for _, l := range labels {
		days[l.Completed]++
		ids[l.ID] = true
		if w := l.Completed.Time().Weekday(); w == 0 || w == 6 {
			t.Errorf("label %s was completed on a %s", l.ID, w)
		}
		if _, ok := cola.ParseTTBID(l.ID.String()); !ok {
			t.Errorf("invalid ID %s", l.ID)
		}
	}
	if len(labels) != 3000 || len(ids) != 3000 || len(days) != 15 {
		t.Errorf("%d labels with %d IDs on %d days", len(labels), len(ids), len(days))
	}
	var counts []int
	for _, n := range days {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	if counts[len(counts)-1] != 1100 || counts[0] < 80 || counts[len(counts)-2] > 300 {
		t.Errorf("labels per day: %v", counts)
	}
}

// TestSearch checks totals and exports, and that both belong to the session's latest search.
func TestSearch(t *testing.T) {
	s := mustNew(t, Options{Seed: 1, Labels: 300, Busy: 120, Limit: 100})
	b := newBrowser(t, s)
	if p := b.parse(b.get("publicSearchColasBasic.do")); p.Kind != ttbpage.SearchForm {
		t.Errorf("search page = %s, want %s", p.Kind, ttbpage.SearchForm)
	}
	if p := b.parse(b.export()); p.Kind != ttbpage.SessionEnded {
		t.Errorf("export before a search = %s, want %s", p.Kind, ttbpage.SessionEnded)
	}
	perDay := map[cola.Date]int{}
	for _, l := range s.Labels() {
		perDay[l.Completed]++
	}
	classes := 0
	for _, part := range [][2]string{{"", "339"}, {"34", "90"}, {"900", ""}} {
		p := b.search(s.options.First, s.options.Last, part[0], part[1])
		n, _, _ := p.Total()
		classes += n
	}
	if classes != 300 {
		t.Errorf("%d labels in all class ranges, want 300", classes)
	}
	for d := s.options.First; d <= s.options.Last; d = d.AddDays(1) {
		p := b.search(d, d, "", "")
		total, listed, ok := p.Total()
		if !ok || total != perDay[d] || listed != min(total, 100) {
			t.Fatalf("%s: %d of %d labels listed, %t; want a total of %d", d, listed, total, ok, perDay[d])
		}
		if total == 0 {
			continue
		}
		text := b.export()
		if rows := strings.Count(text, "\r\n") - 1; rows != listed || !strings.HasPrefix(text, "TTB ID,Permit No.,") || !strings.Contains(text, "\r\n'2") {
			t.Errorf("%s: export of %d rows, want %d with IDs in single quotes:\n%.200s", d, rows, listed, text)
		}
	}
	s.EndSessions()
	if p := b.search(s.options.First, s.options.Last, "", ""); p.Kind != ttbpage.SearchForm {
		t.Errorf("search without a session = %s, want %s", p.Kind, ttbpage.SearchForm)
	}
}

// TestNumericClasses checks the textual and the numeric order of class/type codes.
func TestNumericClasses(t *testing.T) {
	for _, test := range []struct {
		numeric bool
		from    string
		want    bool
	}{{false, "100", true}, {true, "100", false}, {false, "81", false}, {true, "80", true}} {
		s := mustNew(t, Options{NumericClasses: test.numeric})
		if got := s.inClasses("80A", test.from, "90"); got != test.want {
			t.Errorf("numeric = %t: 80A in %s..90 = %t, want %t", test.numeric, test.from, got, test.want)
		}
	}
}

// TestPages checks that ttbpage parses the form and the detail page of every label, and that an
// image request returns an image of the label whose form was opened last.
func TestPages(t *testing.T) {
	s := mustNew(t, Options{Seed: 2, Labels: 200})
	b := newBrowser(t, s)
	exemptions := 0
	for _, l := range s.Labels() {
		detail, err := b.parse(b.get(fmt.Sprintf("viewColaDetails.do?action=publicDisplaySearchBasic&ttbid=%s", l.ID))).Label()
		if err != nil {
			t.Fatalf("%s: %v", l.ID, err)
		}
		if l.Paper {
			if p := b.parse(b.get(formOf(l.ID))); p.Kind != ttbpage.NoPage {
				t.Errorf("form of paper filing %s = %s, want %s", l.ID, p.Kind, ttbpage.NoPage)
			}
			continue
		}
		form, err := b.parse(b.get(formOf(l.ID))).Label()
		if err != nil {
			t.Fatalf("%s: %v", l.ID, err)
		}
		facts := func(p ttbpage.Label) []string {
			return []string{p.TTBID, p.Status, p.PermitNumber, p.BrandName, p.FancifulName, p.SerialNumber, p.ClassName, p.Approval,
				p.Applicant, p.State, p.ZIP, strings.Join(p.Qualifications, "|")}
		}
		brand := strings.ReplaceAll(l.Brand, "\n", " ")
		want := []string{l.ID.String(), l.Status, l.Permit, brand, l.Fanciful, l.Serial, l.Class.Name, l.ApprovedText(), l.Company, l.State, l.ZIP,
			"An example of a qualification."}
		if diff := cmp.Diff(want, facts(detail)); diff != "" {
			t.Errorf("%s: detail page (-want +got):\n%s", l.ID, diff)
		}
		if diff := cmp.Diff(want, facts(form)); diff != "" {
			t.Errorf("%s: form (-want +got):\n%s", l.ID, diff)
		}
		if form.ClassCode != l.Class.ID || form.OriginCode != l.Origin.ID || form.ProductType != l.TypeOfProduct() ||
			(form.Source == "Imported") != l.Imported() || form.Application != l.AppliedText() || detail.OriginName != l.Origin.Name ||
			form.AlcoholContent != l.Alcohol || form.Appellation != l.Appellation || form.ForSaleIn != l.ForSaleIn || detail.ForSaleIn != l.ForSaleIn {
			t.Errorf("%s: %+v %+v", l.ID, form, detail)
		}
		if exempt := l.ForSaleIn != ""; exempt != (form.ApplicationType == "") || detail.ApplicationType != l.ApplicationType() {
			t.Errorf("%s: application types %q and %q", l.ID, form.ApplicationType, detail.ApplicationType)
		} else if exempt {
			exemptions++
		}
		if strings.Contains(strings.ToLower(fmt.Sprint(form, detail)), "secret") {
			t.Errorf("%s: contact data in %+v %+v", l.ID, form, detail)
		}
		if len(form.Images) != len(l.Images) {
			t.Fatalf("%s: images %+v", l.ID, form.Images)
		}
		for i, image := range form.Images {
			want := l.Images[i]
			if image.FileName != want.FileName || image.Position != want.Position || image.Width != float64(want.Width)/100 {
				t.Errorf("%s: image %+v, want %+v", l.ID, image, want)
			}
		}
		image := b.get("publicViewAttachment.do?filetype=l&filename=" + url.QueryEscape(l.Images[0].FileName))
		if kind := http.DetectContentType([]byte(image)); !strings.HasPrefix(kind, "image/") && !l.Images[0].Missing {
			t.Errorf("%s: image is %s", l.ID, kind)
		}
	}
	if exemptions == 0 {
		t.Error("no label is exempt")
	}
	s.EndSessions()
	if p := b.parse(b.get("publicViewAttachment.do?filename=front.jpg&filetype=l")); p.Kind != ttbpage.NoPage {
		t.Errorf("image without a session = %s, want %s", p.Kind, ttbpage.NoPage)
	}
	if p := b.parse(b.get(formOf(1))); p.Kind != ttbpage.NoPage {
		t.Errorf("form of an unknown label = %s, want %s", p.Kind, ttbpage.NoPage)
	}
	// The tally balances: the image request without a session was unnecessary, but the search page,
	// which Minimum counts, was not requested.
	if tally := s.Tally(); tally.Failed != 0 || tally.Extra() != 0 {
		t.Errorf("tally = %+v, want no failed or extra requests", tally)
	}
}

// TestBarcodes checks that barcodes are valid and that every image is different.
func TestBarcodes(t *testing.T) {
	barcodes, images := map[string]bool{}, map[string]bool{}
	n := 0
	for _, l := range mustNew(t, Options{Seed: 6, Labels: 60}).Labels() {
		for _, i := range l.Images {
			if i.Barcode != "" {
				barcodes[i.Barcode] = vocabulary.ValidGTIN(i.Barcode)
			}
			text, err := i.Content(&l)
			if err != nil {
				t.Fatal(err)
			}
			images[string(text)] = true
			n++
		}
	}
	if len(images) != n || len(barcodes) != 3 || slices.Contains(slices.Collect(maps.Values(barcodes)), false) {
		t.Errorf("%d distinct images, barcodes %v; want %d images and 3 valid barcodes", len(images), barcodes, n)
	}
}

// TestRealLabels checks that the site serves real labels unchanged.
func TestRealLabels(t *testing.T) {
	folder := shareddata.Folder(t)
	if folder == "" {
		t.Skip("no folder of real data")
	}
	s := mustNew(t, Options{Data: folder})
	b := newBrowser(t, s)
	images := 0
	for _, l := range s.Labels() {
		form, err := b.parse(b.get(formOf(l.ID))).Label()
		if err != nil || form.BrandName != l.Brand || form.PermitNumber != l.Permit || len(form.Images) != len(l.Images) {
			t.Errorf("%s: %+v, %v", l.ID, form, err)
		}
		for _, image := range form.Images {
			text := b.get("publicViewAttachment.do?filetype=l&filename=" + url.QueryEscape(image.FileName))
			if kind := http.DetectContentType([]byte(text)); !strings.HasPrefix(kind, "image/") {
				t.Errorf("%s: image %q is %s", l.ID, image.FileName, kind)
			}
			images++
		}
	}
	if total, _, ok := b.search(s.options.First, s.options.Last, "", "").Total(); len(s.Labels()) != 34 || images != 65 || !ok || total != 34 {
		t.Errorf("%d labels, %d images, total %d, %t", len(s.Labels()), images, total, ok)
	}
	for _, r := range s.Log() {
		if r.Kind == Image && !r.Served {
			t.Errorf("not served: %+v", r)
		}
	}
}

// TestFaults checks injected failures, the log and the tally.
func TestFaults(t *testing.T) {
	s := mustNew(t, Options{Seed: 3, Labels: 20, Faults: Faults{ExpireAfter: 4}})
	b := newBrowser(t, s)
	id := s.Labels()[0].ID
	s.Inject(ServerError, None, Block, Challenge, Partial, Truncated)
	var kinds []ttbpage.Kind
	for range 5 {
		kinds = append(kinds, b.parse(b.get(formOf(id))).Kind)
	}
	want := []ttbpage.Kind{ttbpage.SiteError, ttbpage.Printable, ttbpage.Blocked, ttbpage.Captcha, ttbpage.Printable}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	if r, err := b.http.Get(b.base + formOf(id)); err == nil {
		if _, err = io.ReadAll(r.Body); err == nil {
			t.Error("the truncated response was complete")
		}
		r.Body.Close()
	}
	for range 3 {
		b.get("publicViewAttachment.do?filetype=l&filename=front.jpg")
	}
	var served, expired int
	for _, r := range s.Log() {
		if r.Served {
			served++
		}
		if r.Fault == Expired {
			expired++
		}
	}
	if expired != 1 {
		t.Errorf("%d requests found the session expired, want 1: %+v", expired, s.Log())
	}
	if tally := s.Tally(); tally.Requests != 9 || tally.Failed != 6 {
		t.Errorf("tally = %+v, want 9 requests, 6 of them failed", tally)
	}
	s.mu.Lock()
	s.blockAt = 1
	s.mu.Unlock()
	if p := b.parse(b.get(formOf(id))); p.Kind != ttbpage.Blocked || p.SupportID() == "" {
		t.Errorf("page while blocked = %s, want %s with a support ID", p.Kind, ttbpage.Blocked)
	}
	s.Unblock()
	if p := b.parse(b.get(formOf(id))); p.Kind != ttbpage.Printable {
		t.Errorf("page after the block = %s, want %s", p.Kind, ttbpage.Printable)
	}
}

// TestChange checks that a changed label is found under its new completion date.
func TestChange(t *testing.T) {
	s := mustNew(t, Options{Seed: 4, Labels: 10})
	b := newBrowser(t, s)
	b.get("publicSearchColasBasic.do")
	id, newDay := s.Labels()[3].ID, s.options.Last.AddDays(10)
	s.Change(id, func(l *Label) { l.Completed, l.Status = newDay, "SURRENDERED" })
	if total, _, _ := b.search(newDay, newDay, "", "").Total(); total != 1 || !strings.Contains(b.export(), id.String()) {
		t.Errorf("%d labels on the new day, want 1 that is listed in the export", total)
	}
	if l, err := b.parse(b.get(formOf(id))).Label(); err != nil || l.Status != "SURRENDERED" {
		t.Errorf("status = %q, %v, want SURRENDERED", l.Status, err)
	}
}

// TestVintages checks that the forms of wines state the vintage, either a year or NV.
func TestVintages(t *testing.T) {
	found := map[bool]int{}
	for _, l := range mustNew(t, Options{Seed: 6, Labels: 200}).Labels() {
		if l.Vintage == "" {
			continue
		}
		page, err := ttbpage.Parse(l.page(Form).body)
		if err != nil {
			t.Fatal(err)
		}
		if stated, err := page.Label(); err != nil || stated.Vintage != l.Vintage {
			t.Errorf("form of %s: vintage = %q, %v; want %q", l.ID, stated.Vintage, err, l.Vintage)
		}
		found[l.Vintage == "NV"]++
	}
	if found[true] == 0 || found[false] == 0 {
		t.Errorf("%d labels without a year and %d with one, want some of each", found[true], found[false])
	}
}
