package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/internal/nodetest"
	"github.com/colaregistry/colaregistry/mcp"
)

// eras are the inspector's protocol eras, with the revision that it uses in each.
var eras = []struct{ name, revision string }{{"legacy", "2025-11-25"}, {"modern", "2026-07-28"}}

// isErrorStatus is the inspector's exit status for a tool error.
const isErrorStatus = 5

// runInspector uses the inspector's command line to list, call, read and get everything the server
// offers, in both eras. It uses the endpoint for ChatGPT, which has all tools.
func runInspector(ctx context.Context, b *bench) (*report, error) {
	r := newReport("inspector", "@modelcontextprotocol/inspector, everything offered in both eras")
	program, err := b.kit.Program("@modelcontextprotocol/inspector", "mcp-inspector")
	if err != nil {
		return nil, err
	}
	for _, era := range eras {
		started := b.count.Load()
		in := &inspection{
			kit: b.kit, program: program, url: b.keyed.origin() + mcp.ChatGPTPath, era: era.name,
			report: r, known: map[string]string{},
		}
		if err := in.all(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", era.name, err)
		}
		r.check(era.name+": uses revision "+era.revision, checkRevision(era.revision, b.keyed.since(started)))
	}
	return r, nil
}

// checkRevision returns an error unless calls were made, all in the given revision.
func checkRevision(revision string, exchanges []exchange) error {
	calls := 0
	for _, x := range exchanges {
		if !x.isMethod("tools/call", "resources/read", "prompts/get", "tools/list") {
			continue
		}
		if calls++; x.revision != revision {
			return fmt.Errorf("%s message in revision %q", x.rpcMethod, x.revision)
		}
	}
	if calls == 0 {
		return errors.New("no calls")
	}
	return nil
}

// inspection is a walk through everything the server offers in one era.
type inspection struct {
	*report
	kit          *nodetest.Kit
	program, url string
	era          string
	known        map[string]string // values from earlier responses, used to fill examples
}

func (in *inspection) all(ctx context.Context) error {
	for _, step := range []func(context.Context) error{in.tools, in.checkErrors, in.resources, in.prompts} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// ask runs the inspector for one method and returns its output.
func (in *inspection) ask(ctx context.Context, method string, flags ...string) (nodetest.Output, error) {
	all := []string{
		"--cli", in.url, "--transport", "http", "--protocol-era", in.era, "--format", "json", "--method", method,
	}
	return nodetest.Finish(in.kit.Command(ctx, in.program, append(all, flags...)...))
}

// result runs the inspector for one method, checks that it succeeds, and decodes the result into v.
func (in *inspection) result(ctx context.Context, v any, method string, flags ...string) (bool, error) {
	out, err := in.ask(ctx, method, flags...)
	if err != nil {
		return false, err
	}
	name := strings.TrimSpace(fmt.Sprintf("%s: %s %s", in.era, method, flagTarget(flags)))
	if out.Code != 0 {
		in.fail(name, "exit status %d%s", out.Code, out.Tail())
		return false, nil
	}
	printed := struct{ Result any }{v}
	return in.check(name, json.Unmarshal(out.Stdout, &printed)), nil
}

// flagTarget returns the tool name, URI or prompt name in the flags.
func flagTarget(flags []string) string {
	for i, flag := range flags[:max(0, len(flags)-1)] {
		if slices.Contains([]string{"--tool-name", "--uri", "--prompt-name"}, flag) {
			return flags[i+1]
		}
	}
	return ""
}

// typeArray is the inspector's warning about a schema with several types. Tool arguments have such
// schemas, because they list every type that the server accepts (docs/CONFORMANCE.md).
const typeArray = "`type` is an array"

// complaints counts the warnings about type arrays in the inspector's output and returns the other
// warnings.
func complaints(printed string) (expected int, others string) {
	var rest []string
	for block := range strings.SplitSeq(printed, "\n\n") {
		switch block = strings.TrimSpace(block); {
		case strings.Contains(block, typeArray):
			expected++
		case block != "" && !strings.HasPrefix(block, "0 errors, "): // the summary line
			rest = append(rest, block)
		}
	}
	return expected, strings.Join(rest, "\n\n")
}

// tools lists the tools with the inspector's strictest schema check and calls each one.
func (in *inspection) tools(ctx context.Context) error {
	out, err := in.ask(ctx, "tools/list", "--strict")
	if err != nil {
		return err
	}
	var printed struct {
		Result struct{ Tools []struct{ Name string } }
	}
	err = json.Unmarshal(out.Stdout, &printed)
	in.expect(in.era+": tool schemas pass the strict check",
		out.Code == 0 && err == nil, "exit status %d, %v%s", out.Code, err, out.Tail())
	expected, others := complaints(string(out.Stderr))
	if others != "" {
		in.note("%s: %s", in.era, others)
	}
	in.say("%s: %d schemas with multiple types, as intended", in.era, expected)
	var listed []string
	for _, t := range printed.Result.Tools {
		listed = append(listed, t.Name)
	}
	in.check(in.era+": every tool has an example", examplesFit(listed))
	for _, example := range examples {
		if slices.Contains(listed, example.tool) {
			if err := in.call(ctx, example); err != nil {
				return err
			}
		}
	}
	in.say("%s: %d tools listed and called", in.era, len(listed))
	return nil
}

// examplesFit returns an error unless every listed tool has an example and every example names a
// listed tool.
func examplesFit(listed []string) error {
	var errs []error
	named := map[string]bool{}
	for _, e := range examples {
		if named[e.tool] = true; !slices.Contains(listed, e.tool) {
			errs = append(errs, fmt.Errorf("unknown tool %s", e.tool))
		}
	}
	for _, name := range listed {
		if !named[name] {
			errs = append(errs, fmt.Errorf("tool %s has no example; add one in examples.go", name))
		}
	}
	if len(listed) == 0 {
		errs = append(errs, errors.New("no tools are listed"))
	}
	return errors.Join(errs...)
}

// call calls a tool with an example's arguments and stores the values that later examples need.
func (in *inspection) call(ctx context.Context, e example) error {
	var got struct {
		StructuredContent map[string]any
		Content           []struct{ Text string }
		IsError           bool
	}
	arguments, err := e.fill(in.known)
	if !in.check(in.era+": arguments of "+e.tool, err) {
		return nil
	}
	if answered, err := in.result(ctx, &got, "tools/call", "--tool-name", e.tool, "--tool-args-json", arguments); err != nil || !answered {
		return err
	}
	text := len(got.Content) > 0 && json.Valid([]byte(got.Content[0].Text))
	member := cmp.Or(chatGPTTools[e.tool], "data")
	in.expect(in.era+": response of "+e.tool, !got.IsError && got.StructuredContent[member] != nil && text,
		"no structured %s, or no JSON text", member)
	if e.keep != nil {
		in.check(in.era+": results of "+e.tool, e.keep(got.StructuredContent, in.known))
	}
	return nil
}

// checkErrors checks that requests for unknown names fail, to prove that the other checks can fail.
func (in *inspection) checkErrors(ctx context.Context) error {
	out, err := in.ask(ctx, "tools/call", "--tool-name", "get_cola", "--tool-args-json", `{"ttb_id":"00000000000000"}`)
	if err != nil {
		return err
	}
	in.expect(in.era+": an unknown label is a tool error",
		out.Code == isErrorStatus && bytes.Contains(out.Stdout, []byte(`not_found`)), "exit status %d%s", out.Code, out.Tail())
	out, err = in.ask(ctx, "resources/read", "--uri", "registry://nothing")
	in.expect(in.era+": an unknown resource is an error",
		out.Code != 0 && bytes.Contains(out.Stderr, []byte("resource")), "exit status %d%s", out.Code, out.Tail())
	return err
}
