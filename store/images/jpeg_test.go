package images

// plainJPEG returns a single-color JPEG with the given components: three for RGB, four for inverted
// CMYK, as Adobe's programs write it. image/jpeg doesn't write CMYK or progressive frames.
func plainJPEG(width, height int, progressive bool, components ...byte) []byte {
	n := byte(len(components))
	frame, lastCoefficient := byte(0xc0), byte(63)
	if progressive {
		frame, lastCoefficient = 0xc2, 0 // a scan of block averages, without detail
	}
	b := []byte{0xff, 0xd8}
	segment := func(marker byte, content ...byte) {
		size := len(content) + 2
		b = append(append(b, 0xff, marker, byte(size>>8), byte(size)), content...)
	}
	segment(0xee, append([]byte("Adobe"), 0, 100, 0, 0, 0, 0, 0)...) // transform 0: not YCbCr
	segment(0xdb, append([]byte{0}, repeated(1, 64)...)...)          // quantization by one
	header := []byte{8, byte(height >> 8), byte(height), byte(width >> 8), byte(width), n}
	scan := []byte{n}
	for i := range n {
		header = append(header, i+1, 0x11, 0)
		scan = append(scan, i+1, 0)
	}
	segment(frame, header...)
	// Huffman tables: twelve four-bit codes for averages, and a one-bit code for the end of a
	// block.
	segment(0xc4, append(append([]byte{0, 0, 0, 0, 12}, repeated(0, 12)...), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)...)
	segment(0xc4, append(append([]byte{0x10, 1}, repeated(0, 15)...), 0)...)
	segment(0xda, append(scan, 0, lastCoefficient, 0)...)

	var bits bitWriter
	for block := range (width + 7) / 8 * ((height + 7) / 8) {
		for _, v := range components {
			difference := 0 // from the previous block
			if block == 0 {
				difference = (int(v) - 128) * 8
			}
			bits.average(difference)
			if !progressive {
				bits.write(0, 1)
			}
		}
	}
	return append(append(b, bits.bytes()...), 0xff, 0xd9)
}

func repeated(v byte, n int) []byte {
	all := make([]byte, n)
	for i := range all {
		all[i] = v
	}
	return all
}

// bitWriter writes the entropy-coded bits of a JPEG.
type bitWriter struct {
	done    []byte
	pending uint32
	n       int // number of pending bits
}

// average writes the difference between two averages: its number of bits, then the bits.
func (w *bitWriter) average(v int) {
	size, bits := 0, v
	for m := max(v, -v); m > 0; m >>= 1 {
		size++
	}
	if v < 0 {
		bits = v + 1<<size - 1
	}
	w.write(uint32(size), 4)
	w.write(uint32(bits), size)
}

func (w *bitWriter) write(bits uint32, n int) {
	w.pending, w.n = w.pending<<n|bits, w.n+n
	for w.n >= 8 {
		w.n -= 8
		next := byte(w.pending >> w.n)
		if w.done = append(w.done, next); next == 0xff {
			w.done = append(w.done, 0)
		}
		w.pending &= 1<<w.n - 1
	}
}

// bytes returns the written bits, padded with ones.
func (w *bitWriter) bytes() []byte {
	w.write(0x7f, 7)
	return w.done
}
