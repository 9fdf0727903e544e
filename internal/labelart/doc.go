// Package labelart draws the labels of demonstration records: what would be on the bottle or can if the record were real.
// The picture follows from the record alone. The brand settles its colours and ornament, the image's position what is on
// it, and the record's fields what it says; the barcode is a real one that scans.
//
// A label is laid out once, as filled outlines and lines of text at exact places. SVG and PNG are two ways of writing that
// drawing down, so they agree: SVG names fonts of the same widths that nearly every system has (Liberation Serif and Sans
// measure as Times and Arial do) and states the length of each line.
package labelart
