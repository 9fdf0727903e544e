package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// FormFor is how long a form that can be sent once may stay open.
const FormFor = 2 * time.Hour

// OpenForm returns a token for a form that the signed-in account can send once, within FormFor. A later
// sign-in of the account can send it too, in case the session ends while somebody types. It fails with
// CodeUnavailable if the store does not answer.
func (b *Browsers) OpenForm(ctx context.Context) (token string, err error) {
	token = rand.Text()
	err = within(ctx, "open form", func(ctx context.Context) error {
		return b.store.KeepSession(ctx, formName(ctx, b, token), nil, b.now().Add(FormFor))
	})
	return token, err
}

// TakeForm reports whether this is the first time that the account which opened a form sends it. If it is
// sent several times at once, to any process, one of them is the first. It fails with CodeUnavailable if
// the store does not answer; the form may then count as sent.
func (b *Browsers) TakeForm(ctx context.Context, token string) (first bool, err error) {
	err = within(ctx, "take form", func(ctx context.Context) (err error) {
		first, err = b.store.DropSession(ctx, formName(ctx, b, token))
		return err
	})
	return first && err == nil, err
}

// formName returns the name of a form in the table of sessions, whose own names have no space.
func formName(ctx context.Context, b *Browsers, token string) string {
	c, _ := b.Caller(ctx)
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", c.Account, token))
	return "form " + hex.EncodeToString(sum[:])
}
