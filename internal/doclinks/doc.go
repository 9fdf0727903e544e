// Package doclinks checks the links and the names of tests in the Markdown pages of the repository.
// It contains only tests.
package doclinks
