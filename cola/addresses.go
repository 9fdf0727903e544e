package cola

import (
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Maximum lengths of email addresses and host names, in bytes (RFC 5321 and 1035).
const (
	maxMailbox   = 254
	maxLocalPart = 64
	maxHost      = 253
	maxHostLabel = 63
)

// CheckEmail returns a readable error unless text is an email address in plain form: ASCII, without
// a display name, comments, quotes or white space. Only such addresses may identify accounts or
// receive email, because all mail software agrees on which of them are equal, apart from ASCII
// letter case.
func CheckEmail(text string) error {
	for _, r := range text {
		if r > unicode.MaxASCII {
			return fmt.Errorf("%s contains %U, which is not ASCII; use an ASCII email address", Quoted(text), r)
		}
	}
	parsed, err := mail.ParseAddress(text)
	switch {
	case len(text) > maxMailbox:
		return fmt.Errorf("%s is longer than %d characters", Quoted(text), maxMailbox)
	case err != nil || parsed.Address != text || strings.LastIndexByte(text, '@') > maxLocalPart:
		return fmt.Errorf("%s is not a valid email address (example: alerts@example.com)", Quoted(text))
	}
	return nil
}

// FoldAddress returns the form used to compare the addresses of destinations of the given kind.
// Email addresses are compared without regard to ASCII letter case, URLs exactly.
func FoldAddress(kind, address string) string {
	if kind == KindEmail {
		return vocabulary.FoldASCII(address)
	}
	return address
}

// CheckMailbox checks an email address to send to: unlike CheckEmail, it requires a fully qualified
// domain.
func CheckMailbox(value string) error {
	err := CheckEmail(value)
	if err == nil && !isFullName(value[strings.LastIndexByte(value, '@')+1:]) {
		err = fmt.Errorf("%s has an incomplete domain; use an address such as alerts@example.com", Quoted(value))
	}
	return err
}

// mailbox checks an email address to send to.
func (p *Problems) mailbox(name, value string) string {
	if err := CheckMailbox(value); err != nil {
		p.Add(name, "%s.", err)
		return ""
	}
	return value
}

// webhook normalizes the URL of a webhook: scheme and host in lower case. Unless private addresses
// are allowed, it must be https with a host that can be public. The resolved IP addresses are
// checked when connecting.
func (p *Problems) webhook(name, value string, private bool) string {
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.ContainsFunc(value, unicode.IsSpace):
		p.Add(name, "%s is not an https URL; use one such as https://hooks.example.com/labels.", Quoted(value))
		return ""
	case u.Scheme == "http" && !private:
		p.Add(name, "The URL must start with https://.")
	}
	if u.User != nil {
		p.Add(name, "The URL must not contain a user name or password. Verify the message signatures instead.")
	}
	if u.Fragment != "" || strings.HasSuffix(value, "#") {
		p.Add(name, "The URL must not have a fragment (#…).")
	}
	u.Host = vocabulary.FoldASCII(u.Host)
	p.host(name, u, private)
	normalized := u.String()
	if len(normalized) > maxAddressLength {
		p.Add(name, "The escaped URL is %d characters long; the limit is %d.", len(normalized), maxAddressLength)
	}
	if len((*p)[name]) > 0 {
		return ""
	}
	return normalized
}

// host reports problems with the host and port of a URL.
func (p *Problems) host(name string, u *url.URL, private bool) {
	host := u.Hostname()
	address, err := netip.ParseAddr(host)
	switch {
	case err == nil && (private || IsPublic(address)):
	case err == nil:
		p.Add(name, "%s is not a public IP address.", Quoted(host))
	case !isHost(host):
		p.Add(name, "%s is not a host name or IP address; use the xn-- form for non-ASCII names.", Quoted(host))
	case !private && (!isFullName(host) || strings.HasSuffix(host, ".localhost")):
		p.Add(name, "%s is not a public host name.", Quoted(host))
	}
	if port, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || port < 1 || port > 65535) {
		p.Add(name, "%s is not a port; use 1 to 65535.", Quoted(u.Port()))
	}
}

// isFullName reports whether text is a fully qualified host name.
func isFullName(text string) bool { return isHost(text) && strings.Contains(text, ".") }

// isHost reports whether text can be a host name. A name whose last label is a number can't be one,
// because some programs treat it as an IP address.
func isHost(text string) bool {
	labels := strings.Split(text, ".")
	last := labels[len(labels)-1]
	return len(text) <= maxHost && !slices.ContainsFunc(labels, isInvalidLabel) && strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x")
}

func isInvalidLabel(label string) bool {
	other := func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	return label == "" || len(label) > maxHostLabel || label[0] == '-' || strings.HasSuffix(label, "-") || strings.ContainsFunc(label, other)
}

// IsPublic reports whether an IP address can belong to a host on the public internet: it is not
// loopback, private, link-local or reserved, and doesn't embed such an address.
func IsPublic(address netip.Addr) bool {
	address = address.Unmap()
	if !address.IsGlobalUnicast() || address.IsPrivate() || address.Zone() != "" {
		return false
	}
	if address.Is6() && !netip.MustParsePrefix("2000::/3").Contains(address) {
		return false
	}
	return !slices.ContainsFunc(reservedBlocks(), func(block netip.Prefix) bool { return block.Contains(address) })
}

// reservedBlocks returns address blocks that look public but are reserved by the special-purpose
// registries (RFC 6890 and its updates), or embed IPv4 addresses.
func reservedBlocks() []netip.Prefix {
	var blocks []netip.Prefix
	for _, block := range [...]string{
		"0.0.0.0/8",       // this network
		"100.64.0.0/10",   // carrier-grade NAT
		"192.0.0.0/24",    // protocol assignments
		"192.0.2.0/24",    // documentation
		"192.88.99.0/24",  // former 6to4 relays
		"198.18.0.0/15",   // benchmarks
		"198.51.100.0/24", // documentation
		"203.0.113.0/24",  // documentation
		"240.0.0.0/4",     // reserved
		"2001::/23",       // protocol assignments, including Teredo
		"2001:db8::/32",   // documentation
		"2002::/16",       // 6to4 embeds IPv4
		"3fff::/20",       // documentation
	} {
		blocks = append(blocks, netip.MustParsePrefix(block))
	}
	return blocks
}
