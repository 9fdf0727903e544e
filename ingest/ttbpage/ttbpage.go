// Package ttbpage reads the pages of TTB's Public COLA Registry as its website serves them.
//
// It extracts text as it appears on the page; package ingest turns it into values. The contact
// block of a page (person, phone, fax, email) and signatures are never read.
package ttbpage

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding/charmap"
)

// Kind is the kind of a page.
type Kind string

// The kinds of pages. If the site does not serve a request, it responds with SearchForm or one of
// the kinds after it, often with status 200.
const (
	Detail       Kind = "detail page"    // viewColaDetails.do?action=publicDisplaySearchBasic
	Printable    Kind = "printable form" // viewColaDetails.do?action=publicFormDisplay
	Results      Kind = "result page"    // publicSearchColasBasicProcess.do
	SearchForm   Kind = "search page"    // publicSearchColasBasic.do
	SessionEnded Kind = "session page"   // says that the session has expired
	NoPage       Kind = "no page"        // the error page for a label without the requested page
	Blocked      Kind = "block page"     // a firewall's page with a support ID
	Captcha      Kind = "CAPTCHA page"
	SiteError    Kind = "error page" // from the site or a proxy
	Unknown      Kind = "unknown web page"
)

// ErrNoLabel is wrapped by Label's error for a page that does not describe a label.
var ErrNoLabel = errors.New("the page does not describe a label")

// IsHTML reports whether start looks like the beginning of an HTML page.
func IsHTML(start []byte) bool {
	start = bytes.ToLower(bytes.TrimLeft(start, " \t\r\n\f\ufeff"))
	for _, tag := range []string{"<!doctype html", "<html", "<head", "<title", "<!--"} {
		if bytes.HasPrefix(start, []byte(tag)) {
			return true
		}
	}
	return false
}

// Page is a parsed page.
type Page struct {
	Kind Kind
	root *html.Node
}

// Parse reads a page. The site declares ISO 8859-1 and serves UTF-8, so the declaration is ignored:
// text that is not UTF-8 is read as Windows-1252.
func Parse(text []byte) (*Page, error) {
	if !utf8.Valid(text) {
		var err error
		if text, err = charmap.Windows1252.NewDecoder().Bytes(text); err != nil {
			return nil, fmt.Errorf("decode the page: %w", err)
		}
	}
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("parse the page: %w", err)
	}
	p := &Page{root: root}
	p.Kind = p.kind()
	return p, nil
}

// kind recognizes a page by its title, heading and text.
func (p *Page) kind() Kind {
	title := strings.ToLower(textOf(find(p.root, func(n *html.Node) bool { return n.Data == "title" })))
	heading := textOf(find(p.root, func(n *html.Node) bool { return n.Data == "h1" }))
	switch {
	case heading == "COLA Detail":
		return Detail
	case strings.Contains(title, "omb no. 1513-0020"):
		return Printable
	case strings.HasPrefix(heading, "Search Results"):
		return Results
	}
	body := strings.ToLower(textOf(p.root))
	switch {
	case strings.Contains(body, "support id"):
		return Blocked
	case strings.Contains(body, noMatches):
		return Results
	case strings.Contains(body, "captcha") || find(p.root, isCaptcha) != nil:
		return Captcha
	case find(p.root, isSearchField) != nil:
		return SearchForm
	case sessionEnded.MatchString(title + " " + body):
		return SessionEnded
	case strings.Contains(body, "unable to process request"):
		return NoPage
	case strings.Contains(title+" "+body, "error") || strings.Contains(body, "unavailable") || strings.Contains(body, "not found"):
		return SiteError
	}
	return Unknown
}

// sessionEnded matches sentences such as "Your session has expired" and "Session timeout".
var sessionEnded = regexp.MustCompile(`\bsession\b.{0,40}\b(expired|timed out|timeout|time-out|ended|invalid)\b`)

// isSearchField recognizes a field of the search form.
func isSearchField(n *html.Node) bool {
	return n.Data == "input" && attribute(n, "name") == "searchCriteria.dateCompletedFrom"
}

func isCaptcha(n *html.Node) bool {
	return strings.Contains(strings.ToLower(attribute(n, "src")+attribute(n, "class")+attribute(n, "id")), "captcha")
}

// Label is a label as a detail page or printable form shows it. Fields missing from the page are
// empty.
type Label struct {
	TTBID           string
	Status          string // such as SURRENDERED
	PermitNumber    string
	BrandName       string
	FancifulName    string
	SerialNumber    string
	Formula         string
	ClassCode       string // printable form
	ClassName       string
	OriginCode      string // printable form
	OriginName      string // detail page
	ProductType     string // printable form: Wine, Distilled Spirits or Malt Beverage
	Source          string // printable form: Domestic or Imported
	ApplicationType string // LABEL APPROVAL or empty on a printable form; see applicationType
	ForSaleIn       string // state named in an exemption
	BottleCapacity  string // capacity of a distinctive bottle
	ResubmissionOf  string // TTB ID of the rejected application
	Applicant       string // business name
	TradeName       string // printable form: the name used on the label, if it differs
	State, ZIP      string
	Varietals       string
	Vintage         string
	Appellation     string
	NetContents     []string
	AlcoholContent  string
	Application     string // date, MM/DD/YYYY
	Approval        string // date
	Expiration      string // date
	Qualifications  []string
	Images          []Image
	HasImages       bool // the page lists the images: it is a printable form
	// Approvals requested on a printable form.
	DistinctiveChecked  bool // for a distinctive bottle
	ResubmissionChecked bool // after a rejection
}

// Image is a label image on a printable form.
type Image struct {
	Position      string  // such as "Brand (front) or keg collar"
	FileName      string  // as named by the applicant
	Width, Height float64 // in inches; 0 if unknown
}

// Label returns the label that a detail page or printable form describes.
func (p *Page) Label() (Label, error) {
	var l Label
	switch p.Kind {
	case Detail:
		l = p.detail()
	case Printable:
		l = p.printable()
	default:
		return Label{}, fmt.Errorf("%s: %w", p.Kind, ErrNoLabel)
	}
	if l.TTBID == "" {
		return Label{}, fmt.Errorf("%s without a TTB ID: %w", p.Kind, ErrNoLabel)
	}
	return l, nil
}
