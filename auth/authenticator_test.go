package auth

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// silent is a store that does not answer.
type silent struct{}

func (silent) KeyByHash(ctx context.Context, _ store.KeyHash) (store.Key, error) {
	<-ctx.Done()
	return store.Key{}, ctx.Err()
}

// TestAuthenticateDoesNotWaitForASilentStore: a key that is not known yet is refused within three seconds, with when to try
// again.
func TestAuthenticateDoesNotWaitForASilentStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		header := http.Header{"X-Api-Key": {NewSecret().Reveal()}}
		begun := time.Now()
		_, err := New(silent{}, nil, nil).Authenticate(t.Context(), header, cola.ChannelREST)
		var refusal *cola.Error
		if !errors.As(err, &refusal) || refusal.Code != cola.CodeUnavailable || refusal.RetryAfter <= 0 {
			t.Errorf("got %v, want unavailable with a time to try again", err)
		}
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("after %v, want 3 s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := New(silent{}, nil, nil).Authenticate(ctx, header, cola.ChannelREST); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("whose caller has gone: %v, want the end of the context", err)
		}
	})
}
