package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

// errClosed is the error that all methods return after Close.
var errClosed = fmt.Errorf("store closed: %w", store.ErrUnavailable)

// SQLSTATEs with a special meaning in this package.
const (
	notInEncoding        = "22021" // NUL or invalid UTF-8: text that the database can't store
	uniqueViolation      = "23505"
	readOnlyTransaction  = "25006"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	diskFull             = "53100"
)

// failed wraps an error with its operation. Errors indicating that the database is unavailable
// become store.ErrUnavailable.
func failed(operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrUnavailable):
	case isUnavailable(err):
		// End the error chain here: a connection attempt's deadline must not look like the deadline
		// of the caller's context.
		err = unavailable(err)
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// wrapContextError returns an error that wraps ctx.Err if the end of ctx may have caused err. It
// returns other errors unchanged.
func wrapContextError(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) {
		return err
	}
	// The driver closes the connection when its context ends. A read may report the closed
	// connection first.
	if isUnavailable(err) {
		return fmt.Errorf("%w: %v", ctx.Err(), oneLine(err))
	}
	return err
}

// inDoubt returns store.ErrUnavailable for an error that leaves the outcome of a commit unknown,
// including the end of a context.
func inDoubt(err error) error {
	if isUnavailable(err) || isEnded(err) {
		return unavailable(err)
	}
	return err
}

// unavailable returns store.ErrUnavailable with the reason.
func unavailable(err error) error {
	if sqlState(err) == diskFull {
		return fmt.Errorf("%w: %v", store.ErrDiskFull, oneLine(err))
	}
	return fmt.Errorf("%w: %v", store.ErrUnavailable, oneLine(err))
}

func isEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// isUnavailable reports whether the database, rather than the statement, failed. It returns true
// for all failures to connect: a running store has connected before.
func isUnavailable(err error) bool {
	if isUnconnected(err) {
		return true
	}
	if code := sqlState(err); code != "" {
		return isUnavailableState(code)
	}
	var network net.Error
	switch {
	case errors.As(err, &network), pgconn.Timeout(err),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, pgconn.ErrConnClosed), errors.Is(err, puddle.ErrClosedPool), errors.Is(err, pgx.ErrTxClosed):
		return true
	}
	return pgconn.SafeToRetry(err)
}

// isConnectionLost reports whether a connection or its server has failed, in which case other
// connections probably have, too. A failure to connect says nothing about existing connections.
func isConnectionLost(err error) bool {
	switch code := sqlState(err); {
	case isUnconnected(err):
		return false
	case code == readOnlyTransaction: // the server is no longer the primary
		return true
	case code != "":
		return strings.HasPrefix(code, "57P") || strings.HasPrefix(code, "08")
	}
	return isUnavailable(err)
}

// isUnavailableState reports whether a SQLSTATE means that the database is unavailable.
func isUnavailableState(code string) bool {
	switch code[:min(2, len(code))] {
	case "08", // connection exception
		"53", // insufficient resources: disk full, out of memory, too many connections
		"57", // operator intervention: shutdown, startup, crash, statement_timeout
		"58": // system error
		return true
	}
	return slices.Contains([]string{
		readOnlyTransaction, serializationFailure, deadlockDetected,
		"25P03", // idle_in_transaction_session_timeout
		"55P03", // lock_timeout
	}, code)
}

// isDuplicate reports whether err means that a row with the same key exists.
func isDuplicate(err error) bool { return sqlState(err) == uniqueViolation }

// isRetryable reports whether a transaction failed only because of concurrent ones.
func isRetryable(err error) bool {
	code := sqlState(err)
	return code == serializationFailure || code == deadlockDetected || errors.Is(err, sqlstore.ErrConflict)
}

// sqlState returns the SQLSTATE of an error from the server, or "" for other errors.
func sqlState(err error) string {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return ""
	}
	return pgErr.Code
}

// withoutURL returns the reason why a URL is invalid, without the URL. The driver masks passwords,
// but cannot always find where they end. Parentheses in its messages quote the URL, except for
// messages about files.
func withoutURL(err error) error {
	const afterURL = "`: "
	reason := err.Error()
	if i := strings.LastIndex(reason, afterURL); i >= 0 {
		reason = reason[i+len(afterURL):]
	}
	if !strings.HasPrefix(reason, "failed to configure TLS") && !strings.HasPrefix(reason, "failed to read service") {
		reason, _, _ = strings.Cut(reason, " (")
	}
	return invalidURL(reason)
}

func invalidURL(reason string) error {
	return fmt.Errorf("invalid database URL: %s; use postgres://user:password@host:5432/database "+
		"with special characters in the password percent-encoded, or libpq keyword/value pairs", reason)
}

// failedToOpen is like failed, but for errors that occur while opening a database. It also adds
// advice for common errors.
func failedToOpen(ctx context.Context, operation string, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%s: %w", operation, wrapContextError(ctx, err))
	}
	code := sqlState(err)
	if hint := hints[code]; hint != "" {
		err = fmt.Errorf("%s: %w", hint, err)
	}
	if code != "" && !isUnavailableState(code) {
		return fmt.Errorf("%s: %w", operation, oneLine(err)) // probably a configuration error, so retrying may not help
	}
	return failed(operation, err)
}

// hints contains advice for common errors when opening a database, keyed by SQLSTATE.
var hints = map[string]string{
	"3D000": "database does not exist; create it with CREATE DATABASE",
	"28P01": "wrong user or password",
	"28000": "server rejects this user from this host (pg_hba.conf)",
	"42501": "missing privilege",
}

// errSettings means that a connection was made, but its settings could not be applied.
var errSettings = errors.New("configure new connection")

// isUnconnected reports whether a connection could not be made or configured.
func isUnconnected(err error) bool {
	var connectErr *pgconn.ConnectError
	return errors.As(err, &connectErr) || errors.Is(err, errSettings)
}

// oneLine returns a connection error on one line, with the last reason for each address. The driver
// tries each address both with and without TLS, and the first error would hide the second. oneLine
// returns other errors unchanged.
func oneLine(err error) error {
	var connectErr *pgconn.ConnectError
	if !errors.As(err, &connectErr) {
		return err
	}
	text := strings.Replace(err.Error(), connectErr.Error(), "failed to connect: "+reasons(connectErr.Unwrap()), 1)
	return rewordedError{strings.Join(strings.Fields(text), " "), err}
}

// rewordedError is an error with a different message.
type rewordedError struct {
	text string
	error
}

func (e rewordedError) Error() string { return e.text }
func (e rewordedError) Unwrap() error { return e.error }

// reasons returns the reason for each address that could not be reached, in order.
func reasons(err error) string {
	attempts := []error{err}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		attempts = joined.Unwrap()
	}
	var addresses, last []string // last: latest error per address; a name that does not resolve counts as an address
	for _, attempt := range attempts {
		address, reason, found := strings.Cut(attempt.Error(), ": ") // "address (host): reason"
		bare, _, _ := strings.Cut(address, " (")
		text := address + ": " + strings.Replace(reason, "dial tcp "+bare+": ", "", 1)
		if !found || !strings.HasSuffix(address, ")") {
			address, text = attempt.Error(), attempt.Error()
		}
		if i := slices.Index(addresses, address); i >= 0 {
			last[i] = text
			continue
		}
		addresses, last = append(addresses, address), append(last, text)
	}
	return strings.Join(last, "; ")
}
