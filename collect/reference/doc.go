// Package reference downloads and imports reference data: permit lists, production statistics,
// processing times and AVAs.
//
// # Flow
//
// Run handles the sources one after another:
//
//  1. It claims the source in the store, which returns the validators and the hash of the last
//     imported content.
//  2. It requests the file with these validators. If the file hasn't changed (status 304), the
//     source is done.
//  3. Otherwise, it downloads the file to a temporary folder. If the hash hasn't changed, the
//     source is done.
//  4. It checks the file with a dry run of package ingest, so that a file that is truncated or in
//     another format is not partially imported.
//  5. It imports the file, then stores the new validators and the hash.
//
// If a run is killed before the last step, the next run fetches the source again. Importing a file
// again changes nothing. A source that fails doesn't stop the others.
package reference
