package main

import (
	"context"
	"embed"
	"io/fs"

	"github.com/colaregistry/colaregistry/internal/nodetest"
)

// committed contains package.json, its lock file, and the kit's scripts and lists.
//
//go:embed kit
var committed embed.FS

// kitFiles returns the kit's files.
func kitFiles() fs.FS {
	files, err := fs.Sub(committed, "kit")
	if err != nil {
		panic(err) // the name is a constant
	}
	return files
}

// installKit installs the kit at dir, using a package cache.
func installKit(ctx context.Context, cache, dir string) (*nodetest.Kit, error) {
	return nodetest.Install(ctx,
		nodetest.Options{Files: kitFiles(), Name: "colaregistry-conformance", Cache: cache, Dir: dir})
}
