// Command conformance holds the endpoint for assistants against what others wrote. It installs pinned npm packages, starts the
// real program on demonstration data, and has it tried by the conformance suite of the protocol, in every revision that the suite
// knows; by the command line of the inspector, which lists, calls and reads all there is; and by the official clients, which
// connect by OAuth with tokens of a real issuer. It exits with 1 when anything is not as expected, also a failure that is expected
// and does not come.
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
	only := flag.String("only", strings.Join(partNames(), ","), "which parts to run")
	flag.StringVar(&o.cache, "cache", "", "folder that npm packages are installed in, once; one of the user's cache when left out")
	flag.StringVar(&o.dir, "dir", "", "folder for data and logs, which stays; a temporary one, removed at the end, when left out")
	flag.DurationVar(&o.timeout, "timeout", 8*time.Minute, "how long everything may take, the installation included")
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
