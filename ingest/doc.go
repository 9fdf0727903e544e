// Package ingest reads files of labels, permittees and reference data and merges their rows into a store: streaming, in
// batches, in bounded memory, and again as often as one likes, since what is stored already is left alone.
//
// The format of a source is told by its content, never by its name. Text may be compressed with gzip, zstd or bzip2 and is
// UTF-8, with or without a byte order mark, or UTF-16.
//
//   - JSON, for every kind, in the names of the API: lines of one record each, objects one after the other, an array, or
//     what the API answers, which has them under "data". A key that is absent leaves the field, null clears it. Text where a
//     list is due is split on commas; a number in quotes is a number.
//   - CSV, for every kind, with the same names as columns (letter case and spacing do not matter). A cell that is empty
//     leaves the field, \N clears it. Lists are separated by vertical bars or commas, or are JSON arrays. A row that is not
//     UTF-8 is read as Windows-1252, and the report says so.
//   - Colas: the CSV export of TTB's public registry, whose rows may be broken in ways that are mended where there is only
//     one way to do it.
//   - Permittees: TTB's lists, with a title above the header and a total below the rows.
//   - AVAs: the GeoJSON of the UC Davis data set, features or collections of them.
//
// A row that is wrong is refused with the line it begins at, and the import goes on; a text that cannot be split into rows any
// further ends its source. An import never clears a field that its source does not carry. Keys that no field has are told
// once each, with the nearest that has one.
//
// White space around texts goes, and runs of it within become one space, except in llm_product_description. What follows from
// other fields (has_barcode, the counts of a permittee) is not read.
package ingest
