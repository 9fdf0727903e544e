package measure

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Accounts creates accounts on the largest tier, with one key each, and returns the keys. Each
// account may make 120 requests per minute.
func Accounts(ctx context.Context, st store.Store, n int) (keys []string, err error) {
	for i := range n {
		account, err := st.CreateAccount(ctx, fmt.Sprintf("perf%d@example.com", i), cola.TierPro)
		if err != nil {
			return nil, err
		}
		secret := auth.NewSecret()
		key := secret.Key()
		key.AccountID, key.Name = account.ID, "perf"
		if _, err := st.CreateKey(ctx, key, secret.Hash(), 0); err != nil {
			return nil, err
		}
		keys = append(keys, secret.Reveal())
	}
	return keys, nil
}

// Get makes one request with a key, copies the response body to dst, and returns the status and
// the total time.
func Get(
	ctx context.Context, client *http.Client, url, key string, dst io.Writer,
) (status int, took time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("X-API-Key", key)
	started := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(dst, resp.Body)
	return resp.StatusCode, time.Since(started), err
}
