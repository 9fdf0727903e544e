// Command colaregistry serves the registry of US alcohol label approvals and keeps its data. Run it with --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the program shuts down; a second one exits immediately.
	context.AfterFunc(ctx, stop)
	p := program{args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	os.Exit(p.run(ctx))
}

// program is one invocation of the command, as a value for tests.
type program struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
}

// cli is the command line. Every flag can also be set in the environment, as COLAREGISTRY_ and its
// name.
type cli struct {
	Serve   serveCommand   `cmd:"" help:"Serve the REST API, the MCP endpoint and the dashboard. The first start creates a database with demonstration data."`
	Mcp     mcpCommand     `cmd:"" name:"mcp" help:"Serve an assistant over standard input and output (MCP), with the key in COLAREGISTRY_API_KEY."`
	Import  importCommand  `cmd:"" help:"Import files into the registry; a running server shows them within two seconds."`
	Alerts  alertsCommand  `cmd:"" help:"Run due saved searches; receive webhooks."`
	Account accountCommand `cmd:"" help:"Create, list and change accounts."`
	Key     keyCommand     `cmd:"" help:"Create, list and revoke API keys."`
	App     appCommand     `cmd:"" help:"Register, list and disable connected apps; revoke accounts' links to them."`
	Secret  secretCommand  `cmd:"" help:"Manage the keys that encrypt secrets in the database."`
	Demo    demoCommand    `cmd:"" help:"Write demonstration records as JSON lines."`
	Copy    copyCommand    `cmd:"" help:"Copy a registry to another database: records, accounts, keys and ledger."`
	Migrate migrateCommand `cmd:"" help:"Migrate the database schema to this version."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// environment is the context of a command.
type environment struct {
	context.Context
	program
	log *slog.Logger
}

// exitError exits with a code without printing an error.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Exit codes: 0 success, 1 failure or partial failure, 2 usage error.
const (
	exitFailed = 1
	exitUsage  = 2
)

// run parses the command line, runs the command and returns the exit code.
func (p program) run(ctx context.Context) int {
	var line cli
	exited := -1
	parser, err := kong.New(&line,
		kong.Name("colaregistry"),
		kong.Description("A registry of US alcohol label approvals (COLAs): a REST API with keys, quotas and search."),
		kong.DefaultEnvars("COLAREGISTRY"),
		kong.Writers(p.stdout, p.stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		panic(err) // a mistake in the cli struct
	}
	command, err := parser.Parse(p.args)
	if exited >= 0 {
		return exited // --help
	}
	if err != nil {
		fmt.Fprintf(p.stderr, "colaregistry: %v\nRun colaregistry --help for the commands and their flags.\n", err)
		return exitUsage
	}
	// Commands report on standard output; only the server has a log.
	env := &environment{Context: ctx, program: p, log: slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	if err := readSecretFiles(command.Flags(), env.log); err != nil {
		fmt.Fprintf(p.stderr, "colaregistry: %v\n", err)
		return exitUsage
	}
	var code exitError
	switch err := command.Run(env); {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	default:
		fmt.Fprintf(p.stderr, "colaregistry: %v\n", err)
		return exitFailed
	}
}

// closing closes c and joins its error to *err.
func closing(c io.Closer, err *error) { *err = errors.Join(*err, c.Close()) }

// interactive reports whether w is a terminal with room for a line. Some, such as those of build
// servers, have no width.
func interactive(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isTerminal(f) && terminalWidth(f) > 0
}

// logFlags configure the log.
type logFlags struct {
	LogFormat string `default:"text" enum:"text,json" placeholder:"text|json" help:"Log format on standard error (${default})."`
	LogLevel  string `default:"info" enum:"debug,info,warn,error" placeholder:"LEVEL" help:"Minimum level to log: debug, info, warn or error (${default})."`
}

// logger returns the configured log.
func (f logFlags) logger(w io.Writer) *slog.Logger {
	var o slog.HandlerOptions
	level := new(slog.LevelVar)
	if err := level.UnmarshalText([]byte(f.LogLevel)); err != nil {
		panic(err) // the flag allows no other words
	}
	o.Level = level
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, &o))
	}
	return slog.New(slog.NewTextHandler(w, &o))
}

type versionCommand struct{}

// Run prints the version of the program, the commit it was built from and the Go release.
func (versionCommand) Run(env *environment) error {
	fmt.Fprintf(env.stdout, "colaregistry %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

// version returns the module version, or the commit that the program was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "devel"
}
