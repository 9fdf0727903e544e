package dashboard

import (
	"net"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

// recordLinks turns addresses in records into links and images. Third parties wrote them, so they may
// name pages of this server, which would charge the signed-in reader. The only addresses of this
// server that it allows are label images.
type recordLinks struct {
	publicURL string
	own       []string // hosts where the reader may be signed in; see plainHost
}

// recordLinks returns the recordLinks of this visit. Cookies belong to the host in the browser's
// address bar, so that host also counts as our own.
func (v *visit) recordLinks() recordLinks {
	own := v.hosts
	if host, ok := plainHost(v.r.Host); ok {
		own = append(slices.Clip(own), host)
	}
	return recordLinks{v.opts.PublicURL, own}
}

// ownHosts returns the hosts in the options; see plainHost.
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

// picture returns the image at an address.
func (l recordLinks) picture(address string) picture {
	p := picture{Text: plainText(address), Href: l.href(address)}
	if strings.HasPrefix(p.Href, "/") || strings.HasPrefix(p.Href, "https:") {
		p.Src = p.Href // the content security policy blocks other schemes
	}
	if strings.HasPrefix(p.Href, "/") && path.Ext(p.Href) == "" {
		p.Src += ".svg" // cheaper to draw than the format that the record states
	}
	return p
}

// mostAddress is the maximum length of a linked address, in bytes.
const mostAddress = 2048

// href returns an address that may be linked: relative for a label image of this server, so that it
// works under any of the server's names; otherwise absolute, with http or https. It returns "" for
// any other address.
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

// isImageID reports whether browsers treat id as one path segment other than . and ..
func isImageID(id string) bool {
	return strings.Trim(id, ".") != "" && !strings.ContainsAny(id, `/\?#%`) && len(id) <= mostAddress
}

// plainHost returns the normalized form of a host, without its port: cookies ignore ports, too. It
// reports false for hosts that browsers rewrite: non-ASCII letters, which they map to others, and
// numbers that they read as IPv4 addresses, such as 127.1 and 0x7f000001.
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

// isLocal reports whether a host is the reader's own machine, which hosts no record's images.
func isLocal(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback() || addr.IsUnspecified()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
