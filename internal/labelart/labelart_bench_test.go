package labelart

import (
	"io"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

func BenchmarkSVG(b *testing.B) { benchmark(b, SVG) }
func BenchmarkPNG(b *testing.B) { benchmark(b, PNG) }

func benchmark(b *testing.B, draw func(io.Writer, *cola.Cola, *cola.Image) error) {
	c, img := withBarcode("UPC-A", "036000291452", 900, 1200)
	b.ReportAllocs()
	for b.Loop() {
		if err := draw(io.Discard, c, img); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLargestPNG(b *testing.B) {
	c, img := withBarcode("UPC-A", "036000291452", MaxSide, MaxSide)
	for b.Loop() {
		if err := PNG(io.Discard, c, img); err != nil {
			b.Fatal(err)
		}
	}
}
