// Command perf measures the whole program: an import of demo labels while a server runs on the same
// data, the ledger before and during the import, memory, restarts, searches over HTTP, and the
// dashboard's Explore page. It prints the tables in docs/PERFORMANCE.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/colaregistry/colaregistry/internal/perf/measure"
)

func main() {
	labels := flag.Int("labels", 3_000_000, "number of labels to import")
	dir := flag.String("dir", "", "folder for the data (default: a temporary folder, removed at the end)")
	idle := flag.Duration("idle", 30*time.Second, "how long to measure the ledger on an idle server")
	during := flag.Duration("during", time.Minute, "how long to measure the ledger during the import")
	load := flag.Duration("load", 20*time.Second, "how long to search over HTTP")
	flag.Parse()
	if err := run(context.Background(), *labels, *dir, *idle, *during, *load); err != nil {
		fmt.Fprintln(os.Stderr, "perf:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, labels int, dir string, idle, during, load time.Duration) error {
	if dir == "" {
		temporary, err := os.MkdirTemp("", "colaregistry-perf")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		dir = temporary
	}
	program, err := measure.Build(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Printf("%d labels, %s\n\n", labels, measure.Machine())
	b := &bench{program: program, data: filepath.Join(dir, "data"), labels: labels}
	return b.run(ctx,
		b.accounts,
		func(ctx context.Context) error { return b.importing(ctx, idle, during) },
		b.restarts,
		func(ctx context.Context) error { return b.searching(ctx, load) },
		b.exploring,
	)
}
