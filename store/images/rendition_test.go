package images

import (
	"bytes"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/image/tiff"

	"github.com/colaregistry/colaregistry/store"
)

func crc(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

func TestVariantOf(t *testing.T) {
	for _, tt := range []struct {
		contentType    string
		width, display int
		want           string
	}{
		{"image/jpeg", 2000, 0, ""},
		{"image/jpeg", 2000, 1, "160"},
		{"image/jpeg", 2000, 160, "160"},
		{"image/jpeg", 2000, 161, "320"},
		{"image/png", 2000, 640, "640"},
		{"image/gif", 2000, 641, "1280"},
		{"image/jpeg", 2000, 1280, "1280"},
		{"image/jpeg", 2000, 1281, ""},
		{"image/jpeg", 1280, 1280, ""},
		{"image/jpeg", 1280, 641, ""},
		{"image/jpeg", 100, 50, ""},
		{"image/tiff", 2000, 0, "full"},
		{"image/tiff", 2000, 300, "320"},
		{"image/tiff", 100, 300, "full"},
		{"image/bmp", 100, 0, "full"},
	} {
		c := store.ImageContent{ContentType: tt.contentType, Width: tt.width, Height: 10}
		if got := VariantOf(c, tt.display); got.name != tt.want {
			t.Errorf("VariantOf(%s, %d wide, %d) = %q, want %q", tt.contentType, tt.width, tt.display, got.name, tt.want)
		}
	}
}

func TestRenditionSize(t *testing.T) {
	for _, tt := range []struct {
		variant       string
		width, height int
		want          image.Point
	}{
		{"320", 640, 480, image.Pt(320, 240)},
		{"320", 321, 3, image.Pt(320, 3)},
		{"160", 20_000, 1, image.Pt(160, 1)},
		{"1280", 1281, 20_000, image.Pt(1280, 19_984)},
		{"full", 16, 8, image.Pt(16, 8)},
		{"full", 8192, 4096, image.Pt(4096, 2048)},
		{"full", 1, 20_000, image.Pt(1, 20_000)},
	} {
		c := store.ImageContent{Width: tt.width, Height: tt.height}
		if got := (Variant{tt.variant}).size(c); got != tt.want {
			t.Errorf("%s of %d×%d = %v, want %v", tt.variant, tt.width, tt.height, got, tt.want)
		}
	}
}

func TestTag(t *testing.T) {
	c := store.ImageContent{Hash: [32]byte{1}, ContentType: "image/jpeg", Width: 2000}
	other := c
	other.Hash[15] = 1
	seen := map[string]bool{}
	for _, tag := range []string{
		Tag(c, asFetched), Tag(c, VariantOf(c, 100)), Tag(c, VariantOf(c, 200)), Tag(c, fullSize), Tag(other, asFetched),
	} {
		if seen[tag] || tag == "" || strings.ContainsAny(tag, `" `) {
			t.Errorf("tag %q is empty, repeated or needs quotes", tag)
		}
		seen[tag] = true
	}
}

// TestRenditions checks the format, size and color of renditions.
func TestRenditions(t *testing.T) {
	red := color.RGBA{R: 200, A: 255}
	clear := image.NewNRGBA(image.Rect(0, 0, 400, 200)) // red, with a transparent right half
	for y := range 200 {
		for x := range 200 {
			clear.Set(x, y, red)
		}
	}
	opaque := image.NewPaletted(image.Rect(0, 0, 400, 200), color.Palette{red})
	// The frame covers the left half.
	animated := must(t, func(b *bytes.Buffer) error {
		return gif.EncodeAll(b, &gif.GIF{
			Image:  []*image.Paletted{image.NewPaletted(image.Rect(0, 0, 200, 200), color.Palette{red})},
			Delay:  []int{0},
			Config: image.Config{ColorModel: color.Palette{red}, Width: 400, Height: 200},
		})
	})
	encoded := func(m image.Image) []byte {
		return must(t, func(b *bytes.Buffer) error { return tiff.Encode(b, m, nil) })
	}
	transparent := color.RGBA{}
	for where, s := range stores(t) {
		for _, tt := range []struct {
			name    string
			content []byte
			width   int
			format  string
			size    image.Point
			right   color.RGBA // color in the right half
		}{
			{"PNG", mustPNG(t, opaque), 160, "jpeg", image.Pt(160, 80), red},
			{"transparent PNG", mustPNG(t, clear), 320, "png", image.Pt(320, 160), transparent},
			{"GIF", animated, 320, "png", image.Pt(320, 160), transparent},
			{"TIFF", encoded(opaque), 0, "jpeg", image.Pt(400, 200), red},
			{"small TIFF", encoded(opaque), 640, "jpeg", image.Pt(400, 200), red},
			{"transparent TIFF", encoded(clear), 160, "png", image.Pt(160, 80), transparent},
		} {
			c := mustPut(t, s, tt.content)
			for _, when := range []string{"made", "stored"} {
				got, err := s.Read(t.Context(), c, VariantOf(c, tt.width))
				m, format, decodeErr := image.Decode(bytes.NewReader(got))
				if err != nil || decodeErr != nil {
					t.Errorf("%s, %s %s: %v, %v", where, when, tt.name, err, decodeErr)
					continue
				}
				size := m.Bounds().Size()
				if format != tt.format || size != tt.size {
					t.Errorf("%s, %s %s: %s of %v, want %s of %v", where, when, tt.name, format, size, tt.format, tt.size)
				}
				checkColor(t, where+" "+tt.name+", left", m.At(size.X/4, size.Y/2), red)
				checkColor(t, where+" "+tt.name+", right", m.At(size.X*3/4, size.Y/2), tt.right)
			}
		}
	}
}

// checkColor compares two colors, with a tolerance for lossy JPEG compression.
func checkColor(t *testing.T, what string, c color.Color, want color.RGBA) {
	t.Helper()
	got := color.RGBAModel.Convert(c).(color.RGBA)
	for _, d := range []int{int(got.R) - int(want.R), int(got.G) - int(want.G), int(got.B) - int(want.B), int(got.A) - int(want.A)} {
		if d < -6 || d > 6 {
			t.Errorf("%s: color = %v, want %v", what, got, want)
			return
		}
	}
}

// TestColorFormats checks that every format is converted to the same colors.
func TestColorFormats(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	for name, content := range map[string][]byte{
		"CMYK":             plainJPEG(16, 8, false, 0xcc, 0x20, 0x10, 0xff),
		"progressive CMYK": plainJPEG(16, 8, true, 0xcc, 0x20, 0x10, 0xff),
		"RGB":              plainJPEG(16, 8, false, 0xcc, 0x20, 0x10),
		"progressive RGB":  plainJPEG(16, 8, true, 0xcc, 0x20, 0x10),
	} {
		got, err := s.render(t.Context(), mustPut(t, s, content), content, image.Pt(4, 2))
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := image.Decode(bytes.NewReader(got))
		if err != nil {
			t.Fatal(err)
		}
		checkColor(t, name, m.At(2, 1), color.RGBA{0xcc, 0x20, 0x10, 0xff})
	}
}

func TestShrink(t *testing.T) {
	// Three columns of gray 0, 100 and 200 become two, each one and a half columns wide.
	m := image.NewGray(image.Rect(5, 7, 8, 9))
	for y := range 2 {
		for x := range 3 {
			m.SetGray(5+x, 7+y, color.Gray{Y: uint8(x * 100)})
		}
	}
	got := shrink(m, image.Pt(2, 1))
	for x, want := range []uint8{33, 167} {
		if c := got.RGBAAt(x, 0); c != (color.RGBA{want, want, want, 255}) {
			t.Errorf("pixel %d = %v, want gray %d", x, c, want)
		}
	}
	if same := shrink(stripes(5, 3), image.Pt(5, 3)); !bytes.Equal(same.Pix, stripes(5, 3).Pix) {
		t.Error("shrinking to the same size changed the pixels")
	}
	// The average of a transparent and a red pixel is transparent red, not dark red.
	half := image.NewNRGBA(image.Rect(0, 0, 2, 1))
	half.SetNRGBA(0, 0, color.NRGBA{R: 255, A: 255})
	if c := shrink(half, image.Pt(1, 1)).RGBAAt(0, 0); c != (color.RGBA{R: 128, A: 128}) {
		t.Errorf("average with a transparent pixel = %v, want half transparent red", c)
	}
}

func TestDamagedRendition(t *testing.T) {
	for where, s := range stores(t) {
		c := mustPut(t, s, mustPNG(t, stripes(400, 300)))
		want, err := s.Read(t.Context(), c, VariantOf(c, 100))
		if err != nil {
			t.Fatal(err)
		}
		name := key(c) + "-1-160"
		stored, err := s.bucket.ReadAll(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(stored)
		changed[len(changed)-10] ^= 1
		for _, damaged := range [][]byte{nil, {}, stored[:32], stored[:100], changed} {
			overwrite(t, s, name, damaged)
			if got, err := s.Read(t.Context(), c, VariantOf(c, 100)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: Read of a damaged rendition = %d bytes, %v; want a new one of %d", where, len(got), err, len(want))
			}
			if again, err := s.bucket.ReadAll(t.Context(), name); err != nil || !bytes.Equal(again, stored) {
				t.Errorf("%s: the damaged rendition was not replaced: %v", where, err)
			}
		}
	}
}

// TestUndecodableImage reads images with a valid header and undecodable pixels.
func TestUndecodableImage(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	cut := func(content []byte) []byte { return content[:len(content)*2/3] }
	shown := cut(mustPNG(t, stripes(400, 300)))
	c := mustPut(t, s, shown)
	if got, err := s.Read(t.Context(), c, VariantOf(c, 160)); err != nil || !bytes.Equal(got, shown) {
		t.Errorf("Read(incomplete PNG) = %d bytes, %v; want the file as fetched", len(got), err)
	}
	// Make the TIFF's directory, at the end of the file, point to pixels beyond the end of the
	// file.
	damaged := must(t, func(b *bytes.Buffer) error { return tiff.Encode(b, stripes(400, 300), nil) })
	at := bytes.LastIndex(damaged, []byte{0x11, 0x01, 0x04, 0x00})
	if at < 0 {
		t.Fatal("the TIFF has no StripOffsets")
	}
	damaged[at+10] = 0xff
	c = mustPut(t, s, damaged)
	var unusable *FormatError
	if got, err := s.Read(t.Context(), c, VariantOf(c, 0)); !errors.As(err, &unusable) {
		t.Errorf("Read(undecodable TIFF) = %d bytes, %v; want a FormatError", len(got), err)
	}
}

// TestDecodePanic checks that a panic in the callback isn't reported as a damaged image, and that
// the memory is released.
func TestDecodePanic(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	content := mustPNG(t, stripes(3, 2))
	func() {
		defer func() {
			if p := recover(); p != "bug" {
				t.Errorf("recovered %v, want the panic", p)
			}
		}()
		t.Errorf("Decode returned %v", s.Decode(t.Context(), content, func(image.Image) error { panic("bug") }))
	}()
	if !s.memory.TryAcquire(maxMemory) {
		t.Error("memory is still reserved")
	}
}

// TestLargestImage renders an image of 100 megapixels whose file is small, and checks that
// rendering allocates no more memory than the limit.
func TestLargestImage(t *testing.T) {
	if testing.Short() {
		t.Skip("uses 400 MB")
	}
	content := must(t, func(b *bytes.Buffer) error {
		return (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(b, image.NewPaletted(image.Rect(0, 0, 10_000, 10_000),
			color.Palette{color.White, color.Black}))
	})
	s := mustOpen(t, t.TempDir())
	c := mustPut(t, s, content)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := s.Read(t.Context(), c, VariantOf(c, 160))
	runtime.ReadMemStats(&after)
	if err != nil || len(got) == 0 {
		t.Fatalf("Read = %d bytes, %v", len(got), err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > maxMemory {
		t.Errorf("rendering allocated %d MB in total, want at most %d", n>>20, maxMemory>>20)
	}
}

func FuzzDescribe(f *testing.F) {
	f.Add(mustPNG(f, stripes(3, 2)))
	f.Add(must(f, func(b *bytes.Buffer) error { return tiff.Encode(b, stripes(3, 2), nil) }))
	f.Fuzz(func(t *testing.T, content []byte) {
		c, err := describe(content)
		if err != nil && !errors.As(err, new(*FormatError)) {
			t.Errorf("error = %v, want a FormatError", err)
		}
		if err == nil && (c.Width < 1 || c.Height < 1 || c.Width > MaxSide || c.Height > MaxSide || c.Width*c.Height > MaxPixels ||
			c.ContentType == "" || Extension(c) == "") {
			t.Errorf("describe = %+v, want an image within the limits", c)
		}
	})
}
