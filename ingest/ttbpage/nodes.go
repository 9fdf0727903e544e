package ttbpage

import (
	"strings"

	"golang.org/x/net/html"
)

// find returns the first element in document order below n that matches, or nil.
func find(n *html.Node, matches func(*html.Node) bool) *html.Node {
	if n == nil {
		return nil
	}
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && matches(d) {
			return d
		}
	}
	return nil
}

// ancestor returns the closest ancestor element with the given tag name, or nil.
func ancestor(n *html.Node, name string) *html.Node {
	for a := range n.Ancestors() {
		if a.Type == html.ElementNode && a.Data == name {
			return a
		}
	}
	return nil
}

// nextElement returns the next sibling element with the given tag name, or nil.
func nextElement(n *html.Node, name string) *html.Node {
	for s := n.NextSibling; s != nil; s = s.NextSibling {
		if s.Type == html.ElementNode && s.Data == name {
			return s
		}
	}
	return nil
}

// hasClass reports whether an element has one of the classes.
func hasClass(n *html.Node, classes ...string) bool {
	for _, have := range strings.Fields(attribute(n, "class")) {
		for _, class := range classes {
			if have == class {
				return true
			}
		}
	}
	return false
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasAttribute(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// textOf returns the visible text of a node with single spaces; "" for nil.
func textOf(n *html.Node) string { return strings.Join(linesOf(n), " ") }

// linesOf returns the visible text of a node, split at line breaks, rows and blocks, without empty
// lines.
func linesOf(n *html.Node) []string {
	var b strings.Builder
	if n != nil {
		writeText(&b, n)
	}
	var lines []string
	for line := range strings.SplitSeq(b.String(), "\n") {
		if line = strings.Join(strings.Fields(strings.ReplaceAll(line, "\u00a0", " ")), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

var spaces = strings.NewReplacer("\n", " ", "\r", " ", "\t", " ")

// writeText writes text with "\n" for a line break or the end of a row or block; other whitespace
// becomes spaces.
func writeText(b *strings.Builder, n *html.Node) {
	switch {
	case n.Type == html.TextNode:
		b.WriteString(spaces.Replace(n.Data))
		return
	case n.Type == html.ElementNode && (n.Data == "script" || n.Data == "style"):
		return
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		writeText(b, c)
	}
	if n.Type == html.ElementNode {
		switch n.Data {
		case "br", "tr", "p", "div", "h1", "h2", "title":
			b.WriteByte('\n')
		case "td", "th":
			b.WriteByte(' ')
		}
	}
}
