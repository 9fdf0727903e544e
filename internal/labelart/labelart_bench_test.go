package labelart

import (
	"io"
	"testing"
)

func BenchmarkDraw(b *testing.B)        { benchmark(b, 900, 1200) }
func BenchmarkDrawLargest(b *testing.B) { benchmark(b, MaxSide, MaxSide) }

func benchmark(b *testing.B, width, height int) {
	c, img := withBarcode("UPC-A", "036000291452", width, height)
	for _, f := range []Format{JPEG, PNG, SVG} {
		b.Run(string(f), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := Draw(io.Discard, f, c, img); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
