package main

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestHelpExamples checks that the help of every command has examples and that they parse.
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
