package webhook

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/colaregistry/colaregistry/alerts"
)

func TestPublicOnly(t *testing.T) {
	for _, a := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255",
		"127.0.0.1", "127.1.2.3", "169.254.169.254", "172.16.0.1", "172.31.255.255",
		"192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255",
		"198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1",
		"64:ff9b::808:808", "64:ff9b:1::a00:1", "100::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
		"2001:db8::1", "2002:7f00:1::", "2002:0a00:0001::1", "fc00::1", "fd12:3456::1", "fe80::1",
		"fe80::1%eth0", "fec0::1", "ff02::1", "ff0e::1", "2606:4700::1%eth0", "5f00::1", "4000::1",
	} {
		checkGuard(t, a, false)
	}
	for _, a := range []string{
		"8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
		"128.0.0.1", "169.253.0.1", "172.15.0.1", "172.32.0.1", "192.167.1.1", "192.169.1.1",
		"198.17.0.1", "198.20.0.1", "223.255.255.254", "2001:4860:4860::8888", "2606:4700:4700::1111", "2a00:1450::1",
	} {
		checkGuard(t, a, true)
	}
	for _, address := range []string{"", "8.8.8.8", "example.com:443", "8.8.8.8:https"} {
		if publicOnly("tcp4", address, nil) == nil {
			t.Errorf("publicOnly(tcp4, %q) allowed the connection, want an error", address)
		}
	}
	if publicOnly("udp4", "8.8.8.8:443", nil) == nil {
		t.Error("publicOnly(udp4) allowed the connection, want an error")
	}
}

// checkGuard checks whether connections to an address are allowed.
func checkGuard(t *testing.T, address string, want bool) {
	t.Helper()
	a := netip.MustParseAddr(address)
	network := "tcp4"
	if a.Is6() {
		network = "tcp6"
	}
	for _, port := range []string{"443", "25", "8443"} {
		if got := publicOnly(network, net.JoinHostPort(address, port), nil) == nil; got != want {
			t.Errorf("publicOnly(%s, %s:%s): allowed = %v, want %v", network, address, port, got, want)
		}
	}
}

// TestPrivateAddresses checks that requests to private addresses are rejected, in any notation.
func TestPrivateAddresses(t *testing.T) {
	r := newReceiver(t, true, answers(200))
	port := ":" + strconv.Itoa(r.Listener.Addr().(*net.TCPAddr).Port)
	for _, host := range []string{
		"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "10.0.0.1", "169.254.169.254",
		"[fe80::1]", "[64:ff9b::7f00:1]",
	} {
		s := sender(r)
		s.private, s.dialer.Control = false, publicOnly
		if got := s.outcome(t.Context(), message("https://"+host+port)); got != (alerts.Result{Fault: faultNotPublic}) {
			t.Errorf("%s: Send = %+v, want fault %q", host, got, faultNotPublic)
		}
	}
	strict := New(Options{Vault: box})
	if got := strict.outcome(t.Context(), message(r.URL)); got != (alerts.Result{Fault: faultNotPublic}) {
		t.Errorf("default options: Send = %+v, want fault %q", got, faultNotPublic)
	}
	plain := message(strings.Replace(r.URL, "https", "http", 1))
	if got := strict.outcome(t.Context(), plain); got != (alerts.Result{Fault: faultInsecure}) {
		t.Errorf("without HTTPS: Send = %+v, want fault %q", got, faultInsecure)
	}
	if n := len(r.all()); n != 0 {
		t.Errorf("%d requests, want 0", n)
	}
}

// TestNoProxy checks that proxy settings in the environment are ignored, since a proxy would bypass
// the guarded dialer.
func TestNoProxy(t *testing.T) {
	if New(Options{}).transport.Proxy != nil {
		t.Error("transport has a proxy")
	}
}

// TestDNSRebinding checks that a name that first resolves to a public address and then to a private
// one is blocked.
func TestDNSRebinding(t *testing.T) {
	r := newReceiver(t, true, answers(200))
	_, port, _ := net.SplitHostPort(r.Listener.Addr().String())
	var moved atomic.Bool
	s := sender(r)
	s.private, s.dialer.Control = false, publicOnly
	s.dialer.Resolver = resolver(func() netip.Addr {
		if moved.Load() {
			return netip.MustParseAddr("127.0.0.1")
		}
		return netip.MustParseAddr("8.8.8.8")
	})
	if seen, err := s.dialer.Resolver.LookupHost(t.Context(), "rebind.example.com"); err != nil || len(seen) != 1 ||
		seen[0] != "8.8.8.8" {
		t.Fatalf("first lookup = %v, %v, want 8.8.8.8", seen, err)
	}
	moved.Store(true)
	m := message("https://rebind.example.com:" + port)
	if got := s.outcome(t.Context(), m); got != (alerts.Result{Fault: faultNotPublic}) || len(r.all()) != 0 {
		t.Errorf("Send = %+v after %d requests, want fault %q and no requests", got, len(r.all()), faultNotPublic)
	}
	s.dialer.Control = nil
	if got := s.outcome(t.Context(), m); got.Status != 200 || len(r.all()) != 1 {
		t.Errorf("without the guard: Send = %+v, want status 200", got)
	}
}

// resolver resolves every name to an IPv4 address that is chosen per query. An invalid address
// means that the name does not exist.
func resolver(address func() netip.Addr) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			size := make([]byte, 2)
			if _, err := io.ReadFull(server, size); err != nil {
				return
			}
			question := make([]byte, binary.BigEndian.Uint16(size))
			if _, err := io.ReadFull(server, question); err != nil {
				return
			}
			_, _ = server.Write(reply(question, address))
		}()
		return client, nil
	}}
}

// reply answers a DNS query over TCP. Only IPv4 queries get an address.
func reply(question []byte, address func() netip.Addr) []byte {
	const header, typeA = 12, 1
	end := header
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	end += 5 // root label, type and class
	m := append([]byte{}, question[:end]...)
	m[2], m[3] = 0x81, 0x80                     // a response without an error
	copy(m[6:header], []byte{0, 0, 0, 0, 0, 0}) // no records
	at := address()
	if !at.IsValid() {
		m[3] |= 3 // NXDOMAIN
	} else if binary.BigEndian.Uint16(m[end-4:]) == typeA {
		// one record for the name in the question: TTL 0, four bytes
		m[7] = 1
		m = append(m, 0xc0, header, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4)
		m = append(m, at.AsSlice()...)
	}
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(m))), m...)
}
