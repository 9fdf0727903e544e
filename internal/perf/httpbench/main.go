// Command httpbench compares charged searches over HTTP on SQLite and PostgreSQL with a bare
// net/http handler that writes a page of the same size from memory. Clients and servers
// share the machine, so compare the ratios, and the CPU time per request, which other processes
// hardly affect.
//
// With the argument "serve", the program runs the bare handler.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/colaregistry/colaregistry/internal/perf/measure"
)

// options are the program's flags.
type options struct {
	labels    int
	accounts  int
	databases []string
	clients   []int
	duration  time.Duration // per step and server
	baseline  string        // another build of colaregistry to compare with, or empty
	overload  float64       // multiple of the sustained rate; 0 skips the step
	profiles  string        // folder, or empty
	stalls    time.Duration // how long to look for stalls instead of running the steps
	rate      int           // requests per second while looking for stalls
}

// profile returns the path prefix for a server's profiles, or "".
func (o options) profile(t *target, step string) string {
	if o.profiles == "" || t.admin == "" {
		return ""
	}
	return fmt.Sprintf("%s/%s-%s", o.profiles, t.name, step)
}

// sliceDuration is how long a step measures one server before it moves on to the next, so that
// other load on the machine affects all of them.
const sliceDuration = 5 * time.Second

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		fail(serveBare(os.Args[2:]))
		return
	}
	var o options
	flag.IntVar(&o.labels, "labels", 20_000, "number of labels")
	flag.IntVar(&o.accounts, "accounts", 10_000, "number of accounts; each may make 120 requests per minute")
	databases := flag.String("databases", "sqlite,postgres", "databases to measure")
	clients := flag.String("clients", "1,8,64", "comma-separated numbers of concurrent clients, one step each")
	flag.DurationVar(&o.duration, "duration", 30*time.Second, "duration of a step, for each server")
	flag.StringVar(&o.baseline, "baseline", "", "another build of colaregistry with the same schema, to compare with in the same run")
	flag.StringVar(&o.profiles, "profiles", "", "folder for CPU and allocation profiles of each step and server")
	flag.Float64Var(&o.overload, "overload", 2, "multiple of the sustained rate for the last step; 0 skips it")
	flag.DurationVar(&o.stalls, "stalls", 0, "instead of running the steps, look for slow requests on the first database for this long, while importing labels")
	flag.IntVar(&o.rate, "rate", 400, "requests per second, with -stalls")
	flag.Parse()
	o.databases = strings.Split(*databases, ",")
	for _, text := range strings.Split(*clients, ",") {
		n, err := strconv.Atoi(text)
		fail(err)
		o.clients = append(o.clients, n)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fail(run(ctx, o))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "httpbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "colaregistry-httpbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	targets, err := start(ctx, o, dir)
	defer func() {
		for _, t := range targets {
			t.stop()
		}
	}()
	if err != nil {
		return err
	}
	fmt.Printf("%d labels, %d accounts, %s; CPU time, WAL and allocations are per request\n\n", o.labels, o.accounts, measure.Machine())
	if err := warmUp(ctx, targets); err != nil {
		return err
	}
	if o.stalls > 0 {
		return findStalls(ctx, o, targets[0], targets[1])
	}
	fmt.Println("| clients | server | requests/s | ratio | p50 | p99 | server CPU | PostgreSQL CPU | WAL | charges per batch | allocated | refused | memory |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, clients := range o.clients {
		if err := step(ctx, o, targets, clients); err != nil {
			return err
		}
	}
	if o.overload == 0 {
		return nil
	}
	return overload(ctx, o, targets[1:])
}

// warmUp sends a request with each key, so that the steps don't measure a key's first lookup.
func warmUp(ctx context.Context, targets []*target) error {
	const clients = 64
	for _, t := range targets {
		if _, err := measure.Search(ctx, t.server.Address, t.keys, clients, len(t.keys)); err != nil {
			return err
		}
	}
	return nil
}

// step measures all servers with the given number of clients, and prints a row for each.
func step(ctx context.Context, o options, targets []*target, clients int) error {
	for _, t := range targets {
		t.result = result{}
		if _, err := measure.Search(measure.Timeout(ctx, time.Second), t.server.Address, t.keys, clients, 0); err != nil {
			return err
		}
	}
	slices := max(1, int(o.duration/sliceDuration))
	for n := range slices {
		for _, t := range targets {
			profiles := ""
			if n == 0 {
				profiles = o.profile(t, strconv.Itoa(clients))
			}
			if err := t.measure(ctx, o.duration/time.Duration(slices), clients, profiles); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
	}
	for _, t := range targets {
		t.print(clients, targets[0].rate())
	}
	return ctx.Err()
}

// serveBare serves a file's content at every path. It accepts the flags that measure.Serve passes.
func serveBare(args []string) error {
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	address := flags.String("listen", "", "address")
	_ = flags.String("demo", "", "ignored")
	if err := flags.Parse(args); err != nil {
		return err
	}
	page, err := os.ReadFile(flags.Arg(0))
	if err != nil {
		return err
	}
	length := strconv.Itoa(len(page))
	return http.ListenAndServe(*address, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", length)
		_, _ = w.Write(page) // fails only if the client disconnected
	}))
}
