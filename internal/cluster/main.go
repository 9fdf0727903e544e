// Command cluster tests that several processes sharing a database keep their guarantees through
// failures. It starts PostgreSQL with a synchronous standby, and three processes that serve many
// accounts. Under load it
//
//  1. kills processes,
//  2. restarts them one after another,
//  3. cuts connections,
//  4. stops the standby,
//  5. crashes the primary, first alone and then together with a process, and
//  6. loses the primary, so that the standby takes over.
//
// Then it compares the ledger with the responses that each account received. It exits with status 1
// if a charge is missing or too high, or if a response or process failed in an unexpected way.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	o := options{outage: 7 * time.Second}
	flag.DurationVar(&o.duration, "duration", 2*time.Minute, "minimum duration of the load")
	flag.IntVar(&o.accounts, "accounts", 150, "number of accounts")
	flag.IntVar(&o.labels, "labels", 20_000, "number of labels to import")
	flag.StringVar(&o.dir, "dir", "",
		"folder for data and logs, kept afterward (default: a temporary folder, removed at the end)")
	flag.BoolVar(&o.verbose, "v", false, "print every account and step")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := run(ctx, o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}
