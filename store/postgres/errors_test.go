package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/colaregistry/colaregistry/store"
)

// TestFailed checks that temporary database failures are reported as ErrUnavailable and that
// invalid requests are not.
func TestFailed(t *testing.T) {
	serverError := func(code string) error { return fmt.Errorf("query: %w", &pgconn.PgError{Code: code}) }
	for name, c := range map[string]struct {
		err               error
		unavailable, lost bool
	}{
		"connection refused":    {&net.OpError{Op: "dial", Err: errors.New("connection refused")}, true, true},
		"end of file":           {io.ErrUnexpectedEOF, true, true},
		"closed connection":     {fmt.Errorf("query: %w", pgconn.ErrConnClosed), true, true},
		"connect timeout":       {context.DeadlineExceeded, true, true},
		"shutting down":         {serverError("57P01"), true, true},
		"starting up":           {serverError("57P03"), true, true},
		"connection exception":  {serverError("08006"), true, true},
		"standby":               {serverError("25006"), true, true},
		"statement timeout":     {serverError("57014"), true, false},
		"idle in transaction":   {serverError("25P03"), true, false},
		"lock timeout":          {serverError("55P03"), true, false},
		"too many connections":  {serverError("53300"), true, false},
		"disk full":             {serverError("53100"), true, false},
		"input/output error":    {serverError("58030"), true, false},
		"deadlock":              {serverError("40P01"), true, false},
		"serialization failure": {serverError("40001"), true, false},
		"duplicate":             {serverError("23505"), false, false},
		"foreign key violation": {serverError("23503"), false, false},
		"syntax error":          {serverError("42601"), false, false},
		"missing privilege":     {serverError("42501"), false, false},
		"number out of range":   {serverError("22003"), false, false},
		"error in this package": {errNull, false, false},
		"missing record":        {store.ErrNotFound, false, false},
	} {
		got := failed("do something", c.err)
		if errors.Is(got, store.ErrUnavailable) != c.unavailable {
			t.Errorf("%s: failed = %v, want ErrUnavailable = %v", name, got, c.unavailable)
		}
		if isFull := sqlState(c.err) == "53100"; errors.Is(got, store.ErrDiskFull) != isFull {
			t.Errorf("%s: failed = %v, want ErrDiskFull = %v", name, got, isFull)
		}
		if errors.Is(got, context.DeadlineExceeded) {
			t.Errorf("%s: failed = %v, want no DeadlineExceeded", name, got)
		}
		if isConnectionLost(c.err) != c.lost {
			t.Errorf("%s: isConnectionLost = %v, want %v", name, !c.lost, c.lost)
		}
	}
	if failed("do something", nil) != nil {
		t.Error("failed(nil) is not nil")
	}
}

// TestContextErrors checks that an ended context is reported as such, even if the connection it
// closed reports an error first.
func TestContextErrors(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	own := errors.New("own")
	for name, c := range map[string]struct{ err, want error }{
		"context":            {context.Canceled, context.Canceled},
		"wrapped context":    {fmt.Errorf("query: %w", context.Canceled), context.Canceled},
		"closed connection":  {fmt.Errorf("read: %w", net.ErrClosed), context.Canceled},
		"canceled statement": {&pgconn.PgError{Code: "57014"}, context.Canceled},
		"other error":        {own, own},
		"ErrUnavailable":     {fmt.Errorf("%w: lost", store.ErrUnavailable), store.ErrUnavailable},
	} {
		got := new(Store).failed(ended, "do something", c.err)
		if !errors.Is(got, c.want) {
			t.Errorf("%s: failed = %v, want %v", name, got, c.want)
		}
		if c.want == context.Canceled && errors.Is(got, store.ErrUnavailable) {
			t.Errorf("%s: failed = %v, want no ErrUnavailable", name, got)
		}
	}
}
