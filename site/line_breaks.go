package site

import (
	"cmp"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/chroma/v2"
)

// Browsers break lines after hyphens and question marks, which splits options and names. The pages
// prevent that with elements, not with invisible characters, which would end up in copied code:
//
//	<u>     a hyphen and the next character, or a backslash at the end of a line and the last character
//	        before it, which stay on one line
//	<wbr>   before a part of a URL: a line may break here
//	<span>  an argument with spaces, which moves to the next line as a whole
//	<b>     a line that may break; its continuation is indented

// hyphenated finds the places after which browsers break lines, with the next character. Places that
// are close together, as in dates and UUIDs, share an element.
var hyphenated = regexp.MustCompile(`(?:-+|\?)(?:\w{1,4}-+){0,4}[^\s-]`)

// unbroken returns code as HTML, without line breaks after hyphens.
func unbroken(code string) template.HTML {
	var b strings.Builder
	at := 0
	for _, h := range hyphenated.FindAllStringIndex(code, -1) {
		b.WriteString(escapeText.Replace(code[at:h[0]]) + "<u>" + escapeText.Replace(code[h[0]:h[1]]) + "</u>")
		at = h[1]
	}
	b.WriteString(escapeText.Replace(code[at:]))
	return template.HTML(b.String())
}

// inlineCode returns code within a sentence, a table or a list as HTML. Long paths and URLs break
// between their parts.
func inlineCode(code string) template.HTML {
	if len(code) < minLong {
		return unbroken(code)
	}
	breaks := urlBreaks(code)
	if strings.HasPrefix(code, "/") {
		breaks = partBreaks(code)
	}
	var b strings.Builder
	at := 0
	for _, next := range append(breaks, len(code)) {
		b.WriteString(string(unbroken(code[at:next])))
		if at = next; at < len(code) {
			b.WriteString("<wbr>")
		}
	}
	return template.HTML(b.String())
}

// codeWriter writes highlighted code.
type codeWriter struct {
	strings.Builder
	class  string // of the open element; empty if there is none
	wraps  bool   // whether the current line may break
	breaks []int  // offsets of further places where lines may break
}

// setClass starts an element of the given class, unless the open element has that class.
func (w *codeWriter) setClass(class string) {
	if class == w.class {
		return
	}
	if w.class != "" {
		w.WriteString("</i>")
	}
	switch class {
	case "":
	case "s":
		w.WriteString("<i>") // the most frequent class
	default:
		w.WriteString("<i class=" + class + ">")
	}
	w.class = class
}

// tag writes the tag of a bound.
func (w *codeWriter) tag(tag string) {
	w.setClass("")
	w.WriteString(tag)
	if strings.HasPrefix(tag, lineStart[:2]) {
		w.wraps = true
	} else if tag == lineEnd {
		w.wraps = false
	}
}

// text writes a part of the code that starts at an offset.
func (w *codeWriter) text(class, part string, at int) {
	w.setClass(class)
	for len(w.breaks) > 0 && w.breaks[0] < at+len(part) {
		next := w.breaks[0]
		w.code(part[:next-at])
		if w.wraps {
			w.WriteString("<wbr>")
		}
		part, at, w.breaks = part[next-at:], next, w.breaks[1:]
	}
	w.code(part)
}

func (w *codeWriter) code(text string) {
	if w.wraps {
		w.WriteString(string(unbroken(text)))
	} else {
		w.WriteString(escapeText.Replace(text))
	}
}

// bound is a tag at an offset of source code.
type bound struct {
	at  int
	tag string
}

const (
	lineStart     = "<b>"
	lineEnd       = "</b>"
	argumentStart = "<span>"
	argumentEnd   = "</span>"
	unbrokenStart = "<u>"
	unbrokenEnd   = "</u>"
)

// shellArgument finds comments and quoted arguments in a shell command. The submatch is an argument
// in double quotes, with the option before it and the backslash after it.
var shellArgument = regexp.MustCompile(`(?m)(?:^|\s)(?:#.*|'[^']*'|((?:-[\w-]+ )?"(?:[^"\\\n]|\\.)*"(?: \\$)?))`)

// continued finds the end of a line that continues on the next one.
var continued = regexp.MustCompile(`(?m)\S \\$`)

// shellBounds returns the bounds of the lines of a shell command, of their backslashes, and of the
// arguments in them that contain spaces.
func shellBounds(source string) (bounds []bound) {
	at := 0
	for line := range strings.Lines(source) {
		bounds = append(bounds, bound{at, lineStart}, bound{at + len(line), lineEnd})
		at += len(line)
	}
	for _, end := range continued.FindAllStringIndex(source, -1) {
		bounds = append(bounds, bound{end[0], unbrokenStart}, bound{end[1], unbrokenEnd})
	}
	for _, a := range shellArgument.FindAllStringSubmatchIndex(source, -1) {
		if a[2] >= 0 && strings.Contains(strings.TrimSuffix(source[a[2]:a[3]], ` \`), " ") {
			bounds = append(bounds, bound{a[2], argumentStart}, bound{a[3], argumentEnd})
		}
	}
	return bounds
}

// hyphenBounds returns the bounds of hyphens that end a token, with the first character of the next
// one. unbroken handles those within a token.
func hyphenBounds(source string, tokens []chroma.Token) (bounds []bound) {
	at := 0
	for _, token := range tokens {
		at += len(token.Value)
		start := len(strings.TrimRight(source[:min(at, len(source))], "-"))
		if next, size := utf8.DecodeRuneInString(source[min(at, len(source)):]); start < at && size > 0 && next != '-' && !unicode.IsSpace(next) {
			bounds = append(bounds, bound{start, unbrokenStart}, bound{at + size, unbrokenEnd})
		}
	}
	return bounds
}

// sortBounds sorts bounds so that their elements nest.
func sortBounds(bounds []bound) []bound {
	order := func(tag string) int {
		if strings.HasPrefix(tag, "<b") {
			tag = lineStart
		}
		return slices.Index([]string{unbrokenEnd, argumentEnd, lineEnd, lineStart, argumentStart, unbrokenStart}, tag)
	}
	slices.SortStableFunc(bounds, func(a, b bound) int { return cmp.Or(a.at-b.at, order(a.tag)-order(b.tag)) })
	return bounds
}

// minLong is the minimum number of characters of a path that may break.
const minLong = 25

// maxUnbroken is the number of characters of a line that fit on a phone.
const maxUnbroken = 36

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

var (
	// codeURL finds a URL, a path or the name of a package in code.
	codeURL = regexp.MustCompile("(?:https?://[^\\s\"'`/?]+|\\$API)[/?][^\\s\"'`]*|[\\w@.-]+(?:/[\\w@.-]+)+")
	// urlPart finds a host, or a part of a URL before which a line may break.
	urlPart = regexp.MustCompile(`^(?:https?://)?[^/?&]+|[/?&]+[^/?&]*`)
)

// urlBreaks returns the offsets of the places in the URLs of code where lines may break.
func urlBreaks(code string) (breaks []int) {
	for _, u := range codeURL.FindAllStringIndex(code, -1) {
		if u[1]-u[0] < minLong && !strings.ContainsAny(code[u[0]:u[1]], ":$") {
			continue
		}
		for _, at := range partBreaks(code[u[0]:u[1]]) {
			breaks = append(breaks, u[0]+at)
		}
	}
	return breaks
}

// partBreaks returns the offsets of the parts of a URL except the first, and of the items after
// commas in a part that is too long for a line.
func partBreaks(url string) (breaks []int) {
	for _, part := range urlPart.FindAllStringIndex(url, -1) {
		if part[0] > 0 {
			breaks = append(breaks, part[0])
		}
		for i := part[0]; i < part[1]-1 && part[1]-part[0] > maxUnbroken-4; i++ {
			if url[i] == ',' {
				breaks = append(breaks, i+1)
			}
		}
	}
	return breaks
}
