package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"sync"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/internal/web"
)

// Bridge relays messages between a local assistant, which sends one per line, and the server's
// endpoint, which accepts one per request. Stdio therefore behaves exactly like HTTP, whether the
// endpoint is in this process (see InProcess) or remote.
type Bridge struct {
	URL    string       // endpoint URL
	Key    string       // API key
	Client *http.Client // sends the requests
	Logger *slog.Logger
}

// maxResponseBytes limits responses. This server's responses are at most a tenth of that.
const maxResponseBytes = 4 << 20

// maxConcurrentCalls is the maximum number of messages in flight.
const maxConcurrentCalls = 16

// Serve reads messages from in, one per line, and writes the responses to out, until in ends or the
// context is canceled. It then waits for pending calls. It returns the first read or write error.
func (b *Bridge) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := &lineWriter{w: out}
	calls := &pendingCalls{cancel: map[string]context.CancelFunc{}}
	var running sync.WaitGroup
	defer running.Wait()
	slots := make(chan struct{}, maxConcurrentCalls)
	input := readLines(ctx, in)
	for {
		var line inputLine
		select {
		case line = <-input:
		case <-ctx.Done():
			return nil
		}
		switch {
		case errors.Is(line.err, io.EOF):
			running.Wait()
			return lines.failed()
		case line.err != nil:
			return fmt.Errorf("read a message: %w", line.err)
		case line.tooLong:
			lines.write(invalidMessage(messageTooLong, maxMessageBytes).response(nil))
			continue
		case len(line.text) == 0:
			continue
		}
		head := parseHead(line.text)
		if calls.handleCancel(head) {
			continue
		}
		slots <- struct{}{}
		call, end := calls.begin(ctx, string(head.ID))
		running.Go(func() {
			defer func() { end(); <-slots }()
			if response := b.send(call, head, line.text); call.Err() == nil {
				lines.write(response)
			}
		})
		if lines.failed() != nil {
			return lines.failed()
		}
	}
}

// send sends one message and returns the response line, or nil.
func (b *Bridge) send(ctx context.Context, head messageHead, sent []byte) []byte {
	status, contentType, body, err := b.post(ctx, head, sent)
	switch {
	case err != nil && ctx.Err() == nil:
		b.Logger.Error("server unreachable", "error", err)
		return head.response(&rpcError{Code: codeRefused, Message: "The registry server is unreachable. Check --url " +
			"and your network."})
	case err != nil || status == http.StatusAccepted:
		return nil
	}
	if media, _, _ := mime.ParseMediaType(contentType); media != "application/json" || !json.Valid(body) {
		b.Logger.Error("the server's response is not JSON", "status", status)
		return head.response(&rpcError{Code: codeRefused,
			Message: fmt.Sprintf("The server returned status %d without JSON. Check the URL.", status)})
	}
	var refused web.ErrorBody
	if status != http.StatusOK && json.Unmarshal(body, &refused) == nil && refused.Error.Code != "" {
		b.Logger.Warn("the server rejected a message", "status", status, "code", refused.Error.Code, "reason",
			refused.Error.Message)
		return head.response(&rpcError{Code: codeRefused, Message: refused.Error.Message, Data: refused})
	}
	if rpcErr := anonymousError(body); rpcErr != nil {
		return head.response(rpcErr)
	}
	var line bytes.Buffer
	_ = json.Compact(&line, body) // cannot fail: the body is valid JSON
	return line.Bytes()
}

// anonymousError returns the error in a response without an ID, or nil for any other response. A
// server that rejects a message without reading it can't return its ID, but the assistant expects a
// response with that ID.
func anonymousError(body []byte) *rpcError {
	var response struct {
		ID    any       `json:"id"`
		Error *rpcError `json:"error"`
	}
	if json.Unmarshal(body, &response) != nil || response.ID != nil {
		return nil
	}
	return response.Error
}

func (b *Bridge) post(
	ctx context.Context, head messageHead, sent []byte,
) (status int, contentType string, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL, bytes.NewReader(sent))
	if err != nil {
		return 0, "", nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+b.Key)
	if protocol.IsModernProtocol(head.version) {
		r.Header.Set(protocol.HeaderProtocolVersion, head.version)
		for name, value := range protocol.StandardHeaders(head.version, protocol.MCPMethod(head.Method), head.Params) {
			r.Header.Set(name, value)
		}
	}
	resp, err := b.Client.Do(r)
	if err != nil {
		return 0, "", nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxResponseBytes))
	return resp.StatusCode, resp.Header.Get("Content-Type"), body, err
}

// messageHead contains the fields that a bridge needs; the server parses the message strictly.
type messageHead struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`

	version string // protocol version named in the message
}

func parseHead(sent []byte) (h messageHead) {
	_ = json.Unmarshal(sent, &h) // the server rejects invalid messages
	var params struct {
		Meta map[string]any `json:"_meta"`
	}
	if json.Unmarshal(h.Params, &params) == nil {
		h.version, _ = params.Meta[protocol.MetaKeyProtocolVersion].(string)
	}
	return h
}

// response returns the line for an error, or nil for a notification.
func (h messageHead) response(e *rpcError) []byte {
	if len(h.ID) == 0 && h.Method != "" {
		return nil
	}
	return e.response(h.ID)
}

// pendingCalls holds the calls in flight by ID, so that an assistant can cancel them.
type pendingCalls struct {
	mu     sync.Mutex
	cancel map[string]context.CancelFunc
}

// begin returns a context for a call, and a function that releases it.
func (c *pendingCalls) begin(ctx context.Context, id string) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel[id] = cancel
	return ctx, func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.cancel, id)
	}
}

// handleCancel cancels a call if h is a cancellation message, and reports whether it is.
func (c *pendingCalls) handleCancel(h messageHead) bool {
	var cancelling struct {
		ID json.RawMessage `json:"requestId"`
	}
	if h.Method != string(protocol.MethodNotificationCancelled) || json.Unmarshal(h.Params, &cancelling) != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.cancel[string(cancelling.ID)]; cancel != nil {
		cancel()
	}
	return true
}

// InProcess returns a client that sends requests to a handler in this process.
func InProcess(h http.Handler) *http.Client { return &http.Client{Transport: inProcess{h}} }

type inProcess struct{ h http.Handler }

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	got := &responseRecorder{header: http.Header{}}
	r = r.Clone(r.Context())
	r.Host = strings.TrimSpace(r.URL.Host)
	p.h.ServeHTTP(got, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: got.status, Header: got.header, Request: r, ContentLength: int64(len(got.body)),
		Body: io.NopCloser(bytes.NewReader(got.body)),
	}, nil
}

// responseRecorder records the response of a handler in this process.
type responseRecorder struct {
	header http.Header
	status int
	body   []byte
}

// Header implements http.ResponseWriter.
func (c *responseRecorder) Header() http.Header { return c.header }

// WriteHeader implements http.ResponseWriter.
func (c *responseRecorder) WriteHeader(status int) { c.status = status }

// Write implements http.ResponseWriter.
func (c *responseRecorder) Write(b []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	c.body = append(c.body, b...)
	return len(b), nil
}

// lineWriter writes whole lines from several goroutines.
type lineWriter struct {
	mu  sync.Mutex
	w   io.Writer
	err error // first write error
}

func (l *lineWriter) write(line []byte) {
	if len(line) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.w.Write(append(line, '\n')); err != nil && l.err == nil {
		l.err = fmt.Errorf("write a response: %w", err)
	}
}

func (l *lineWriter) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// inputLine is a line of input, or an error.
type inputLine struct {
	text    []byte
	tooLong bool
	err     error
}

// readLines reads lines in the background, because reads from standard input can't be interrupted.
// It stops at the end of the input, or at the first line after the context is canceled.
func readLines(ctx context.Context, in io.Reader) <-chan inputLine {
	lines := make(chan inputLine)
	go func() {
		r := bufio.NewReaderSize(in, 64<<10)
		for {
			line := readLine(r)
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
			if line.err != nil {
				return
			}
		}
	}()
	return lines
}

// readLine reads one line, and skips the rest of a line that is too long.
func readLine(r *bufio.Reader) (line inputLine) {
	for {
		part, err := r.ReadSlice('\n')
		line.tooLong = line.tooLong || len(line.text)+len(part) > maxMessageBytes+1
		if !line.tooLong {
			line.text = append(line.text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(line.text) > 0 || line.tooLong):
		case err != nil:
			return inputLine{err: err}
		}
		line.text = bytes.TrimSpace(line.text)
		return line
	}
}
