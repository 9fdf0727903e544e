package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	protocol "github.com/mark3labs/mcp-go/mcp"
)

// maxModelCalls is the maximum number of calls that a model may make before it answers.
const maxModelCalls = 10

// instructions is the system message. It includes the date, as clients usually do.
var instructions = "You answer questions about US alcohol label approvals (COLAs) with the tools. Today is " +
	today.Format("Monday, January 2, 2006") + ". Use the tools for every fact. " +
	"Answer in a few sentences with the exact numbers, names, dates and IDs from the results."

// runModel has a model answer a request, using a new account. It returns an error if the whole run
// must stop; other failures are in the outcome.
func (s *server) runModel(ctx context.Context, c *chat, r request) (o outcome, err error) {
	o = outcome{ID: r.id, Ask: r.ask}
	a, err := s.newAssistant(ctx)
	if err != nil {
		return o, err
	}
	defer a.Close()
	if err := s.save(ctx, a, r.saved); err != nil {
		return o, err
	}
	fault := a.converse(ctx, c, &o)
	var refused *apiError
	if ctx.Err() != nil || errors.As(fault, &refused) && refused.final() {
		return o, fault
	}
	if fault == nil {
		if o.Missing = r.missing(o.Answer); len(o.Missing) > 0 {
			fault = fmt.Errorf("the answer is missing %d facts", len(o.Missing))
		}
		fault = errors.Join(fault, s.checkEffect(ctx, a, r))
	}
	if fault != nil {
		o.Fault = fault.Error()
	}
	o.AsPlanned = !slices.ContainsFunc(r.tools(), func(tool string) bool { return !slices.Contains(o.Tools, tool) })
	return o, nil
}

// converse calls the tools that the model requests until the model answers.
func (a assistant) converse(ctx context.Context, c *chat, o *outcome) error {
	list, err := a.ListTools(ctx, protocol.ListToolsRequest{})
	if err != nil {
		return err
	}
	messages := []any{
		map[string]any{"role": "system", "content": instructions}, map[string]any{"role": "user", "content": o.Ask},
	}
	for {
		next, err := c.complete(ctx, messages, functions(list.Tools))
		if err != nil {
			return err
		}
		o.Prompt, o.Output = o.Prompt+next.prompt, o.Output+next.output
		if len(next.calls) == 0 {
			o.Answer = next.text
			return nil
		}
		messages = append(messages, next.message)
		for _, call := range next.calls {
			if o.Calls == maxModelCalls {
				return fmt.Errorf("no answer after %d calls", maxModelCalls)
			}
			text := a.callFunction(ctx, call)
			o.Calls, o.Tokens, o.Tools = o.Calls+1, o.Tokens+tokensOf(text), append(o.Tools, call.Function.Name)
			messages = append(messages, map[string]any{"role": "tool", "tool_call_id": call.ID, "content": text})
		}
	}
}

// callFunction makes a call for the model and returns the result as text. If the call fails, it
// returns the reason, so that the model can correct the call.
func (a assistant) callFunction(ctx context.Context, call toolCall) string {
	arguments := args{}
	if err := json.Unmarshal([]byte(call.Function.Arguments), &arguments); err != nil && call.Function.Arguments != "" {
		return "The arguments are not a JSON object: " + err.Error()
	}
	text, _, err := a.callTool(ctx, call.Function.Name, arguments)
	if err != nil {
		return "The call failed: " + err.Error()
	}
	return text
}

// functions returns tools in the format of the chat completions API.
func functions(tools []protocol.Tool) (functions []any) {
	for _, t := range tools {
		functions = append(functions, map[string]any{"type": "function", "function": map[string]any{
			"name": t.Name, "description": t.Description, "parameters": parameters(t),
		}})
	}
	return functions
}

// parameters returns the schema of a tool's arguments.
func parameters(t protocol.Tool) any {
	if len(t.RawInputSchema) > 0 {
		return t.RawInputSchema
	}
	return t.InputSchema
}
