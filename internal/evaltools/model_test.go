package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeModel is an OpenAI-compatible API that sends scripted responses and then repeats the last one.
// It records requests and the pauses between them.
type fakeModel struct {
	*httptest.Server
	chat      *chat
	responses []fakeResponse
	requests  []fakeRequest
	pauses    []time.Duration
}

// fakeResponse is one response: a message, or the body of an error.
type fakeResponse struct {
	status     int
	retryAfter string
	body       string
}

// fakeRequest is the part of a request that tests check.
type fakeRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role       string `json:"role"`
		Content    string `json:"content"`
		ToolCallID string `json:"tool_call_id"`
		ToolCalls  []any  `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name       string         `json:"name"`
			Parameters map[string]any `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	key string
}

func newFakeModel(t *testing.T, responses ...fakeResponse) *fakeModel {
	t.Helper()
	m := &fakeModel{responses: responses}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := fakeRequest{key: r.Header.Get("Authorization")}
		if r.URL.Path != "/v1/chat/completions" || json.NewDecoder(r.Body).Decode(&got) != nil {
			t.Errorf("got %s %s", r.Method, r.URL)
		}
		next := m.responses[min(len(m.requests), len(m.responses)-1)]
		m.requests = append(m.requests, got)
		if next.retryAfter != "" {
			w.Header().Set("Retry-After", next.retryAfter)
		}
		w.WriteHeader(next.status)
		_, _ = io.WriteString(w, next.body)
	}))
	t.Cleanup(m.Close)
	m.chat = &chat{url: m.URL + "/v1/", model: "fake", key: "secret"}
	m.chat.wait = func(ctx context.Context, d time.Duration) error {
		m.pauses = append(m.pauses, d)
		return ctx.Err()
	}
	return m
}

// answers returns a response with a final answer.
func answers(text string) fakeResponse {
	return message(map[string]any{"role": "assistant", "content": text})
}

// asks returns a response that requests tool calls. calls alternates names and arguments.
func asks(calls ...string) fakeResponse {
	var list []any
	for i := 0; i < len(calls); i += 2 {
		list = append(list, map[string]any{
			"id": fmt.Sprintf("call-%d", i), "type": "function",
			"function": map[string]any{"name": calls[i], "arguments": calls[i+1]},
		})
	}
	return message(map[string]any{"role": "assistant", "content": nil, "tool_calls": list})
}

func message(m map[string]any) fakeResponse {
	b, err := json.Marshal(map[string]any{
		"choices": []any{map[string]any{"message": m}},
		"usage":   map[string]any{"prompt_tokens": 100, "completion_tokens": 10},
	})
	if err != nil {
		panic(err)
	}
	return fakeResponse{status: http.StatusOK, body: string(b)}
}

func refuses(status int, retryAfter string) fakeResponse {
	return fakeResponse{status, retryAfter, `{"error":{"message":"key secret is busy"}}`}
}

const (
	ravinCall   = `{"q":"Ravin and Oak"}`
	ravinAnswer = "The closest is Raven & Oak with 111 labels, held by Cypress Ledge Winery LLC."
)

// TestModel checks the outcomes of conversations with a model about one request.
func TestModel(t *testing.T) {
	for name, c := range map[string]struct {
		request   string
		responses []fakeResponse
		want      outcome // a nonempty Fault stands for any fault
	}{
		"passes": {
			"similar-brand", []fakeResponse{asks("check_brand", ravinCall), answers(ravinAnswer)},
			outcome{Calls: 1, AsPlanned: true, Prompt: 200, Output: 20},
		},
		"calls in parallel": {
			"similar-brand", []fakeResponse{asks("check_brand", ravinCall, "get_usage", ""), answers(ravinAnswer)},
			outcome{Calls: 2, AsPlanned: true, Prompt: 200, Output: 20},
		},
		"corrects malformed arguments": {
			"similar-brand",
			[]fakeResponse{asks("check_brand", `{"q":`), asks("check_brand", ravinCall), answers(ravinAnswer)},
			outcome{Calls: 2, AsPlanned: true, Prompt: 300, Output: 30},
		},
		"corrects a tool name": {
			"similar-brand",
			[]fakeResponse{asks("check_name", ravinCall), asks("check_brand", ravinCall), answers(ravinAnswer)},
			outcome{Calls: 2, AsPlanned: true, Prompt: 300, Output: 30},
		},
		"another tool": {
			"similar-brand", []fakeResponse{asks("search_colas", `{"brand_name":"raven and oak"}`), answers(ravinAnswer)},
			outcome{Calls: 1, Prompt: 200, Output: 20},
		},
		"waits and retries": {
			"similar-brand",
			[]fakeResponse{
				refuses(429, "7"), refuses(500, ""), refuses(503, ""), asks("check_brand", ravinCall), answers(ravinAnswer),
			},
			outcome{Calls: 1, AsPlanned: true, Prompt: 200, Output: 20},
		},
		"lacks facts": {
			"similar-brand", []fakeResponse{asks("check_brand", ravinCall), answers("Raven & Oak is close.")},
			outcome{
				Calls: 1, AsPlanned: true, Prompt: 200, Output: 20, Fault: "x",
				Missing: []string{"111", "CYPRESS LEDGE WINERY LLC"},
			},
		},
		"answers without calls": {
			"similar-brand", []fakeResponse{answers("It is free.")},
			outcome{
				Prompt: 100, Output: 10, Fault: "x",
				Missing: []string{"RAVEN & OAK", "111", "CYPRESS LEDGE WINERY LLC"},
			},
		},
		"claims an effect": {
			"watch-brand", []fakeResponse{answers("Done.")}, outcome{Prompt: 100, Output: 10, Fault: "x"},
		},
		"has an effect": {
			"watch-brand", []fakeResponse{
				asks("create_saved_search",
					`{"name":"R","filters":{"brand_name":"raven and oak"},"schedule":{"cadence":"weekly","day":1}}`),
				answers("Done."),
			},
			outcome{Calls: 1, AsPlanned: true, Prompt: 200, Output: 20},
		},
		"never answers": {
			"similar-brand", []fakeResponse{asks("check_brand", ravinCall)},
			outcome{Calls: maxModelCalls, AsPlanned: true, Prompt: 1100, Output: 110, Fault: "x"},
		},
		"bad request":   {"similar-brand", []fakeResponse{refuses(400, "")}, outcome{Fault: "x"}},
		"server error":  {"similar-brand", []fakeResponse{refuses(500, "")}, outcome{Fault: "x"}},
		"no completion": {"similar-brand", []fakeResponse{{status: 200, body: "<html>"}}, outcome{Fault: "x"}},
		"no choices":    {"similar-brand", []fakeResponse{{status: 200, body: `{"choices":[]}`}}, outcome{Fault: "x"}},
		"no message": {
			"similar-brand", []fakeResponse{{status: 200, body: `{"choices":[{"message":7}]}`}}, outcome{Fault: "x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newFakeModel(t, c.responses...)
			got, err := testServer.runModel(t.Context(), m.chat, mustRequest(t, c.request))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(got.Fault, "secret") {
				t.Errorf("fault contains the key: %s", got.Fault)
			}
			if got.Calls != c.want.Calls || got.AsPlanned != c.want.AsPlanned || (got.Fault != "") != (c.want.Fault != "") ||
				got.Prompt != c.want.Prompt || got.Output != c.want.Output || !slices.Equal(got.Missing, c.want.Missing) ||
				(got.Tokens > 0) != (got.Calls > 0) {
				t.Errorf("got %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// TestConversation checks the messages and tools that the model receives.
func TestConversation(t *testing.T) {
	m := newFakeModel(t, asks("check_brand", ravinCall, "check_brand", "[]"), answers(ravinAnswer))
	if _, err := testServer.runModel(t.Context(), m.chat, mustRequest(t, "similar-brand")); err != nil {
		t.Fatal(err)
	}
	if len(m.requests) != 2 {
		t.Fatalf("%d requests to the API, want 2", len(m.requests))
	}
	last := m.requests[1]
	if last.Model != "fake" || last.key != "Bearer secret" || len(last.Tools) < 17 {
		t.Errorf("model %s, key %s, %d tools; want fake, Bearer secret and at least 17 tools",
			last.Model, last.key, len(last.Tools))
	}
	for _, tool := range last.Tools {
		if tool.Type != "function" || tool.Function.Name == "" || tool.Function.Parameters["type"] != "object" {
			t.Errorf("invalid tool: %+v", tool)
		}
	}
	var roles []string
	for _, message := range last.Messages {
		roles = append(roles, message.Role)
	}
	if want := []string{"system", "user", "assistant", "tool", "tool"}; !slices.Equal(roles, want) {
		t.Fatalf("roles %q, want %q", roles, want)
	}
	asked, result, malformed := last.Messages[2], last.Messages[3], last.Messages[4]
	if len(asked.ToolCalls) != 2 || result.ToolCallID != "call-0" || malformed.ToolCallID != "call-2" ||
		!strings.Contains(result.Content, `"RAVEN & OAK"`) || strings.Contains(malformed.Content, "RAVEN") {
		t.Errorf("tool calls and results = %+v, want a result and an error", last.Messages[2:])
	}
}

// TestPauses checks how long the client waits between attempts and when it gives up.
func TestPauses(t *testing.T) {
	for name, c := range map[string]struct {
		responses []fakeResponse
		want      []time.Duration
		final     bool
	}{
		"retry after": {
			[]fakeResponse{refuses(429, "7"), refuses(429, ""), answers("x")},
			[]time.Duration{7 * time.Second, 2 * time.Second}, false,
		},
		"too long":     {[]fakeResponse{refuses(429, "3600")}, nil, true},
		"unauthorized": {[]fakeResponse{refuses(401, "")}, nil, true},
		"still busy": {
			[]fakeResponse{refuses(429, "")},
			[]time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second}, true,
		},
		"redirect": {[]fakeResponse{refuses(307, "")}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newFakeModel(t, c.responses...)
			_, err := testServer.runModel(t.Context(), m.chat, mustRequest(t, "similar-brand"))
			var refused *apiError
			if (err != nil) != c.final || err != nil && (!errors.As(err, &refused) || !refused.final()) {
				t.Errorf("runModel = %v, want a final error: %t", err, c.final)
			}
			if !slices.Equal(m.pauses, c.want) {
				t.Errorf("paused %v, want %v", m.pauses, c.want)
			}
		})
	}
}

// TestCanceled checks that a run stops while it waits for the API.
func TestCanceled(t *testing.T) {
	m := newFakeModel(t, refuses(429, "60"))
	ctx, cancel := context.WithCancel(t.Context())
	m.chat.wait = func(ctx context.Context, d time.Duration) error {
		cancel()
		return sleep(ctx, d)
	}
	if _, err := testServer.runModel(ctx, m.chat, mustRequest(t, "similar-brand")); !errors.Is(err, context.Canceled) {
		t.Errorf("runModel = %v, want context.Canceled", err)
	}
}

// TestModelReport checks the report of a run in which the model fails.
func TestModelReport(t *testing.T) {
	m := newFakeModel(t, answers("I don't know."))
	var r report
	o := options{only: regexp.MustCompile("^(wine-days|usage)$"), model: m.chat}
	if err := testServer.evaluate(t.Context(), o, testRequests, &r); err != nil {
		t.Fatal(err)
	}
	if r.print(io.Discard) || r.Model != "fake" || len(r.Plans) != 2 || len(r.Answers) != 2 || r.Answers[0].Fault == "" {
		t.Errorf("report = %+v, want a failure with two plans and two answers", r)
	}
}
