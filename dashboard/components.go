package dashboard

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/web"
)

const (
	apiPath = "/api/v1"
	mcpPath = "/mcp"
)

// templateFuncs returns the functions for templates.
func templateFuncs(a *web.Assets, now cola.Clock) template.FuncMap {
	when := func(t any) template.HTML { return relativeTimeHTML(t, now()) }
	return template.FuncMap{
		"asset":    a.URL,
		"when":     when,
		"exact":    exactTimeHTML,
		"second":   secondHTML,
		"day":      dateHTML,
		"approved": approvedHTML,
		"count":    web.Thousands,
		"plural":   plural,
		"percent":  percent,
		"barwidth": barWidth,
		"here":     func(area string, areas ...string) bool { return slices.Contains(areas, area) },
		"tiername": cola.Tier.Name,
	}
}

// secondHTML shows a recent time in UTC to the second, without its year.
func secondHTML(t time.Time) template.HTML {
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, t.Format(time.RFC3339),
		t.Format("Jan 2, 15:04:05"))) // #nosec: contains no user input
}

// plural formats a number with a noun: "1 label", "2 labels".
func plural(n any, one, many string) string {
	if web.Thousands(n) == "1" {
		return "1 " + one
	}
	return web.Thousands(n) + " " + many
}

// apiCall is the API call and the tool call that return a page's data.
type apiCall struct {
	Method, Path string // Path is below /api/v1 and includes the query
	Body         any    // sent as JSON; may be nil
	Tool         string // for assistants; may be empty
	Arguments    any    // tool arguments, sent as JSON
	Cost         string // as a sentence
	base         string
}

// call returns an apiCall for a page.
func (req *request) call(method, path string, cost string) *apiCall {
	return &apiCall{Method: method, Path: path, Cost: cost, base: req.opts.PublicURL}
}

// forTool adds the equivalent MCP tool call.
func (c *apiCall) forTool(name string, arguments any) *apiCall {
	c.Tool, c.Arguments = name, arguments
	return c
}

// with sets the body.
func (c *apiCall) with(body any) *apiCall {
	c.Body = body
	return c
}

// Curl returns the call as a shell command.
func (c *apiCall) Curl() string {
	var b strings.Builder
	b.WriteString("curl ")
	if c.Method != "GET" {
		b.WriteString("-X " + c.Method + " ")
	}
	b.WriteString(`-H "X-API-Key: $API_KEY" `)
	if c.Body != nil {
		fmt.Fprintf(&b, "-H 'Content-Type: application/json' -d %s ", web.ShellQuote(compactJSON(c.Body)))
	}
	b.WriteString(web.ShellQuote(c.base + apiPath + c.Path))
	return b.String()
}

// ToolCall returns the tool call as a complete JSON-RPC request to /mcp, or "".
func (c *apiCall) ToolCall() string {
	if c.Tool == "" {
		return ""
	}
	arguments := c.Arguments
	if arguments == nil {
		arguments = struct{}{}
	}
	return fmt.Sprintf(`{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": %q, "arguments": %s}}`,
		c.Tool, compactJSON(arguments))
}

func compactJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // templates escape the output
	if err := e.Encode(v); err != nil {
		return "{}"
	}
	return strings.TrimSpace(b.String())
}

// pager links the pages of a list.
type pager struct {
	Page, Pages, Total int
	First, Last        int    // numbers of the rows shown, from 1
	Previous, Next     string // URLs; may be empty
}

// newPager returns the pager of a list whose URL has a page parameter. rows is the number of rows
// on the page.
func newPager(u *url.URL, meta cola.PageMeta, rows int) pager {
	page := meta.Page
	p := pager{Page: page, Pages: max(1, (meta.Total+meta.PerPage-1)/meta.PerPage), Total: meta.Total}
	if rows > 0 {
		p.First, p.Last = (page-1)*meta.PerPage+1, (page-1)*meta.PerPage+rows
	}
	at := func(n int) string {
		q := u.Query()
		q.Set("page", strconv.Itoa(n))
		return u.Path + "?" + q.Encode()
	}
	if page > 1 {
		p.Previous = at(min(page-1, p.Pages))
	}
	if page < p.Pages {
		p.Next = at(page + 1)
	}
	return p
}

// option is a choice in a select or a group of radio buttons.
type option struct {
	Value, Label string
	Chosen       bool
}

// optionsOf returns options with their values as labels.
func optionsOf(chosen string, values ...string) []option {
	list := make([]option, len(values))
	for i, v := range values {
		list[i] = option{Value: v, Label: v, Chosen: v == chosen}
	}
	return list
}

// copied is text in a box with a copy button.
type copied struct{ Label, Text string }

// paginate returns the rows of the requested page and a pager. A page number out of range selects
// the first or the last page.
func paginate[T any](req *request, all []T, perPage int) ([]T, pager) {
	page, err := strconv.Atoi(req.query().Get("page"))
	if err != nil {
		page = 1
	}
	last := max(1, (len(all)+perPage-1)/perPage)
	page = min(max(page, 1), last)
	rows := all[(page-1)*perPage : min(page*perPage, len(all))]
	return rows, newPager(req.http.URL, cola.PageMeta{Page: page, PerPage: perPage, Total: len(all)}, len(rows))
}

// stripHidden removes hidden characters, such as bidirectional controls, from untrusted text and
// replaces invalid UTF-8 with U+FFFD.
func stripHidden(text string) string {
	return strings.Map(func(r rune) rune {
		if vocabulary.IsInvisible(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// multiLine is like stripHidden, but keeps line breaks.
func multiLine(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = stripHidden(line)
	}
	return strings.Join(lines, "\n")
}

// singleLine is like stripHidden, but also replaces line breaks and tabs with spaces.
func singleLine(s string) string {
	return stripHidden(strings.Map(func(r rune) rune {
		switch r {
		case '\n', '\r', '\t', '\u2028', '\u2029':
			return ' '
		}
		return r
	}, s))
}

// capitalize returns s with its first letter in upper case. s must be ASCII.
func capitalize(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// truncate shortens a string that has more than limit characters, and adds an ellipsis.
func truncate(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit]) + "…"
}

// formatDecimal formats a number without an exponent or trailing zeros.
func formatDecimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// formatValue formats the value of a filter as it is entered in a form.
func formatValue(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return "true"
}
