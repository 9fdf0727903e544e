package main

import (
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
)

// isHTTPS reports whether users reach the server by https. Only then are cookies Secure.
func isHTTPS(publicURL string) bool { return strings.HasPrefix(publicURL, "https://") }

// warnPlainCookies warns if cookies will lack Secure although other machines can reach the server.
func warnPlainCookies(log *slog.Logger, publicURL string, listening net.Addr) {
	if !isHTTPS(publicURL) && !isLoopback(listening) {
		log.Warn("cookies lack Secure because --public-url is not https; "+
			"if TLS ends in front of this server, set it to the https address that users see", "public_url", publicURL)
	}
}

// strictTransport adds HSTS for a year to every response if the public URL is https. Otherwise it
// warns once when a request reached a proxy by https.
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
