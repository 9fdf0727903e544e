package site

import (
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// escapeText escapes source code for an element's text, where quotes need no escaping. Source code
// has so many that escaped quotes would make up a tenth of a page.
var escapeText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\x00", "\uFFFD")

// highlight returns source code with elements for its colored parts. Their tags are as short as
// possible, and neighbors of the same color share one: Chroma's own formatter wraps every token,
// which makes pages with long examples twice as large.
func highlight(language, source string) template.HTML {
	switch language {
	case "":
		return template.HTML(escapeText.Replace(source))
	case "curl":
		language = "bash"
	case "Arguments":
		language = "json"
	}
	lexer := lexers.Get(language)
	if lexer == nil {
		return template.HTML(escapeText.Replace(source))
	}
	tokens, err := lexer.Tokenise(nil, source)
	if err != nil {
		return template.HTML(escapeText.Replace(source))
	}
	var b strings.Builder
	class := ""
	setClass := func(next string) {
		if next == class {
			return
		}
		if class != "" {
			b.WriteString("</i>")
		}
		if next != "" {
			b.WriteString("<i class=" + next + ">")
		}
		class = next
	}
	var bounds []bound
	if lexer.Config().Name == "Bash" {
		bounds = lineBounds(source)
	} else {
		bounds = longLineBounds(source)
	}
	at, inURL := 0, false
	for _, token := range tokens.Tokens() {
		next := tokenClass(token)
		for value := token.Value; value != ""; {
			for len(bounds) > 0 && bounds[0].at == at {
				setClass("")
				b.WriteString(bounds[0].tag)
				inURL, bounds = bounds[0].tag == partStart, bounds[1:]
			}
			part := value
			if len(bounds) > 0 {
				part = value[:min(len(value), bounds[0].at-at)]
			}
			setClass(next)
			text := escapeText.Replace(part)
			if inURL {
				text = strings.ReplaceAll(text, ",", ",<wbr>")
			}
			b.WriteString(text)
			value, at = value[len(part):], at+len(part)
		}
	}
	setClass("")
	for _, end := range bounds {
		b.WriteString(end.tag)
	}
	return template.HTML(b.String())
}

// bound is a tag at an offset in source code.
type bound struct {
	at  int
	tag string
}

const (
	partStart = "<span>"
	partEnd   = "</span>"
	lineStart = "<b>"
	lineEnd   = "</b>"
)

var (
	// shellURL finds a URL in a shell command, with the quotes and brackets around it.
	shellURL = regexp.MustCompile(`["']?(?:https?://[^\s"'/?]+|\$API)[/?][^\s"']*["')]*`)
	// urlPart finds a host, or a part of a URL before which a line may break.
	urlPart = regexp.MustCompile(`^["']?(?:https?://)?[^/?&]+|[/?&]+[^/?&]*`)
)

// lineBounds returns the bounds of the lines of a shell command, and of the parts of URLs in them.
func lineBounds(source string) (bounds []bound) {
	parts, at := urlBounds(source), 0
	for line := range strings.Lines(source) {
		bounds = append(bounds, bound{at, lineStart})
		at += len(line)
		inLine := func(b bound) bool { return b.at < at || b.at == at && b.tag == partEnd }
		end := 0
		for end < len(parts) && inLine(parts[end]) {
			end++
		}
		bounds = append(append(bounds, parts[:end]...), bound{at, lineEnd})
		parts = parts[end:]
	}
	return bounds
}

// maxUnbroken is the number of characters of a line that fit on a phone.
const maxUnbroken = 38

// longLineBounds returns the bounds of lines that may break. Their classes indent the continuation by
// the line's own indentation plus two columns, or plus a tab in code that is indented by tabs.
func longLineBounds(source string) (bounds []bound) {
	const maxIndent = 16 // in the style sheet
	at := 0
	for line := range strings.Lines(source) {
		if len(line) > maxUnbroken {
			spaces, tabs := len(line)-len(strings.TrimLeft(line, " ")), len(line)-len(strings.TrimLeft(line, "\t"))
			start := lineStart
			switch {
			case tabs > 0:
				start = fmt.Sprintf("<b class=h%d>", min(4*tabs+4, maxIndent))
			case spaces > 0:
				start = fmt.Sprintf("<b class=h%d>", min(spaces&^1+2, maxIndent))
			}
			bounds = append(bounds, bound{at, start}, bound{at + len(line), lineEnd})
		}
		at += len(line)
	}
	return bounds
}

// urlBounds returns the bounds of the parts of URLs in a shell command. Lines break between parts
// before they break within one, and within a long one only after a comma.
func urlBounds(source string) (bounds []bound) {
	for _, u := range shellURL.FindAllStringIndex(source, -1) {
		for _, part := range urlPart.FindAllStringIndex(source[u[0]:u[1]], -1) {
			bounds = append(bounds, bound{u[0] + part[0], partStart}, bound{u[0] + part[1], partEnd})
		}
	}
	return bounds
}

// tokenClass returns the class of a token in the style sheet (comment, string, value, word, name),
// or "" for the default text color.
func tokenClass(token chroma.Token) string {
	switch t := token.Type; {
	case strings.TrimSpace(token.Value) == "":
		return ""
	case t.InCategory(chroma.Comment) && !t.InSubCategory(chroma.CommentPreproc):
		return "c"
	case t == chroma.LiteralStringInterpol, t == chroma.LiteralStringEscape:
		return ""
	case t.InSubCategory(chroma.LiteralString):
		return "s"
	case t.InSubCategory(chroma.LiteralNumber), t == chroma.KeywordConstant:
		return "v"
	case t.InCategory(chroma.Keyword), t == chroma.NameBuiltin:
		return "w"
	case t == chroma.NameTag, t == chroma.NameVariable, t == chroma.NameAttribute:
		return "n"
	}
	return ""
}

// codeBlocks renders the code blocks of Markdown.
type codeBlocks struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (codeBlocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, renderCodeBlock)
	r.Register(kindSampleTabs, renderSampleTabs)
}

func renderCodeBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(codeHTML(n, source) + "\n")
	}
	return ast.WalkSkipChildren, nil
}

func codeHTML(n ast.Node, source []byte) string {
	language, code := n.(*ast.FencedCodeBlock).Language(source), n.Lines().Value(source)
	return "<pre><code>" + string(highlight(string(language), string(code))) + "</code></pre>"
}

// renderSampleTabs renders samples like those of the reference, so that both remember the selected
// language.
func renderSampleTabs(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	name, open := fmt.Sprintf("samples-%d", n.FirstChild().Lines().At(0).Start), " open"
	_, _ = w.WriteString(`<div class="tabs">`)
	for block := n.FirstChild(); block != nil; block = block.NextSibling() {
		language := sampleLanguage(block, source)
		fmt.Fprintf(w, `<details class="sample" name="%s"%s data-language="%s"><summary>%s</summary><div class="code">%s</div></details>`,
			name, open, language, language, codeHTML(block, source))
		open = ""
	}
	_, _ = w.WriteString("</div>\n")
	return ast.WalkSkipChildren, nil
}
