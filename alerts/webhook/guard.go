package webhook

import (
	"errors"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"

	"github.com/colaregistry/colaregistry/cola"
)

// errNotPublic means that a connection to an address was refused.
var errNotPublic = errors.New("not an address of the public internet")

// registries checks addresses against the IANA registries of special-purpose addresses. It allows
// any port.
var registries = ssrf.New(ssrf.WithAnyPort())

// publicOnly refuses connections to addresses outside the public internet. It checks each address
// after its name was resolved, so that a name cannot change in between. Two lists must agree: a
// library's, and the one that checks new destinations.
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
