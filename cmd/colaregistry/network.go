package main

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/colaregistry/colaregistry/internal/web"
)

// networkFlags configure who is connected.
type networkFlags struct {
	TrustedProxies []string `name:"trusted-proxy" placeholder:"CIDR" help:"Network of proxies in front, such as 10.0.0.0/8, whose X-Forwarded-For names the client; may be repeated. Without it the client is whoever is connected."`
	MaxConnections int      `name:"max-connections" default:"10000" placeholder:"N" help:"Most connections open at one time (${default}); fewer if the process may not open as many files. At the limit idle connections are closed, and new ones wait."`
}

// reservedFiles is how many of the files that a process may open are kept for the database, the index and the log.
const reservedFiles = 256

func (f *networkFlags) check() error {
	if _, err := f.proxies(); err != nil {
		return err
	}
	if f.MaxConnections < 1 {
		return errors.New("--max-connections: at least one connection is needed")
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
			return nil, fmt.Errorf("--trusted-proxy: %q is not a network such as 10.0.0.0/8, or an address", given)
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
	env.log.Warn("fewer connections are accepted than --max-connections: raise the limit on open files (ulimit -n)",
		"connections", most, "files", files)
	return most
}
