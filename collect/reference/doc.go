// Package reference downloads and imports reference data: permit lists, production statistics,
// processing times and AVAs.
//
// # Flow
//
// Run handles the sources one after another:
//
//  1. It claims the source in the store, which returns the validators and the hash of the content
//     imported last.
//  2. It requests the file with these validators. If the file hasn't changed (status 304), the
//     source is done.
//  3. Otherwise it downloads the file to a temporary folder. If its hash is that of the content
//     imported last, the source is done.
//  4. It checks the file with a dry run of package ingest, so that no part of a truncated file, or
//     of one in another format, is imported.
//  5. It imports the file, then stores the new validators and the hash.
//
// A run that is killed before the last step repeats the source, and importing a file again changes
// nothing. A source that fails doesn't stop the others.
package reference
