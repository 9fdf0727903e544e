package cola

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
)

// MaxNetworks is the maximum number of networks per API key.
const MaxNetworks = 20

// Networks are blocks of IP addresses that a key may be used from. An empty list allows any
// address.
type Networks []netip.Prefix

// ParseNetwork parses an IP address, or a block of them in CIDR notation. In CIDR notation,
// any address within the block may precede the slash. IPv4-mapped IPv6 addresses are IPv4
// addresses.
func ParseNetwork(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		if address.Zone() != "" {
			return netip.Prefix{}, errors.New("zones are not allowed")
		}
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	block, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return netip.Prefix{}, errors.New("not an IP address or CIDR block")
	case block.Addr().Is4In6():
		// Unmapping removes the first 96 bits. A prefix shorter than that isn't a block of IPv4
		// addresses; PrefixFrom returns an invalid one.
		if block = netip.PrefixFrom(block.Addr().Unmap(), block.Bits()-96); !block.IsValid() {
			return netip.Prefix{}, errors.New("the prefix is shorter than 96 bits")
		}
	}
	return block.Masked(), nil
}

// Allow reports whether a client may use the key. An unknown address, the zero Addr, is allowed
// only if the list is empty.
func (n Networks) Allow(client netip.Addr) bool {
	client = client.Unmap().WithZone("")
	return len(n) == 0 || slices.ContainsFunc(n, func(block netip.Prefix) bool { return block.Contains(client) })
}

// Equal reports whether both lists have the same blocks in the same order.
func (n Networks) Equal(other Networks) bool { return slices.Equal(n, other) }

// Strings returns the networks in CIDR notation, and single addresses without a prefix length.
func (n Networks) Strings() []string {
	list := make([]string, len(n))
	for i, block := range n {
		if list[i] = block.String(); block.IsSingleIP() {
			list[i] = block.Addr().String()
		}
	}
	return list
}

// String returns the networks, separated by commas.
func (n Networks) String() string { return strings.Join(n.Strings(), ",") }

// SetString parses the text that String returns for a non-empty list. Other text becomes a block
// without addresses, so that corrupt data never yields an empty list, which would allow every
// address.
func (n *Networks) SetString(text string) {
	*n = nil // make a new list: the caller may still use the old one
	for item := range strings.SplitSeq(text, ",") {
		block, _ := ParseNetwork(item)
		*n = append(*n, block)
	}
}
