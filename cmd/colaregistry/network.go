package main

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/colaregistry/colaregistry/internal/web"
)

// networkFlags configure connections and client addresses.
type networkFlags struct {
	TrustedProxies []string `name:"trusted-proxy" placeholder:"CIDR" help:"Network of reverse proxies, such as 10.0.0.0/8, whose X-Forwarded-For names the client; may be repeated. Without it, the client is the connected peer."`
	MaxConnections int      `name:"max-connections" default:"10000" placeholder:"N" help:"Maximum open connections (${default}); fewer if the limit on open files is lower. At the limit, idle connections are closed and new ones wait."`
}

// reservedFiles is how many file descriptors are reserved for the database, the index and the log.
const reservedFiles = 256

func (f *networkFlags) check() error {
	if _, err := f.proxies(); err != nil {
		return err
	}
	if f.MaxConnections < 1 {
		return errors.New("--max-connections must be at least 1")
	}
	return nil
}

// proxies returns the networks of trusted proxies. A single address is a network of one.
func (f *networkFlags) proxies() (web.Proxies, error) {
	var networks web.Proxies
	for _, given := range f.TrustedProxies {
		network, err := netip.ParsePrefix(given)
		if address, single := netip.ParseAddr(given); single == nil {
			network, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("--trusted-proxy: %q is neither an address nor a network such as 10.0.0.0/8", given)
		}
		if network.Bits() == 0 {
			return nil, fmt.Errorf("--trusted-proxy: %s includes every address, so any client could spoof its IP; list only your proxies' networks", given)
		}
		networks = append(networks, network.Masked())
	}
	return networks, nil
}

// connections returns how many connections the server keeps open.
func (f *networkFlags) connections(env *environment) int {
	files, ok := fileLimit()
	if !ok || uint64(f.MaxConnections)+reservedFiles <= files {
		return f.MaxConnections
	}
	most := max(1, int(files)-reservedFiles)
	env.log.Warn("the limit on open files allows fewer connections than --max-connections; raise it (ulimit -n)",
		"connections", most, "files", files)
	return most
}
