package dashboard

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// picture is an image of a label. Its address is third parties' text.
type picture struct {
	Src    string // to show it from; empty when it is shown as a link only, or not known
	Href   string // to open it at; empty when the address is none that may be opened
	Text   string // the address as it is written
	Alt    string
	Width  int // pixels; 0 when they are not known
	Height int
}

// pictureAt returns the picture at an address.
func pictureAt(publicURL, address string) picture {
	p := picture{Text: plainText(address), Href: linkTo(publicURL, address)}
	if strings.HasPrefix(p.Href, "/") || strings.HasPrefix(p.Href, "https:") {
		p.Src = p.Href // browsers are told to load no others: see policy
	}
	return p
}

// Known reports whether there is anything to tell of the picture.
func (p picture) Known() bool { return p.Text != "" }

// mostAddress is how many bytes an address may have that is made a link.
const mostAddress = 2048

// linkTo returns an address of third parties as one that a link may lead to: of this server relative, so that it works by whichever name the server
// is reached, else with http or https. It is empty for any other.
func linkTo(publicURL, address string) string {
	if own, ok := strings.CutPrefix(address, publicURL+"/images/"); ok && publicURL != "" {
		return "/images/" + url.PathEscape(own)
	}
	u, err := url.Parse(address)
	if err != nil || len(address) > mostAddress || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return u.String()
}

// plainText is legible, with spaces for line breaks.
func plainText(s string) string {
	return legible(strings.Map(func(r rune) rune {
		switch r {
		case '\n', '\r', '\t', '\u2028', '\u2029':
			return ' '
		}
		return r
	}, s))
}

// shortened cuts a text to so many characters.
func shortened(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
