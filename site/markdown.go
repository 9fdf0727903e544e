package site

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/colaregistry/colaregistry"
)

// exampleURL is the service's address in the Markdown files. Pages show the public URL instead.
// Examples for the reader's own server use the name localhost, which is kept.
const exampleURL = "http://127.0.0.1:8080"

// markdown converts the GitHub-flavored Markdown of the guides. Raw HTML is dropped.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(codeBlocks{}, 0))),
)

// descriptions converts the CommonMark of descriptions. Raw HTML is dropped.
var descriptions = goldmark.New(goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(codeBlocks{}, 0))))

// rendered is a Markdown file as HTML.
type rendered struct {
	title    string // text of the first-level heading
	summary  string // the first paragraph, as plain text
	html     string
	headings []heading
	sections []section
}

// section is the text below a heading.
type section struct {
	id          string // empty for the introduction
	title, text string
	code        string // samples, one per line
}

// withPublicURL replaces exampleURL with the public URL, so that readers can copy samples. It also
// replaces the $API variable with the API's URL, unless the page sets it.
func (s *server) withPublicURL(source []byte) []byte {
	if s.opts.PublicURL == "" {
		return source
	}
	if !bytes.Contains(source, []byte("export API=")) {
		source = bytes.ReplaceAll(source, []byte("$API/"), []byte(exampleURL+endpointBase))
	}
	return bytes.ReplaceAll(source, []byte(exampleURL), []byte(s.opts.PublicURL))
}

// markdownType is the media type of Markdown (RFC 7763).
const markdownType = "text/markdown; charset=utf-8"

// markdownLinks finds the links and images of a Markdown file.
var markdownLinks = regexp.MustCompile(`(!?)\[([^\]]*)\]\(([^)\s]+)\)`)

// plainMarkdown returns a guide for programs that read Markdown, such as assistants. Links between
// guides lead to the Markdown versions, and links to files that aren't served are removed.
func (s *server) plainMarkdown(file string, source []byte) []byte {
	return markdownLinks.ReplaceAllFunc(s.withPublicURL(source), func(link []byte) []byte {
		m := markdownLinks.FindSubmatch(link)
		to, ok := s.pageURL(file, string(m[3]))
		switch {
		case !ok:
			return m[2]
		case !strings.HasPrefix(to, "/"):
			return fmt.Appendf(nil, "%s[%s](%s)", m[1], m[2], to)
		}
		to, fragment, found := strings.Cut(to, "#")
		if strings.HasPrefix(to, docsPath+"/") && to != toolsPath && !strings.HasPrefix(to, imagesPath) {
			to += ".md"
		}
		if found {
			to += "#" + fragment
		}
		return fmt.Appendf(nil, "%s[%s](%s%s)", m[1], m[2], s.opts.PublicURL, to)
	})
}

// renderMarkdown renders a Markdown file of the documentation.
func (s *server) renderMarkdown(file string, source []byte) (m rendered) {
	source = s.withPublicURL(source)
	doc := markdown.Parser().Parse(text.NewReader(source))
	removeDiagrams(doc, source)
	s.rewriteLinks(file, doc, source)
	groupSamples(doc, source)
	m.describe(doc, source)
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, source, doc); err != nil {
		panic("site: render " + file + ": " + err.Error()) // writes to memory don't fail
	}
	m.html = diagram.ReplaceAllString(tables.Replace(b.String()),
		`<div class="scroll" tabindex="0" role="group" aria-label="Diagram">$1</div>`)
	return m
}

// tables puts each table into a box of its own, which keyboard users can focus and which scrolls on
// narrow screens, and turns empty headers into empty cells. Omitting the space between cells makes
// pages smaller.
var tables = strings.NewReplacer("<table>", `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>`,
	"</table>", "</table></div>", "<th></th>\n", "<td></td>", "<tr>\n", "<tr>", "</td>\n", "</td>", "</th>\n", "</th>", "</tr>\n", "</tr>")

// diagram finds a drawing, which scrolls like a table: its text would be tiny on a narrow screen.
var diagram = regexp.MustCompile(`<p>(<img src="[^"]*[.]svg"[^>]*>)</p>`)

// describe sets the title, summary, headings and sections.
func (m *rendered) describe(doc ast.Node, source []byte) {
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		plain, code := plainText(n, source)
		h, ok := n.(*ast.Heading)
		switch {
		case ok && h.Level == 1:
			m.title = plain
		case ok:
			attribute, _ := h.AttributeString("id")
			id := string(attribute.([]byte))
			m.sections = append(m.sections, section{id: id, title: plain})
			if h.Level <= 3 {
				m.headings = append(m.headings, heading{id, plain, h.Level})
			}
		case len(m.sections) > 0:
			last := &m.sections[len(m.sections)-1]
			last.text += plain + "\n"
			last.code += code
		default:
			if n.Kind() == ast.KindParagraph {
				m.summary = strings.ReplaceAll(plain, "\n", " ")
			}
			m.sections = append(m.sections, section{title: m.title, text: plain + "\n", code: code})
		}
	}
}

// plainText returns the text of a node without markup: a line for each paragraph, list item and table
// row. code has a line for each code block.
func plainText(n ast.Node, source []byte) (text, code string) {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
				if n.SoftLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		case *ast.FencedCodeBlock:
			if entering {
				code += sampleLanguage(n, source) + " " + strings.Join(strings.Fields(string(n.Lines().Value(source))), " ") + "\n"
			}
		case *extast.TableCell:
			if !entering && n.NextSibling() != nil {
				b.WriteString(" · ")
			}
		default:
			if !entering && n.Type() == ast.TypeBlock {
				b.WriteByte('\n')
			}
		}
		return ast.WalkContinue, nil
	})
	var lines []string
	for line := range strings.Lines(b.String()) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n"), code
}

// removeDiagrams removes Mermaid diagrams. Drawing them would take a large script, and the text has
// the same information.
func removeDiagrams(doc ast.Node, source []byte) {
	for n := doc.FirstChild(); n != nil; {
		next := n.NextSibling()
		if block, ok := n.(*ast.FencedCodeBlock); ok && string(block.Language(source)) == "mermaid" {
			doc.RemoveChild(doc, n)
		}
		n = next
	}
}

// sampleTabs contains the same sample in several languages, one code block each.
type sampleTabs struct{ ast.BaseBlock }

var kindSampleTabs = ast.NewNodeKind("SampleTabs")

func (*sampleTabs) Kind() ast.NodeKind              { return kindSampleTabs }
func (t *sampleTabs) Dump(source []byte, level int) { ast.DumpHelper(t, source, level, nil, nil) }

// sampleLanguage returns the language name of a sample's code block, or "" for other nodes.
func sampleLanguage(n ast.Node, source []byte) string {
	block, ok := n.(*ast.FencedCodeBlock)
	if !ok {
		return ""
	}
	return map[string]string{"sh": "curl", "python": "Python", "js": "JavaScript", "go": "Go"}[string(block.Language(source))]
}

// introduces reports whether a node is a paragraph that only names a language, like those above
// each sample in a series: "Go:" or "JavaScript (Node.js):".
func introduces(n ast.Node, language string, source []byte) bool {
	if n == nil || n.Kind() != ast.KindParagraph {
		return false
	}
	text, _ := plainText(n, source)
	return text == language+":" || strings.HasPrefix(text, language+" (") && strings.HasSuffix(text, "):")
}

// groupSamples replaces each series of samples with tabs. In a series, all but the first sample
// follow a paragraph that names their language.
func groupSamples(doc ast.Node, source []byte) {
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		language := sampleLanguage(n, source)
		if language == "" {
			continue
		}
		series, titles := []ast.Node{n}, []ast.Node{}
		if title := n.PreviousSibling(); introduces(title, language, source) {
			titles = append(titles, title)
		}
		for title := n.NextSibling(); title != nil && title.NextSibling() != nil; title = series[len(series)-1].NextSibling() {
			next := title.NextSibling()
			if language := sampleLanguage(next, source); language == "" || !introduces(title, language, source) {
				break
			}
			series, titles = append(series, next), append(titles, title)
		}
		if len(series) == 1 {
			continue
		}
		tabs := &sampleTabs{}
		doc.InsertBefore(doc, n, tabs)
		for _, title := range titles {
			doc.RemoveChild(doc, title)
		}
		for _, block := range series {
			tabs.AppendChild(tabs, block) // also removes block from doc
		}
		n = tabs
	}
}

// rewriteLinks points links between Markdown files to their pages, and removes links to files that
// are not served. If a link's text is a file name, the page's title replaces it.
func (s *server) rewriteLinks(file string, doc ast.Node, source []byte) {
	var unserved []*ast.Link
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			name, _, _ := strings.Cut(string(n.Destination), "#")
			target := path.Join(path.Dir(file), name)
			text, _ := plainText(n, source)
			if _, served := guidePath(target); served && text == path.Base(name) {
				n.RemoveChildren(n)
				n.AppendChild(n, ast.NewString([]byte(titleOf(target))))
			}
			to, ok := s.pageURL(file, string(n.Destination))
			if n.Destination = []byte(to); !ok {
				unserved = append(unserved, n)
			}
		case *ast.Image:
			to, _ := s.pageURL(file, string(n.Destination))
			n.Destination = []byte(to)
		}
		return ast.WalkContinue, nil
	})
	for _, link := range unserved {
		parent := link.Parent()
		for child := link.FirstChild(); child != nil; {
			next := child.NextSibling()
			parent.InsertBefore(parent, link, child)
			child = next
		}
		parent.RemoveChild(parent, link)
	}
}

// titleOf returns the title of the page for a Markdown file.
func titleOf(file string) string {
	source, err := colaregistry.Docs.ReadFile(file)
	if err != nil {
		panic(err) // unreachable: the page exists
	}
	return firstHeading(source)
}

// pageURL returns the URL on this site for a link in a Markdown file; ok is false if there is none.
// A link to the README leads to the source code.
func (s *server) pageURL(file, link string) (url string, ok bool) {
	if strings.Contains(link, ":") || strings.HasPrefix(link, "#") {
		return link, true
	}
	to, fragment, found := strings.Cut(link, "#")
	if found {
		fragment = "#" + fragment
	}
	to = path.Join(path.Dir(file), to)
	switch target, served := guidePath(to); {
	case served:
		return target + fragment, true
	case to == "docs/README.md":
		return docsPath, true
	case to == "README.md":
		return s.opts.Operator.Source, s.opts.Operator.Source != ""
	case strings.HasPrefix(to, "docs/images/"):
		return imagesPath + path.Base(to), true
	}
	return link, false
}
