package web

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// Proxies are the networks whose X-Forwarded-For headers are trusted.
type Proxies []netip.Prefix

// Identify adds the client address to the context of each request; see cola.ClientFrom.
func (p Proxies) Identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(cola.WithClient(r.Context(), p.client(r))))
	})
}

// client returns the client address: the peer or, behind trusted proxies, the rightmost address in
// X-Forwarded-For that is not a trusted proxy's. Each proxy appends its peer, so a client may have
// forged everything further left. If an entry is not an address, the proxy that reported it is the
// client.
func (p Proxies) client(r *http.Request) netip.Addr {
	client, ok := parseAddress(r.RemoteAddr)
	lines := r.Header.Values("X-Forwarded-For")
	for i := len(lines) - 1; i >= 0; i-- {
		for rest, more := lines[i], true; more && ok && p.trusts(client); {
			var entry string
			entry, rest, more = lastEntry(rest)
			var next netip.Addr
			if next, ok = parseAddress(entry); ok {
				client = next
			}
		}
	}
	return client
}

// lastEntry splits the last entry off a comma-separated list; more reports whether entries are
// left.
func lastEntry(list string) (entry, rest string, more bool) {
	comma := strings.LastIndexByte(list, ',')
	if comma < 0 {
		return list, "", false
	}
	return list[comma+1:], list[:comma], true
}

func (p Proxies) trusts(address netip.Addr) bool {
	for _, network := range p {
		if network.Contains(address) {
			return true
		}
	}
	return false
}

// parseAddress parses an IP address with an optional port.
func parseAddress(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	address, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return address.Unmap().WithZone(""), err == nil
}

// IsLocalURL reports whether a URL works only on the server itself: its host is a loopback or
// unspecified address, or localhost.
func IsLocalURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") ||
		err == nil && (ip.Unmap().IsLoopback() || ip.IsUnspecified())
}
