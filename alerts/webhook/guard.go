package webhook

import (
	"errors"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"

	"github.com/colaregistry/colaregistry/cola"
)

// errNotPublic is the error for an address that is not allowed.
var errNotPublic = errors.New("address is not on the public internet")

// registries checks addresses against the IANA registries of special-purpose addresses. It allows
// any port.
var registries = ssrf.New(ssrf.WithAnyPort())

// publicOnly rejects connections to addresses outside the public internet. It runs after name
// resolution, which prevents DNS rebinding. An address must pass both the registries check and
// cola.IsPublic, which also checks new destinations.
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
