// Package connlimit limits how many connections an HTTP server keeps open.
package connlimit

import (
	"container/list"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// slowAfter is how long a client may take to send a request, and again to send its body, before the
// connection can be closed to make room.
const slowAfter = 2 * time.Second

// Listener is a listener with a limit on open connections. At the limit, Accept makes room by
// closing the connection idle the longest, or else the one that the server has waited for longest:
// for its first request, or for the rest of a body. If there is none, the next connection waits in
// Accept and others in the system's backlog; they are not refused or reset.
//
// Attach must be called with the server.
type Listener struct {
	net.Listener
	most int
	now  func() time.Time

	mu              sync.Mutex
	changed         *sync.Cond  // with mu
	wake            *time.Timer // signals changed when a slow connection may be closed
	closed          bool
	open            int                        // connections that were admitted
	awaitingRequest *list.List                 // of waiting: without a request yet, oldest first
	awaitingBody    *list.List                 // of waiting: amid a body, longest first
	idle            *list.List                 // of waiting: between two requests, longest idle first
	elements        map[net.Conn]*list.Element // in silent, sending or idle
	closing         map[net.Conn]struct{}      // closed to make room, and still open to the server
}

// waiting is a connection whose client must send something next.
type waiting struct {
	net.Conn
	since time.Time
}

// New returns a listener with at most the given number of open connections. With a registerer, it
// exports metrics.
func New(l net.Listener, maxConns int, metrics prometheus.Registerer) *Listener {
	c := &Listener{
		Listener: l, most: maxConns, now: time.Now, awaitingRequest: list.New(), awaitingBody: list.New(),
		idle:     list.New(),
		elements: map[net.Conn]*list.Element{}, closing: map[net.Conn]struct{}{},
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
	}, func() float64 { return float64(maxConns) })
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
		if len(l.closing) == 0 {
			l.makeRoom()
		}
		l.changed.Wait()
	}
	if l.closed {
		return false
	}
	l.open++
	l.elements[conn] = l.awaitingRequest.PushBack(waiting{conn, l.now()})
	return true
}

// makeRoom closes a connection, or sets the timer for when one can be closed.
func (l *Listener) makeRoom() {
	slowest := l.idle.Front()
	if slowest == nil {
		slowest = longestWaiting(l.awaitingRequest.Front(), l.awaitingBody.Front())
	}
	if slowest == nil {
		return
	}
	w := slowest.Value.(waiting)
	if left := slowAfter - l.now().Sub(w.since); l.idle.Len() == 0 && left > 0 {
		l.wake.Reset(left)
		return
	}
	l.forget(w.Conn)
	l.closing[w.Conn] = struct{}{}
	_ = w.Close() // the server notices, and track hears of it as closed
}

// longestWaiting returns the element that has waited for longer; either may be nil.
func longestWaiting(a, b *list.Element) *list.Element {
	if a == nil || b != nil && b.Value.(waiting).since.Before(a.Value.(waiting).since) {
		return b
	}
	return a
}

// forget takes a connection off the lists.
func (l *Listener) forget(conn net.Conn) {
	if place := l.elements[conn]; place != nil {
		for _, from := range []*list.List{l.awaitingRequest, l.awaitingBody, l.idle} {
			from.Remove(place) // does nothing unless it is the element's list
		}
		delete(l.elements, conn)
	}
}

// Attach makes a server that is not running yet report its connections to the listener.
func (l *Listener) Attach(s *http.Server) {
	s.ConnState = l.track
	s.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, conn)
	}
	s.Handler = l.trackRequests(s.Handler)
}

type connKey struct{}

// trackRequests lists the connections of requests whose body is not read yet.
func (l *Listener) trackRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok && r.Body != nil && r.Body != http.NoBody {
			l.trackBody(conn)
			r.Body = &body{r.Body, l, conn}
		}
		next.ServeHTTP(w, r)
	})
}

// trackBody lists a connection as sending until its body ends or track is called. Where the handler
// leaves the body, net/http waits for it.
func (l *Listener) trackBody(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, gone := l.closing[conn]; !gone {
		l.elements[conn] = l.awaitingBody.PushBack(waiting{conn, l.now()})
		l.changed.Broadcast()
	}
}

// body is the body of a request.
type body struct {
	io.ReadCloser
	l    *Listener
	conn net.Conn
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.l.mu.Lock()
		defer b.l.mu.Unlock()
		b.l.forget(b.conn)
	}
	return n, err
}

// track is called by the server when the state of a connection changes.
func (l *Listener) track(conn net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateNew: // counted by Accept
		return
	case http.StateActive:
		l.forget(conn)
		return
	case http.StateIdle:
		l.forget(conn)
		l.elements[conn] = l.idle.PushBack(waiting{conn, l.now()})
	case http.StateHijacked, http.StateClosed:
		l.forget(conn)
		delete(l.closing, conn)
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
