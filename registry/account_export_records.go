package registry

import (
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// The records of an export that have no API type.
type (
	exportedAccount struct {
		Email           *string    `json:"email"`
		Tier            cola.Tier  `json:"tier"`
		MaxAlerts       int        `json:"max_alerts"`
		QuotaEmails     bool       `json:"quota_emails"`
		CreatedAt       time.Time  `json:"created_at"`
		SuspendedAt     *time.Time `json:"suspended_at"`
		SuspendedReason *string    `json:"suspended_reason"`
		DeletesAt       *time.Time `json:"deletes_at"`
	}
	exportedSubscription struct {
		Customer     string     `json:"customer_id"`
		ID           string     `json:"subscription_id"`
		Status       string     `json:"status"`
		Tier         cola.Tier  `json:"tier"`
		PeriodEnd    *time.Time `json:"period_end"`
		EndsAt       *time.Time `json:"ends_at"`
		PastDueSince *time.Time `json:"past_due_since"`
	}
	exportedIdentity struct {
		Issuer  string `json:"issuer"`
		Subject string `json:"subject"`
	}
	exportedSession struct {
		Issuer     *string    `json:"issuer"` // null for a sign-in link
		Browser    string     `json:"browser"`
		CreatedAt  time.Time  `json:"created_at"`
		LastUsedAt *time.Time `json:"last_used_at"`
		ExpiresAt  time.Time  `json:"expires_at"`
	}
	exportedKey struct {
		ID         int64        `json:"id"`
		Name       string       `json:"name"`
		Prefix     string       `json:"prefix"`
		LastFour   string       `json:"last_four"`
		Scopes     []cola.Scope `json:"scopes"`
		Networks   []string     `json:"networks"` // empty if all networks are allowed
		CreatedAt  time.Time    `json:"created_at"`
		LastUsedAt *time.Time   `json:"last_used_at"`
		ExpiresAt  *time.Time   `json:"expires_at"`
		RevokedAt  *time.Time   `json:"revoked_at"`
	}
	exportedApp struct {
		ID         int64        `json:"id"`
		Name       string       `json:"name"`
		Issuer     string       `json:"issuer"`
		ClientID   string       `json:"client_id"`
		Scopes     []cola.Scope `json:"scopes"`
		CreatedAt  time.Time    `json:"created_at"`
		LastUsedAt *time.Time   `json:"last_used_at"`
		RevokedAt  *time.Time   `json:"revoked_at"`
	}
	exportedRequest struct {
		At             time.Time           `json:"at"`
		RequestID      string              `json:"request_id"`
		Channel        cola.Channel        `json:"channel"`
		CredentialKind cola.CredentialKind `json:"credential_kind"`
		CredentialID   int64               `json:"credential_id"`
		Method         string              `json:"method"`
		Target         string              `json:"target"` // path, tool, prompt or resource
		Input          string              `json:"input"`  // query string or arguments
		Status         int                 `json:"status"`
		Code           *cola.Code          `json:"code"`
		Milliseconds   float64             `json:"duration_ms"`
		Meter          *cola.Meter         `json:"meter"`
		Units          int                 `json:"units"`
		Response       *string             `json:"response"` // body of an error response
	}
	exportedRefusal struct {
		Minute         time.Time           `json:"minute"`
		Channel        cola.Channel        `json:"channel"`
		CredentialKind cola.CredentialKind `json:"credential_kind"`
		CredentialID   int64               `json:"credential_id"`
		Reason         string              `json:"reason"`
		Count          int                 `json:"count"`
		LastAt         time.Time           `json:"last_at"`
	}
	exportedUsage struct {
		Day            cola.Date           `json:"day"`
		Channel        cola.Channel        `json:"channel"`
		CredentialKind cola.CredentialKind `json:"credential_kind"`
		CredentialID   int64               `json:"credential_id"`
		Meter          cola.Meter          `json:"meter"`
		Units          int                 `json:"units"`
		Requests       int                 `json:"requests"`
	}
	exportedDelivery struct {
		cola.Delivery
		Attempts []exportedAttempt `json:"attempts"`
	}
	exportedAttempt struct {
		cola.DeliveryAttempt
		Subject  *string `json:"subject"` // null for a webhook
		Headers  *string `json:"response_headers"`
		Response *string `json:"response"` // start of the response body
	}
)
