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

// silentFor is how long a new connection may send no data before it can be closed to make room.
const silentFor = 2 * time.Second

// Listener is a listener with a limit on open connections. At the limit, Accept makes room by closing
// the connection idle the longest, or else the oldest one without a request. If neither exists, the
// next connection waits in Accept and others in the system's backlog; they are not refused or reset.
//
// The server's ConnState must be Track.
type Listener struct {
	net.Listener
	most int
	now  func() time.Time

	mu      sync.Mutex
	changed *sync.Cond  // with mu
	wake    *time.Timer // signals changed when a silent connection can be closed
	closed  bool
	open    int                        // admitted connections
	silent  *list.List                 // of quiet: before the first request, oldest first
	idle    *list.List                 // of quiet: between requests, longest idle first
	places  map[net.Conn]*list.Element // in silent or idle
	leaving map[net.Conn]struct{}      // closed to make room, but not yet reported by the server
}

// quiet is a connection without a request in progress.
type quiet struct {
	net.Conn
	since time.Time
}

// New returns a listener with at most the given number of open connections. With a registerer, it
// exports metrics.
func New(l net.Listener, most int, metrics prometheus.Registerer) *Listener {
	c := &Listener{
		Listener: l, most: most, now: time.Now, silent: list.New(), idle: list.New(),
		places: map[net.Conn]*list.Element{}, leaving: map[net.Conn]struct{}{},
	}
	c.changed = sync.NewCond(&c.mu)
	c.wake = time.AfterFunc(time.Hour, func() {
		c.mu.Lock() // held by the goroutine that resets the timer until it waits
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})
	c.wake.Stop()
	promauto.With(metrics).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colaregistry_http_connections", Help: "Open connections to the public listener.",
	}, c.count)
	promauto.With(metrics).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colaregistry_http_connections_max", Help: "Maximum open connections to the public listener.",
	}, func() float64 { return float64(most) })
	return c
}

func (l *Listener) count() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return float64(l.open)
}

// Accept waits for room and returns the next connection.
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

// admit waits for room and reserves it; it reports false if the listener was closed.
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

// makeRoom closes a quiet connection, or sets the timer for when one can be closed.
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
	_ = q.Close() // the server notices and calls Track with StateClosed
}

// forget removes a connection from the lists of quiet ones.
func (l *Listener) forget(conn net.Conn) {
	if place := l.places[conn]; place != nil {
		l.silent.Remove(place) // a no-op for elements of the other list
		l.idle.Remove(place)
		delete(l.places, conn)
	}
}

// Track is the ConnState callback of the server.
func (l *Listener) Track(conn net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateNew: // counted by Accept
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

// Close closes the listener and unblocks Accept.
func (l *Listener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.changed.Broadcast()
	l.mu.Unlock()
	l.wake.Stop()
	return l.Listener.Close()
}
