package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/ingest"
)

type importCommand struct {
	storeFlags
	DryRun      bool     `help:"Validate and report without writing."`
	History     bool     `help:"Import labels as history, so that they don't trigger alerts. The first import into an empty registry is always treated as history."`
	AllowEmpty  bool     `help:"Accept empty files. By default, an empty file is an error, because it is often a failed download."`
	Rejects     string   `placeholder:"FILE" help:"Write every rejected row to a new file, as JSON lines with source, line, reason, header and row."`
	SkipInvalid bool     `help:"Exit with code 0 even if rows are rejected."`
	AdminListen string   `env:"COLAREGISTRY_IMPORT_ADMIN_LISTEN" placeholder:"ADDR" help:"Address of the admin listener, which serves progress metrics without authentication (default: disabled)."`
	Kind        string   `arg:"" enum:"colas,permittees,avas,production-reports,processing-times,formula-processing-times,registration-processing-times,category-aliases" help:"Kind of records: colas, permittees, avas, production-reports, processing-times, formula-processing-times, registration-processing-times or category-aliases."`
	Files       []string `arg:"" name:"file" help:"Files, folders and ZIP or tar archives to import, optionally compressed with gzip, zstd or bzip2; - for standard input."`
}

// Run imports the files and prints the report.
func (c *importCommand) Run(env *environment) (err error) {
	sources, err := c.sources(env)
	if err != nil {
		return err
	}
	rejects, err := c.createRejects()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rejects.close(env)) }()
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
	limitResources()
	admin.setReady(func(context.Context) error { return nil })
	bar := newProgress(env.stderr, "Importing "+c.Kind, "rows")
	report, err := ingest.Import(env, st, ingest.Kind(c.Kind), sources, ingest.Options{
		DryRun: c.DryRun, History: c.History, AllowEmpty: c.AllowEmpty, SkipInvalid: c.SkipInvalid, Rejects: rejects.writer(),
		Progress: func(p ingest.Progress) {
			measured.set(p)
			bar.set(int64(p.Read), measured.expectedRows())
		},
	})
	bar.end()
	if _, writeErr := report.WriteTo(env.stdout); writeErr != nil {
		return errors.Join(err, writeErr)
	}
	if errors.Is(err, ingest.ErrRejected) || len(report.Failures) > 0 {
		return printFailures(env, err)
	}
	return err
}

// printFailures prints the errors from an import, except ErrRejected, because the report already
// covers rejected rows. The returned error is not printed again.
func printFailures(env *environment, err error) error {
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	for _, failure := range list {
		if !errors.Is(failure, ingest.ErrRejected) {
			fmt.Fprintf(env.stderr, "colaregistry: %v\n", failure)
		}
	}
	return errors.Join(err, exitError(exitFailed))
}

// rejectsFile is the file for rejected rows. writer and close accept a nil *rejectsFile, which
// means no file.
type rejectsFile struct {
	*os.File
	written bool
}

// createRejects creates the file for rejected rows, if --rejects is set. It does not replace an
// existing file, which may be an input or contain rows that have not been corrected yet.
func (c *importCommand) createRejects() (*rejectsFile, error) {
	switch c.Rejects {
	case "":
		return nil, nil
	case "-":
		return nil, usageErrorf("--rejects: pass a file name; the report goes to standard output")
	}
	if folder := c.inputAround(c.Rejects); folder != "" {
		return nil, usageErrorf("--rejects: %s is in the input folder %s; pass a file outside it", c.Rejects, folder)
	}
	f, err := os.OpenFile(c.Rejects, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, usageErrorf("--rejects: %s exists; pass a new file name", c.Rejects)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageErrorf("--rejects: the folder %s does not exist; create it first", filepath.Dir(c.Rejects))
	}
	if err != nil {
		return nil, fmt.Errorf("--rejects: %w", err)
	}
	return &rejectsFile{File: f}, nil
}

// inputAround returns the input folder that contains a file, or "". The import would read such a
// file while writing it.
func (c *importCommand) inputAround(file string) (folder string) {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return ""
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "" // creating the file will fail too
	}
	for {
		info, err := os.Stat(dir)
		for _, input := range c.Files {
			if at, inputErr := os.Stat(input); err == nil && inputErr == nil && os.SameFile(info, at) {
				return input
			}
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

func (f *rejectsFile) writer() io.Writer {
	if f == nil {
		return nil
	}
	return f
}

// Write implements io.Writer.
func (f *rejectsFile) Write(p []byte) (int, error) {
	f.written = true
	return f.File.Write(p)
}

// close closes the file. If the file is empty, close removes it; otherwise it prints the name.
func (f *rejectsFile) close(env *environment) error {
	if f == nil {
		return nil
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("--rejects: %w", err)
	}
	if !f.written {
		return os.Remove(f.Name())
	}
	fmt.Fprintf(env.stderr, "Rejected rows: %s\n", f.Name())
	return nil
}

// openAdmin starts the admin listener if one is configured, and prints its address.
func (c *importCommand) openAdmin(env *environment, measured *importMetrics) (*admin, error) {
	a, err := openAdmin(env, c.AdminListen)
	if a == nil || err != nil {
		return nil, err
	}
	a.register(measured)
	fmt.Fprintf(env.stderr, "Metrics at http://%s/metrics\n", a.address)
	return a, nil
}

// limitResources limits the process to half of the processors, unless GOMAXPROCS is set, because a
// server on the same machine needs a processor to commit charges. It also makes garbage collection
// less frequent, unless GOGC is set.
func limitResources() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/2))
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(importGCPercent)
	}
}

// importGCPercent lets the heap, which is small, grow to five times its live size.
const importGCPercent = 400

// target opens the database to import into. If there is none, a dry run uses an empty temporary
// database.
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
		return p.openCurrent(env, metrics)
	}
	dir, err := os.MkdirTemp("", "colaregistry")
	if err != nil {
		return nil, err
	}
	st, err := storeFlags{DataDir: dir}.open(env, metrics)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &temporary{st, dir}, nil
}

type importTarget interface {
	ingest.Target
	io.Closer
}

// temporary is a database that Close removes.
type temporary struct {
	database
	dir string
}

// Close closes the database and removes its directory.
func (t *temporary) Close() error { return errors.Join(t.database.Close(), os.RemoveAll(t.dir)) }

// sources returns the files to import, after checking that each exists.
func (c *importCommand) sources(env *environment) ([]ingest.Source, error) {
	var sources []ingest.Source
	for _, name := range c.Files {
		if name == "-" {
			sources = append(sources, ingest.Source{
				Name: "standard input", Size: -1,
				Open: func() (io.ReadCloser, error) { return io.NopCloser(env.stdin), nil },
			})
			continue
		}
		if _, err := os.Stat(name); err != nil {
			return nil, fileError(name, err)
		}
		sources = append(sources, ingest.FileSource(name))
	}
	return sources, nil
}
