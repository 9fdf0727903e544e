package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"
)

// proxy is a TCP proxy between a server and its database. It can stop forwarding without closing
// connections, like a broken switch or a firewall that has lost its connection state.
type proxy struct {
	listener net.Listener
	to       string
	mu       sync.Mutex
	open     *sync.Cond
	silent   bool
	dead     map[net.Conn]bool // connections that stay silent permanently
	ends     []net.Conn
}

// mustProxy starts a proxy to a host and port.
func mustProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, to: to, dead: map[net.Conn]bool{}}
	p.open = sync.NewCond(&p.mu)
	go p.accept()
	t.Cleanup(p.close)
	return p
}

func (p *proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.to)
		if err != nil {
			near.Close()
			continue
		}
		p.mu.Lock()
		p.ends = append(p.ends, near, far)
		p.mu.Unlock()
		go p.carry(near, near, far)
		go p.carry(near, far, near)
	}
}

// carry copies bytes from one end of a connection to the other while both are open.
func (p *proxy) carry(id, from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if !p.pass(id) {
			return // without closing either end
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				to.Close()
			}
			return
		}
	}
}

// pass blocks while the proxy is silent and reports whether the connection may continue.
func (p *proxy) pass(id net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.silent && !p.dead[id] {
		p.open.Wait()
	}
	return !p.dead[id]
}

// silence stops forwarding.
func (p *proxy) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = true
}

// restore resumes forwarding, including the bytes held back. If the existing connections are
// forgotten, only new ones work.
func (p *proxy) restore(forgotten bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if forgotten {
		for _, end := range p.ends {
			p.dead[end] = true
		}
	}
	p.silent = false
	p.open.Broadcast()
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	for _, end := range p.ends {
		end.Close()
	}
	p.mu.Unlock()
	p.restore(true)
}

// TestSilentDatabase silences a running database. The server must still reject requests in time and
// must recover when the network does, over the old connections or only over new ones.
func TestSilentDatabase(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t)
	h := seededOn(t, pg)
	direct, err := url.Parse(h.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	p := mustProxy(t, direct.Host)
	proxyURL, unproxied := *direct, h
	proxyURL.Host = p.listener.Addr().String()
	h.DatabaseURL = proxyURL.String()
	s := startServer(t, h, withAdmin...)
	key := newOtherAccount(t, mustOpen(t, unproxied))
	s.awaitReady(t, key)
	run := startLoad(t, unproxied, s)
	for _, forgotten := range []bool{false, true} {
		run.awaitMore(t, http.StatusOK, 20)
		p.silence()
		s.awaitDown(t, key)
		run.awaitMore(t, http.StatusServiceUnavailable, 20)
		p.restore(forgotten)
		s.awaitReady(t, key)
		run.awaitMore(t, http.StatusOK, 10)
	}
	run.requireExact(t, false)
	for _, e := range run.log.Exchanges() {
		if took := e.Answered.Sub(e.Sent); took > writeTimeout {
			t.Errorf("%s: status %d after %v", e.Request.Path, e.Status, took.Round(time.Second))
		}
	}
}
