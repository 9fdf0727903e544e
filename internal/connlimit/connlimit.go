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

// slowAfter is how long a client may take to send a request, and then its body, before the
// connection can be closed to make room.
const slowAfter = 2 * time.Second

// Listener is a listener with a limit on open connections. At the limit, Accept makes room by
// closing the connection that has been idle the longest. If no connection is idle, it closes the
// one that has kept the server waiting the longest for its first request or the rest of a body.
// If there is no such connection either, the next connection waits in Accept and others wait in the
// system's backlog; they are not rejected or reset.
//
// Call Attach with the server.
type Listener struct {
	net.Listener
	limit int
	now   func() time.Time

	mu              sync.Mutex
	changed         *sync.Cond  // uses mu
	wake            *time.Timer // signals changed when a slow connection may be closed
	closed          bool
	open            int                        // admitted connections
	awaitingRequest *list.List                 // of type waiting: no request yet, oldest first
	awaitingBody    *list.List                 // of type waiting: body incomplete, longest first
	idle            *list.List                 // of type waiting: between requests, longest idle first
	elements        map[net.Conn]*list.Element // in awaitingRequest, awaitingBody or idle
	closing         map[net.Conn]struct{}      // closed to make room; not yet reported by the server
}

// waiting is a connection that waits for its client to send something.
type waiting struct {
	net.Conn
	since time.Time
}

// New returns a listener with at most maxConns open connections. If metrics is not nil, it
// registers its metrics there.
func New(l net.Listener, maxConns int, metrics prometheus.Registerer) *Listener {
	c := &Listener{
		Listener: l, limit: maxConns, now: time.Now, awaitingRequest: list.New(), awaitingBody: list.New(),
		idle:     list.New(),
		elements: map[net.Conn]*list.Element{}, closing: map[net.Conn]struct{}{},
	}
	c.changed = sync.NewCond(&c.mu)
	c.wake = time.AfterFunc(time.Hour, func() {
		c.mu.Lock() // waits until the goroutine that reset the timer is in Wait
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

// admit waits for room and reserves it. It returns false if the listener was closed.
func (l *Listener) admit(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed && l.open >= l.limit {
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

// makeRoom closes a connection, or sets the timer for the time when one can be closed.
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
	_ = w.Close() // the server notices and calls track with StateClosed
}

// longestWaiting returns the element that has waited longer. Either may be nil.
func longestWaiting(a, b *list.Element) *list.Element {
	if a == nil || b != nil && b.Value.(waiting).since.Before(a.Value.(waiting).since) {
		return b
	}
	return a
}

// forget removes a connection from its list.
func (l *Listener) forget(conn net.Conn) {
	if element := l.elements[conn]; element != nil {
		for _, from := range []*list.List{l.awaitingRequest, l.awaitingBody, l.idle} {
			from.Remove(element) // no-op for other lists
		}
		delete(l.elements, conn)
	}
}

// Attach makes a server report its connections to the listener. Call it before the server starts.
func (l *Listener) Attach(s *http.Server) {
	s.ConnState = l.track
	s.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, conn)
	}
	s.Handler = l.trackRequests(s.Handler)
}

type connKey struct{}

// trackRequests tracks connections with an unread request body.
func (l *Listener) trackRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok && r.Body != nil && r.Body != http.NoBody {
			l.trackBody(conn)
			r.Body = &body{r.Body, l, conn}
		}
		next.ServeHTTP(w, r)
	})
}

// trackBody marks a connection as awaiting a body until the body ends or track is called. If the
// handler does not read the body, net/http waits for it.
func (l *Listener) trackBody(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, closing := l.closing[conn]; !closing {
		l.elements[conn] = l.awaitingBody.PushBack(waiting{conn, l.now()})
		l.changed.Broadcast()
	}
}

// body is a request body.
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

// track handles connection state changes reported by the server.
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
