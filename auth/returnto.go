package auth

import (
	"net/url"
	"strings"
)

// mostReturnTo bounds the addresses that a sign-in leads back to, in bytes.
const mostReturnTo = 1_000

// localPage returns an address that leads to a page of this service whatever reads it, or the home page for any other. Browsers take a
// backslash for a slash, pass over tabs and line breaks, and read two slashes as the beginning of a host, so none of these are let through,
// encoded or not.
func localPage(address string) string {
	if len(address) > mostReturnTo || !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") || strings.ContainsFunc(address, isOddInAddress) {
		return homePath
	}
	u, err := url.Parse(address)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || u.Opaque != "" {
		return homePath
	}
	whole := u.Path + "/" // decoded
	if strings.Contains(u.Path, "//") || strings.ContainsFunc(u.Path, isControl) || strings.Contains(whole, "/./") || strings.Contains(whole, "/../") {
		return homePath
	}
	return address
}

// LocalPage is what a sign-in leads back to for an address that a browser brought: the address, when it is one of a page here, or the home page.
func LocalPage(address string) string { return localPage(address) }

// isOddInAddress reports whether a character has to be encoded in an address.
func isOddInAddress(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }

// isControl reports whether a character must not be in a path even when it is encoded.
func isControl(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }
