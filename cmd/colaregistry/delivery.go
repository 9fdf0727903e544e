package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/alerts/mail"
	"github.com/colaregistry/colaregistry/alerts/webhook"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/vault"
)

// deliveryFlags configure how messages of saved searches are sent.
type deliveryFlags struct {
	SMTP            string     `name:"smtp" placeholder:"URL" help:"Mail server, such as smtp://user:password@mail.example.com:587 (STARTTLS) or smtps://…:465. Without it, no email is sent."`
	SMTPFile        secretFile `name:"smtp-file" placeholder:"PATH" help:"File with the value of --smtp, for a URL with a password."`
	MailFrom        string     `name:"mail-from" placeholder:"ADDRESS" help:"Sender of email, such as 'Label alerts <alerts@example.com>'; required with --smtp."`
	WebhooksPrivate bool       `name:"webhook-allow-private" help:"Allow webhooks to this machine and its network, and without https: for trials, or if every account holder is trusted."`
}

// check validates the flags without opening the database or connecting to the mail server.
func (f *deliveryFlags) check() error {
	if (f.SMTP == "") != (f.MailFrom == "") {
		return errors.New("--smtp and --mail-from need each other (--smtp-file counts as --smtp)")
	}
	_, err := f.senders(nil, "http://localhost", slog.New(slog.DiscardHandler))
	return err
}

// senders returns the sender of each kind of destination. With a nil vault they only check the
// flags and can't send.
func (f *deliveryFlags) senders(v *vault.Vault, publicURL string, log *slog.Logger) (map[string]alerts.Sender, error) {
	senders := map[string]alerts.Sender{
		cola.KindWebhook: webhook.New(webhook.Options{Vault: v, PublicURL: publicURL, AllowPrivate: f.WebhooksPrivate, Version: version()}),
	}
	if f.SMTP == "" {
		return senders, nil
	}
	post, err := mail.New(mail.Options{Link: v.Link, Server: f.SMTP, From: f.MailFrom, PublicURL: publicURL, Logger: log})
	if err != nil {
		return nil, err
	}
	senders[cola.KindEmail] = post
	return senders, nil
}

// toldDelivery says what a round of deliveries did, in a sentence; nothing when there was nothing to do.
func toldDelivery(r alerts.DeliveryReport) string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", amount(n, "message", "messages"), what))
		}
	}
	add(r.Delivered, "delivered")
	add(r.Retried, "to be tried again")
	add(r.Failed, "given up")
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + "."
}
