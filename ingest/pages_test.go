package ingest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/golden"
)

// samplePage returns a synthetic page.
func samplePage(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("ttbpage", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const sampleID cola.TTBID = 24031001000007

// sampleLabel is the label of the synthetic pages.
func sampleLabel() cola.Cola {
	c := cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: sampleID, BrandName: "SAMPLE & DAUGHTERS", ProductType: vocabulary.Wine, ClassName: "TABLE WHITE WINE", OriginName: "OREGON",
		PermitNumber: "BWN-OR-99999", ApplicationStatus: "approved", ApprovalDate: cola.NewDate(2024, 2, 14),
	}}
	c.ApplicationType, c.ApplicationDate, c.ExpirationDate = "LABEL APPROVAL", cola.NewDate(2024, 1, 31), cola.NewDate(2026, 3, 1)
	c.ClassID, c.OriginID, c.DomesticOrImported = "81", "38", "domestic"
	c.IsDistinctiveContainer, c.ForDistinctiveCapacity = cola.Some(true), "760 MILLILITERS"
	c.IsResubmission, c.ForResubmissionTTBID, c.ForExemptionState = cola.Some(true), 23350001000001, "OR"
	c.AddressRecipient, c.AddressState, c.AddressZipCode = "SAMPLE CELLARS, SAMPLE CELLARS LLC", "OR", "97132"
	c.TradeName, c.SerialNumber, c.Qualifications = "SAMPLE & DAUGHTERS", "24EX01", "First condition.\nSecond condition."
	c.GrapeVarietals, c.WineVintageYear, c.WineAppellation = []string{"Albariño"}, cola.Some(2023), "DUNDEE HILLS"
	c.ABV = cola.Some(12.5)
	c.Images = []cola.Image{
		{TTBImageID: "24031001000007-1", ContainerPosition: "front", FileName: "Front 1.jpg", ExtensionType: "jpg", WidthInches: cola.Some(2.4), HeightInches: cola.Some(3.1)},
		{TTBImageID: "24031001000007-2", ImageIndex: 1, ContainerPosition: "neck", FileName: "neck&more.png", ExtensionType: "png", WidthInches: cola.Some(4.0), HeightInches: cola.Some(1.0)},
	}
	c.Derive()
	return c
}

// sampleFiles returns the files of a folder: both pages of a label, and files of many other types.
func sampleFiles(t testing.TB) map[string]string {
	return map[string]string{
		"24031001000007/detail.html":    samplePage(t, "detail.html"),
		"24031001000007/printable.html": samplePage(t, "printable.html"),
		"24031001000007/images/1.jpg":   "\xff\xd8\xff\xe0 JPEG",
		"24031001000007/images/2":       "\x89PNG\r\n\x1a\n",
		"more/a.jsonl":                  `{"ttb_id":"24001001000001","brand_name":"A","product_type":"wine","permit_number":"CA-W-1"}` + "\n",
		"more/bad.csv":                  "ttb_id,brand_name\n24001001000001,A\n1,B\n",
		"more/readme.txt":               "Pages of TTB's registry",
		"search.html":                   "<html><h1>Search Results: COLAs</h1>1 to 20 of 21 (Total Matching Records: 21)</html>",
		".hidden/x.jsonl":               "{",
		".DS_Store":                     "\x00\x01",
		"zz/blocked.html":               "<html><title>Request Rejected</title>Your support ID is: 1</html>",
	}
}

// names returns the file names in the order in which folder lists them.
func names(files map[string]string) (sorted []string) {
	for name := range files {
		sorted = append(sorted, name)
	}
	// Within each folder, entries are listed by name.
	for i := range sorted {
		for j := range sorted[:i] {
			if strings.ReplaceAll(sorted[i], "/", "\x00") < strings.ReplaceAll(sorted[j], "/", "\x00") {
				sorted[i], sorted[j] = sorted[j], sorted[i]
			}
		}
	}
	return sorted
}

func writeFolder(t testing.TB, files map[string]string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "pages")
	for name, text := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func writeZIP(t testing.TB, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names(files) {
		entry, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := entry.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func writeTar(t testing.TB, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range names(files) {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(files[name]))})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFolders imports the same files as a folder and as archives.
func TestFolders(t *testing.T) {
	reports, first := golden.Load(t, "folders"), ""
	for kind, path := range map[string]string{
		"folder":  writeFolder(t, sampleFiles(t)),
		"zip":     mustWrite(t, writeZIP(t, sampleFiles(t))),
		"tar":     mustWrite(t, writeTar(t, sampleFiles(t))),
		"tar.gz":  mustWrite(t, gzipped(t, writeTar(t, sampleFiles(t)))),
		"tar.zst": mustWrite(t, zstded(t, writeTar(t, sampleFiles(t)))),
	} {
		t.Run(kind, func(t *testing.T) {
			st := newFakeStore()
			for _, want := range []Counts{{Read: 6, Added: 2, Changed: 1, Unchanged: 1, Rejected: 2}, {Read: 6, Unchanged: 4, Rejected: 2}} {
				report, err := Import(t.Context(), st, Colas, []Source{FileSource(path)}, Options{SkipInvalid: true})
				if err != nil || report.Counts != want {
					t.Fatalf("report = %s, %v; want %+v", report.Summary(), err, want)
				}
				problems := strings.ReplaceAll(strings.Join(problemsOf(report), "\n"), path, "PATH")
				if first == "" {
					first = problems
					reports.Check(t, "report", problems)
				}
				if diff := cmp.Diff(first, problems); diff != "" {
					t.Errorf("problems (-first +this):\n%s", diff)
				}
			}
			if diff := cmp.Diff(sampleLabel(), st.colas[sampleID]); diff != "" {
				t.Errorf("label (-want +got):\n%s", diff)
			}
			if st.colas[theID].BrandName != "A" {
				t.Errorf("label of the other file = %+v", st.colas[theID])
			}
		})
	}
}

// problemsOf returns the lines of a report about rejected rows and warnings.
func problemsOf(r Report) (lines []string) {
	for _, rejection := range r.Rejections {
		lines = append(lines, rejection.String())
	}
	for _, warning := range r.Warnings {
		lines = append(lines, warning.String())
	}
	return lines
}

// TestSinglePages imports each page as a single file, and checks the fields that it sets.
func TestSinglePages(t *testing.T) {
	detail, printable := mustWrite(t, samplePage(t, "detail.html")), mustWrite(t, gzipped(t, samplePage(t, "printable.html")))
	st := newFakeStore()
	mustImport(t, st, Colas, FileSource(detail))
	if c := st.colas[sampleID]; c.ClassID != "81" || c.OriginID != "38" || c.ProductType != vocabulary.Wine || c.WineVintageYear.V != 2023 ||
		c.IsResubmission.OK || len(c.Images) > 0 || c.TradeName != "" {
		t.Errorf("label of the detail page = %+v", c)
	}
	report := mustImport(t, st, Colas, FileSource(printable))
	if diff := cmp.Diff(sampleLabel(), st.colas[sampleID]); diff != "" {
		t.Errorf("label of both pages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Warning{{printable, `net contents "750 MILLILITERS, 1.5 LITERS" can't be read, so it was left out`, 1}}, report.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	st = newFakeStore()
	mustImport(t, st, Colas, PageSource("form", []byte(samplePage(t, "printable.html"))))
	if c := st.colas[sampleID]; c.OriginName != "OREGON" || c.ApplicationType != "" || len(c.Images) != 2 {
		t.Errorf("label of the form = %+v", c)
	}
}

// TestPageValues changes one value on the form and checks the effect.
func TestPageValues(t *testing.T) {
	form := strings.Replace(samplePage(t, "printable.html"), "<br>1.5 LITERS", "", 1)
	for _, test := range []struct {
		old, new string
		want     func(*cola.Cola) // effect on the form's label
		warns    bool
	}{
		{"750 MILLILITERS", "1 PINT 9.4 FL. OZ.", func(c *cola.Cola) { c.Volume, c.VolumeUnit = cola.Some(25.4), "fluid ounces" }, false},
		{"750 MILLILITERS", "VARIOUS", func(c *cola.Cola) { c.Volume, c.VolumeUnit = cola.Opt[float64]{}, "" }, true},
		{"12.5 % by vol", "11-14%", func(c *cola.Cola) { c.ABV = cola.Opt[float64]{} }, true},
		{"12.5 % by vol", "125", func(c *cola.Cola) { c.ABV = cola.Opt[float64]{} }, true},
		{"12.5 % by vol", "45", func(c *cola.Cola) { c.ABV = cola.Some(45.0) }, false},
		{"DUNDEE HILLS", "OR - YAMHILL", func(c *cola.Cola) { c.WineAppellation = "YAMHILL COUNTY" }, false},
		{"Albariño", "N/A", func(c *cola.Cola) { c.GrapeVarietals = []string{} }, false},
		{"23350001000001", "2335-01", func(c *cola.Cola) { c.ForResubmissionTTBID = 0 }, true},
		{`checked alt="Previous TTB Id"`, `alt="Previous TTB Id"`, func(c *cola.Cola) {
			c.IsResubmission, c.ForResubmissionTTBID = cola.Some(false), 0
		}, false},
		{"Label Image: Neck", "Label Image: Cork", func(c *cola.Cola) {
			c.Images[1].ContainerPosition, c.HasNeckImage = "other", cola.Some(false)
		}, true},
		{"Front 1.jpg", "Front 1", func(c *cola.Cola) { c.Images[0].FileName, c.Images[0].ExtensionType = "Front 1", "unknown" }, false},
		{"2.4 inches W", "0 inches W", func(c *cola.Cola) {
			c.Images[0].WidthInches, c.Images[0].HeightInches = cola.Opt[float64]{}, cola.Opt[float64]{}
		}, false},
	} {
		t.Run(test.new, func(t *testing.T) {
			if !strings.Contains(form, test.old) {
				t.Fatalf("the form has no %q", test.old)
			}
			load := func(text string) (cola.Cola, Report) {
				st := newFakeStore()
				report := mustImport(t, st, Colas, FileSource(mustWrite(t, text)))
				return st.colas[sampleID], report
			}
			want, _ := load(form)
			test.want(&want)
			got, report := load(strings.Replace(form, test.old, test.new, 1))
			if diff := cmp.Diff(want, got); diff != "" || (len(report.Warnings) > 0) != test.warns {
				t.Errorf("warnings = %v; label (-want +got):\n%s", report.Warnings, diff)
			}
		})
	}
}

// TestPagesKeepImageData checks that a form doesn't clear stored data about its images.
func TestPagesKeepImageData(t *testing.T) {
	form := FileSource(mustWrite(t, samplePage(t, "printable.html")))
	for id, want := range map[string]string{
		sampleID.String() + "-1": "u.jpg 900 2.4 front; 0 4 neck",
		"mine":                   "u.jpg 900 0 back",
	} {
		st := newFakeStore()
		mustImport(t, st, Colas, form)
		mustImport(t, st, Colas, texts(`{"ttb_id":"24031001000007","images":[`+
			`{"ttb_image_id":"`+id+`","image_url":"u.jpg","width_pixels":900,"container_position":"back"}]}`)...)
		for _, counts := range []Counts{{Read: 1, Changed: 1}, {Read: 1, Unchanged: 1}} {
			if id == "mine" {
				counts = Counts{Read: 1, Unchanged: 1}
			}
			report := mustImport(t, st, Colas, form)
			var images []string
			for _, m := range st.colas[sampleID].Images {
				images = append(images, strings.TrimSpace(fmt.Sprint(m.ImageURL, " ", m.WidthPixels.V, " ", m.WidthInches.V, " ", m.ContainerPosition)))
			}
			if got := strings.Join(images, "; "); got != want || report.Counts != counts {
				t.Errorf("report = %s, images = %s, want %s", report.Summary(), got, want)
			}
		}
	}
}

// TestPagesReplaceImages checks that a form listing a different file for an image clears the stored
// data of the previous file.
func TestPagesReplaceImages(t *testing.T) {
	form := FileSource(mustWrite(t, samplePage(t, "printable.html")))
	st := newFakeStore()
	mustImport(t, st, Colas, form)
	label := st.colas[sampleID]
	first, second := label.Images[0], label.Images[1]
	image := func(id string, name cola.Text) string {
		return fmt.Sprintf(`{"ttb_image_id":%q,"file_name":%q,"image_url":"/images/%s","width_pixels":900,"file_size_mb":1,`+
			`"extension_type":"png","barcode_count":1,"qrcode_count":1}`, id, name, id)
	}
	mustImport(t, st, Colas, texts(`{"ttb_id":"24031001000007","qrcode_url":"https://example.com/old",`+
		`"images":[`+image(first.TTBImageID, "old.jpg")+`,`+image(second.TTBImageID, second.FileName+"x")+`],`+
		`"barcodes":[{"barcode_value":"4006381333931","ttb_image_id":"`+first.TTBImageID+`"},`+
		`{"barcode_value":"5901234123457","ttb_image_id":"other"}]}`)...)
	for _, counts := range []Counts{{Read: 1, Changed: 1}, {Read: 1, Unchanged: 1}} {
		report := mustImport(t, st, Colas, form)
		got := st.colas[sampleID]
		if diff := cmp.Diff(label.Images, got.Images); diff != "" || report.Counts != counts {
			t.Errorf("report = %s; images (-want +got):\n%s", report.Summary(), diff)
		}
		if len(got.Barcodes) != 1 || got.BarcodeValue != "5901234123457" || got.QRCodeURL != "" {
			t.Errorf("barcodes = %v, main barcode %s, QR code %s; want only the code of another image",
				got.Barcodes, got.BarcodeValue, got.QRCodeURL)
		}
	}
}

// TestSynonymsAreDocumented checks that the documentation lists every synonym of a field.
func TestSynonymsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "IMPORT.md"))
	if err != nil {
		t.Fatal(err)
	}
	for key, field := range colaSynonyms {
		if key = strings.Replace(key, "grape_varietal_s", "Grape Varietal(s)", 1); !strings.Contains(string(text), "`"+key+"`") {
			t.Errorf("docs/IMPORT.md lacks %s for %s", key, field)
		}
		if _, ok := colaSchema.byName[field]; !ok || key == field {
			t.Errorf("synonym %s of unknown field %s", key, field)
		}
	}
}

// TestRejectedPages checks the rejection reasons for pages without a label and for labels that can't
// be stored.
func TestRejectedPages(t *testing.T) {
	reasons := golden.Load(t, "page_rejections")
	for name, text := range map[string]string{
		"results":  "<html><h1>Search Results: COLAs</h1>",
		"blocked":  "<html><title>Request Rejected</title>Your support ID is: 123",
		"captcha":  `<html><body>What code is in the image?<img src="/captcha.jpg">`,
		"error":    "<html><title>Error 500</title>",
		"search":   `<html><input name="searchCriteria.dateCompletedFrom">`,
		"session":  "<html>Your session has expired.",
		"no page":  "<html><h1>Error</h1>Unable to process request.",
		"unknown":  "<html><title>Wine shop</title>Buy now",
		"cut off":  samplePage(t, "detail.html")[:len(samplePage(t, "detail.html"))*9/10],
		"no ID":    strings.Replace(samplePage(t, "detail.html"), "24031001000007", "", 1),
		"short ID": strings.Replace(samplePage(t, "detail.html"), "24031001000007", "87012345", 1),
		"date":     strings.Replace(samplePage(t, "detail.html"), "02/14/2024", "14/02/2024", 1),
		"status":   strings.Replace(samplePage(t, "detail.html"), "APPROVED", "PENDING", 1),
		"class":    strings.Replace(samplePage(t, "detail.html"), "TABLE WHITE WINE", "MOONSHINE", 1),
		"long":     samplePage(t, "detail.html") + strings.Repeat(" ", maxPage),
	} {
		t.Run(name, func(t *testing.T) {
			st := newFakeStore()
			path := mustWrite(t, text)
			report, err := Import(t.Context(), st, Colas, []Source{FileSource(path)}, Options{})
			if !errors.Is(err, ErrRejected) || report.Rejected != 1 || len(st.colas) != 0 || len(report.Rejections) != 1 {
				t.Fatalf("report = %s, %v, want a rejected page", report.Summary(), err)
			}
			if r := report.Rejections[0]; r.Source != path || r.Line != 1 {
				t.Errorf("rejected row = %s:%d, want %s:1", r.Source, r.Line, path)
			}
			reasons.Check(t, name, report.Rejections[0].Reason)
			inMemory, err := Import(t.Context(), st, Colas, []Source{PageSource(path, []byte(text))}, Options{})
			if diff := cmp.Diff(report.Rejections, inMemory.Rejections); diff != "" || !errors.Is(err, ErrRejected) {
				t.Errorf("page in memory: error %v, reasons (-file +memory):\n%s", err, diff)
			}
		})
	}
}

// TestFolderFailures checks folders and archives that cannot be read, or have no files to import.
func TestFolderFailures(t *testing.T) {
	pages := sampleFiles(t)
	archive := writeZIP(t, pages)
	tape := writeTar(t, pages)
	for name, path := range map[string]string{
		"empty folder":  t.TempDir(),
		"only images":   writeFolder(t, map[string]string{"1.jpg": "\xff\xd8\xff", "readme": "read me"}),
		"damaged ZIP":   mustWrite(t, archive[:len(archive)/2]),
		"truncated tar": mustWrite(t, tape[:len(tape)/2]),
		"workbook":      mustWrite(t, writeZIP(t, map[string]string{"[Content_Types].xml": "", "xl/workbook.xml": ""})),
		"nested":        mustWrite(t, writeZIP(t, map[string]string{"a.zip": archive})),
		"damaged file":  writeFolder(t, map[string]string{"a.html.gz": gzipped(t, "<html>")[:12], "a.html": pages["24031001000007/detail.html"]}),
		"broken JSON":   writeFolder(t, map[string]string{"a.json": "[{", "b.html": pages["24031001000007/detail.html"]}),
	} {
		t.Run(name, func(t *testing.T) {
			report, err := Import(t.Context(), newFakeStore(), Colas, []Source{FileSource(path)}, Options{SkipInvalid: true})
			if failure := (*SourceError)(nil); !errors.As(err, &failure) || len(report.Failures) != 1 {
				t.Errorf("error = %v, failures = %v, want a failed source", err, report.Failures)
			}
			if other := name == "damaged file" || name == "broken JSON"; other && report.Added != 1 {
				t.Errorf("report = %s, want the other file imported", report.Summary())
			}
		})
	}
}

// TestManyFailures checks that the failures and skipped files of a folder are counted, but that
// only the first ones are named.
func TestManyFailures(t *testing.T) {
	files := map[string]string{"good.jsonl": `{"ttb_id":"24001001000001","brand_name":"A","product_type":"wine","permit_number":"CA-W-1"}`}
	for i := range 20 {
		files[fmt.Sprintf("empty%02d.html", i)] = ""
		files[fmt.Sprintf("readme%02d.txt", i)] = "read me"
		files[fmt.Sprintf("damaged%02d.gz", i)] = "\x1f\x8b\x08"
	}
	path := writeFolder(t, files)
	report, err := Import(t.Context(), newFakeStore(), Colas, []Source{FileSource(path)}, Options{})
	if !errors.Is(err, errEmpty) || report.Added != 1 || len(report.Failures) != 7 || report.Failures[6].Source != path ||
		!strings.Contains(report.Failures[6].Error(), " 34 ") {
		t.Errorf("report = %s, failures = %v, want 3 + 3 files and a count of the rest", report.Summary(), report.Failures)
	}
	if len(report.Warnings) != 1 || strings.Count(report.Warnings[0].Message, ".txt") != 3 || !strings.Contains(report.Warnings[0].Message, "20 ") {
		t.Errorf("warnings = %v", report.Warnings)
	}
}

// TestLinkedFolder checks that the source can be a symbolic link to a folder.
func TestLinkedFolder(t *testing.T) {
	link := filepath.Join(t.TempDir(), "current")
	if err := os.Symlink(writeFolder(t, sampleFiles(t)), link); err != nil {
		t.Skip(err)
	}
	report, err := Import(t.Context(), newFakeStore(), Colas, []Source{FileSource(link)}, Options{SkipInvalid: true})
	if err != nil || report.Read != 6 || report.Rejections[0].Source != link+"/more/bad.csv" {
		t.Errorf("report = %s %v, %v", report.Summary(), report.Rejections, err)
	}
}

// TestPackedZIP checks that a compressed ZIP archive is not reported as damaged.
func TestPackedZIP(t *testing.T) {
	path := mustWrite(t, gzipped(t, writeZIP(t, sampleFiles(t))))
	if _, err := Import(t.Context(), newFakeStore(), Colas, []Source{FileSource(path)}, Options{}); !errors.Is(err, errPackedZIP) {
		t.Errorf("error = %v, want %v", err, errPackedZIP)
	}
}

// TestPrintableName checks that the names in an archive can't control a terminal.
func TestPrintableName(t *testing.T) {
	if got := printableName("a b/é\n\x7f\u009b31m\u202etxt\xff"); got != "a b/é???31m?txt\ufffd" {
		t.Errorf("name = %q", got)
	}
}

// slowFiles lists pages. The call to next after the last page returns only after the store has
// failed; Close records whether it was called before that call returned.
type slowFiles struct {
	page    string
	left    int
	inNext  atomic.Bool
	entered chan struct{}
	failing chan struct{} // closed when the store fails
	early   bool
}

func (f *slowFiles) next() (file, error) {
	if f.left > 0 {
		f.left--
		return file{"page", func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(f.page)), nil }}, nil
	}
	f.inNext.Store(true)
	close(f.entered)
	<-f.failing
	time.Sleep(50 * time.Millisecond)
	f.inNext.Store(false)
	return file{}, io.EOF
}

func (f *slowFiles) Close() error {
	f.early = f.inNext.Load()
	return nil
}

// TestCloseWaits checks that an archive is not closed while it is being read, even if the store
// fails.
func TestCloseWaits(t *testing.T) {
	st := newFakeStore()
	list := &slowFiles{page: samplePage(t, "detail.html"), left: batchRows, entered: make(chan struct{}), failing: make(chan struct{})}
	st.failAt, st.err = 1, errors.New("no space")
	st.onBatch = func(int, int) {
		<-list.entered
		close(list.failing)
	}
	w := newColaWork(&run{opts: Options{Workers: 1, Now: time.Now}}, st)
	if err := w.folder(t.Context(), Source{Name: "tape"}, list); !errors.Is(err, st.err) || list.early {
		t.Errorf("error = %v, closed during a read: %t", err, list.early)
	}
}

// TestOtherKindsInFolders checks that other kinds of records can be imported from folders too, and
// that pages are skipped there.
func TestOtherKindsInFolders(t *testing.T) {
	path := mustWrite(t, writeZIP(t, map[string]string{
		"a/list.csv": "PERMIT NUMBER,OWNER NAME\nCA-W-1,A\n", "b.json": `[{"permit_number":"CA-W-2","company_name":"B"}]`,
		"c.html": samplePage(t, "detail.html"),
	}))
	st := newFakeStore()
	report := mustImport(t, st, Permittees, FileSource(path))
	if report.Added != 2 || len(st.permittees) != 2 || len(report.Warnings) != 1 {
		t.Errorf("report = %s %v", report.Summary(), report.Warnings)
	}
}

// TestRejectedInFolder checks that rejected rows of reports, which are written at the end, are
// reported with their file name.
func TestRejectedInFolder(t *testing.T) {
	path := mustWrite(t, writeZIP(t, map[string]string{
		"a.json": `{"commodity":"Beer","report_type":"yearly","year":2024,"statistical_group":"G"}
			{"commodity":"Beer","report_type":"yearly","year":2024,"statistical_group":"G","value":"much"}`,
	}))
	report, err := Import(t.Context(), newFakeStore(), ProductionReports, []Source{FileSource(path)}, Options{SkipInvalid: true})
	if err != nil || len(report.Rejections) != 2 {
		t.Errorf("report = %s, %v, want two rejected rows", report.Summary(), err)
	}
	for _, rejection := range report.Rejections {
		if rejection.Source != path+"/a.json" {
			t.Errorf("rejected row = %s", rejection)
		}
	}
}

// TestManyPages checks that pages are stored in batches, under their own names.
func TestManyPages(t *testing.T) {
	files, form := map[string]string{}, samplePage(t, "printable.html")
	for i := range 120 {
		id := cola.TTBID(24031001000100 + i).String()
		files[id+".html"] = strings.Replace(form, sampleID.String(), id, 1)
	}
	files["24031001000177.html"] = "<html>gone"
	st := newFakeStore()
	report, err := Import(t.Context(), st, Colas, []Source{FileSource(mustWrite(t, writeZIP(t, files)))}, Options{SkipInvalid: true, Workers: 3})
	if err != nil || report.Added != 119 || len(report.Rejections) != 1 || !strings.HasSuffix(report.Rejections[0].Source, "/24031001000177.html") {
		t.Errorf("report = %s %v, %v", report.Summary(), report.Rejections, err)
	}
	if st.batches > 3 {
		t.Errorf("%d batches for %d bytes", st.batches, 120*len(form))
	}
}

// TestFolderCanceled checks that a canceled import of a folder returns context.Canceled.
func TestFolderCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	st := newFakeStore()
	st.onBatch = func(int, int) { cancel() }
	folder := FileSource(writeFolder(t, sampleFiles(t)))
	if _, err := Import(ctx, st, Colas, []Source{folder, folder}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want canceled", err)
	}
}

// FuzzPages checks that any accepted page yields a valid patch, and that decoding it again yields
// the same patch.
func FuzzPages(f *testing.F) {
	f.Add(samplePage(f, "detail.html"))
	f.Add(samplePage(f, "printable.html"))
	f.Fuzz(func(t *testing.T, text string) {
		var patches [2]cola.Patch[cola.Cola]
		for i := range patches {
			if problem := pageDecoder()([]byte(text), &patches[i], notes{}); problem != "" {
				return
			}
		}
		if diff := cmp.Diff(patches[0], patches[1]); diff != "" {
			t.Error(diff)
		}
		if err := cola.CheckCola(&patches[0].Record); err != nil || patches[0].Record.TTBID == 0 {
			t.Errorf("label %s: %v", patches[0].Record.TTBID, err)
		}
	})
}
