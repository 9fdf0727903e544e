package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// FormFor is how long a form may be open that is good for one sending.
const FormFor = 2 * time.Hour

// OpenForm returns a token for a form that is good for one sending, within FormFor, by the account that is signed in: also by a later sign-in of it, when
// the session has ended while somebody typed. It fails with CodeUnavailable when the store does not answer.
func (b *Browsers) OpenForm(ctx context.Context) (token string, err error) {
	token = rand.Text()
	err = within(ctx, "open form", func(ctx context.Context) error {
		return b.store.KeepSession(ctx, formName(ctx, b, token), nil, b.now().Add(FormFor))
	})
	return token, err
}

// TakeForm reports whether a form with a token is sent for the first time by the account that has opened it. Of those who send it at the same time, to any
// process, one is told so. It fails with CodeUnavailable when the store does not answer; then the form may have been taken.
func (b *Browsers) TakeForm(ctx context.Context, token string) (first bool, err error) {
	err = within(ctx, "take form", func(ctx context.Context) (err error) {
		first, err = b.store.DropSession(ctx, formName(ctx, b, token))
		return err
	})
	return first && err == nil, err
}

// formName is what a form is kept under beside sessions, whose names are hashes without a space.
func formName(ctx context.Context, b *Browsers, token string) string {
	c, _ := b.Caller(ctx)
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", c.Account, token))
	return "form " + hex.EncodeToString(sum[:])
}
