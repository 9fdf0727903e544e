package postgres

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// direction is the direction in which a message travels.
type direction uint8

const (
	toServer direction = iota
	toClient
)

// proxy forwards messages between a store and its server. It can fail a connection at a given
// message: either cut it, or stop forwarding while both ends believe it is alive.
type proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu        sync.Mutex
	conns     map[net.Conn]bool
	direction direction
	kind      byte // type of the counted messages; 0 for any
	left      int  // counted messages that will still pass; negative: no failure armed
	mute      bool
	ended     chan struct{} // closed together with the proxy
}

// startProxy starts a proxy in front of a URL's server and returns it with a URL that connects
// through it.
func startProxy(t testing.TB, address string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: u.Host, conns: map[net.Conn]bool{}, left: -1, ended: make(chan struct{})}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		close(p.ended)
		l.Close()
		p.mu.Lock()
		for c := range p.conns {
			c.Close()
		}
		p.mu.Unlock()
		p.running.Wait()
	})
	u.Host = l.Addr().String()
	return p, u.String()
}

// cutAt cuts the connection at the given message in the given direction, counted across all
// connections.
func (p *proxy) cutAt(d direction, messages int) { p.arm(d, 0, messages, false) }

// silenceAt silences the connection at the given message of the given type.
func (p *proxy) silenceAt(d direction, kind byte, messages int) { p.arm(d, kind, messages, true) }

func (p *proxy) arm(d direction, kind byte, messages int, mute bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.direction, p.kind, p.left, p.mute = d, kind, messages, mute
}

// disarm cancels a pending failure, and reports whether a connection has failed since arm.
func (p *proxy) disarm() (failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	failed = p.left < 0
	p.left = -1
	return failed
}

// fails counts a message and returns how its connection fails, if at all.
func (p *proxy) fails(d direction, kind byte) (cut, mute bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d != p.direction || p.left < 0 || p.kind != 0 && p.kind != kind {
		return false, false
	}
	p.left--
	return p.left < 0 && !p.mute, p.left < 0 && p.mute
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		p.running.Go(func() { p.pass(toServer, client, server) })
		p.running.Go(func() { p.pass(toClient, server, client) })
	}
}

// pass forwards messages in one direction until either end closes the connection.
func (p *proxy) pass(d direction, from, to net.Conn) {
	defer func() {
		from.Close()
		to.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, from)
	}()
	typed := d == toClient // a client's first message has no type
	for {
		message, err := readMessage(from, typed)
		if err != nil {
			return
		}
		typed = true
		cut, mute := p.fails(d, message[0])
		if mute {
			<-p.ended
		}
		if cut || mute {
			return
		}
		if _, err := to.Write(message); err != nil {
			return
		}
	}
}

func readMessage(from io.Reader, typed bool) ([]byte, error) {
	head := 4
	if typed {
		head = 5
	}
	message := make([]byte, head)
	if _, err := io.ReadFull(from, message); err != nil {
		return nil, err
	}
	size := int(binary.BigEndian.Uint32(message[head-4:])) - 4
	if size < 0 || size > 1<<26 {
		return nil, errors.New("not a protocol message")
	}
	message = append(message, make([]byte, size)...)
	_, err := io.ReadFull(from, message[head:])
	return message, err
}
