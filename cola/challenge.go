package cola

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"strings"
)

// MaxCodeTries is the number of codes that may be entered for one challenge.
const MaxCodeTries = 10

// codeLength is the length of a code, a prefix of the challenge's token: 40 random bits.
const codeLength = 8

// Challenge is a random token, sent to an endpoint to confirm that it wants messages. The endpoint
// answers with the token, or the account holder enters the code derived from it.
type Challenge string

// NewChallenge returns a new challenge: at least 128 random bits in base32.
func NewChallenge() Challenge { return Challenge(rand.Text()) }

// Code returns the code of the challenge, such as KX7Q-2MFA.
func (c Challenge) Code() string {
	code := c.code()
	return code[:codeLength/2] + "-" + code[codeLength/2:]
}

func (c Challenge) code() string { return string(c[:codeLength]) }

// lookalikes maps digits outside base32 to the letters they resemble, and drops separators.
var lookalikes = strings.NewReplacer("0", "O", "1", "I", "8", "B", "-", "", " ", "")

// Matches reports whether a typed code is the code of the challenge.
func (c Challenge) Matches(typed string) bool {
	typed = lookalikes.Replace(strings.ToUpper(strings.TrimSpace(typed)))
	return len(c) >= codeLength && subtle.ConstantTimeCompare([]byte(typed), []byte(c.code())) == 1
}

// AnsweredBy reports whether the body of an answer is the token of the challenge, as text or as
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

// Normalize returns the normalized parameters, or a validation Error with all problems at once.
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
