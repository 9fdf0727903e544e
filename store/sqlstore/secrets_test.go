package sqlstore

import (
	"context"
	"fmt"
	"testing"

	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// retryingDatabase is a Database that rolls back and repeats the first run of every transaction, as
// the PostgreSQL store does after a deadlock.
type retryingDatabase struct {
	Database
	secrets map[int64]string // committed
}

func (r *retryingDatabase) TransactErasing(ctx context.Context, _ string, work func(context.Context, Tx) error) error {
	if err := work(ctx, secretsTx{r: r, written: map[int64]string{}}); err != nil {
		return err
	}
	tx := secretsTx{r: r, written: map[int64]string{}}
	err := work(ctx, tx)
	for id, text := range tx.written {
		r.secrets[id] = text
	}
	return err
}

// secretsTx is a transaction over destinations whose IDs start at 1 and have no gaps.
type secretsTx struct {
	Tx
	r       *retryingDatabase
	written map[int64]string
}

func (tx secretsTx) Query(_ context.Context, _ string, args ...any) (Rows, error) {
	after, limit := args[0].(int64), args[2].(int)
	rows := &secretRows{}
	for id := after + 1; id <= int64(len(tx.r.secrets)) && len(rows.ids) < limit; id++ {
		rows.ids, rows.texts = append(rows.ids, id), append(rows.texts, tx.r.secrets[id])
	}
	return rows, nil
}

func (tx secretsTx) Exec(_ context.Context, _ string, args ...any) (int, error) {
	tx.written[args[0].(int64)] = args[1].(string)
	return 1, nil
}

type secretRows struct {
	ids   []int64
	texts []string
	at    int
}

func (r *secretRows) Next() bool { r.at++; return r.at <= len(r.ids) }
func (r *secretRows) Err() error { return nil }
func (r *secretRows) Close()     {}

func (r *secretRows) Scan(into ...any) error {
	*into[0].(*int64), *into[2].(*string) = r.ids[r.at-1], r.texts[r.at-1]
	return nil
}

// TestRewriteSecretsRetried checks that no secret is skipped when the database repeats
// transactions.
func TestRewriteSecretsRetried(t *testing.T) {
	const destinations = 2*records.DestinationsPerBatch + 50
	db := &retryingDatabase{secrets: map[int64]string{}}
	for id := range int64(destinations) {
		db.secrets[id+1] = fmt.Sprint("plain ", id)
	}
	changed, err := New(db,
		Options{}).RewriteSecrets(t.Context(), "sealed:", func(s store.SealedSecret) (string, error) {
		return "sealed:" + s.Text, nil
	})
	if err != nil || changed != destinations {
		t.Errorf("RewriteSecrets = %d, %v; want %d", changed, err, destinations)
	}
	for id, text := range db.secrets {
		if want := fmt.Sprint("sealed:plain ", id-1); text != want {
			t.Fatalf("secret %d = %q, want %q", id, text, want)
		}
	}
}
