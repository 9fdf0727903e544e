package site

import (
	"fmt"
	"html/template"
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
		return unbroken(source)
	case "curl":
		language = "bash"
	case "Arguments":
		language = "json"
	}
	lexer := lexers.Get(language)
	if lexer == nil {
		return unbroken(source)
	}
	source = strings.ReplaceAll(source, "\r\n", "\n") // CSV; the lexer does the same
	tokens, err := lexer.Tokenise(nil, source)
	if err != nil {
		return unbroken(source)
	}
	bounds := longLineBounds(source)
	if lexer.Config().Name == "Bash" {
		bounds = shellBounds(source)
	}
	all := tokens.Tokens()
	bounds = sortBounds(append(bounds, hyphenBounds(source, all)...))
	w, at := codeWriter{breaks: urlBreaks(source)}, 0
	for _, token := range all {
		class := tokenClass(token)
		for value := token.Value; value != ""; {
			for len(bounds) > 0 && bounds[0].at == at {
				w.tag(bounds[0].tag)
				bounds = bounds[1:]
			}
			part := value
			if len(bounds) > 0 {
				part = value[:min(len(value), bounds[0].at-at)]
			}
			w.text(class, part, at)
			value, at = value[len(part):], at+len(part)
		}
	}
	for _, end := range bounds {
		w.tag(end.tag)
	}
	w.setClass("")
	return template.HTML(w.String())
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

// codeBlocks renders the code of Markdown.
type codeBlocks struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (codeBlocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, renderCodeBlock)
	r.Register(ast.KindCodeSpan, renderCodeSpan)
	r.Register(kindSampleTabs, renderSampleTabs)
}

func renderCodeBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(codeHTML(n, source) + "\n")
	}
	return ast.WalkSkipChildren, nil
}

func renderCodeSpan(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		code := ""
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			code += string(c.(*ast.Text).Value(source)) // code has no other children
		}
		_, _ = w.WriteString("<code>" + string(inlineCode(strings.ReplaceAll(code, "\n", " "))) + "</code>")
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
