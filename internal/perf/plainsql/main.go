// Command plainsql compares the service with the best plain SQL that we can write on PostgreSQL: the same questions, over the
// same labels, on the same machine, one after the other in one run. It prints the tables of docs/PERFORMANCE.md.
//
// Plain SQL is asked by pgx from this process, with prepared statements, and pays for no HTTP, no credentials and no ledger.
// The service is the real program, asked over HTTP, each answer with its exact total and charged to an account on the same
// PostgreSQL before it leaves. The client's process shares the processors with both.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/colaregistry/colaregistry/internal/perf/measure"
)

// options say how large a run is.
type options struct {
	labels  int
	dir     string
	mix     time.Duration
	each    time.Duration
	check   int
	explain string
}

// clientCounts are how many clients ask at once.
var clientCounts = [...]int{1, 8}

func main() {
	var o options
	flag.IntVar(&o.labels, "labels", 3_000_000, "how many labels to search")
	flag.StringVar(&o.dir, "dir", "", "folder for the program and its log; a temporary one, removed at the end, when left out")
	flag.DurationVar(&o.mix, "mix", 30*time.Second, "how long to ask the mix, each time")
	flag.DurationVar(&o.each, "each", 2*time.Second, "how long to ask each class, each time")
	flag.IntVar(&o.check, "check", 60, "how many questions of each class to compare the answers of")
	flag.StringVar(&o.explain, "explain", "", "file to write the plans of plain SQL to, none when left out")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "plainsql:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "colaregistry-plainsql"); err != nil {
			return err
		}
		defer os.RemoveAll(o.dir)
	}
	c := &comparison{options: o, now: time.Now(), begun: time.Now()}
	defer func() { err = errors.Join(err, c.close()) }()
	if c.program, err = measure.Build(ctx, o.dir); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{c.start, c.serve, c.choose, c.plans, c.index, c.agree, c.measure} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// say tells how far the run is.
func (c *comparison) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%5.0fs %s\n", time.Since(c.begun).Seconds(), fmt.Sprintf(format, args...))
}
