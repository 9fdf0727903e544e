// Command conformance runs third-party conformance tests against the MCP endpoint. It installs
// pinned npm packages, starts the real program on demo data, and runs three kinds of test:
//
//   - the MCP conformance suite, in every revision that both the suite and the server support
//   - the MCP inspector's command line, which lists, calls and reads everything the server offers
//   - the official clients, which connect using OAuth with tokens from a real issuer
//
// It exits with status 1 on any unexpected result, including an expected failure that does not
// occur.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	var o options
	only := flag.String("only", strings.Join(partNames(), ","), "parts to run, comma-separated")
	flag.StringVar(&o.cache, "cache", "", "folder for installed npm packages (default: in the user cache)")
	flag.StringVar(&o.dir, "dir", "",
		"folder for data and logs, kept afterward (default: a temporary folder, removed at the end)")
	flag.DurationVar(&o.timeout, "timeout", 8*time.Minute, "timeout for the whole run, including installation")
	flag.BoolVar(&o.verbose, "v", false, "print every check")
	flag.Parse()
	o.only = strings.Split(*only, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := run(ctx, o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}
