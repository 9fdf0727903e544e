package main

import (
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
)

// isHTTPS reports whether users reach the server by https. Its cookies are Secure only then.
func isHTTPS(publicURL string) bool { return strings.HasPrefix(publicURL, "https://") }

// warnPlainCookies warns at the start if cookies will lack Secure although other machines reach the
// server.
func warnPlainCookies(log *slog.Logger, publicURL string, listening net.Addr) {
	if !isHTTPS(publicURL) && !isLoopback(listening) {
		log.Warn("cookies lack Secure because --public-url is not https; "+
			"if TLS ends in front of this server, set it to the https address that users see", "public_url", publicURL)
	}
}

// strictTransport tells browsers to use https for a year, on every response, if the public URL is
// https. If it is not, the first request that reached a proxy by https is warned of.
func strictTransport(publicURL string, log *slog.Logger, next http.Handler) http.Handler {
	if isHTTPS(publicURL) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
			next.ServeHTTP(w, r)
		})
	}
	var warn sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
			warn.Do(func() {
				log.Warn("cookies lack Secure because --public-url is not https, but a request came by https (X-Forwarded-Proto); "+
					"set it to the https address that users see", "public_url", publicURL)
			})
		}
		next.ServeHTTP(w, r)
	})
}
