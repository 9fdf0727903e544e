package mcp

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
	"github.com/colaregistry/colaregistry/internal/web"
)

// originPolicy rejects calls that web pages on other sites make from a visitor's browser, directly
// or by DNS rebinding. It does not identify callers; credentials do.
type originPolicy struct {
	hosts   map[string]bool // lower case, without ports
	origins []string        // lower case
}

func newOriginPolicy(hosts, origins []string) originPolicy {
	g := originPolicy{hosts: map[string]bool{}}
	for _, h := range hosts {
		g.hosts[hostName(h)] = true
	}
	for _, o := range origins {
		g.origins = append(g.origins, vocabulary.FoldASCII(strings.TrimRight(o, "/")))
	}
	return g
}

// hostName returns the name in a Host header in lower case, without the port or a trailing dot.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return vocabulary.FoldASCII(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// enforce rejects requests from other sites: first those from origins that are not allowed, then
// those for unknown hosts. Pages from an allowed origin can read every response, errors included.
func (g originPolicy) enforce(next http.Handler) http.Handler {
	allowed := web.CORS{AllowOrigin: func(origin string) bool { return g.allowsOrigin([]string{origin}) }}
	known := allowed.Handler(g.enforceHost(next))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.allowsOrigin(r.Header.Values("Origin")) {
			known.ServeHTTP(w, r)
			return
		}
		w.Header().Add("Vary", "Origin")
		web.Fail(w, r, cola.Errorf(cola.CodeForbidden,
			"Origin %s is not allowed. The operator can add it with --allowed-origin.",
			cola.Quoted(r.Header.Get("Origin"))))
	})
}

// enforceHost rejects requests with an unknown Host header, whatever their method.
func (g originPolicy) enforceHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.allowsHost(r) {
			next.ServeHTTP(w, r)
			return
		}
		web.Fail(w, r, cola.Errorf(cola.CodeForbidden,
			"Host %s is not allowed. The operator can add it with --allowed-host.", cola.Quoted(r.Host)))
	})
}

// allowsHost reports whether the Host header has an allowed name or the local address of the
// connection.
func (g originPolicy) allowsHost(r *http.Request) bool {
	name := hostName(r.Host)
	if g.hosts[name] {
		return true
	}
	called, err := netip.ParseAddr(name)
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return err == nil && ok && local != nil && local.AddrPort().Addr().Unmap() == called.Unmap()
}

// allowsOrigin reports whether a request has no Origin header or an allowed one.
func (g originPolicy) allowsOrigin(sent []string) bool {
	if len(sent) == 0 {
		return true
	}
	for _, o := range g.origins {
		if len(sent) == 1 && o == vocabulary.FoldASCII(sent[0]) {
			return true
		}
	}
	return false
}

// The message limits bound the cost of messages that the rate limit doesn't count: lists,
// completions, pings, notifications and malformed messages. They count every message, including
// tool calls, per process. A typical client sends a few dozen a minute.
const (
	messagesPerMinute        = 600                   // per credential
	accountMessagesPerMinute = 5 * messagesPerMinute // per account, which may have a hundred keys
	// messageUnit is the number of bytes that count as one message: long messages take longer to
	// read.
	messageUnit       = 64 << 10
	maxLimitedSenders = 20_000 // maximum number of credentials, and of accounts, in memory
	reasonMessages    = "messages"
)

// messageLimiter counts messages per credential and per account.
type messageLimiter struct {
	credentials *ratelimit.Limiter[cola.Credential]
	accounts    *ratelimit.Limiter[cola.AccountID]
}

func newMessageLimiter(now cola.Clock) messageLimiter {
	return messageLimiter{
		ratelimit.New[cola.Credential](messagesPerMinute, time.Minute/messagesPerMinute, maxLimitedSenders, now),
		ratelimit.New[cola.AccountID](accountMessagesPerMinute, time.Minute/accountMessagesPerMinute, maxLimitedSenders,
			now),
	}
}

// take counts a caller's request, or returns an error if it exceeds a limit. The body has not been
// read yet; a body of unknown length counts as one of maximum length.
func (l messageLimiter) take(c cola.Caller, length int64) *cola.Error {
	if length < 0 || length > maxMessageBytes {
		length = maxMessageBytes
	}
	n := 1 + int(max(length-1, 0)/messageUnit)
	limit, wait := messagesPerMinute, l.credentials.Take(c.Credential, n)
	if wait == 0 {
		limit, wait = accountMessagesPerMinute, l.accounts.Take(c.Account, n)
	}
	if wait == 0 {
		return nil
	}
	return cola.TooMany(reasonMessages, limit, wait,
		fmt.Sprintf("%s accepts at most %d messages a minute.", Path, limit))
}

// refuseMessage answers a request over the message limits. To keep that cheap, it does not read the
// message, so the response has no ID.
func (e *edge) refuseMessage(w http.ResponseWriter, r *http.Request, req *request, refusal *cola.Error) {
	req.event.Code = refusal.Code
	web.PrepareFailure(w, r, refusal)
	rpcErr := &rpcError{
		Code:       codeRefused,
		Message:    refusal.Message,
		Data:       web.Envelope(refusal),
		httpStatus: web.StatusOf(refusal.Code),
	}
	req.writeRPCError(w, rpcErr)
}
