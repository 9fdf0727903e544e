package webhook

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/store"
)

// removed is recorded in place of a secret.
const removed = "REMOVED"

// recordedHeaders are the response headers that help diagnose errors.
var recordedHeaders = []string{"Content-Type", "Location", "Retry-After", "Server", "X-Request-Id"}

// maxRecordedHeader is the maximum length of a recorded header's value, in bytes.
const maxRecordedHeader = 300

// publicBody returns the body of a message as account holders may see it. Only the endpoint may know
// its challenge.
func (s *Sender) publicBody(m alerts.Message, body []byte) string {
	if m.Event != cola.EventConfirm {
		return string(body)
	}
	c, err := s.challenge(m)
	if err != nil {
		return ""
	}
	return strings.NewReplacer(string(c), removed, c.Code(), removed).Replace(string(body))
}

// recordResponse records some headers and the start of the body of a response. Responses to
// challenges must not be recorded: an endpoint that echoes its challenge would reveal the code to
// an account holder who doesn't control the endpoint.
func (s *Sender) recordResponse(m alerts.Message, r *http.Response, e *store.Exchange) {
	secrets := s.secrets(m)
	var headers []string
	for _, name := range recordedHeaders {
		if value := strings.Join(r.Header.Values(name), ", "); value != "" {
			value = strings.Map(dropControl, secrets.Replace(value))
			headers = append(headers, name+": "+value[:min(len(value), maxRecordedHeader)])
		}
	}
	e.Headers = strings.Join(headers, "\n")
	// Read past the recorded part, to recognize a secret that crosses its end.
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxEcho)) // on error, record what was read before it
	text := secrets.Replace(string(body))
	e.Response = text[:min(len(text), store.MaxResponse)]
}

func dropControl(r rune) rune {
	if unicode.IsControl(r) {
		return -1
	}
	return r
}

// secrets returns a replacer that removes the secrets of a message's destination.
func (s *Sender) secrets(m alerts.Message) *strings.Replacer {
	var pairs []string
	add := func(secret string) {
		if secret != "" {
			pairs = append(pairs, secret, removed)
		}
	}
	for _, sealed := range []string{m.Destination.Secrets.Current, m.Destination.Secrets.Old} {
		if secret, err := s.vault.Open(vault.Secret, m.Destination.UUID, sealed); err == nil {
			add(secret)
			add(strings.TrimPrefix(secret, "whsec_"))
		}
	}
	if u, err := url.Parse(m.Destination.Address.V); err == nil && u.User != nil {
		password, _ := u.User.Password()
		add(password)
	}
	return strings.NewReplacer(pairs...)
}
