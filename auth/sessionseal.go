package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
)

// Sessions are stored encrypted, under keys derived from the tokens in browsers' cookies. The tokens
// are not stored, so the database, or a copy of it, reveals neither a token nor the content of a
// session: ID tokens and notices for the next page.

// sessionName returns what the session of a token is kept under.
func sessionName(token string) string {
	hash := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(hash[:])
}

// seal returns data as it is kept for the session of a token.
func seal(token string, data []byte) ([]byte, error) {
	sealing, err := sealOf(token)
	if err != nil {
		return nil, err
	}
	return sealing.Seal(nil, nil, data, []byte(sessionName(token))), nil
}

// unseal returns what was sealed for the session of a token; ok tells whether it was, and is as it was.
func unseal(token string, sealed []byte) (data []byte, ok bool) {
	sealing, err := sealOf(token)
	if err != nil {
		return nil, false
	}
	data, err = sealing.Open(nil, nil, sealed, []byte(sessionName(token)))
	return data, err == nil
}

// sealOf returns AES-256-GCM under a key of a token. Each sealing has a random nonce, of some hundred under a key at most a day.
func sealOf(token string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(token), nil, "colaregistry session", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
