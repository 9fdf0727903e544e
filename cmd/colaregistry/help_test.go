package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestHelpExamples checks that the help for every command has examples, and that they parse.
func TestHelpExamples(t *testing.T) {
	t.Setenv("COLAREGISTRY_SECRET", "whsec_x") // required by alerts receive
	parse := func(args []string) (*kong.Kong, error) {
		parser, err := kong.New(&cli{}, kong.Name("colaregistry"), kong.DefaultEnvars("COLAREGISTRY"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = parser.Parse(args)
		return parser, err
	}
	parser, err := parse([]string{"version"})
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range parser.Model.Leaves(false) {
		examples := 0
		for line := range strings.Lines(command.Detail) {
			if !strings.HasPrefix(line, "    ") {
				continue
			}
			for call := range strings.SplitSeq(line, " | ") {
				_, args, found := strings.Cut(strings.TrimRight(call, ")\n"), "colaregistry ")
				if !found {
					t.Errorf("%s: example %q has no command", command.FullPath(), line)
					continue
				}
				if _, err := parse(words(args)); err != nil {
					t.Errorf("%s: example %q: %v", command.FullPath(), line, err)
				}
			}
			if strings.Contains(line, command.FullPath()) {
				examples++
			}
		}
		if examples == 0 {
			t.Errorf("%s: no examples", command.FullPath())
		}
	}
}

// TestHelpCommand checks that help prints the same as --help.
func TestHelpCommand(t *testing.T) {
	for call, same := range map[string]string{"help": "--help", "help key create": "key create --help", "help serve": "serve --help"} {
		var got, want bytes.Buffer
		code := program{args: strings.Fields(call), stdout: &got, stderr: &got}.run(t.Context())
		program{args: strings.Fields(same), stdout: &want, stderr: &want}.run(t.Context())
		if code != 0 || got.String() != want.String() || !strings.HasPrefix(got.String(), "Usage: colaregistry") {
			t.Errorf("%s: exit code %d, %s", call, code, got.String())
		}
	}
	var errs bytes.Buffer
	code := program{args: []string{"help", "nothing"}, stdout: &errs, stderr: &errs}.run(t.Context())
	if code != exitUsage || !strings.Contains(errs.String(), `unexpected argument nothing`) {
		t.Errorf("help for an unknown command: exit code %d, %s", code, errs.String())
	}
}

// TestInvocation checks that help and hints show how the program was started.
func TestInvocation(t *testing.T) {
	for executable, want := range map[string]string{
		"/usr/local/bin/colaregistry":                         "colaregistry",
		"/home/ann/go-build/colaregistry.test":                "colaregistry",
		"/tmp/go-build123/b001/exe/colaregistry":              "go run ./cmd/colaregistry",
		"/home/ann/.cache/go-build/a7/a7f0-d/colaregistry":    "go run ./cmd/colaregistry",
		"C:/Users/ann/AppData/go-build/a7-d/colaregistry.exe": "go run ./cmd/colaregistry",
		"/home/ann/go-builder/colaregistry":                   "colaregistry",
		"":                                                    "colaregistry",
	} {
		if got := invocation(executable); got != want {
			t.Errorf("%q: %q, want %q", executable, got, want)
		}
	}
	var out, errs bytes.Buffer
	p := program{name: "go run ./cmd/colaregistry", stdout: &out, stderr: &errs}
	p.args = []string{"key", "create", "--help"}
	p.run(t.Context())
	p.args = []string{"key", "create", "--nothing"}
	p.run(t.Context())
	if !strings.HasPrefix(out.String(), "Usage: go run ./cmd/colaregistry key create") ||
		!strings.Contains(errs.String(), `Run "go run ./cmd/colaregistry key create --help"`) {
		t.Errorf("help %s\nerror %s", out.String(), errs.String())
	}
	w := welcome{program: p.name, publicURL: "http://127.0.0.1:8080"}
	if text := w.restartText(0, false) + w.firstText("1"); strings.Count(text, p.name+" ") != 4 {
		t.Errorf("hints:\n%s", text)
	}
}

// words splits a command line at spaces outside double quotes.
func words(line string) []string {
	quoted := false
	list := strings.FieldsFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
	for i := range list {
		list[i] = strings.Trim(list[i], `"`)
	}
	return list
}
