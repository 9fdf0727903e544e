// Command cluster tests the service's guarantees for multiple processes and failures. It starts
// PostgreSQL with a synchronous standby, and three processes on it that serve many accounts. Under
// this load it kills processes, restarts them one after another, cuts connections, crashes the
// primary and finally loses it, so that the standby takes over. Then it compares the ledger with
// the responses, account by account. It exits with 1 if a charge is missing or too high.
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
	flag.DurationVar(&o.duration, "duration", 2*time.Minute, "how long to keep up the load; longer when failures take longer")
	flag.IntVar(&o.accounts, "accounts", 150, "how many accounts ask")
	flag.IntVar(&o.labels, "labels", 20_000, "how many labels to import")
	flag.StringVar(&o.dir, "dir", "", "folder for data and logs, which stays; a temporary one, removed at the end, when left out")
	flag.BoolVar(&o.verbose, "v", false, "print every account, and what happens")
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
