// Package doclinks checks the links between the Markdown pages of the repository.
package doclinks
