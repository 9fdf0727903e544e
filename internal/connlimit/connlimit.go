// Package connlimit limits how many connections an HTTP server keeps open.
package connlimit

import (
	"container/list"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// silentFor is how long a new connection may be silent before it may be closed to make room for others.
const silentFor = 2 * time.Second

// Listener is a listener with a limit on open connections. At the limit, Accept closes the connection that has been
// idle for longest to make room for a new one, or else the one that has been open for longest without a request. While
// there is neither, the next connection waits in Accept and others in the system's backlog; none is refused or reset.
//
// The server's ConnState must be Track.
type Listener struct {
	net.Listener
	most int
	now  func() time.Time

	mu      sync.Mutex
	changed *sync.Cond  // with mu
	wake    *time.Timer // signals changed when a silent connection may be closed
	closed  bool
	open    int                        // connections that were admitted
	silent  *list.List                 // of quiet: without a request yet, oldest first
	idle    *list.List                 // of quiet: between two requests, longest idle first
	places  map[net.Conn]*list.Element // in silent or idle
	leaving map[net.Conn]struct{}      // closed to make room, and still open to the server
}

// quiet is a connection that no request is under way on.
type quiet struct {
	net.Conn
	since time.Time
}

// New returns a listener that keeps at most so many connections open. With a registerer they are counted.
func New(l net.Listener, most int, metrics prometheus.Registerer) *Listener {
	c := &Listener{
		Listener: l, most: most, now: time.Now, silent: list.New(), idle: list.New(),
		places: map[net.Conn]*list.Element{}, leaving: map[net.Conn]struct{}{},
	}
	c.changed = sync.NewCond(&c.mu)
	c.wake = time.AfterFunc(time.Hour, func() {
		c.mu.Lock() // whoever resets the timer holds it until it waits
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})
	c.wake.Stop()
	promauto.With(metrics).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colaregistry_http_connections", Help: "Open connections to the public listener.",
	}, c.count)
	promauto.With(metrics).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colaregistry_http_connections_max", Help: "Most connections that the public listener keeps open.",
	}, func() float64 { return float64(most) })
	return c
}

func (l *Listener) count() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return float64(l.open)
}

// Accept returns the next connection once there is room for it.
func (l *Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if !l.admit(conn) {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	return conn, nil
}

// admit waits until there is room for a connection and takes it; false when the listener was closed.
func (l *Listener) admit(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed && l.open >= l.most {
		if len(l.leaving) == 0 {
			l.makeRoom()
		}
		l.changed.Wait()
	}
	if l.closed {
		return false
	}
	l.open++
	l.places[conn] = l.silent.PushBack(quiet{conn, l.now()})
	return true
}

// makeRoom closes a quiet connection, or sees to it that it is called again when one may be closed.
func (l *Listener) makeRoom() {
	oldest := l.idle.Front()
	if oldest == nil {
		oldest = l.silent.Front()
	}
	if oldest == nil {
		return
	}
	q := oldest.Value.(quiet)
	if left := silentFor - l.now().Sub(q.since); l.idle.Len() == 0 && left > 0 {
		l.wake.Reset(left)
		return
	}
	l.forget(q.Conn)
	l.leaving[q.Conn] = struct{}{}
	_ = q.Close() // the server notices, and Track hears of it as closed
}

// forget takes a connection off the lists of quiet ones.
func (l *Listener) forget(conn net.Conn) {
	if place := l.places[conn]; place != nil {
		l.silent.Remove(place) // from the list that it is in; the other leaves it alone
		l.idle.Remove(place)
		delete(l.places, conn)
	}
}

// Track is called by the server when the state of a connection changes.
func (l *Listener) Track(conn net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateNew: // Accept has noted it
		return
	case http.StateActive:
		l.forget(conn)
		return
	case http.StateIdle:
		l.places[conn] = l.idle.PushBack(quiet{conn, l.now()})
	case http.StateHijacked, http.StateClosed:
		l.forget(conn)
		delete(l.leaving, conn)
		l.open--
	}
	l.changed.Broadcast()
}

// Close closes the listener, and ends an Accept that waits for room.
func (l *Listener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.changed.Broadcast()
	l.mu.Unlock()
	l.wake.Stop()
	return l.Listener.Close()
}
