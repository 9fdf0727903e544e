package images

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"github.com/colaregistry/colaregistry/internal/s3test"
	"github.com/colaregistry/colaregistry/internal/shareddata"
	"github.com/colaregistry/colaregistry/store"
)

// writerFolder is an environment variable. If it names a folder, the test binary writes images
// there until it is killed.
const writerFolder = "COLAREGISTRY_TEST_IMAGE_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerFolder); dir != "" {
		writeForever(dir)
	}
	os.Exit(m.Run())
}

func mustOpen(t *testing.T, location string) *Store {
	t.Helper()
	s, err := Open(t.Context(), location, Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustPut(t *testing.T, s *Store, content []byte) store.ImageContent {
	t.Helper()
	c, err := s.Put(t.Context(), content)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// must returns the bytes that an encoder writes.
func must(t testing.TB, encode func(b *bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func mustPNG(t testing.TB, m image.Image) []byte {
	t.Helper()
	return must(t, func(b *bytes.Buffer) error { return png.Encode(b, m) })
}

// stripes returns an opaque image of red and blue columns.
func stripes(width, height int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.SetRGBA(x, y, []color.RGBA{{R: 200, A: 255}, {B: 200, A: 255}}[x%2])
		}
	}
	return m
}

// samples returns a 16-by-8-pixel image in each format.
func samples(t *testing.T) map[string][]byte {
	m := stripes(16, 8)
	deep := image.NewNRGBA64(m.Rect)
	for i := range deep.Pix {
		deep.Pix[i] = 0x80
	}
	return map[string][]byte{
		"image/png":       mustPNG(t, m),
		"image/png deep":  mustPNG(t, deep),
		"image/jpeg":      must(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, m, nil) }),
		"image/jpeg CMYK": plainJPEG(16, 8, false, 0xcc, 0x20, 0x10, 0xff),
		"image/jpeg RGB":  plainJPEG(16, 8, true, 0xcc, 0x20, 0x10),
		"image/gif":       must(t, func(b *bytes.Buffer) error { return gif.Encode(b, m, nil) }),
		"image/bmp":       must(t, func(b *bytes.Buffer) error { return bmp.Encode(b, m) }),
		"image/tiff": must(t, func(b *bytes.Buffer) error {
			return tiff.Encode(b, m, &tiff.Options{Compression: tiff.Deflate, Predictor: true})
		}),
	}
}

// stores returns a store of each kind.
func stores(t *testing.T) map[string]*Store {
	return map[string]*Store{
		"folder": mustOpen(t, filepath.Join(t.TempDir(), "new", "images")),
		"S3":     mustOpen(t, s3test.Location(t, "images/")),
	}
}

func TestPut(t *testing.T) {
	for where, s := range stores(t) {
		for name, content := range samples(t) {
			c := mustPut(t, s, content)
			kind, _, _ := strings.Cut(name, " ")
			want := store.ImageContent{
				Hash: sha256.Sum256(content), ContentType: kind, Width: 16, Height: 8, Bytes: len(content),
			}
			if c != want {
				t.Errorf("%s: Put(%s) = %+v, want %+v", where, name, c, want)
			}
			if second := mustPut(t, s, content); second != c {
				t.Errorf("%s: second Put(%s) = %+v, want %+v", where, name, second, c)
			}
			if got, err := s.Read(t.Context(), c, asFetched); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s: Read(%s) = %d bytes, %v; want the %d bytes that were put", where, name, len(got), err, len(content))
			}
		}
	}
}

func TestUnusableImages(t *testing.T) {
	bomb := func(width, height int) []byte { return pngHeader(t, width, height) }
	sample := samples(t)
	for name, content := range map[string][]byte{
		"empty":              nil,
		"HTML":               []byte("<html><body>The image is not available.</body></html>"),
		"SVG":                []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>`),
		"cut-off header":     sample["image/png"][:20],
		"too wide":           bomb(MaxSide+1, 1),
		"too tall":           bomb(1, MaxSide+1),
		"too many pixels":    bomb(20_000, 5_001),
		"huge":               bomb(1<<31-1, 1<<31-1),
		"too many bytes":     append(bytes.Clone(sample["image/png"]), make([]byte, MaxBytes)...),
		"deep bomb":          pngHeader(t, 10_000, 10_000, 16, 6),
		"deep gray bomb":     pngHeader(t, 10_000, 10_000, 16, 0), // with a tRNS chunk, it would need as much memory
		"progressive bomb":   resizedJPEG(t, plainJPEG(16, 8, true, 1, 2, 3), 10_000, 10_000),
		"JPEG after garbage": append([]byte{0xff, 0xd8, 0, 0}, sample["image/jpeg"][2:]...),
		"JPEG without size":  resizedJPEG(t, sample["image/jpeg"], 0, 16),
	} {
		s := mustOpen(t, t.TempDir())
		var unusable *FormatError
		if c, err := s.Put(t.Context(), content); !errors.As(err, &unusable) {
			t.Errorf("%s: Put = %+v, %v; want a FormatError", name, c, err)
		}
		if files := fileNames(t, s); len(files) > 0 {
			t.Errorf("%s: Put left %v", name, files)
		}
	}
}

// pngHeader returns a one-pixel PNG whose header declares a different size and, optionally, a
// different bit depth and color type.
func pngHeader(t *testing.T, width, height int, form ...byte) []byte {
	t.Helper()
	b := mustPNG(t, stripes(1, 1))
	for i, v := range []int{width, height} {
		b[16+4*i], b[17+4*i], b[18+4*i], b[19+4*i] = byte(v>>24), byte(v>>16), byte(v>>8), byte(v)
	}
	copy(b[24:], form)
	sum := crc(b[12:29])
	b[29], b[30], b[31], b[32] = byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum)
	return b
}

// resizedJPEG changes the size in the header of a JPEG.
func resizedJPEG(t *testing.T, content []byte, width, height int) []byte {
	t.Helper()
	b := bytes.Clone(content)
	at := max(bytes.Index(b, []byte{0xff, 0xc0}), bytes.Index(b, []byte{0xff, 0xc2}))
	if at < 0 {
		t.Fatal("the JPEG has no frame")
	}
	b[at+5], b[at+6], b[at+7], b[at+8] = byte(height>>8), byte(height), byte(width>>8), byte(width)
	return b
}

// fileNames returns the names of all files in a store.
func fileNames(t *testing.T, s *Store) (names []string) {
	t.Helper()
	for list := s.bucket.List(nil); ; {
		one, err := list.Next(t.Context())
		if err != nil {
			return names
		}
		names = append(names, one.Key)
	}
}

func TestDamagedFile(t *testing.T) {
	content := mustPNG(t, stripes(400, 300))
	flipped := bytes.Clone(content)
	flipped[len(flipped)/2] ^= 1
	for where, s := range stores(t) {
		for name, stored := range map[string][]byte{
			"missing": nil, "empty": {}, "cut off": content[:len(content)-1], "longer": append(bytes.Clone(content), 0),
			"changed": flipped, "huge": make([]byte, 2*len(content)),
		} {
			c := mustPut(t, s, content)
			overwrite(t, s, key(c), stored)
			var damaged *DamagedError
			for _, v := range []Variant{asFetched, VariantOf(c, 100)} {
				if got, err := s.Read(t.Context(), c, v); !errors.As(err, &damaged) {
					t.Errorf("%s, %s: Read(%v) = %d bytes, %v; want a DamagedError", where, name, v, len(got), err)
				}
			}
			mustPut(t, s, content)
			if got, err := s.Read(t.Context(), c, asFetched); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s, %s: Read after another Put = %d bytes, %v; want the image", where, name, len(got), err)
			}
		}
	}
}

// overwrite replaces a stored file, or deletes it if content is nil.
func overwrite(t *testing.T, s *Store, name string, content []byte) {
	t.Helper()
	err := s.bucket.Delete(t.Context(), name)
	if content != nil {
		err = s.bucket.WriteAll(t.Context(), name, content, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestFailedWrite(t *testing.T) {
	content := mustPNG(t, stripes(8, 8))
	s := mustOpen(t, t.TempDir())
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Put(canceled, content); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled Put: error = %v, want context.Canceled", err)
	}
	if files := fileNames(t, s); len(files) != 0 {
		t.Errorf("a canceled Put left %v", files)
	}
	s = mustOpen(t, t.TempDir())
	c, _ := describe(content)
	if err := s.bucket.WriteAll(t.Context(), key(c)[:2], nil, nil); err != nil { // in place of the folder
		t.Fatal(err)
	}
	if c, err := s.Put(t.Context(), content); err == nil {
		t.Errorf("Put without a folder = %+v, want an error", c)
	}
	if files := fileNames(t, s); len(files) != 1 {
		t.Errorf("failed writes left %v", files)
	}
}

// TestKilledWriter kills a process that writes images, and checks that every file with a final name
// is complete.
func TestKilledWriter(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		before := countFiles(t, dir)
		writer := exec.Command(os.Args[0])
		writer.Env = append(os.Environ(), writerFolder+"="+dir)
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); countFiles(t, dir) < before+5 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		writer.Process.Kill()
		writer.Wait()
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".tmp") {
			return err
		}
		content, err := os.ReadFile(path)
		if c, unusable := describe(content); err == nil && (unusable != nil || filepath.Base(path) != filepath.Base(key(c))) {
			t.Errorf("%s is incomplete or a different image: %d bytes, %v", path, len(content), unusable)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func countFiles(t *testing.T, dir string) int {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "??", "??", strings.Repeat("?", 64)))
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// writeForever writes random images into a folder.
func writeForever(dir string) {
	s, err := Open(context.Background(), dir, Options{})
	if err != nil {
		panic(err)
	}
	for {
		if _, err := s.Put(context.Background(), noise()); err != nil {
			panic(err)
		}
	}
}

// noise returns a random image of about 256 KB.
func noise() []byte {
	m := image.NewGray(image.Rect(0, 0, 512, 512))
	for i := range m.Pix {
		m.Pix[i] = byte(rand.Uint32())
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// TestConcurrentUse writes and reads the same images through two stores in one folder.
func TestConcurrentUse(t *testing.T) {
	dir := t.TempDir()
	contents := [][]byte{mustPNG(t, stripes(400, 40)), mustPNG(t, stripes(500, 40))}
	var all sync.WaitGroup
	for _, s := range []*Store{mustOpen(t, dir), mustOpen(t, dir)} {
		for i := range 8 {
			all.Go(func() {
				c, err := s.Put(t.Context(), contents[i%2])
				if err != nil {
					t.Error(err)
					return
				}
				for _, width := range []int{0, 160, 320} {
					if got, err := s.Read(t.Context(), c, VariantOf(c, width)); err != nil || len(got) == 0 {
						t.Errorf("Read = %d bytes, %v", len(got), err)
					}
				}
			})
		}
	}
	all.Wait()
	if files := fileNames(t, mustOpen(t, dir)); len(files) != 6 {
		t.Errorf("files = %v, want two images with two renditions each", files)
	}
}

func TestLocations(t *testing.T) {
	for location, ok := range map[string]bool{
		"": false, "data/images": true, "/srv/images": true, "s3://bucket": true, "s3://bucket?region=x": true,
		"s3://": false, "s3:///images": false, "s3://?region=x": false, "gs://bucket": false, "https://example.com": false,
		"file:///srv": false,
	} {
		if err := CheckLocation(location); (err == nil) != ok {
			t.Errorf("CheckLocation(%q) = %v, want success: %t", location, err, ok)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, location := range []string{file, "gs://bucket", "s3://bucket?unknown=1"} {
		if _, err := Open(t.Context(), location, Options{}); err == nil {
			t.Errorf("Open(%q) succeeded, want an error", location)
		}
	}
}

// TestRealImages stores label images as TTB's site serves them, and makes their narrowest and
// widest renditions.
func TestRealImages(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	for _, path := range shareddata.Files(t, "ttb/pages/*/images/*") {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := mustPut(t, s, content)
		for _, width := range []int{160, 1280} {
			v := VariantOf(c, width)
			got, err := s.Read(t.Context(), c, v)
			if err != nil {
				t.Errorf("%s: Read(%v): %v", path, v, err)
				continue
			}
			if config, _, err := image.DecodeConfig(bytes.NewReader(got)); err != nil || config.Width != min(width, c.Width) {
				t.Errorf("%s: width = %d, %v; want %d", path, config.Width, err, min(width, c.Width))
			}
		}
	}
}
