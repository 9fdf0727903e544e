package dashboard

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// recordLinks turns addresses found in records into links and pictures. Third parties wrote them,
// so they may name pages of this server, which are charged to whoever is signed in: only label
// images are linked to or shown from here.
type recordLinks struct {
	publicURL string
	own       []string // hosts that the reader may be signed in at, see plainHost
}

// recordLinks returns the links for this visit. Cookies belong to the host that the browser knows
// the server by, so that one is our own, too, whatever it is.
func (v *visit) recordLinks() recordLinks {
	own := v.hosts
	if host, ok := plainHost(v.r.Host); ok {
		own = append(slices.Clip(own), host)
	}
	return recordLinks{v.opts.PublicURL, own}
}

// ownHosts returns the hosts that the options name, see plainHost.
func ownHosts(o Options) (hosts []string) {
	named := o.Hosts
	if u, err := url.Parse(o.PublicURL); err == nil {
		named = append(slices.Clip(named), u.Host)
	}
	for _, name := range named {
		if host, ok := plainHost(name); ok {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// picture returns the picture at an address.
func (l recordLinks) picture(address string) picture {
	p := picture{Text: plainText(address), Href: l.href(address)}
	if strings.HasPrefix(p.Href, "/") || strings.HasPrefix(p.Href, "https:") {
		p.Src = p.Href // the content security policy allows no others
	}
	return p
}

// mostAddress is the length of the longest address, in bytes, that is made a link.
const mostAddress = 2048

// href returns an address that a link may lead to: relative for a label image of this server, so
// that it works by whichever name the reader uses, else absolute with http or https. It is empty
// for any other address.
func (l recordLinks) href(address string) string {
	if id, ok := strings.CutPrefix(address, l.publicURL+"/images/"); ok && l.publicURL != "" && isImageID(id) {
		return "/images/" + url.PathEscape(id)
	}
	u, err := url.Parse(address)
	if err != nil || len(address) > mostAddress || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return ""
	}
	if host, ok := plainHost(u.Host); !ok || slices.Contains(l.own, host) || isLocal(host) {
		return ""
	}
	return u.String()
}

// isImageID reports whether a browser takes id for one path segment, and does not resolve it as .
// or .. either.
func isImageID(id string) bool {
	return strings.Trim(id, ".") != "" && !strings.ContainsAny(id, `/\?#%`) && len(id) <= mostAddress
}

// plainHost returns a host, with or without a port, in the one form that equal hosts share. It
// reports false for hosts that browsers read in ways of their own: letters beyond ASCII, which they
// map to others, and numbers that they take for IPv4 addresses, such as 127.1 and 0x7f000001. Ports
// do not count, as they do not for cookies.
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

// isLocal reports whether a host is the reader's own machine, where no record has its pictures.
func isLocal(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback() || addr.IsUnspecified()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
