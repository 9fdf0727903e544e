package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/colaregistry/colaregistry/store"
)

// What becomes of a commit that waits for a standby. The server has written it down by then, so it cannot be undone; its
// locks are held, and nobody sees it. The wait has no limit of its own: statement_timeout does not count there. It ends
//
//   - with the standby, and the commit is answered as one that is done;
//   - with the connection of a client that gives up (here: with the context of the commit). The driver then asks the server
//     to call the wait off. Where that request arrives the transaction shows to others and its locks are free, though the
//     standby may not have it; where it does not, the wait goes on, locks and all, until the standby is back or the server
//     notices that the client is gone. Either way the outcome is unknown to whoever gave up, and told so;
//   - with an operator who cancels it. The server answers that it is done, with a warning that it may be so here only. That is
//     not done: after a failover it never was. So the warning makes the outcome unknown, too.
//
// An unknown outcome is asked for again under the batch's id, and the transaction that asks locks the row it finds: its own
// commit then waits for the standby to have all before it. So what is at last answered as settled or voided outlives the
// primary, whatever was called off in between.

// errNotReplicated: the commit is done on this server, and perhaps nowhere else.
var errNotReplicated = fmt.Errorf("%w: the commit was made to stop waiting for its standby", store.ErrUnavailable)

// commitWatch is told what the server says beside its answer to one commit.
type commitWatch struct{ notReplicated bool }

// watchedCommit is where the custom data of a connection has the watch of its latest commit.
const watchedCommit = "colaregistry.commit"

// watchCommit begins to watch for notices to the next commit on a connection.
func watchCommit(conn *pgx.Conn) *commitWatch {
	w := &commitWatch{}
	conn.PgConn().CustomData()[watchedCommit] = w
	return w
}

// noteCommit is called for every notice, by whoever reads from the connection.
func noteCommit(conn *pgconn.PgConn, n *pgconn.Notice) {
	// The message is in the language of the server; the name of the function is in none.
	cutShort := n.Code == "01000" && (n.Routine == "SyncRepWaitForLSN" || strings.Contains(n.Message, "synchronous replication"))
	if w, ok := conn.CustomData()[watchedCommit].(*commitWatch); ok && cutShort {
		w.notReplicated = true
	}
}

// result returns the outcome of a commit that was answered with err.
func (w *commitWatch) result(err error) error {
	if err == nil && w.notReplicated {
		return errNotReplicated
	}
	return err
}

// committing returns a context for a commit. It lasts for so long, and for commitWithin at most once ctx has ended.
func committing(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(commitWithin):
			cancel()
		case <-lasting.Done():
		}
	})
	return lasting, func() {
		stop()
		cancel()
	}
}
