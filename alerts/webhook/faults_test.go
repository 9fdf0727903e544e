package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/alerts"
)

func TestResponses(t *testing.T) {
	target := newReceiver(t, true, answers(http.StatusOK))
	for _, tt := range []struct {
		code       int
		retryAfter string
		want       alerts.Result
	}{
		{200, "", alerts.Result{}}, {201, "", alerts.Result{}}, {299, "30", alerts.Result{}},
		{301, "", alerts.Result{Fault: "The receiver responded with status 301. Redirects are not followed."}},
		{308, "", alerts.Result{Fault: "The receiver responded with status 308. Redirects are not followed."}},
		{400, "30", alerts.Result{Fault: "The receiver responded with status 400."}},
		{410, "", alerts.Result{Fault: "The receiver responded with 410 (Gone), so no more messages will be sent.", Gone: true}},
		{429, "30", alerts.Result{Fault: "The receiver responded with status 429.", RetryAfter: 30 * time.Second}},
		{503, "", alerts.Result{Fault: "The receiver responded with status 503."}},
		{503, "99999999", alerts.Result{Fault: "The receiver responded with status 503.", RetryAfter: 99999999 * time.Second}},
		{503, "soon", alerts.Result{Fault: "The receiver responded with status 503."}},
		{503, "-5", alerts.Result{Fault: "The receiver responded with status 503."}},
		{599, "", alerts.Result{Fault: "The receiver responded with status 599."}},
	} {
		r := newReceiver(t, true, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", target.URL)
			if tt.retryAfter != "" {
				w.Header().Set("Retry-After", tt.retryAfter)
			}
			w.WriteHeader(tt.code)
		})
		tt.want.Status = tt.code
		if diff := cmp.Diff(tt.want, sender(r, target).outcome(t.Context(), message(r.URL))); diff != "" {
			t.Errorf("%d, Retry-After %q (-want +got):\n%s", tt.code, tt.retryAfter, diff)
		}
	}
	if n := len(target.all()); n != 0 {
		t.Errorf("%d redirects followed, want 0", n)
	}
}

// TestLongResponse checks that a 2xx response counts as success even if its body is long or slow,
// and that little of the body is read.
func TestLongResponse(t *testing.T) {
	for name, gap := range map[string]time.Duration{"huge": 0, "slow": time.Hour} {
		t.Run(name, func(t *testing.T) {
			written := make(chan int, 1)
			r := newReceiver(t, true, func(w http.ResponseWriter, req *http.Request) {
				n, chunk := 0, make([]byte, 32<<10)
				defer func() { written <- n }()
				for n < 1<<30 {
					m, err := w.Write(chunk)
					n += m
					if err != nil {
						return
					}
					w.(http.Flusher).Flush()
					select {
					case <-req.Context().Done():
						return
					case <-time.After(gap):
					}
				}
			})
			want := alerts.Result{Status: 200}
			if got := sender(r).outcome(t.Context(), message(r.URL)); got != want {
				t.Errorf("Send = %+v, want %+v", got, want)
			}
			if n := <-written; n > 64<<20 {
				t.Errorf("%d bytes of the response were sent, want at most %d", n, 64<<20)
			}
		})
	}
}

// TestFaults checks the fault reported for each cause of a missing response.
func TestFaults(t *testing.T) {
	closed := newReceiver(t, true, answers(200))
	closed.Close()
	ok := newReceiver(t, true, answers(200))
	plain := newReceiver(t, false, answers(200))
	slow := newReceiver(t, true, hang)
	old := newReceiver(t, true, answers(200))
	old.TLS.MaxVersion = tls.VersionTLS11
	cut := newReceiver(t, true, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	head := newReceiver(t, true,
		func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 2*maxHeader)) })
	banner := serveText(t, "HELO\r\n\r\n")
	port := func(r *receiver) string { return strconv.Itoa(r.Listener.Addr().(*net.TCPAddr).Port) }
	for _, tt := range []struct{ name, url, want string }{
		{"closed", closed.URL, faultRefused},
		{"slow", slow.URL, "No response within 300ms."},
		{"wrong host", "https://localhost:" + port(ok), faultWrongHost},
		{"HTTPS to an HTTP port", "https://127.0.0.1:" + port(plain), faultNotTLS},
		{"HTTP to an HTTPS port", "http://127.0.0.1:" + port(ok), "The receiver responded with status 400."},
		{"TLS 1.1", old.URL, faultTLS},
		{"closed early", cut.URL, faultClosed},
		{"oversized header", head.URL, faultNotHTTP},
		{"not HTTP", "http://" + banner, faultNotHTTP},
		{"invalid URL", "https://%zz", faultAddress},
		{"invalid port", "https://127.0.0.1:65536", faultAddress},
		{"no host", "https:///x", faultAddress},
		{"ftp", "ftp://example.com", faultAddress},
		{"empty", "", faultAddress},
	} {
		s := sender(ok, slow, old, cut, head)
		s.timeout = 5 * time.Second
		if tt.name == "slow" {
			s.timeout = 300 * time.Millisecond
		}
		got := s.outcome(t.Context(), message(tt.url))
		got.Status = 0
		if got != (alerts.Result{Fault: tt.want}) {
			t.Errorf("%s: Send = %+v, want fault %q", tt.name, got, tt.want)
		}
	}
	checkUnresolved(t)
	if got := sender().outcome(t.Context(), message(ok.URL)); got != (alerts.Result{Fault: faultUntrusted}) {
		t.Errorf("self-signed certificate: Send = %+v, want fault %q", got, faultUntrusted)
	}
}

// TestLocalErrors checks that errors on this machine don't count against the receiver, and that
// other network errors do.
func TestLocalErrors(t *testing.T) {
	ours := alerts.Result{Fault: faultNotSent, OurFault: true}
	for _, tt := range []struct {
		err  syscall.Errno
		want alerts.Result
	}{
		{syscall.EMFILE, ours},
		{syscall.EADDRNOTAVAIL, ours},
		{syscall.EPERM, ours},
		{syscall.EHOSTDOWN, alerts.Result{Fault: faultUnreachable}},
	} {
		s := sender()
		s.dialer.Control = func(string, string, syscall.RawConn) error { return os.NewSyscallError("connect", tt.err) }
		if got := s.outcome(t.Context(), message("https://127.0.0.1:1")); got != tt.want {
			t.Errorf("%v: Send = %+v, want %+v", tt.err, got, tt.want)
		}
	}
	s := sender()
	s.dialer.Resolver = resolver(func() netip.Addr { return netip.Addr{} })
	s.dialer.Resolver.Dial = func(_ context.Context, network, _ string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("socket", syscall.EMFILE)}
	}
	if got := s.outcome(t.Context(), message("https://host.example.com/")); got != ours {
		t.Errorf("no socket for a name lookup: Send = %+v, want %+v", got, ours)
	}
}

// TestFailedRead checks the fault reported for a connection that fails during the response.
func TestFailedRead(t *testing.T) {
	err := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNABORTED)}
	if got := faultOf(t.Context(), time.Second, err); got != faultClosed {
		t.Errorf("faultOf(%v) = %q, want %q", err, got, faultClosed)
	}
}

// checkUnresolved checks the faults reported for names that do not exist or cannot be resolved.
func checkUnresolved(t *testing.T) {
	t.Helper()
	s := sender()
	s.dialer.Resolver = resolver(func() netip.Addr { return netip.Addr{} })
	if got := s.outcome(t.Context(), message("https://nowhere.example.com/")); got != (alerts.Result{Fault: faultNotFound}) {
		t.Errorf("unknown host: Send = %+v, want fault %q", got, faultNotFound)
	}
	s.dialer.Resolver.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("10.1.2.3 is down") }
	if got := s.outcome(t.Context(), message("https://nowhere.example.com/")); got != (alerts.Result{Fault: faultLookup}) {
		t.Errorf("resolver down: Send = %+v, want fault %q", got, faultLookup)
	}
}

// serveText starts a server that sends text to every client, and returns its address.
func serveText(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, text)
			_, _ = io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	return l.Addr().String()
}
