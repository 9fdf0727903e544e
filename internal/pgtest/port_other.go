//go:build !linux

package pgtest

import "net"

// reservation is a port that was free when it was chosen. Only Linux can reserve it for the server;
// elsewhere another process may take it first.
type reservation struct{ number int }

// reservePort chooses a free port on the loopback interface.
func reservePort() (*reservation, error) {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return &reservation{number: l.Addr().(*net.TCPAddr).Port}, nil
}

func (r *reservation) release() error { return nil }
