// Command evaltools checks how well assistants can use the tools at /mcp. It runs a registry in this
// process, with demo data from a fixed seed and date, and tries 40 typical user requests:
//
//   - Each request has a plan: the shortest known sequence of tool calls, made without a model. The
//     results must contain the expected facts, which are computed from the demo records with a linear
//     scan, and must stay within limits on calls and tokens.
//   - If COLAREGISTRY_EVAL_URL and COLAREGISTRY_EVAL_MODEL are set, a model behind an
//     OpenAI-compatible API answers the same requests. Its answers must contain the same facts.
//
// It prints one table for the plans and one for the model's answers. It exits with status 1 if a
// request fails. docs/CONFORMANCE.md describes the limits and how tokens are counted.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	protocol "github.com/mark3labs/mcp-go/mcp"
)

// options configures a run.
type options struct {
	only   *regexp.Regexp // IDs of the requests to run
	report string         // file for a JSON report; may be empty
	model  *chat          // optional
}

func main() {
	only := flag.String("only", "", "run only requests whose ID matches this regular expression")
	file := flag.String("report", "", "write a JSON report to this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := start(ctx, *only, *file, os.Getenv, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "evaltools:", err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}

// start reads the configuration and runs the evaluation.
func start(ctx context.Context, only, file string, env func(string) string, out io.Writer) (bool, error) {
	ids, err := regexp.Compile(only)
	if err != nil {
		return false, fmt.Errorf("-only: %w", err)
	}
	model, err := configuredModel(env)
	if err != nil {
		return false, err
	}
	return run(ctx, options{only: ids, report: file, model: model}, out)
}

// configuredModel returns the model configured in the environment, or nil.
func configuredModel(env func(string) string) (*chat, error) {
	c := &chat{url: env("COLAREGISTRY_EVAL_URL"), model: env("COLAREGISTRY_EVAL_MODEL"), wait: sleep}
	if c.url == "" && c.model == "" {
		return nil, nil
	}
	if c.url == "" || c.model == "" {
		return nil, errors.New("set COLAREGISTRY_EVAL_URL and COLAREGISTRY_EVAL_MODEL, or neither")
	}
	if file := env("COLAREGISTRY_EVAL_KEY_FILE"); file != "" {
		key, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("COLAREGISTRY_EVAL_KEY_FILE: %w", err)
		}
		c.key = strings.TrimSpace(string(key))
	}
	return c, nil
}

// run starts a server, runs the evaluation against it, and reports whether all requests passed.
func run(ctx context.Context, o options, out io.Writer) (ok bool, err error) {
	dir, err := os.MkdirTemp("", "colaregistry-eval")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	s, err := newServer(ctx, dir)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	w, err := newWorld(ctx, s)
	if err != nil {
		return false, err
	}
	return s.run(ctx, o, requests(w), out)
}

// run runs the evaluation, prints and writes the report, and reports whether all requests passed.
func (s *server) run(ctx context.Context, o options, all []request, out io.Writer) (ok bool, err error) {
	var r report
	err = s.evaluate(ctx, o, all, &r)
	ok = r.print(out)
	if o.report != "" {
		err = errors.Join(err, r.write(o.report))
	}
	return ok, err
}

// evaluate fills in the report. On error, the report contains the outcomes so far.
func (s *server) evaluate(ctx context.Context, o options, all []request, r *report) error {
	if err := s.measureTools(ctx, r); err != nil {
		return err
	}
	if o.model != nil {
		r.Model = o.model.model
	}
	for _, q := range all {
		if !o.only.MatchString(q.id) {
			continue
		}
		planned, err := s.runPlan(ctx, q)
		if err != nil {
			return fmt.Errorf("%s: %w", q.id, err)
		}
		r.Plans = append(r.Plans, planned)
		if o.model == nil {
			continue
		}
		answered, err := s.runModel(ctx, o.model, q)
		if err != nil {
			return fmt.Errorf("%s: %w", q.id, err)
		}
		r.Answers = append(r.Answers, answered)
	}
	return nil
}

// measureTools measures the tool list, which a model reads with every request.
func (s *server) measureTools(ctx context.Context, r *report) error {
	a, err := s.newAssistant(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	list, err := a.ListTools(ctx, protocol.ListToolsRequest{})
	if err != nil {
		return err
	}
	b, err := json.Marshal(list.Tools)
	r.Tools.Count, r.Tools.Bytes, r.Tools.Tokens = len(list.Tools), len(b), tokensOf(string(b))
	return err
}
