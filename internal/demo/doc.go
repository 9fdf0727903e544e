// Package demo makes up a registry: labels, permittees, barcodes and reference data with the shape of the real ones, for
// trying the service and for measuring it. Every record follows from Options alone, so the same options give the same
// bytes on every machine, and labels are made one at a time, so any number of them needs the same memory.
//
// Brands, companies and products are invented. Class and type codes, origins, grape varieties and viticultural areas are
// real, because searches for them should find what a reader expects.
//
// The model has three layers. A world holds the permittees and their brands, each with a rank that says how often it
// files. A product is one item of a brand, with its style, container and barcode; it is worked out from the brand and a
// number whenever it is needed. A label is one approval of a product on one day: vintages, dates, images and the gaps that
// real records have are its own. Several labels of one product share its barcode.
package demo
