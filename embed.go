// Package colaregistry embeds the documentation, which package site serves.
package colaregistry

import "embed"

// Docs contains docs/*.md, their images, and tools.md.
//
//go:embed docs/*.md docs/images tools.md
var Docs embed.FS
