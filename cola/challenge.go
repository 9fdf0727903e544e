package cola

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"strings"
)

// MaxCodeTries is how many codes may be entered for one challenge.
const MaxCodeTries = 10

// codeLength is how many characters of a challenge's token make its code: 40 random bits.
const codeLength = 8

// Challenge is a random token that an endpoint is sent to confirm that it wants messages. The endpoint answers with the token, or
// the account holder enters the code that is made of it.
type Challenge string

// NewChallenge returns a new challenge, of at least 128 random bits in base32.
func NewChallenge() Challenge { return Challenge(rand.Text()) }

// Code returns the code of the challenge, such as KX7Q-2MFA.
func (c Challenge) Code() string {
	code := c.code()
	return code[:codeLength/2] + "-" + code[codeLength/2:]
}

func (c Challenge) code() string { return string(c[:codeLength]) }

// lookalikes are digits that are no base32, by the letters that they may be mistaken for.
var lookalikes = strings.NewReplacer("0", "O", "1", "I", "8", "B", "-", "", " ", "")

// Matches reports whether a typed code is that of the challenge.
func (c Challenge) Matches(typed string) bool {
	typed = lookalikes.Replace(strings.ToUpper(strings.TrimSpace(typed)))
	return len(c) >= codeLength && subtle.ConstantTimeCompare([]byte(typed), []byte(c.code())) == 1
}

// AnsweredBy reports whether the body of an answer is the token of the challenge, as text or as {"challenge": token}.
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

// Normalize returns the parameters settled, or a validation Error with all problems at once.
func (p DestinationConfirmParams) Normalize() (DestinationConfirmParams, error) {
	const longest = 40
	f := findingsFrom(p.Decoded)
	if strings.TrimSpace(p.Code) == "" {
		f.require("code", "A code is required: the one from the latest challenge that the endpoint received.")
	}
	code := f.textUpTo("code", p.Code, longest)
	if err := f.err(); err != nil {
		return DestinationConfirmParams{}, err
	}
	return DestinationConfirmParams{Code: code}, nil
}
