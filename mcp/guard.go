package mcp

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/go-chi/cors"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// guard keeps out pages that call from a visitor's browser: by their origin, and by the name they made point here. It says
// nothing of who the caller is; that is for credentials.
type guard struct {
	hosts   map[string]bool // lower case, without ports
	origins []string        // lower case
}

func newGuard(hosts, origins []string) guard {
	g := guard{hosts: map[string]bool{}}
	for _, h := range hosts {
		g.hosts[hostName(h)] = true
	}
	for _, o := range origins {
		g.origins = append(g.origins, cola.FoldASCII(strings.TrimRight(o, "/")))
	}
	return g
}

// hostName returns the name in a Host header, without its port, lower case and without a dot at its end.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return cola.FoldASCII(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// admit refuses what comes from elsewhere, whatever its method.
func (g guard) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !g.knowsHost(r):
			web.Fail(w, r, cola.Errorf(cola.CodeForbidden,
				"The server is not called %s. An operator can allow the name (--allowed-host).", cola.Quoted(r.Host)))
		case !g.knowsOrigin(r.Header.Values("Origin")):
			w.Header().Add("Vary", "Origin")
			web.Fail(w, r, cola.Errorf(cola.CodeForbidden,
				"Pages of %s may not call this server. An operator can allow the origin (--allowed-origin).", cola.Quoted(r.Header.Get("Origin"))))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// knowsHost reports whether a request is for a name that is ours, or for the address that its connection came in at.
func (g guard) knowsHost(r *http.Request) bool {
	name := hostName(r.Host)
	if g.hosts[name] {
		return true
	}
	called, err := netip.ParseAddr(name)
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return err == nil && ok && local != nil && local.AddrPort().Addr().Unmap() == called.Unmap()
}

// knowsOrigin reports whether a request is of no page, or of one that may call.
func (g guard) knowsOrigin(sent []string) bool {
	if len(sent) == 0 {
		return true
	}
	for _, o := range g.origins {
		if len(sent) == 1 && o == cola.FoldASCII(sent[0]) {
			return true
		}
	}
	return false
}

// cors tells browsers that pages of the allowed origins may call. Credentials are in headers, never in a cookie.
func (g guard) cors() func(http.Handler) http.Handler {
	return cors.Handler(cors.Options{
		AllowOriginFunc: func(_ *http.Request, origin string) bool { return g.knowsOrigin([]string{origin}) },
		AllowedMethods:  []string{http.MethodPost},
		AllowedHeaders: []string{
			"Content-Type", "Accept", "Authorization", "X-API-Key", "X-Request-Id",
			"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id", "Last-Event-ID",
		},
		ExposedHeaders: append(web.QuotaHeaders(), "X-Request-Id", "Retry-After", "WWW-Authenticate"),
		MaxAge:         int(time.Hour / time.Second),
	})
}
