package storetest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// deletedAccount is the email address of the account that child processes delete.
const deletedAccount = "gone@example.com"

// childDelete deletes due accounts and prints a line after each batch.
func childDelete(ctx context.Context, st store.Store, out io.Writer) error {
	n := 0
	return finishDeletions(ctx, st, func() {
		n++
		fmt.Fprintf(out, "deleted %d\n", n)
	})
}

// mustDeleteLater returns an account with many rows that is due for deletion.
func mustDeleteLater(t *testing.T, db Database) cola.AccountID {
	t.Helper()
	a := mustAccount(t, db, deletedAccount, cola.TierFree)
	requests := make([]store.RecordedRequest, 6_000)
	for i := range requests {
		requests[i] = newRequest(a.ID, i)
		requests[i].ExpiresAt = time.Now().Add(anHour)
	}
	for chunk := range slices.Chunk(requests, 500) {
		mustRecordRequests(t, db, chunk...)
	}
	mustDo(t, db.RequestDeletion(t.Context(), a.ID, 0))
	return a.ID
}

// deleteAcrossProcesses checks that several processes can delete the same account together.
func deleteAcrossProcesses(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	id := mustDeleteLater(t, db)
	first, second := start(t, "delete", dsn), start(t, "delete", dsn)
	for _, p := range []*Process{first, second} {
		p.lastNumber(t, "deleted %d")
		p.wait(t)
	}
	checkDeleted(t, db, id)
}

// killedDeletion checks that another process completes a deletion that a killed process started.
func killedDeletion(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	id := mustDeleteLater(t, db)
	p := start(t, "delete", dsn)
	for range 3 {
		p.number(t, "deleted %d")
	}
	p.Kill()
	left := mustRequests(t, db, id, store.RequestFilter{}, 10_000)
	if len(left) == 0 {
		t.Error("the killed process deleted everything; the test needs more rows")
	}
	mustFinishDeletions(t, db)
	checkDeleted(t, db, id)
}

func checkDeleted(t *testing.T, db Database, id cola.AccountID) {
	t.Helper()
	if n := len(mustRequests(t, db, id, store.RequestFilter{}, 10)); n > 0 {
		t.Errorf("requests of the deleted account = %d or more, want 0", n)
	}
	list, err := db.Accounts(t.Context())
	for _, a := range must(t, list, err) {
		if a.ID == id && (a.DeletedAt.IsZero() || !a.DeletesAt.IsZero()) {
			t.Errorf("account = %+v, want a completed deletion", a)
		}
	}
}
