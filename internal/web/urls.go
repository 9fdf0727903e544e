package web

import (
	"net/netip"
	"net/url"
	"strings"
)

// IsLocalURL reports whether only the machine itself reaches a URL: its host is a loopback or
// unspecified address, or localhost.
func IsLocalURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && (ip.Unmap().IsLoopback() || ip.IsUnspecified())
}
