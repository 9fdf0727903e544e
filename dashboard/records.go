package dashboard

import (
	"net"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// recordLinks turns URLs in records into links and images. The URLs come from third parties, so
// they may point to pages of this server, and opening such a page could charge the signed-in
// reader. The only URLs on this server that it allows are those of label images.
type recordLinks struct {
	publicURL string
	own       []string // hosts where the reader may be signed in; see plainHost
}

// recordLinks returns the recordLinks of this request. Cookies belong to the host in the browser's
// address bar, so that host also counts as our own.
func (req *request) recordLinks() recordLinks {
	own := req.hosts
	if host, ok := plainHost(req.http.Host); ok {
		own = append(slices.Clip(own), host)
	}
	return recordLinks{req.opts.PublicURL, own}
}

// ownHosts returns the hosts in the options, normalized by plainHost.
func ownHosts(o Options) (hosts []string) {
	names := o.Hosts
	if u, err := url.Parse(o.PublicURL); err == nil {
		names = append(slices.Clip(names), u.Host)
	}
	for _, name := range names {
		if host, ok := plainHost(name); ok {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// Display widths of images, in device pixels on a screen with two per CSS pixel.
const (
	rowPicture     = 2 * 96
	galleryPicture = 2 * 320
	labelPicture   = 2 * 640
)

// picture returns the image at a URL, sized for a display width.
func (l recordLinks) picture(address string, width int) picture {
	p := picture{Text: singleLine(address), Href: l.href(address)}
	if strings.HasPrefix(p.Href, "/") || strings.HasPrefix(p.Href, "https:") {
		p.Src = p.Href // the content security policy blocks other schemes
	}
	if strings.HasPrefix(p.Href, "/") {
		p.Src += "?width=" + strconv.Itoa(width) // only affects stored files
		if path.Ext(p.Href) == "" {
			p.Src += "&format=svg" // only affects drawings: SVG is cheaper than the format in the record
		}
	}
	return p
}

// maxURLLength is the maximum length of a linked URL, in bytes.
const maxURLLength = 2048

// href returns the link for a URL: relative for a label image on this server, so that it works
// under any of the server's host names; otherwise absolute, with http or https. It returns "" for a
// URL that must not be linked.
func (l recordLinks) href(address string) string {
	if id, ok := strings.CutPrefix(address, l.publicURL+"/images/"); ok && l.publicURL != "" && isImageID(id) {
		return "/images/" + url.PathEscape(id)
	}
	u, err := url.Parse(address)
	if err != nil || len(address) > maxURLLength || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return ""
	}
	if host, ok := plainHost(u.Host); !ok || slices.Contains(l.own, host) || isLocal(host) {
		return ""
	}
	return u.String()
}

// isImageID reports whether browsers treat id as one path segment other than . and ..
func isImageID(id string) bool {
	return strings.Trim(id, ".") != "" && !strings.ContainsAny(id, `/\?#%`) && len(id) <= maxURLLength
}

// plainHost returns the normalized form of a host, without its port: cookies also ignore ports. It
// reports false for hosts that browsers rewrite: names with non-ASCII letters, which they map to
// other characters, and numbers that they parse as IPv4 addresses, such as 127.1 and 0x7f000001.
func plainHost(hostport string) (host string, ok bool) {
	host = hostport
	if name, _, err := net.SplitHostPort(hostport); err == nil {
		host = name
	}
	host = strings.TrimRight(strings.ToLower(strings.Trim(host, "[]")), ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().String(), addr.Zone() == ""
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" || last[0] >= '0' && last[0] <= '9' {
		return "", false
	}
	for _, c := range []byte(host) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' {
			return "", false
		}
	}
	return host, true
}

// isLocal reports whether a host is the reader's own machine, which can't host a record's images.
func isLocal(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback() || addr.IsUnspecified()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// picture is an image of a label.
type picture struct {
	Src    string // URL to load it from; empty if it isn't displayed
	Href   string // URL to open it at; empty if it can't be opened
	Text   string // URL in the record
	Alt    string
	Width  int // pixels, or 0 if unknown
	Height int
}

// Known reports whether the record has an image URL.
func (p picture) Known() bool { return p.Text != "" }

// fact is a property of a record. Without a value, it is unknown; see Known.
type fact struct {
	Name     string
	Values   []string
	Lines    bool      // the values are sentences, one per line
	More     int       // number of omitted values
	Day      cola.Date // instead of Values
	Estimate cola.Date // estimate of an unknown approval date, instead of Values
	Href     string    // link; may be empty
	External bool      // the link is to another site
	Related  *link     // link after the values; may be nil
	Derived  bool      // extracted from the images by a model
}

// factGroup is a list of facts with a heading.
type factGroup struct {
	Title string
	Facts []fact
}

// Known reports whether the fact has a value.
func (f fact) Known() bool { return len(f.Values) > 0 || f.Day != 0 || f.Estimate != 0 }

// facts returns the known facts.
func facts(all ...fact) []fact {
	var known []fact
	for _, f := range all {
		if f.Known() {
			known = append(known, f)
		}
	}
	return known
}

func wordsFact(name, value string) fact {
	if value = singleLine(value); value == "" {
		return fact{}
	}
	return fact{Name: name, Values: []string{value}}
}

func textFact(name string, value cola.Text) fact { return wordsFact(name, string(value)) }

func listFact(name string, values []string) fact {
	f := fact{Name: name}
	for _, v := range values[:min(len(values), maxValues)] {
		f.Values = append(f.Values, singleLine(v))
	}
	f.More = len(values) - len(f.Values)
	return f
}

// linesFact returns a fact with a value for each line of text.
func linesFact(name string, text cola.Text) fact {
	f := listFact(name, strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' }))
	f.Lines = true
	return f
}

func dateFact(name string, d cola.Date) fact { return fact{Name: name, Day: d} }

func approvedFact(c *cola.ColaSummary) fact {
	return fact{Name: "Approved", Day: c.ApprovalDate, Estimate: c.ApprovalDateEstimate}
}

func intFact(name string, n cola.Opt[int]) fact {
	if !n.OK {
		return fact{}
	}
	return wordsFact(name, strconv.Itoa(n.V))
}

func decimalFact(name string, n cola.Opt[float64]) fact {
	if !n.OK {
		return fact{}
	}
	return wordsFact(name, formatDecimal(n.V))
}

func boolFact(name string, b cola.Opt[bool]) fact {
	switch {
	case !b.OK:
		return fact{}
	case b.V:
		return wordsFact(name, "Yes")
	}
	return wordsFact(name, "No")
}

// linkedTo adds a link to a fact.
func (f fact) linkedTo(href string) fact { f.Href = href; return f }

// with adds a related link to a fact.
func (f fact) with(related link) fact { f.Related = &related; return f }

// derived marks a fact as extracted by a model.
func (f fact) derived() fact { f.Derived = true; return f }

// dimensions formats two sizes, such as "900 × 1200"; it is empty if both are unknown.
func dimensions[T int | float64](a, b cola.Opt[T], separator string) string {
	one := func(n cola.Opt[T]) string {
		if !n.OK {
			return "?"
		}
		return formatDecimal(float64(n.V))
	}
	if !a.OK && !b.OK {
		return ""
	}
	return one(a) + separator + one(b)
}

// linkFact returns a fact with a URL from a record, linked if allowed.
func linkFact(name string, address cola.Text, links recordLinks) fact {
	f := textFact(name, address)
	f.Href = links.href(string(address))
	f.External = f.Href != "" && f.Href[0] != '/'
	return f
}
