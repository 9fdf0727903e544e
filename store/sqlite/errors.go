package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/colaregistry/colaregistry/store"
)

// errClosed is the error that operations on a closed store return.
var errClosed = fmt.Errorf("store closed: %w", store.ErrUnavailable)

// failed wraps an error with its operation. Temporary database failures become
// store.ErrUnavailable. failed returns nil if err is nil.
func failed(operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrUnavailable):
	case resultCode(err) == lib.SQLITE_INTERRUPT:
		err = fmt.Errorf("%w: %w", context.Canceled, err)
	case resultCode(err) == lib.SQLITE_FULL:
		err = fmt.Errorf("%w: %w", store.ErrDiskFull, err)
	case isUnavailable(err):
		err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// isUnavailable reports whether the database, rather than the request, is at fault.
func isUnavailable(err error) bool {
	switch resultCode(err) {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_IOERR, lib.SQLITE_FULL, lib.SQLITE_CANTOPEN, lib.SQLITE_NOMEM,
		lib.SQLITE_PROTOCOL, lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_NOLFS:
		return true
	}
	return errors.Is(err, sql.ErrConnDone)
}

// isDuplicate reports whether err means that a row with the same key exists.
func isDuplicate(err error) bool {
	var e *driver.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Code() == lib.SQLITE_CONSTRAINT_UNIQUE || e.Code() == lib.SQLITE_CONSTRAINT_PRIMARYKEY
}

// resultCode returns the primary result code of an SQLite error, or SQLITE_OK for other errors.
func resultCode(err error) int {
	var e *driver.Error
	if !errors.As(err, &e) {
		return lib.SQLITE_OK
	}
	return e.Code() & 0xff
}
