package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/ingest"
)

type importCommand struct {
	storeFlags
	DryRun      bool     `help:"Show the result without writing."`
	History     bool     `help:"Import labels as history, so that alerts don't report them. The first import into an empty registry is always history."`
	SkipInvalid bool     `help:"Exit with 0 even if rows are rejected."`
	AdminListen string   `env:"COLAREGISTRY_IMPORT_ADMIN_LISTEN" placeholder:"ADDR" help:"Address of a listener with progress metrics for operators, without credentials."`
	Kind        string   `arg:"" enum:"colas,permittees,avas,production-reports,processing-times,formula-processing-times,registration-processing-times,category-aliases" help:"Kind of records: colas, permittees, avas, production-reports, processing-times, formula-processing-times, registration-processing-times or category-aliases."`
	Files       []string `arg:"" name:"file" help:"Files, optionally compressed with gzip, zstd or bzip2; - is standard input."`
}

// Run imports the files and prints the report.
func (c *importCommand) Run(env *environment) (err error) {
	sources, err := c.sources(env)
	if err != nil {
		return err
	}
	measured := newImportMetrics(sources)
	admin, err := c.openAdmin(env, measured)
	if err != nil {
		return err
	}
	defer admin.close()
	st, err := c.target(env, admin.registerer())
	if err != nil {
		return err
	}
	defer closing(st, &err)
	leaveRoom()
	admin.probe(func(context.Context) error { return nil })
	bar := newProgress(env.stderr, "Importing "+c.Kind, "rows")
	report, err := ingest.Import(env, st, ingest.Kind(c.Kind), sources, ingest.Options{
		DryRun: c.DryRun, History: c.History, SkipInvalid: c.SkipInvalid, Logger: nil,
		Progress: func(p ingest.Progress) {
			measured.set(p)
			bar.set(int64(p.Read), expectedRows(p))
		},
	})
	bar.end()
	if _, writeErr := report.WriteTo(env.stdout); writeErr != nil {
		return errors.Join(err, writeErr)
	}
	if errors.Is(err, ingest.ErrRefused) { // the report lists the rows; the error isn't printed
		for i := range report.Failures {
			fmt.Fprintf(env.stderr, "colaregistry: %v\n", &report.Failures[i])
		}
		return errors.Join(err, exitError(exitFailed))
	}
	return err
}

// openAdmin opens the listener for operators if one is configured, and prints its address.
func (c *importCommand) openAdmin(env *environment, measured *importMetrics) (*admin, error) {
	a, err := openAdmin(env, c.AdminListen)
	if a == nil || err != nil {
		return nil, err
	}
	a.observe(measured)
	fmt.Fprintf(env.stderr, "Metrics at http://%s/metrics\n", a.address)
	return a, nil
}

// leaveRoom limits an import to half of the processors, unless the environment says otherwise, and
// makes garbage collection rarer: a server on the same machine needs a processor to commit charges.
func leaveRoom() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/2))
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(importGCPercent)
	}
}

// importGCPercent lets the small heap of an import grow to five times its live size.
const importGCPercent = 400

// target opens the database to import into. A dry run without a database gets an empty temporary
// one.
func (c *importCommand) target(env *environment, metrics prometheus.Registerer) (importTarget, error) {
	p, err := c.place()
	if err != nil {
		return nil, err
	}
	if !c.DryRun {
		return p.open(env, metrics)
	}
	exists, err := p.exists(env)
	if err != nil {
		return nil, err
	}
	if exists {
		return p.openAsItIs(env, metrics)
	}
	dir, err := os.MkdirTemp("", "colaregistry")
	if err != nil {
		return nil, err
	}
	st, err := storeFlags{DataDir: dir}.open(env, metrics)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &throwaway{st, dir}, nil
}

type importTarget interface {
	ingest.Target
	io.Closer
}

// throwaway is a database that is removed when it is closed.
type throwaway struct {
	database
	dir string
}

// Close closes the database and removes its folder.
func (t *throwaway) Close() error { return errors.Join(t.database.Close(), os.RemoveAll(t.dir)) }

// sources checks that every file can be read before any of them is imported.
func (c *importCommand) sources(env *environment) ([]ingest.Source, error) {
	var sources []ingest.Source
	for _, name := range c.Files {
		if name == "-" {
			sources = append(sources, ingest.Source{Name: "standard input", Size: -1,
				Open: func() (io.ReadCloser, error) { return io.NopCloser(env.stdin), nil }})
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			return nil, errors.New(name + " is a folder; list the files in it")
		}
		sources = append(sources, ingest.Source{Name: name, Size: info.Size(),
			Open: func() (io.ReadCloser, error) { return os.Open(name) }})
	}
	return sources, nil
}

// expectedRows estimates the number of rows from the share of bytes read.
func expectedRows(p ingest.Progress) int64 {
	if p.BytesTotal <= 0 || p.BytesRead <= 0 || p.Sources > 1 {
		return -1
	}
	return max(int64(p.Read), int64(float64(p.Read)*float64(p.BytesTotal)/float64(p.BytesRead)))
}
