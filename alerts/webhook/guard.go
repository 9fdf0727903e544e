package webhook

import (
	"errors"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// errNotPublic says that a connection was refused because of where it would have led.
var errNotPublic = errors.New("not an address of the public internet")

// registries knows the special-purpose addresses of the IANA registries. Any port may be connected to.
var registries = ssrf.New(ssrf.WithAnyPort())

// carriers are networks whose addresses lead to an IPv4 address that they carry within, and others that must not be reached though
// they may be routed: they are refused by name, whatever a list that somebody else keeps says of them.
var carriers = []netip.Prefix{
	netip.MustParsePrefix("::/96"),         // IPv4-compatible
	netip.MustParsePrefix("::ffff:0:0/96"), // IPv4-mapped
	netip.MustParsePrefix("64:ff9b::/96"),  // NAT64
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2001::/32"),     // Teredo
	netip.MustParsePrefix("2002::/16"),     // 6to4
	netip.MustParsePrefix("fec0::/10"),     // site-local, deprecated
	netip.MustParsePrefix("100.64.0.0/10"), // shared by customers of a provider
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("240.0.0.0/4"),
}

// publicOnly refuses connections to addresses that are not of the public internet. It is asked about every address that is connected to,
// after its name was resolved, so a name that resolves to something else than a moment ago gains nothing.
func publicOnly(network, address string, c syscall.RawConn) error {
	if registries.Safe(network, address, c) != nil {
		return errNotPublic
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil || !public(to.Addr()) {
		return errNotPublic
	}
	return nil
}

// public reports whether an address may be connected to.
func public(a netip.Addr) bool {
	if a.Zone() != "" || !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, c := range carriers {
		if c.Contains(a) {
			return false
		}
	}
	return true
}
