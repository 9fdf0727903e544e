package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/collect/reference"
	"github.com/colaregistry/colaregistry/store"
)

// referenceFlags set the addresses of sources. In serve, they have the prefix fetch-.
type referenceFlags struct {
	SourceURL []string `env:"COLAREGISTRY_FETCH_SOURCE_URL" name:"source-url" sep:" " placeholder:"NAME=URL" help:"URL of a reference data source; repeatable. An empty URL disables the source."`
}

type fetchReference struct {
	storeFlags
	outputFlags
	logFlags
	referenceFlags
	Contact string   `env:"COLAREGISTRY_FETCH_CONTACT" required:"" placeholder:"EMAIL|URL" help:"Your email address or web page. Sent with every request, so that publishers can reach you."`
	Source  []string `env:"COLAREGISTRY_FETCH_SOURCE" placeholder:"NAME" help:"Source to fetch; repeatable (default: every source with an address)."`
	Force   bool     `env:"COLAREGISTRY_FETCH_FORCE" help:"Download and import files even if they haven't changed."`
	DryRun  bool     `env:"COLAREGISTRY_FETCH_DRY_RUN" help:"Print the sources, their addresses and the times of their last fetches without sending a request."`

	Backoff time.Duration `env:"COLAREGISTRY_FETCH_BACKOFF" hidden:"" default:"2s" help:"Upper bound on the first wait after a failure."`
}

// Validate checks the flags. Kong calls it after parsing.
func (c *fetchReference) Validate() error {
	if !isContact(c.Contact) {
		return errors.New("--contact must be an email address or an http or https URL")
	}
	if c.JSON && !c.DryRun {
		return errors.New("--json requires --dry-run")
	}
	_, err := c.sources("--", c.Source)
	return err
}

// sources returns the named sources with their addresses, or all sources if there are no names.
// prefix precedes the names of flags in errors: "--" or "--fetch-".
func (f *referenceFlags) sources(prefix string, names []string) ([]reference.Source, error) {
	all := reference.Sources()
	find := func(flag, name string) (int, error) {
		i := slices.IndexFunc(all, func(s reference.Source) bool { return s.Name == name })
		if i < 0 {
			var known []string
			for _, s := range all {
				known = append(known, s.Name)
			}
			return 0, fmt.Errorf("%s: unknown source %q; use one of %s", flag, name, strings.Join(known, ", "))
		}
		return i, nil
	}
	for _, pair := range f.SourceURL {
		name, address, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("%ssource-url: %q must be NAME=URL", prefix, pair)
		}
		i, err := find(prefix+"source-url", name)
		if err != nil {
			return nil, err
		}
		if all[i].URL = address; address == "" {
			continue
		}
		if err := reference.CheckURL(address); err != nil {
			return nil, fmt.Errorf("%ssource-url %s: %w", prefix, name, err)
		}
	}
	for _, name := range names {
		i, err := find(prefix+"source", name)
		if err != nil {
			return nil, err
		}
		if all[i].URL == "" {
			return nil, fmt.Errorf("%[1]ssource %[2]s: the source has no address; set one with %[1]ssource-url %[2]s=URL", prefix, name)
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(s reference.Source) bool { return !slices.Contains(names, s.Name) }), nil
}

// Run fetches the sources and prints the report.
func (c *fetchReference) Run(env *environment) (err error) {
	sources, err := c.sources("--", c.Source)
	if err != nil {
		return err
	}
	if c.DryRun {
		return c.dryRun(env, sources)
	}
	st, err := c.open(env, nil)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	if err := requireNoDemo(env, st); err != nil {
		return err
	}
	report, err := reference.Run(env, st, reference.Options{
		Sources: sources, UserAgent: userAgent(c.Contact), Force: c.Force,
		Done:   func(r reference.Result) { printReferenceResult(env, &r) },
		Logger: c.logger(env.stderr), Backoff: c.Backoff,
	})
	n := report.Rows
	fmt.Fprintf(env.stdout, "read=%d added=%d changed=%d unchanged=%d rejected=%d\n", n.Read, n.Added, n.Changed, n.Unchanged, n.Rejected)
	fmt.Fprintf(env.stdout, "sources=%d imported=%d skipped=%d failed=%d requests=%d\n",
		report.Sources, report.Imported, report.Unchanged, report.Failed, report.Requests)
	switch {
	case env.Err() != nil:
		fmt.Fprintln(env.stderr, "Stopped. Run the command again to continue.")
		return nil
	case err != nil:
		return err
	case report.Failed > 0:
		return exitError(exitFailed)
	}
	return nil
}

// printReferenceResult prints the rejected rows and warnings of a source, then its outcome.
func printReferenceResult(env *environment, r *reference.Result) {
	for _, rejected := range r.Report.Rejections[:min(len(r.Report.Rejections), maxPrinted)] {
		fmt.Fprintf(env.stdout, "rejected: %s\n", rejected)
	}
	for _, warning := range r.Report.Warnings {
		fmt.Fprintf(env.stdout, "warning: %s\n", warning)
	}
	switch {
	case r.Err != nil:
		fmt.Fprintf(env.stderr, "failed: %s: %v\n", r.Source.Name, r.Err)
	case r.Imported:
		fmt.Fprintf(env.stdout, "%s: %s\n", r.Source.Name, r.Report.Summary())
	case r.NotModified:
		fmt.Fprintf(env.stdout, "%s: unchanged (status 304)\n", r.Source.Name)
	default:
		fmt.Fprintf(env.stdout, "%s: unchanged (same content)\n", r.Source.Name)
	}
}

// dryRun prints the sources. It creates no database.
func (c *fetchReference) dryRun(env *environment, sources []reference.Source) (err error) {
	p, err := c.place()
	if err != nil {
		return err
	}
	exists, err := p.exists(env)
	if err != nil {
		return err
	}
	var known []store.ReferenceFetch
	if exists {
		st, err := p.openCurrent(env, nil)
		if err != nil {
			return err
		}
		defer closing(st, &err)
		if known, err = st.ReferenceFetches(env); err != nil {
			return err
		}
	}
	return printReferenceSources(env.stdout, c.outputFlags, sources, known)
}

// referenceSourceRow is a source in the output of fetch reference --dry-run.
type referenceSourceRow struct {
	Source         string     `json:"source"`
	ImportAs       string     `json:"import_as"`
	LastCheckedAt  *time.Time `json:"last_checked_at"`
	LastImportedAt *time.Time `json:"last_imported_at"`
	URL            *string    `json:"url"`
}

func printReferenceSources(w io.Writer, o outputFlags, sources []reference.Source, known []store.ReferenceFetch) error {
	rows := make([]referenceSourceRow, len(sources))
	for i, s := range sources {
		f := store.ReferenceFetch{}
		if i := slices.IndexFunc(known, func(f store.ReferenceFetch) bool { return f.Source == s.Name }); i >= 0 {
			f = known[i]
		}
		rows[i] = referenceSourceRow{s.Name, string(s.Kind), orNil(f.CheckedAt), orNil(f.ImportedAt), orNil(s.URL)}
	}
	return printRows(w, o, rows)
}

func timeOrNever(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.DateTime)
}

// referenceJSON is a source in the output of fetch status --json.
type referenceJSON struct {
	Source     string     `json:"source"`
	URL        *string    `json:"url"` // source of the most recently imported content
	CheckedAt  *time.Time `json:"checked_at"`
	ImportedAt *time.Time `json:"imported_at"`
	Failure    *string    `json:"failure"` // error from the latest fetch
	FailedAt   *time.Time `json:"failed_at"`
}

func newReferenceJSON(list []store.ReferenceFetch) []referenceJSON {
	all := make([]referenceJSON, 0, len(list))
	for _, f := range list {
		all = append(all, referenceJSON{
			Source: f.Source, URL: orNil(f.URL), CheckedAt: orNil(f.CheckedAt), ImportedAt: orNil(f.ImportedAt),
			Failure: orNil(f.Failure), FailedAt: orNil(f.FailedAt),
		})
	}
	return all
}

func printReferenceStatus(w io.Writer, list []store.ReferenceFetch) {
	for _, f := range list {
		fmt.Fprintf(w, "reference:    %s: checked %s, imported %s\n", f.Source, timeOrNever(f.CheckedAt), timeOrNever(f.ImportedAt))
		if f.Failure != "" {
			fmt.Fprintf(w, "failed:       %s at %s: %s\n", f.Source, timeOrNever(f.FailedAt), f.Failure)
		}
	}
}
