package dashboard

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// maxPageSize is the page size limit in bytes.
const maxPageSize = 60_000

// checkHTML fails the test unless the page is small, accessible and correctly escaped: every field
// has a label, IDs are unique, links have allowed schemes, headings are in order, and there are no
// inline styles or scripts.
func (a response) checkHTML(t *testing.T) {
	t.Helper()
	if len(a.body) > maxPageSize {
		t.Errorf("page has %d bytes, want at most %d", len(a.body), maxPageSize)
	}
	for _, problem := range append(htmlErrors(a.body), tagErrors(a.body)...) {
		t.Errorf("%s:\n%s", problem, a.body)
	}
}

// htmlCheck is the state of a walk through the elements of a page.
type htmlCheck struct {
	errors  []string
	open    []string // enclosing elements
	ids     map[string]bool
	wanted  []string // referenced IDs
	labeled map[string]bool
	fields  []string // IDs of fields without an enclosing label
	heading int
	titles  int // number of h1 elements
}

func htmlErrors(page string) []string {
	c := &htmlCheck{ids: map[string]bool{}, labeled: map[string]bool{}}
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return append(c.errors, "invalid HTML: "+err.Error())
		}
		switch token := token.(type) {
		case xml.StartElement:
			c.start(token)
		case xml.EndElement:
			c.open = c.open[:len(c.open)-1]
		}
	}
	c.finish()
	return c.errors
}

// tagErrors reports elements whose start tags and end tags differ in number. encoding/xml doesn't,
// because it closes elements silently.
func tagErrors(page string) (problems []string) {
	open := map[string]int{}
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		switch z.Next() {
		case html.ErrorToken:
			for name, n := range open {
				if n != 0 {
					problems = append(problems, fmt.Sprintf("%s: %d more start tags than end tags", name, n))
				}
			}
			return problems
		case html.StartTagToken:
			if name, _ := z.TagName(); !slices.Contains(xml.HTMLAutoClose, string(name)) {
				open[string(name)]++
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			open[string(name)]--
		}
	}
}

func (c *htmlCheck) addError(parts ...string) { c.errors = append(c.errors, strings.Join(parts, " ")) }

func (c *htmlCheck) start(e xml.StartElement) {
	name, attributes := e.Name.Local, map[string]string{}
	for _, a := range e.Attr {
		attribute := a.Name.Local
		attributes[attribute] = a.Value
		if attribute == "style" || strings.HasPrefix(attribute, "on") {
			c.addError(name, "has the attribute", attribute)
		}
	}
	if id := attributes["id"]; id != "" {
		if c.ids[id] {
			c.addError("two elements have the id", id)
		}
		c.ids[id] = true
	}
	for _, refers := range []string{"aria-labelledby", "aria-describedby", "for"} {
		c.wanted = append(c.wanted, strings.Fields(attributes[refers])...)
	}
	c.element(name, attributes)
	c.open = append(c.open, name)
}

func (c *htmlCheck) element(name string, attributes map[string]string) {
	switch name {
	case "style":
		c.addError("inline style")
	case "script":
		if attributes["src"] == "" {
			c.addError("inline script")
		}
	case "label":
		c.labeled[attributes["for"]] = true
	case "input", "select", "textarea":
		c.field(name, attributes)
	case "img":
		if attributes["alt"] == "" {
			c.addError("image without alt text:", attributes["src"])
		}
	case "th":
		if attributes["scope"] == "" {
			c.addError("a th has no scope")
		}
	case "a", "form":
		c.address(name, attributes["href"]+attributes["action"])
	case "h1", "h2", "h3", "h4":
		c.head(int(name[1] - '0'))
	}
}

func (c *htmlCheck) field(name string, attributes map[string]string) {
	switch attributes["type"] {
	case "hidden", "submit", "button":
		return
	}
	if !slices.Contains(c.open, "label") && attributes["aria-label"] == "" {
		c.fields = append(c.fields, attributes["id"])
		if attributes["id"] == "" {
			c.addError("a field has no label:", name, attributes["name"])
		}
	}
}

func (c *htmlCheck) address(name, to string) {
	scheme, _, _ := strings.Cut(strings.ToLower(to), ":")
	switch {
	case strings.HasPrefix(to, "//"):
		c.addError(name, "links to", to)
	case to == "", to[0] == '/', to[0] == '#', to[0] == '?', scheme == "https", scheme == "http", scheme == "mailto",
		strings.HasPrefix(to, "data:text/csv;"):
	default:
		c.addError(name, "links to", to)
	}
}

func (c *htmlCheck) head(level int) {
	if level == 1 {
		c.titles++
	}
	if level > c.heading+1 {
		c.addError("a heading skips a level")
	}
	c.heading = level
}

func (c *htmlCheck) finish() {
	if c.titles != 1 {
		c.addError("want one h1")
	}
	for _, id := range c.fields {
		if id != "" && !c.labeled[id] {
			c.addError("no label for the field", id)
		}
	}
	for _, id := range c.wanted {
		if !c.ids[id] {
			c.addError("no element has the id", id)
		}
	}
}

// TestHTMLErrors checks that htmlErrors finds each kind of error.
func TestHTMLErrors(t *testing.T) {
	for page, want := range map[string]string{
		`<h1>a</h1><p style="x"></p>`:                         "has the attribute style",
		`<h1>a</h1><p onclick=x></p>`:                         "has the attribute onclick",
		`<h1>a</h1><script>x</script>`:                        "inline script",
		`<h1>a</h1><p id=a></p><p id=a></p>`:                  "two elements have the id a",
		`<h1>a</h1><input name=q>`:                            "has no label",
		`<h1>a</h1><input name=q id=q>`:                       "no label for the field q",
		`<h1>a</h1><label for=r>a</label>`:                    "no element has the id r",
		`<h1>a</h1><h3>b</h3>`:                                "skips a level",
		`<h1>a</h1><h1>b</h1>`:                                "want one h1",
		`<h1>a</h1><a href="javascript:x">b</a>`:              "links to javascript:x",
		`<h1>a</h1><a href="//evil.example">b</a>`:            "links to //evil.example",
		`<h1>a</h1><img src=x>`:                               "without alt text",
		`<h1>a</h1><table><tr><th>x</th></tr></table>`:        "no scope",
		`<h1>a</h1><label for=q>a</label><input id=q name=q>`: "",
		`<h1>a</h1><label>a <input name=q></label><h2>b</h2>`: "",
	} {
		if got := strings.Join(htmlErrors("<html>"+page+"</html>"), "; "); want == "" && got != "" ||
			!strings.Contains(got, want) {
			t.Errorf("htmlErrors(%s) = %q, want %q", page, got, want)
		}
	}
}
