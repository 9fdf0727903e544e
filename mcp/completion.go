package mcp

import (
	"context"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
	protocol "github.com/mark3labs/mcp-go/mcp"
)

// maxCompletions is how many values the protocol allows in one answer.
const maxCompletions = 100

// completion completes the arguments of prompts: from TTB's tables, and from what the records hold.
type completion struct{ *edge }

// CompletePromptArgument implements server.PromptCompletionProvider. An argument whose values are not known has none, and so has one of
// a prompt that there is not.
func (c completion) CompletePromptArgument(ctx context.Context, prompt string, argument protocol.CompleteArgument, _ protocol.CompleteContext) (*protocol.Completion, error) {
	if !slices.Contains(c.prompts, prompt) {
		return complete(nil, argument.Value), nil
	}
	return complete(c.words(ctx, argument.Name), argument.Value), nil
}

// words returns what an argument may be. While the records are not known yet, it may be nothing.
func (c completion) words(ctx context.Context, argument string) (words []string) {
	switch argument {
	case "class":
		for _, class := range vocabulary.Classes() {
			words = append(words, class.Name)
		}
	case "origin":
		for _, origin := range vocabulary.Origins() {
			words = append(words, origin.Name)
		}
	case "category", "state":
		known, err := c.svc.Words(ctx)
		if err != nil {
			return nil
		}
		if argument == "state" {
			return known.States
		}
		return known.Categories
	}
	return words
}

// complete returns the words that begin with what was typed, and then those that hold it, in their order. Case does not count.
func complete(words []string, typed string) *protocol.Completion {
	typed = strings.ToLower(strings.TrimSpace(typed))
	var begin, hold []string
	met := map[string]bool{}
	for _, w := range words {
		lower := strings.ToLower(w)
		switch {
		case met[lower]:
		case strings.HasPrefix(lower, typed):
			begin = append(begin, w)
		case strings.Contains(lower, typed):
			hold = append(hold, w)
		}
		met[lower] = true
	}
	all := append(begin, hold...)
	values := all[:min(len(all), maxCompletions)]
	return &protocol.Completion{Values: values, Total: len(all), HasMore: len(values) < len(all)}
}
