// Command demo serves a stand-in for Stripe, for trying out plans without a Stripe account:
//
//	go run ./internal/stripetest/demo
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/colaregistry/colaregistry/internal/stripetest"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8090", "address to listen on")
	webhook := flag.String("webhook", "http://127.0.0.1:8080/stripe/webhook", "URL to send events to")
	flag.Parse()
	s := stripetest.New()
	s.URL, s.Sink = "http://"+*listen, stripetest.Address(*webhook)
	fmt.Printf("Start the server with:\n  colaregistry serve --stripe-api-url %s --stripe-secret-key %s --stripe-webhook-secret %s\n",
		s.URL, stripetest.SecretKey, stripetest.WebhookSecret)
	server := &http.Server{Addr: *listen, Handler: s, ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
