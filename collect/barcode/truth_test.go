package barcode

import (
	"encoding/csv"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/colaregistry/colaregistry/internal/shareddata"
	"github.com/google/go-cmp/cmp"
)

// seen is a code on a real label image.
type seen struct{ Label, File, Type, Value, Orientation, Position string }

// truth returns the codes that a person sees on the real label images.
func truth(t testing.TB) (list []seen) {
	t.Helper()
	f, err := os.Open("testdata/truth.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows[1:] {
		list = append(list, seen{r[0], r[1], r[2], r[3], r[4], r[5]})
	}
	return list
}

func readFile(t testing.TB, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, _, err := image.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestReadRealLabels checks that exactly the codes on the real label images are read.
func TestReadRealLabels(t *testing.T) {
	var got []seen
	for _, path := range shareddata.Files(t, "ttb/pages/*/images/*") {
		label, file := filepath.Base(filepath.Dir(filepath.Dir(path))), filepath.Base(path)
		for _, c := range Read(readFile(t, path)) {
			got = append(got, seen{label, file, string(c.Type), c.Value, c.Orientation, c.Position})
		}
	}
	if diff := cmp.Diff(truth(t), got); diff != "" {
		t.Error(diff)
	}
}

// TestReadTurnedLabels reads real labels that are rotated or scaled. Some codes may be missed, but
// no code may be wrong.
func TestReadTurnedLabels(t *testing.T) {
	changes := []struct {
		name           string
		degrees, scale float64
		least          int // minimum number of codes read
	}{
		{"190°", 190, 1, 19}, {"45°", 45, 1, 18}, {"2×", 0, 2, 19}, {"¾× at 20°", 20, 0.75, 15},
	}
	list := truth(t)
	counts := make([]int, len(changes))
	for _, path := range shareddata.Files(t, "ttb/pages/*/images/*") {
		p := newPlane(readFile(t, path))
		img := &image.Gray{Pix: p.pix, Stride: p.w, Rect: image.Rect(0, 0, p.w, p.h)}
		coded := slices.ContainsFunc(list, func(s seen) bool { return s.File == filepath.Base(path) })
		if !coded {
			continue // to save time
		}
		isTrue := func(c Code) bool {
			return slices.ContainsFunc(list, func(s seen) bool {
				return s.File == filepath.Base(path) && s.Type == string(c.Type) && s.Value == c.Value
			})
		}
		for i, change := range changes {
			for _, c := range Read(rotated(img, change.degrees, change.scale)) {
				if counts[i]++; !isTrue(c) {
					t.Errorf("%s, %s: false %v", filepath.Base(path), change.name, c)
				}
			}
		}
	}
	for i, change := range changes {
		t.Logf("%s: %d of %d codes", change.name, counts[i], len(list))
		if counts[i] < change.least {
			t.Errorf("%s: %d codes, want at least %d", change.name, counts[i], change.least)
		}
	}
}

func BenchmarkReadRealLabels(b *testing.B) {
	var images []image.Image
	for _, path := range shareddata.Files(b, "ttb/pages/*/images/*") {
		images = append(images, readFile(b, path))
	}
	for b.Loop() {
		for _, img := range images {
			Read(img)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*len(images)), "ms/image")
}
