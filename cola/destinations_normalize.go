package cola

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"math"
	"net/url"
	"strings"
)

// DestinationRules describe which destinations a server accepts.
type DestinationRules struct {
	SendsMail       bool // the server sends email
	PrivateWebhooks bool // webhooks may use private addresses and http
}

// Unserved returns why the server doesn't send messages to an address, or "" if it does. It doesn't
// resolve host names.
func (r DestinationRules) Unserved(kind, address string) string {
	if kind == KindEmail {
		if r.SendsMail {
			return ""
		}
		return "This server doesn't send email."
	}
	u, err := url.Parse(address)
	if err != nil || r.PrivateWebhooks {
		return ""
	}
	var problems Problems
	if u.Scheme == "http" {
		problems.Add("address", "The URL must start with https://.")
	}
	problems.host("address", u, false)
	return strings.Join(problems["address"], " ")
}

// maxAddressLength is the maximum length of a webhook URL, in bytes. There is a limit because
// databases index the URL.
const maxAddressLength = 1000

// Kinds lists every kind of destination.
func Kinds() []string { return []string{KindEmail, KindWebhook} }

// Normalize returns the destination, without the state and fields that the store sets, or a
// validation Error that lists all problems.
func (p DestinationParams) Normalize(rules DestinationRules) (Destination, error) {
	problems := p.Decoded.problems()
	d := Destination{
		Kind:      problems.Choice("kind", p.Kind, Kinds()),
		SendEmpty: p.SendEmpty.Or(false),
	}
	if strings.TrimSpace(p.Kind) == "" {
		problems.require("kind", "A kind is required; allowed: "+strings.Join(Kinds(), ", ")+".")
	}
	if strings.TrimSpace(p.Address) == "" {
		problems.require("address", "An address is required: an email address or a webhook URL.")
	}
	address := problems.textUpTo("address", p.Address, maxAddressLength)
	switch {
	case d.Kind == KindEmail && !rules.SendsMail:
		problems.Add("kind", "This server doesn't send email. Use a webhook, or a saved search's feed.")
	case address == "":
	case d.Kind == KindEmail:
		d.Address = Some(problems.mailbox("address", address))
	case d.Kind == KindWebhook:
		d.Address = Some(problems.webhook("address", address, rules.PrivateWebhooks))
	}
	if search := problems.uuid("saved_search", p.SavedSearch); search != "" {
		d.SavedSearch = Some(search)
	}
	if err := problems.Err(); err != nil {
		return Destination{}, err
	}
	return d, nil
}

// uuid normalizes a UUID to lower case.
func (p *Problems) uuid(name, value string) string {
	value = strings.ToLower(strings.TrimSpace(value))
	if value != "" && !isUUID(value) {
		p.Add(name, "%s is not a UUID; use the form 0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11.", Quoted(value))
		return ""
	}
	return value
}

// isUUID reports whether lower-case text has the form of a UUID.
func isUUID(text string) bool {
	const form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
	if len(text) != len(form) {
		return false
	}
	for i := range len(form) {
		c := text[i]
		if form[i] == '-' && c != '-' || form[i] == 'x' && (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Normalize returns the normalized parameters, or a validation Error that lists all problems. An
// empty change is a problem.
func (p DestinationChangeParams) Normalize() (DestinationChangeParams, error) {
	problems := p.Decoded.problems()
	if len(*problems) == 0 && !p.Active.OK && !p.SendEmpty.OK {
		problems.require("body", "The change is empty. Send active or send_empty, such as {\"active\": true}.")
	}
	if err := problems.Err(); err != nil {
		return DestinationChangeParams{}, err
	}
	return DestinationChangeParams{Active: p.Active, SendEmpty: p.SendEmpty}, nil
}

// DeliveryPage is a normalized request for one page of deliveries. Empty fields don't filter.
type DeliveryPage struct {
	Destination, SavedSearch string // UUIDs in lower case
	State                    string
	Page                     int // from 1
	PerPage                  int // 1 to MaxPerPage
}

// Normalize returns the request, or a validation Error that lists all problems. There is no page
// limit, but a page number must fit in 32 bits.
func (p DeliveryListParams) Normalize() (DeliveryPage, error) {
	problems := p.Decoded.problems()
	page := DeliveryPage{
		Destination: problems.uuid("destination", p.Destination),
		SavedSearch: problems.uuid("saved_search", p.SavedSearch),
		State:       problems.Choice("state", p.State, DeliveryStates()),
		Page:        problems.integer("page", p.Page, 1, 1, math.MaxInt32),
		PerPage:     problems.integer("per_page", p.PerPage, DefaultPerPage, 1, MaxPerPage),
	}
	if err := problems.Err(); err != nil {
		return DeliveryPage{}, err
	}
	return page, nil
}

// NewWebhookSecret returns a new signing secret in the format of Standard Webhooks: 256 random
// bits.
func NewWebhookSecret() string {
	var bits [32]byte
	rand.Read(bits[:])
	return "whsec_" + base64.StdEncoding.EncodeToString(bits[:])
}

// MaxCodeTries is the number of codes that may be entered for one challenge.
const MaxCodeTries = 10

// codeLength is the length of a code, a prefix of the challenge's token: 40 random bits.
const codeLength = 8

// Challenge is a random token that is sent to an endpoint. The endpoint is confirmed when it
// returns the token, or when the account holder enters the code derived from the token.
type Challenge string

// NewChallenge returns a new challenge: at least 128 random bits in base32.
func NewChallenge() Challenge { return Challenge(rand.Text()) }

// Code returns the challenge's code, such as KX7Q-2MFA.
func (c Challenge) Code() string {
	code := c.code()
	return code[:codeLength/2] + "-" + code[codeLength/2:]
}

func (c Challenge) code() string { return string(c[:codeLength]) }

// lookalikes maps digits outside base32 to the letters they resemble, and drops separators.
var lookalikes = strings.NewReplacer("0", "O", "1", "I", "8", "B", "-", "", " ", "")

// Matches reports whether a typed code is the challenge's code.
func (c Challenge) Matches(typed string) bool {
	typed = lookalikes.Replace(strings.ToUpper(strings.TrimSpace(typed)))
	return len(c) >= codeLength && subtle.ConstantTimeCompare([]byte(typed), []byte(c.code())) == 1
}

// AnsweredBy reports whether a response body is the challenge's token, as text or as
// {"challenge": token}.
func (c Challenge) AnsweredBy(body []byte) bool {
	var echo struct {
		Challenge string `json:"challenge"`
	}
	token := strings.TrimSpace(string(body))
	if strings.HasPrefix(token, "{") && json.Unmarshal(body, &echo) == nil {
		token = echo.Challenge
	}
	return c != "" && subtle.ConstantTimeCompare([]byte(token), []byte(c)) == 1
}

// Normalize returns the normalized parameters, or a validation Error that lists all problems.
func (p DestinationConfirmParams) Normalize() (DestinationConfirmParams, error) {
	const longest = 40
	problems := p.Decoded.problems()
	if strings.TrimSpace(p.Code) == "" {
		problems.require("code", "Enter the code from the latest challenge that the endpoint received.")
	}
	code := problems.textUpTo("code", p.Code, longest)
	if err := problems.Err(); err != nil {
		return DestinationConfirmParams{}, err
	}
	return DestinationConfirmParams{Code: code}, nil
}
