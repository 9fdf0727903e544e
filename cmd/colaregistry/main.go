// Command colaregistry serves the registry of US alcohol label approvals and manages its data.
// Run it with --help.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the program shuts down; a second one exits immediately.
	context.AfterFunc(ctx, stop)
	executable, _ := os.Executable()
	p := program{
		name: invocation(executable), args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
	}
	os.Exit(p.run(ctx))
}

const programName = "colaregistry"

// goRunFolder matches the folders of executables started by go run: Go's build cache or a temporary
// folder.
var goRunFolder = regexp.MustCompile(`/go-build\d*/`)

// invocation returns the command line that runs the program, for help and for the hints on the
// first start. Errors and logs, which are read later and elsewhere, name the program instead.
func invocation(executable string) string {
	dir, file := filepath.Split(filepath.ToSlash(executable))
	if goRunFolder.MatchString(dir) && strings.TrimSuffix(file, ".exe") == programName {
		return "go run ./cmd/" + programName
	}
	return programName
}

// program is one invocation of the command. Tests run it with their own arguments and streams.
type program struct {
	name           string // shown in hints and help (see invocation); default programName
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
}

// cli is the command line. Every flag can also be set by an environment variable, whose default
// name is COLAREGISTRY_ followed by the flag's name.
type cli struct {
	Serve   serveCommand   `cmd:"" help:"Run the server: REST API, MCP endpoint and dashboard."`
	Mcp     mcpCommand     `cmd:"" name:"mcp" help:"Run a local MCP server on standard input and output."`
	Import  importCommand  `cmd:"" help:"Import labels or reference data from files."`
	Fetch   fetchCommand   `cmd:"" help:"Fetch labels and reference data."`
	Enrich  enrichCommand  `cmd:"" help:"Fill in label fields with an AI model."`
	Records recordsCommand `cmd:"" help:"List incomplete labels."`
	Alerts  alertsCommand  `cmd:"" help:"Run due saved searches; receive webhooks."`
	Account accountCommand `cmd:"" help:"Manage accounts."`
	Key     keyCommand     `cmd:"" help:"Manage API keys."`
	App     appCommand     `cmd:"" help:"Manage connected apps."`
	Secret  secretCommand  `cmd:"" help:"Manage the keys that encrypt secrets in the database."`
	Demo    demoCommand    `cmd:"" help:"Generate demo labels as JSON lines."`
	Copy    copyCommand    `cmd:"" help:"Copy a registry to another database."`
	Migrate migrateCommand `cmd:"" help:"Migrate the database schema to this program's version."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// environment is the context, streams and log of a command.
type environment struct {
	context.Context
	program
	log *slog.Logger
}

// exitError exits with a code without printing an error.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// usageError is an error in a flag's value. The program exits with exitUsage.
type usageError struct{ error }

// Unwrap returns the error.
func (e usageError) Unwrap() error { return e.error }

func usageErrorf(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// fileError names an input file that can't be read, and says what to do.
func fileError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w; check the path", path, fs.ErrNotExist)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s: %w; give this user read access", path, fs.ErrPermission)
	}
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// flagError prefixes an error in a flag's value with the flag's name; it returns nil for nil.
func flagError(flag string, err error) error {
	if err == nil {
		return nil
	}
	return usageErrorf("%s: %w", flag, err)
}

// Exit codes: 0 success, 1 failure or partial failure, 2 usage error, 3 blocked by TTB's site.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitBlocked = 3
)

// run parses the command line, runs the command and returns the exit code.
func (p program) run(ctx context.Context) int {
	var line cli
	exited := -1
	p.name = cmp.Or(p.name, programName)
	parser, err := kong.New(&line,
		kong.Name(p.name),
		kong.Description("Serve a registry of US alcohol label approvals (COLAs) and manage its data.\n\n"+
			"Every flag can also be set with the environment variable shown next to it."),
		kong.DefaultEnvars("COLAREGISTRY"),
		kong.Writers(p.stdout, p.stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		panic(err) // a mistake in the cli struct
	}
	args := p.args
	if len(args) > 0 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	command, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help
	}
	if err != nil {
		fmt.Fprintf(p.stderr, "colaregistry: %v\nRun \"%s --help\" for usage.\n", err, p.failedCommand(err))
		return exitUsage
	}
	// Commands report on standard output and log only warnings and errors; serve and mcp configure
	// their own log.
	env := &environment{
		Context: ctx, program: p,
		log: slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if err := readSecretFiles(command.Flags(), env.log); err != nil {
		fmt.Fprintf(p.stderr, "colaregistry: %v\n", err)
		return exitUsage
	}
	var code exitError
	var usage usageError
	switch err := command.Run(env); {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage):
		fmt.Fprintf(p.stderr, "colaregistry: %v\nRun \"%s --help\" for usage.\n", err, command.Selected().FullPath())
		return exitUsage
	default:
		fmt.Fprintf(p.stderr, "colaregistry: %v\n", err)
		return exitFailed
	}
}

// failedCommand returns the command to which a parse error applies, such as "colaregistry key
// create".
func (p program) failedCommand(err error) string {
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil && parse.Context.Selected() != nil {
		return parse.Context.Selected().FullPath()
	}
	return p.name
}

// closing closes c and joins its error with *err.
func closing(c io.Closer, err *error) { *err = errors.Join(*err, c.Close()) }

// interactive reports whether w is a terminal of known width. On CI servers, the width is often
// unknown.
func interactive(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isTerminal(f) && terminalWidth(f) > 0
}

// logFlags configure the log.
type logFlags struct {
	LogFormat string `group:"Log flags:" default:"text" enum:"text,json" placeholder:"text|json" help:"Log format on standard error (default: ${default})."`
	LogLevel  string `group:"Log flags:" default:"info" enum:"debug,info,warn,error" placeholder:"LEVEL" help:"Minimum log level: debug, info, warn or error (default: ${default})."`
}

// logger returns the configured log.
func (f logFlags) logger(w io.Writer) *slog.Logger {
	var o slog.HandlerOptions
	level := new(slog.LevelVar)
	if err := level.UnmarshalText([]byte(f.LogLevel)); err != nil {
		panic(err) // the flag is an enum
	}
	o.Level = level
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, &o))
	}
	return slog.New(slog.NewTextHandler(w, &o))
}

type versionCommand struct{}

// Run prints the version of the program (or the commit it was built from), the Go version and the
// platform.
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

// built returns the date of the commit that the program was built from, or zero if it is unknown.
func built() (t time.Time) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return t
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			t, _ = time.Parse(time.RFC3339, s.Value)
		}
	}
	return t
}
