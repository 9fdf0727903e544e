package collect

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/gif"
	"image/png"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/collect/barcode"
	"github.com/colaregistry/colaregistry/internal/labelart"
	"github.com/colaregistry/colaregistry/internal/sqlitetest"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/images"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

var fetchedAt = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// newLabelImages returns LabelImages backed by an empty database and folder.
func newLabelImages(t *testing.T) (*LabelImages, *sqlite.Store) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	st := sqlitetest.Open(t, sqlite.Options{})
	files, err := images.Open(t.Context(), t.TempDir(), images.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &LabelImages{Store: st, Files: files, Now: func() time.Time { return fetchedAt }, Logger: quiet}, st
}

// mustLabel stores a label with images as a form lists them, and returns it.
func mustLabel(t *testing.T, st store.Store, fileNames ...cola.Text) cola.Cola {
	t.Helper()
	label := cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: 11054001000049, BrandName: "B", ProductType: vocabulary.Wine, PermitNumber: "CA-W-1",
	}}
	for i, name := range fileNames {
		label.Images = append(label.Images, cola.Image{
			TTBImageID: label.TTBID.String() + "-" + string(rune('1'+i)), ImageIndex: i, ContainerPosition: "front",
			FileName: name, ExtensionType: "jpg", WidthInches: cola.Some(3.5), HeightInches: cola.Some(4.5),
		})
	}
	patch := cola.Patch[cola.Cola]{Record: label}
	for i := range cola.FieldsOf[cola.Cola]() {
		patch.Fields = patch.Fields.With(i)
	}
	if outcomes, err := st.UpsertColas(t.Context(), []cola.Patch[cola.Cola]{patch}, store.Commit); err != nil ||
		outcomes[0] == store.Rejected {
		t.Fatal(outcomes, err)
	}
	return mustCola(t, st)
}

func mustCola(t *testing.T, st store.Store) cola.Cola {
	t.Helper()
	label, err := st.Cola(t.Context(), 11054001000049)
	if err != nil {
		t.Fatal(err)
	}
	return label
}

func newPNG(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func newGIF(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := gif.Encode(&b, image.NewGray(image.Rect(0, 0, width, height)), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSaveImages saves a PNG with the extension .jpg, a broken image and a GIF. The label has a
// fourth image, which is not saved.
func TestSaveImages(t *testing.T) {
	l, st := newLabelImages(t)
	label := mustLabel(t, st, "front.jpg", "missing.jpg", "broken.jpg", "back.gif")
	contents := [][]byte{newPNG(t, 30, 40), nil, []byte("<html>"), newGIF(t, 50, 60)}
	want := label
	want.Images = append([]cola.Image{}, label.Images...)
	for i, file := range map[int]struct {
		width, height int
		extension     cola.Text
	}{0: {30, 40, "png"}, 3: {50, 60, "gif"}} {
		m := &want.Images[i]
		m.WidthPixels, m.HeightPixels, m.ExtensionType = cola.Some(file.width), cola.Some(file.height), file.extension
		m.FileSizeMB = cola.Some(float64(len(contents[i])) / 1e6)
		m.ImageURL = cola.Text("/images/" + m.TTBImageID)
		m.BarcodeCount, m.QRCodeCount = cola.Some(0), cola.Some(0)
	}
	want.MainImageURL = "/images/11054001000049-1"

	var revision cola.Revision
	for _, when := range []string{"first", "second"} {
		for i, content := range contents {
			if content == nil {
				continue
			}
			if usable, err := l.SaveImage(t.Context(), label.TTBID, &label.Images[i], content); usable != (i != 2) || err != nil {
				t.Errorf("%s SaveImage of %s = %t, %v", when, label.Images[i].FileName, usable, err)
			}
		}
		if diff := cmp.Diff(want, mustCola(t, st)); diff != "" {
			t.Errorf("label after the %s SaveImage (-want +got):\n%s", when, diff)
		}
		now, err := st.Revision(t.Context())
		if err != nil || revision != 0 && now != revision {
			t.Errorf("revision = %d, %v; want %d, since the images are the same", now, err, revision)
		}
		revision = now
	}
	for i, id := range []string{"11054001000049-1", "11054001000049-2", "11054001000049-3", "11054001000049-4"} {
		file, err := st.ImageFile(t.Context(), id)
		if i == 1 || i == 2 {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("ImageFile(%s) = %+v, %v; want ErrNotFound", id, file, err)
			}
			continue
		}
		if err != nil || !file.FetchedAt.Equal(fetchedAt) {
			t.Errorf("ImageFile(%s) = %+v, %v; want one fetched at %v", id, file, err, fetchedAt)
		}
		got, err := l.Files.Read(t.Context(), file.ImageContent, images.VariantOf(file.ImageContent, 0))
		if err != nil || !bytes.Equal(got, contents[i]) {
			t.Errorf("content of %s = %d bytes, %v; want %d", id, len(got), err, len(contents[i]))
		}
	}
}

// TestSaveImagesOfChangedLabel replaces an image through an import while the previous one is being
// fetched.
func TestSaveImagesOfChangedLabel(t *testing.T) {
	l, st := newLabelImages(t)
	fetched := mustLabel(t, st, "front.jpg", "back.jpg")
	want := mustLabel(t, st, "front.jpg", "new.jpg")
	mustSave(t, l, &fetched, 1, newPNG(t, 1, 1))
	if diff := cmp.Diff(want, mustCola(t, st)); diff != "" {
		t.Errorf("label (-want +got):\n%s", diff)
	}
	mustSave(t, l, &fetched, 0, newPNG(t, 7, 7))
	if got := mustCola(t, st); got.Images[0].WidthPixels.V != 7 || got.Images[1].WidthPixels.OK || got.Images[1].FileName != "new.jpg" {
		t.Errorf("images = %+v, want a size for the first only", got.Images)
	}
}

func mustSave(t *testing.T, l *LabelImages, label *cola.Cola, at int, content []byte) {
	t.Helper()
	if usable, err := l.SaveImage(t.Context(), label.TTBID, &label.Images[at], content); !usable || err != nil {
		t.Fatalf("SaveImage = %t, %v", usable, err)
	}
}

func TestSaveImagesErrors(t *testing.T) {
	l, st := newLabelImages(t)
	label := mustLabel(t, st, "front.jpg")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.SaveImage(canceled, label.TTBID, &label.Images[0], newPNG(t, 1, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled SaveImage: error = %v, want context.Canceled", err)
	}
	if _, err := l.SaveImage(t.Context(), 1, &label.Images[0], newPNG(t, 1, 1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("SaveImage of an unknown label: error = %v, want ErrNotFound", err)
	}
	if diff := cmp.Diff(label, mustCola(t, st)); diff != "" {
		t.Errorf("label after failures (-want +got):\n%s", diff)
	}
}

// newBarcodePNG returns an image with an EAN-13 barcode.
func newBarcodePNG(t *testing.T, value string) []byte {
	t.Helper()
	drawn := cola.Image{
		TTBImageID: "1", ContainerPosition: "back", WidthPixels: cola.Some(450), HeightPixels: cola.Some(600),
	}
	label := cola.Cola{Barcodes: []cola.Barcode{{BarcodeType: "EAN-13", BarcodeValue: value, TTBImageID: "1"}}}
	var b bytes.Buffer
	if err := labelart.Draw(&b, labelart.PNG, &label, &drawn); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSaveBarcodes saves images one by one, as a collector does, and then replaces one. Codes from
// other images are kept, and so is a main barcode that was not read from an image.
func TestSaveBarcodes(t *testing.T) {
	const first, second, replaced = "4006381333931", "5901234123457", "9780306406157"
	l, st := newLabelImages(t)
	label := mustLabel(t, st, "front.png", "back.png")
	check := func(desc string, main cola.Text, want ...string) {
		t.Helper()
		got := mustCola(t, st)
		var values []string
		for _, b := range got.Barcodes {
			values = append(values, b.BarcodeValue)
		}
		if diff := cmp.Diff(want, values); diff != "" || got.BarcodeValue != main || got.BarcodeType != "EAN-13" {
			t.Errorf("%s: main barcode = %s %q, want %q; barcodes (-want +got):\n%s", desc, got.BarcodeType, got.BarcodeValue, main, diff)
		}
	}
	save := func(at int, value string) {
		t.Helper()
		mustSave(t, l, &label, at, newBarcodePNG(t, value))
	}
	save(1, second)
	check("after the second image", second, second)
	save(0, first)
	check("after the first image", first, first, second)
	save(0, replaced)
	check("after replacing the first image", replaced, replaced, second)
	other := mustCola(t, st)
	other.BarcodeValue = "4012345678901"
	patch := cola.Patch[cola.Cola]{Record: other}
	patch.Fields = patch.Fields.With(cola.FieldIndex[cola.Cola]("barcode_value"))
	if _, err := st.UpsertColas(t.Context(), []cola.Patch[cola.Cola]{patch}, store.Commit); err != nil {
		t.Fatal(err)
	}
	save(1, first)
	check("with another source's main barcode", "4012345678901", replaced, first)
	if got := mustCola(t, st); got.Images[1].BarcodeCount != cola.Some(1) || got.Images[1].QRCodeCount != cola.Some(0) {
		t.Errorf("counts of the second image = %v, %v; want 1 and 0", got.Images[1].BarcodeCount, got.Images[1].QRCodeCount)
	}
	found, err := st.ImageFile(t.Context(), label.Images[0].TTBImageID)
	if err != nil || found.Width != 450 {
		t.Errorf("ImageFile = %+v, %v", found, err)
	}
}

// TestSaveImportedBarcode reads a barcode that an import had listed without an image. It remains
// the main barcode.
func TestSaveImportedBarcode(t *testing.T) {
	const imported, other = "4006381333931", "5901234123457"
	l, st := newLabelImages(t)
	label := mustLabel(t, st, "front.png", "back.png")
	label.Barcodes = []cola.Barcode{{BarcodeType: "EAN-13", BarcodeValue: imported}}
	patch := cola.Patch[cola.Cola]{Record: label}
	patch.Fields = patch.Fields.With(cola.FieldIndex[cola.Cola]("barcodes"))
	if _, err := st.UpsertColas(t.Context(), []cola.Patch[cola.Cola]{patch}, store.Commit); err != nil {
		t.Fatal(err)
	}
	mustSave(t, l, &label, 0, newBarcodePNG(t, other))
	mustSave(t, l, &label, 1, newBarcodePNG(t, imported))
	got := mustCola(t, st)
	var places []string
	for _, b := range got.Barcodes {
		places = append(places, b.BarcodeValue+" on "+string(b.TTBImageID))
	}
	want := []string{other + " on 11054001000049-1", imported + " on 11054001000049-2"}
	if diff := cmp.Diff(want, places); diff != "" || got.BarcodeValue != imported {
		t.Errorf("main barcode = %s, want %s; barcodes (-want +got):\n%s", got.BarcodeValue, imported, diff)
	}
}

// TestQRCodeURL reads QR codes from images in different orders. Each step is an image and its
// codes.
func TestQRCodeURL(t *testing.T) {
	const a, b = "https://example.com/a", "https://example.com/b"
	type step struct {
		at    int
		codes []string
	}
	for desc, tt := range map[string]struct {
		stated cola.Text
		steps  []step
		want   cola.Text
	}{
		"in order":             {"", []step{{0, []string{a}}, {1, []string{b}}}, a},
		"first image last":     {"", []step{{1, []string{b}}, {0, []string{a}}}, a},
		"only in the second":   {"", []step{{1, []string{b}}, {0, nil}}, b},
		"several in an image":  {"", []step{{0, []string{"text", a, b}}}, a},
		"replaced":             {"", []step{{0, []string{a}}, {0, []string{b}}}, b},
		"removed":              {"", []step{{0, []string{a}}, {1, nil}, {0, nil}}, ""},
		"from another source":  {a, []step{{0, []string{b}}}, a},
		"none in any image":    {a, []step{{0, nil}, {1, nil}}, a},
		"only text in another": {"", []step{{0, []string{a}}, {1, []string{"text"}}, {0, []string{a}}}, a},
	} {
		label := cola.Cola{Images: []cola.Image{{TTBImageID: "1"}, {TTBImageID: "2"}}, QRCodeURL: tt.stated}
		for _, s := range tt.steps {
			var codes []barcode.Code
			for _, value := range s.codes {
				codes = append(codes, barcode.Code{Type: barcode.QR, Value: value})
			}
			setCodes(&label, s.at, codes)
		}
		if label.QRCodeURL != tt.want {
			t.Errorf("%s: URL = %q, want %q", desc, label.QRCodeURL, tt.want)
		}
	}
}
