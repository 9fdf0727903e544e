package webhook

import (
	"errors"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"

	"github.com/colaregistry/colaregistry/cola"
)

// errNotPublic says that a connection was refused because of where it would have led.
var errNotPublic = errors.New("not an address of the public internet")

// registries knows the special-purpose addresses of the IANA registries. Any port may be connected to.
var registries = ssrf.New(ssrf.WithAnyPort())

// publicOnly refuses connections to addresses that are not of the public internet. It is asked about every address that is connected to,
// after its name was resolved, so a name that resolves to something else than a moment ago gains nothing. Two lists have to agree, that of a library and the one that
// destinations are checked by when they are made.
func publicOnly(network, address string, c syscall.RawConn) error {
	if registries.Safe(network, address, c) != nil {
		return errNotPublic
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil || to.Addr().Is4In6() || !cola.IsPublic(to.Addr()) {
		return errNotPublic
	}
	return nil
}
