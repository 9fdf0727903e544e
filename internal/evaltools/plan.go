package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/cola"
)

// bytesPerToken is the assumed number of bytes per token.
const bytesPerToken = 4

// outcome is the result of a request.
type outcome struct {
	ID     string   `json:"id"`
	Ask    string   `json:"ask"`
	Calls  int      `json:"calls"`
	Tools  []string `json:"tools"`
	Tokens int      `json:"tokens"` // tokens in the results of the calls
	Fault  string   `json:"fault,omitempty"`

	AsPlanned bool `json:"as_planned"` // all tools in the plan were called

	// Set only if a model answered.
	Missing []string `json:"missing,omitempty"`
	Answer  string   `json:"answer,omitempty"`
	Prompt  int      `json:"prompt_tokens,omitempty"` // sum over all turns, as reported by the API
	Output  int      `json:"completion_tokens,omitempty"`
}

// callTool calls a tool and returns the text of its result, which clients show to the model. failed
// reports whether the result is a tool error; err is set if there is no result.
func (a assistant) callTool(ctx context.Context, name string, arguments args) (text string, failed bool, err error) {
	request := protocol.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = name, arguments
	result, err := a.CallTool(ctx, request)
	if err != nil {
		return "", false, err
	}
	var parts []string
	for _, content := range result.Content {
		if part, ok := content.(protocol.TextContent); ok {
			parts = append(parts, part.Text)
		}
	}
	return strings.Join(parts, "\n"), result.IsError, nil
}

// tokensOf estimates the number of tokens in a string.
func tokensOf(text string) int { return (len(text) + bytesPerToken - 1) / bytesPerToken }

// runPlan makes the calls in a request's plan, using a new account, and checks the facts and the
// limits. It returns an error if the evaluation itself fails.
func (s *server) runPlan(ctx context.Context, r request) (o outcome, err error) {
	o = outcome{ID: r.id, Ask: r.ask, Tools: r.tools(), AsPlanned: true}
	a, err := s.newAssistant(ctx)
	if err != nil {
		return o, err
	}
	defer a.Close()
	if err := s.save(ctx, a, r.saved); err != nil {
		return o, err
	}
	results, fault := a.callAll(ctx, r.plan, &o)
	if fault == nil {
		fault = errors.Join(r.check(results), s.checkEffect(ctx, a, r), checkLimits(o))
	}
	if fault != nil {
		o.Fault = fault.Error()
	}
	return o, nil
}

// tools returns the names of the tools that the plan calls.
func (r *request) tools() (names []string) {
	for _, c := range r.plan {
		names = append(names, c.tool)
	}
	return names
}

// callAll makes the calls in order and returns their results. The first result is at index 1.
func (a assistant) callAll(ctx context.Context, plan []call, o *outcome) ([]any, error) {
	results := []any{nil}
	for _, c := range plan {
		arguments, err := resolve(c.args, results)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.tool, err)
		}
		text, failed, err := a.callTool(ctx, c.tool, arguments)
		o.Calls++
		o.Tokens += tokensOf(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.tool, err)
		}
		if failed {
			return nil, fmt.Errorf("%s %v: %s", c.tool, arguments, text)
		}
		var result any
		if err := json.Unmarshal([]byte(text), &result); err != nil {
			return nil, fmt.Errorf("%s: %w", c.tool, err)
		}
		results = append(results, result)
	}
	return results, nil
}

// resolve returns the arguments with references to earlier results replaced by their values.
func resolve(arguments args, results []any) (args, error) {
	resolved := args{}
	for name, value := range arguments {
		text, _ := value.(string)
		if path, ok := strings.CutPrefix(text, "$"); ok {
			found, err := lookUp(results, path)
			if err != nil {
				return nil, fmt.Errorf("argument %s: %w", name, err)
			}
			value = found
		}
		resolved[name] = value
	}
	return resolved, nil
}

// check returns an error that lists every fact that the results lack.
func (r *request) check(results []any) error {
	var wrong []error
	for _, f := range r.facts {
		if err := f.check(results); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", f.at, err))
		}
	}
	return errors.Join(wrong...)
}

// check returns an error if the results lack the fact.
func (f *fact) check(results []any) error {
	if f.kind == computed {
		return nil
	}
	got, err := lookUp(results, f.at)
	if err != nil {
		return err
	}
	want, err := asJSON(f.want)
	if err != nil {
		return err
	}
	switch f.kind {
	case sum:
		total := 0.0
		list, _ := got.([]any)
		for _, value := range list {
			number, ok := value.(float64)
			if !ok {
				return fmt.Errorf("%v is not a number", value)
			}
			total += number
		}
		got = total
	case anyOrder:
		got, want = sorted(got), sorted(want)
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}

// sorted returns the elements of a list in a fixed order.
func sorted(list any) any {
	elements, _ := list.([]any)
	return slices.SortedFunc(slices.Values(elements), func(a, b any) int {
		return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
}

// checkLimits returns an error if a plan exceeds a limit.
func checkLimits(o outcome) error {
	if o.Calls > maxPlanCalls || o.Tokens > maxPlanTokens {
		return fmt.Errorf("%d calls and %d tokens exceed the limits of %d and %d", o.Calls, o.Tokens, maxPlanCalls, maxPlanTokens)
	}
	return nil
}

// save creates saved searches for an assistant's account.
func (s *server) save(ctx context.Context, a assistant, searches []cola.SavedSearchParams) error {
	for _, p := range searches {
		if _, _, err := s.service.CreateSavedSearch(ctx, a.caller, p); err != nil {
			return fmt.Errorf("save %s: %w", p.Name, err)
		}
	}
	return nil
}

// checkEffect checks the account's saved searches after a request.
func (s *server) checkEffect(ctx context.Context, a assistant, r request) error {
	if r.effect == nil {
		return nil
	}
	page, _, err := s.service.SavedSearches(ctx, a.caller, cola.SavedSearchListParams{})
	if err != nil {
		return err
	}
	return r.effect(page.Rows)
}
