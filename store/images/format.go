package images

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // formats for describe and decode
	_ "image/jpeg"
	_ "image/png"
	"net/http"

	_ "golang.org/x/image/bmp"
	_ "golang.org/x/image/tiff"

	"github.com/colaregistry/colaregistry/store"
)

// Limits on a file. Label images are far below them: TTB accepts files of up to 1.5 MB.
const (
	MaxBytes  = 32 << 20
	MaxSide   = 20_000      // pixels
	MaxPixels = 100_000_000 // width times height

	// maxMemory is the memory limit for rendering one image, and for all concurrent renderings
	// together. Baseline JPEG and 8-bit PNG need less at MaxPixels; progressive JPEG, deep PNG and
	// TIFF reach it at 30 to 70 megapixels.
	maxMemory = 1 << 30
)

// FormatError means that the content is not an image that can be stored.
type FormatError struct{ Reason string }

// Error returns the reason.
func (e *FormatError) Error() string { return "not a usable image: " + e.Reason }

// contentTypes are the media types of the formats.
var contentTypes = map[string]string{
	"jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "tiff": "image/tiff", "bmp": "image/bmp",
}

// shownByBrowsers reports whether a format is served as is. Browsers also show BMP, but it is
// uncompressed, so it is converted.
func shownByBrowsers(contentType string) bool {
	return contentType == "image/jpeg" || contentType == "image/png" || contentType == "image/gif"
}

// Extension returns the usual file name extension of a stored image, without a dot.
func Extension(c store.ImageContent) string {
	return map[string]string{
		"image/jpeg": "jpg", "image/png": "png", "image/gif": "gif", "image/tiff": "tif", "image/bmp": "bmp",
	}[c.ContentType]
}

// describe reads the header of an image. It fails with a FormatError unless the image is within the
// limits.
func describe(content []byte) (store.ImageContent, error) {
	if len(content) > MaxBytes {
		return store.ImageContent{}, formatError("%d bytes, more than %d", len(content), MaxBytes)
	}
	config, format, err := decodeConfig(content)
	if err != nil {
		return store.ImageContent{}, formatError("%v", err)
	}
	if kind := contentTypes[format]; shownByBrowsers(kind) && http.DetectContentType(content) != kind {
		return store.ImageContent{}, formatError("browsers don't recognize this %s", format)
	}
	w, h := config.Width, config.Height
	switch {
	case w < 1 || h < 1:
		return store.ImageContent{}, formatError("%d×%d pixels", w, h)
	case w > MaxSide || h > MaxSide:
		return store.ImageContent{}, formatError("%d×%d pixels; the limit is %d per side", w, h, MaxSide)
	case w*h > MaxPixels:
		return store.ImageContent{}, formatError("%d×%d pixels, more than %d in total", w, h, MaxPixels)
	}
	if n := memoryNeeded(content, format, config); n > maxMemory {
		return store.ImageContent{}, formatError("decoding this %s needs %d MiB of memory, more than %d",
			format, n>>20, maxMemory>>20)
	}
	return store.ImageContent{
		Hash: sha256.Sum256(content), ContentType: contentTypes[format], Width: w, Height: h, Bytes: len(content),
	}, nil
}

func formatError(format string, args ...any) error { return &FormatError{fmt.Sprintf(format, args...)} }

// decodeConfig is like image.DecodeConfig, but limited to the formats in contentTypes, because
// other packages in the program may register more.
func decodeConfig(content []byte) (image.Config, string, error) {
	config, format, err := image.DecodeConfig(bytes.NewReader(content))
	if errors.Is(err, image.ErrFormat) || err == nil && contentTypes[format] == "" {
		err = errors.New("unknown format; expected JPEG, PNG, GIF, TIFF or BMP")
	}
	return config, format, err
}

// memoryNeeded estimates the maximum memory for rendering an image, including the decoder and the
// largest rendition.
func memoryNeeded(content []byte, format string, config image.Config) int {
	pixel := bytesPerPixel(config.ColorModel)
	switch format {
	case "jpeg":
		if isProgressive(content) {
			pixel += 4 * 4 // coefficients of up to four components
		}
		if pixel == 4 { // RGB or CMYK, converted from separate components
			pixel += 4
		}
	case "png":
		switch config.ColorModel { // a tRNS chunk, which the header doesn't show, adds transparency
		case color.GrayModel:
			pixel = 4
		case color.Gray16Model:
			pixel = 8
		}
		pixel *= 2 // interlaced passes
	case "gif":
		pixel += 4 // the frame on its background
	case "tiff":
		pixel += 3 * 8 // a strip of up to 8 bytes a pixel, in a buffer that grows by doubling
	}
	return config.Width*config.Height*pixel + maxRendition*4
}

// bytesPerPixel returns the memory that a decoded pixel takes.
func bytesPerPixel(m color.Model) int {
	switch m {
	case color.GrayModel, color.AlphaModel:
		return 1
	case color.Gray16Model, color.Alpha16Model:
		return 2
	case color.YCbCrModel:
		return 3
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	}
	if _, paletted := m.(color.Palette); paletted {
		return 1
	}
	return 4
}

// isProgressive reports whether a JPEG has a progressive frame. It walks the segments up to the
// first scan.
func isProgressive(content []byte) bool {
	const startOfProgressive, startOfScan = 0xc2, 0xda
	for at := 2; at+4 <= len(content); {
		if content[at] != 0xff {
			at++ // decoders skip garbage between segments
			continue
		}
		marker := content[at+1]
		switch {
		case marker == startOfProgressive:
			return true
		case marker == startOfScan:
			return false
		case marker == 0xff || marker == 0 || marker >= 0xd0 && marker <= 0xd9: // without a length
			at++
			if marker != 0xff {
				at++
			}
			continue
		}
		at += 2 + int(content[at+2])<<8 + int(content[at+3])
	}
	return false
}
