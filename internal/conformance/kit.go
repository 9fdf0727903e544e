package main

import (
	"context"
	"embed"
	"io/fs"

	"github.com/colaregistry/colaregistry/internal/nodetest"
)

// committed are the list of npm packages, what they resolve to, and the scripts and lists that go with them.
//
//go:embed kit
var committed embed.FS

// kitFiles returns what the kit is made of.
func kitFiles() fs.FS {
	files, err := fs.Sub(committed, "kit")
	if err != nil {
		panic(err) // the name is a constant
	}
	return files
}

// installKit makes the kit at dir, of packages in a folder of the cache.
func installKit(ctx context.Context, cache, dir string) (*nodetest.Kit, error) {
	return nodetest.Install(ctx, nodetest.Options{Files: kitFiles(), Name: "colaregistry-conformance", Cache: cache, Dir: dir})
}
