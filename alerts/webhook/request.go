package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/store"
)

const (
	faultCompose  = "The service could not create the message."
	faultUnsigned = "The message could not be signed because the destination's secret is unusable. Rotate the secret."
	faultAddress  = "The address is not a valid webhook URL."
	faultInsecure = "The address must use https."
)

// request returns the request for a message and the exchange to record. If the request can't be
// created, it returns nil and the failure.
func (s *Sender) request(
	ctx context.Context, m alerts.Message,
) (req *http.Request, exchange store.Exchange, failure alerts.Result) {
	to, fault := s.target(m.Destination.Address.V)
	if fault != "" {
		return nil, exchange, alerts.Result{Fault: fault}
	}
	body, err := s.body(m)
	if err != nil {
		return nil, exchange, alerts.Result{Fault: faultCompose, OurFault: true}
	}
	at := s.now()
	signature, err := s.sign(m, at, body)
	if err != nil {
		return nil, exchange, alerts.Result{Fault: faultUnsigned, OurFault: true}
	}
	req, err = http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, exchange, alerts.Result{Fault: faultAddress}
	}
	if u := to.User; u != nil {
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": s.agent,
		webhooks.HeaderWebhookID:        m.MessageID,
		webhooks.HeaderWebhookTimestamp: strconv.FormatInt(at.Unix(), 10),
		webhooks.HeaderWebhookSignature: signature,
	} {
		req.Header.Set(name, value)
	}
	return req, store.Exchange{Sent: s.publicBody(m, body)}, failure
}

// target parses the URL of a destination. fault is empty if messages can be posted to it.
func (s *Sender) target(address string) (u *url.URL, fault string) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, faultAddress
	case u.Scheme == "http" && !s.private:
		return nil, faultInsecure
	}
	return u, ""
}

// sign returns the signatures of a message, separated by spaces: one with the current secret and,
// while it is still valid, one with the previous secret.
func (s *Sender) sign(m alerts.Message, at time.Time, body []byte) (string, error) {
	sealedSecrets := []string{m.Destination.Secrets.Current}
	if secrets := m.Destination.Secrets; secrets.Old != "" && at.Before(secrets.OldUntil) {
		sealedSecrets = append(sealedSecrets, secrets.Old)
	}
	var signatures []string
	for _, sealed := range sealedSecrets {
		secret, err := s.vault.Open(vault.Secret, m.Destination.UUID, sealed)
		if err != nil {
			return "", err
		}
		if strings.TrimPrefix(secret, "whsec_") == "" {
			return "", errors.New("no secret")
		}
		signer, err := webhooks.NewWebhook(secret)
		if err != nil {
			return "", err
		}
		signature, err := signer.Sign(m.MessageID, at, body)
		if err != nil {
			return "", err
		}
		signatures = append(signatures, signature)
	}
	return strings.Join(signatures, " "), nil
}

// agent returns the User-Agent.
func agent(o Options) string {
	version := strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f && !strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) {
			return r
		}
		return -1
	}, o.Version)
	if version == "" {
		version = "0"
	}
	return fmt.Sprintf("colaregistry/%s (webhooks)", version)
}
