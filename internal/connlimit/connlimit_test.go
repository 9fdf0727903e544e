package connlimit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// timeout is how long to wait for expected events.
const timeout = 20 * time.Second

// site is a server with a connection limit. /hold responds once release is closed.
type site struct {
	*Listener
	server  *http.Server
	held    chan struct{} // receives one value for each held request
	release chan struct{}
	ended   chan error
}

func serve(t *testing.T, limit int) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{
		Listener: New(l, limit, nil), held: make(chan struct{}, 100),
		release: make(chan struct{}), ended: make(chan error, 1),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/hold", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		s.held <- struct{}{}
		<-s.release
	})
	mux.HandleFunc("/read", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: timeout}
	s.Attach(s.server)
	go func() { s.ended <- s.server.Serve(s.Listener) }()
	t.Cleanup(func() {
		s.server.Close()
		if err := <-s.ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	return s
}

// client is one connection to a server.
type client struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

func (s *site) dial(t *testing.T) *client {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &client{conn, t, bufio.NewReader(conn)}
}

func (c *client) send(path string) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path); err != nil {
		c.t.Fatal(err)
	}
}

// response reads a response. It returns an error if the connection was closed.
func (c *client) response() error {
	c.t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		c.t.Fatal(err)
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
			c.t.Fatal("no response")
		}
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func (c *client) get() error {
	c.t.Helper()
	c.send("/")
	return c.response()
}

// await waits until the server has the given number of open connections.
func (s *site) await(t *testing.T, open int) {
	t.Helper()
	for deadline := time.Now().Add(timeout); int(s.count()) != open; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%v open connections, want %d", s.count(), open)
		}
	}
}

// TestEvictIdle checks that the connection that has been idle the longest is closed to make room
// for a new one.
func TestEvictIdle(t *testing.T) {
	s := serve(t, 3)
	first, second, third := s.dial(t), s.dial(t), s.dial(t)
	for _, c := range []*client{second, first, third, second} { // first has been idle the longest
		if err := c.get(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := s.dial(t).get(); err != nil {
		t.Fatalf("new connection at the limit: %v", err)
	}
	for name, c := range map[string]*client{"second": second, "third": third} {
		if err := c.get(); err != nil {
			t.Errorf("%s connection: %v", name, err)
		}
	}
	if first.response() == nil {
		t.Error("longest idle connection is still open")
	}
	s.await(t, 3)
}

// TestWaitingConnections checks that new connections are neither rejected nor reset while all others
// are busy.
func TestWaitingConnections(t *testing.T) {
	s := serve(t, 2)
	busy := []*client{s.dial(t), s.dial(t)}
	for _, c := range busy {
		c.send("/hold")
		<-s.held
	}
	var waiting []*client
	for range 5 {
		c := s.dial(t)
		c.send("/")
		waiting = append(waiting, c)
	}
	s.await(t, 2)
	close(s.release)
	for _, c := range append(busy, waiting...) {
		if err := c.response(); err != nil {
			t.Errorf("connection was not served: %v", err)
		}
	}
	s.await(t, 2)
}

// TestEvictSilent checks that connections that never send a request cannot block others.
func TestEvictSilent(t *testing.T) {
	s := serve(t, 2)
	silent := []*client{s.dial(t), s.dial(t)}
	s.await(t, 2)
	if err := s.dial(t).get(); err != nil {
		t.Fatalf("new connection while others are silent: %v", err)
	}
	if silent[0].response() == nil {
		t.Error("longest silent connection is still open")
	}
}

// TestSlowBodiesMakeRoom checks that connections that send a body byte by byte cannot block others,
// and that the one that has been sending the longest is closed.
func TestSlowBodiesMakeRoom(t *testing.T) {
	s := serve(t, 3)
	busy := s.dial(t)
	busy.send("/hold")
	<-s.held
	var slow []*client
	for _, path := range []string{"/", "/read"} { // the handler for / leaves the body to net/http
		c := s.dial(t)
		fmt.Fprint(c, "POST "+path+" HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\na")
		slow = append(slow, c)
		s.await(t, 1+len(slow))
		time.Sleep(20 * time.Millisecond)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				for _, c := range slow {
					fmt.Fprint(c, "a") // does not extend the timeout
				}
			}
		}
	}()
	started := time.Now()
	if err := s.dial(t).get(); err != nil {
		t.Fatalf("new connection while others are slow: %v", err)
	}
	if took := time.Since(started); took > 3*slowAfter {
		t.Errorf("new connection waited %v while others were slow, want at most %v", took, 3*slowAfter)
	}
	close(stop)
	<-stopped
	if slow[0].response() == nil {
		t.Error("longest slow connection is still open")
	}
	rest := make([]byte, 100)
	if _, err := slow[1].Write(rest); err != nil {
		t.Error(err)
	}
	if err := slow[1].response(); err != nil {
		t.Errorf("other slow connection: %v", err)
	}
	close(s.release)
	if err := busy.response(); err != nil {
		t.Errorf("busy connection: %v", err)
	}
}

// TestReadBodies checks that a connection is not closed during a request whose body was read.
func TestReadBodies(t *testing.T) {
	s := serve(t, 1)
	c := s.dial(t)
	fmt.Fprint(c, "POST /hold HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
	<-s.held
	next := s.dial(t)
	next.send("/")
	time.Sleep(slowAfter + slowAfter/4)
	close(s.release)
	for _, c := range []*client{c, next} {
		if err := c.response(); err != nil {
			t.Error(err)
		}
	}
}

// TestCloseAtLimit checks that a server at its limit can shut down.
func TestCloseAtLimit(t *testing.T) {
	s := serve(t, 1)
	c := s.dial(t)
	c.send("/hold")
	<-s.held
	s.dial(t)
	defer close(s.release)
	if err := s.server.Close(); err != nil {
		t.Error(err)
	}
}

// TestManyConnections opens and closes many connections at once and checks the count.
func TestManyConnections(t *testing.T) {
	s := serve(t, 8)
	done := make(chan error)
	for range 40 {
		go func() {
			var err error
			for n := 0; n < 10 && err == nil; n++ {
				var resp *http.Response
				if resp, err = http.Get("http://" + s.Addr().String()); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					err = resp.Body.Close()
				}
			}
			done <- err
		}()
	}
	for range 40 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	s.await(t, 0)
	if len(s.elements) != 0 || len(s.closing) != 0 || s.idle.Len()+s.awaitingRequest.Len()+s.awaitingBody.Len() != 0 {
		t.Errorf("%d tracked, %d closing, want 0, 0", len(s.elements), len(s.closing))
	}
}

func TestMetrics(t *testing.T) {
	r := prometheus.NewRegistry()
	New(nil, 7, r)
	if n, err := testutil.GatherAndCount(r, "colaregistry_http_connections", "colaregistry_http_connections_max"); n != 2 || err != nil {
		t.Errorf("%d series, %v, want 2", n, err)
	}
}
