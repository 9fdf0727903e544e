// Package labelart draws the images of demonstration labels from their records. The brand determines colors and ornament, the image's
// position its layout, and the record's fields the text; the barcode is real and scans. Equal records give equal images.
//
// A label is laid out once, as filled outlines and lines of text at exact places; each format writes that drawing. SVG names fonts that
// nearly every system has in the same widths (Liberation Serif and Sans measure like Times and Arial), and states the length of each line.
package labelart
