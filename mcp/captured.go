package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// captured holds what mcp-go answers until it is known what is to be sent.
type captured struct {
	header http.Header
	status int
	body   []byte
}

// errorCode returns the code of the JSON-RPC error that mcp-go answers with, or 0 when it answers with something else.
func (c *captured) errorCode() int {
	var answered struct {
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	if !bytes.Contains(c.body, []byte(`"error":`)) || json.Unmarshal(c.body, &answered) != nil { // lists are long
		return 0
	}
	return answered.Error.Code
}

// Header implements server.HTTPResponseWriter.
func (c *captured) Header() http.Header { return c.header }

// WriteHeader implements server.HTTPResponseWriter.
func (c *captured) WriteHeader(status int) { c.status = status }

// Write implements server.HTTPResponseWriter.
func (c *captured) Write(b []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	c.body = append(c.body, b...)
	return len(b), nil
}

// Flush implements server.HTTPResponseWriter; there is nothing to flush.
func (c *captured) Flush() {}

// CanStream implements server.HTTPResponseWriter: an answer is sent as a whole.
func (c *captured) CanStream() bool { return false }
