// Package doclinks checks the links and test names in the repository's Markdown pages. It contains
// only tests.
package doclinks
