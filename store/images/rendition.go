package images

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"strconv"

	"gocloud.dev/gcerrors"

	"github.com/colaregistry/colaregistry/store"
)

// Variant is a form in which a file is served: as fetched, or as a rendition.
type Variant struct{ name string }

// Variants without a width.
var (
	asFetched = Variant{}
	fullSize  = Variant{"full"}
)

// Widths returns the widths of renditions, ascending.
func Widths() []int { return []int{160, 320, 640, 1280} }

const (
	// version is part of the names of renditions. Increase it when their content changes.
	version = "1"
	quality = 85 // of JPEG renditions
	// maxFullSide limits the longer side of a full-size rendition, unless the image would become
	// less than one pixel wide. Only formats that browsers don't show have such a rendition.
	maxFullSide = 4096
	// maxRendition is the number of pixels of the largest rendition.
	maxRendition = 1280 * MaxSide
)

// VariantOf returns the variant for a display width: the narrowest rendition that is at least that
// wide and narrower than the image, or the image itself if there is none. Zero means the image
// itself.
func VariantOf(c store.ImageContent, width int) Variant {
	if width > 0 {
		for _, w := range Widths() {
			if w >= width && w < c.Width {
				return Variant{strconv.Itoa(w)}
			}
		}
	}
	if shownByBrowsers(c.ContentType) {
		return asFetched
	}
	return fullSize
}

// Tag identifies the bytes that Read returns for a variant.
func Tag(c store.ImageContent, v Variant) string {
	tag := hex.EncodeToString(c.Hash[:16])
	if v != asFetched {
		tag += "-" + version + "-" + v.name
	}
	return tag
}

// size returns the size of a rendition in pixels. It keeps the image's aspect ratio.
func (v Variant) size(c store.ImageContent) image.Point {
	w, err := strconv.Atoi(v.name)
	if err != nil { // full size
		w = c.Width
		if longer := max(c.Width, c.Height); longer > maxFullSide {
			w = max(1, c.Width*maxFullSide/longer)
		}
	}
	return image.Pt(w, max(1, (c.Height*w+c.Width/2)/c.Width))
}

// Read returns a variant of a stored file. If a file can't be decoded, Read returns it as fetched
// if browsers may show part of it; otherwise, it fails with a FormatError. It fails with a
// DamagedError if the file is missing or damaged.
func (s *Store) Read(ctx context.Context, c store.ImageContent, v Variant) ([]byte, error) {
	if v == asFetched {
		return s.served(ctx, c)
	}
	name := key(c) + "-" + version + "-" + v.name
	if content, err := s.rendition(ctx, name); content != nil || err != nil {
		return content, err
	}
	original, err := s.served(ctx, c)
	if err != nil {
		return nil, err
	}
	content, err := s.render(ctx, c, original, v.size(c))
	if err != nil && ctx.Err() == nil && shownByBrowsers(c.ContentType) {
		s.log.Warn("image can't be decoded; serving it as fetched", "file", key(c), "error", err)
		return original, nil
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	if err := s.write(ctx, name, append(sum[:], content...), recreated); err != nil {
		s.log.Warn("storing a rendition failed; the next request will re-create it", "error", err)
	}
	return content, nil
}

// rendition returns a stored rendition, or nil if it is missing or damaged. A stored rendition
// starts with the SHA-256 of its content.
func (s *Store) rendition(ctx context.Context, name string) ([]byte, error) {
	stored, err := s.read(ctx, name, MaxBytes)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(stored) > sha256.Size && sha256.Sum256(stored[sha256.Size:]) == [sha256.Size]byte(stored) {
		return stored[sha256.Size:], nil
	}
	s.log.Warn("a stored rendition is damaged; re-creating it", "file", name)
	return nil, nil
}

// render scales an image and encodes it as JPEG, or as PNG if it has transparent pixels.
func (s *Store) render(ctx context.Context, c store.ImageContent, content []byte, size image.Point) (rendered []byte, err error) {
	if err := s.renders.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer s.renders.Release(1)
	err = s.Decode(ctx, content, func(decoded image.Image) error {
		if frame := image.Rect(0, 0, c.Width, c.Height); decoded.Bounds().Size() != frame.Size() {
			decoded = onBackground(decoded, frame)
		}
		rendered, err = encode(shrink(decoded, size))
		return err
	})
	return rendered, err
}

// Decode calls use with the pixels of an image that Put accepts, and returns any error from use. It
// first waits until the pixels fit into the memory that all calls share; use must not retain them.
// Decode fails with a FormatError if the image can't be decoded.
func (s *Store) Decode(ctx context.Context, content []byte, use func(image.Image) error) error {
	config, format, err := decodeConfig(content)
	if err != nil {
		return formatError("%v", err)
	}
	memory := int64(min(maxMemory, memoryNeeded(content, format, config)))
	if err := s.memory.Acquire(ctx, memory); err != nil {
		return err
	}
	defer s.memory.Release(memory)
	decoded, err := decode(content)
	if err != nil {
		return formatError("%v", err)
	}
	return use(decoded)
}

// decode is like image.Decode, but turns panics, which are decoder bugs, into errors.
func decode(content []byte) (decoded image.Image, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	decoded, _, err = image.Decode(bytes.NewReader(content))
	return decoded, err
}

// onBackground returns the first frame of a GIF, which may be smaller than the image, on a
// transparent background.
func onBackground(m image.Image, frame image.Rectangle) image.Image {
	if !m.Bounds().In(frame) {
		return m // not a GIF, but a format whose decoder disagrees with the header
	}
	whole := image.NewRGBA(frame)
	draw.Draw(whole, m.Bounds(), m, m.Bounds().Min, draw.Src)
	return whole
}

func encode(m *image.RGBA) ([]byte, error) {
	var b bytes.Buffer
	var err error
	if m.Opaque() {
		err = jpeg.Encode(&b, m, &jpeg.Options{Quality: quality})
	} else {
		err = png.Encode(&b, m)
	}
	if err == nil && b.Len() > MaxBytes-sha256.Size {
		err = errors.New("the rendition is too large")
	}
	if err != nil {
		return nil, fmt.Errorf("encode rendition: %w", err)
	}
	return b.Bytes(), nil
}

// shrink scales an image to a size no larger than its own. Each new pixel is the average of the
// area that it covers. The image is converted to sRGB a row at a time, so shrink needs little
// memory besides the result. CMYK is converted without a color profile.
func shrink(m image.Image, size image.Point) *image.RGBA {
	bounds := m.Bounds()
	result := image.NewRGBA(image.Rectangle{Max: size})
	row := image.NewRGBA(image.Rect(0, 0, bounds.Dx(), 1))
	columns := newSpans(bounds.Dx(), size.X)
	narrow := make([]float32, size.X*4) // the current row at the new width
	sum := make([]float32, size.X*4)    // weighted sum of the rows that the new row covers
	for y, lines := range newSpans(bounds.Dy(), size.Y) {
		clear(sum)
		for i := range lines.weights {
			line := lines.first + i
			// A row that two new rows share is converted for each of them.
			draw.Draw(row, row.Rect, m, image.Pt(bounds.Min.X, bounds.Min.Y+line), draw.Src)
			average(narrow, row.Pix, columns)
			for j, v := range narrow {
				sum[j] += v * lines.weights[i]
			}
		}
		to := result.Pix[y*result.Stride:][:len(sum)]
		for j, v := range sum {
			to[j] = uint8(v + 0.5)
		}
	}
	return result
}

// span lists the old pixels that a new pixel covers, and how much of the new pixel each one makes
// up.
type span struct {
	first   int
	weights []float32
}

// newSpans divides a number of old pixels among a number of new ones.
func newSpans(old, new int) []span {
	spans := make([]span, new)
	for i := range spans {
		// In units of 1/new of an old pixel, the new pixel covers [from, to).
		from, to := i*old, (i+1)*old
		one := span{first: from / new}
		for at := one.first; at*new < to; at++ {
			covered := min(to, (at+1)*new) - max(from, at*new)
			one.weights = append(one.weights, float32(covered)/float32(old))
		}
		spans[i] = one
	}
	return spans
}

// average scales a row of pixels down to the given columns and writes the result to narrow.
func average(narrow []float32, row []uint8, columns []span) {
	for x, column := range columns {
		var r, g, b, a float32
		at := column.first * 4
		for _, weight := range column.weights {
			p := row[at : at+4 : at+4]
			r += float32(p[0]) * weight
			g += float32(p[1]) * weight
			b += float32(p[2]) * weight
			a += float32(p[3]) * weight
			at += 4
		}
		to := narrow[x*4 : x*4+4 : x*4+4]
		to[0], to[1], to[2], to[3] = r, g, b, a
	}
}
