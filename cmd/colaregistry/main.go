// Command colaregistry serves the registry of US alcohol label approvals and keeps its data. Run it with --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the program winds down; a second one ends it at once.
	context.AfterFunc(ctx, stop)
	p := program{args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	os.Exit(p.run(ctx))
}
