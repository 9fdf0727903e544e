package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/internal/retryafter"
)

// Limits on requests to the model's API.
const (
	maxAttempts   = 6
	maxRetryAfter = 5 * time.Minute
	maxReply      = 4 << 20
	chatTimeout   = 5 * time.Minute
)

// chat is a client for the chat completions API of an OpenAI-compatible server.
type chat struct {
	url   string // such as https://api.openai.com/v1
	model string
	key   string // bearer token; if empty, none is sent
	wait  func(context.Context, time.Duration) error
}

// apiError is an API response with a status other than 200.
type apiError struct {
	status  int
	after   time.Duration // requested wait, from Retry-After
	message string
}

// Error implements error.
func (e *apiError) Error() string { return fmt.Sprintf("the API returned %d: %s", e.status, e.message) }

// final reports whether to abort the run, because later requests would fail too.
func (e *apiError) final() bool {
	switch e.status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound,
		http.StatusTooManyRequests:
		return true
	}
	return false
}

// retriable reports whether the same request may succeed later.
func (e *apiError) retriable() bool {
	return (e.status == http.StatusTooManyRequests || e.status >= 500) && e.after <= maxRetryAfter
}

// reply is the model's next message.
type reply struct {
	message json.RawMessage // sent back unchanged in the next request
	text    string
	calls   []toolCall
	prompt  int // tokens
	output  int // tokens
}

// toolCall is a tool call that a model requests.
type toolCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"` // JSON
	} `json:"function"`
}

// complete returns the next message of a conversation. It retries temporary failures.
func (c *chat) complete(ctx context.Context, messages, tools []any) (reply, error) {
	body, err := json.Marshal(map[string]any{"model": c.model, "messages": messages, "tools": tools})
	if err != nil {
		return reply{}, err
	}
	for attempt := 1; ; attempt++ {
		text, err := c.post(ctx, body)
		if err == nil {
			return parseReply(text)
		}
		var refused *apiError
		if ctx.Err() != nil || attempt == maxAttempts || errors.As(err, &refused) && !refused.retriable() {
			return reply{}, err
		}
		pause := time.Second << (attempt - 1)
		if refused != nil {
			pause = max(pause, refused.after)
		}
		if err := c.wait(ctx, pause); err != nil {
			return reply{}, err
		}
	}
}

// post sends one request and returns the body of its response.
func (c *chat) post(ctx context.Context, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, chatTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		strings.TrimSuffix(c.url, "/")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	// Following a redirect could send the key to another host.
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, &apiError{
			status: response.StatusCode, after: retryafter.Of(response.Header, time.Now()), message: c.messageOf(text),
		}
	}
	return text, nil
}

// messageOf returns the message from an error response, without the key. Some APIs echo an invalid
// key, which must not appear in reports.
func (c *chat) messageOf(body []byte) string {
	var r struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &r) != nil || r.Error.Message == "" {
		return "no error message"
	}
	if c.key != "" {
		return strings.ReplaceAll(r.Error.Message, c.key, "[key]")
	}
	return r.Error.Message
}

func parseReply(body []byte) (reply, error) {
	var response struct {
		Choices []struct {
			Message json.RawMessage `json:"message"`
		} `json:"choices"`
		Usage struct {
			Prompt int `json:"prompt_tokens"`
			Output int `json:"completion_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &response); err != nil || len(response.Choices) == 0 {
		return reply{}, errors.New("the response is not a chat completion")
	}
	var message struct {
		Content   string     `json:"content"`
		ToolCalls []toolCall `json:"tool_calls"`
	}
	if err := json.Unmarshal(response.Choices[0].Message, &message); err != nil {
		return reply{}, fmt.Errorf("decode the message: %w", err)
	}
	return reply{
		message: response.Choices[0].Message, text: message.Content, calls: message.ToolCalls,
		prompt: response.Usage.Prompt, output: response.Usage.Output,
	}, nil
}

// sleep waits for a duration or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
