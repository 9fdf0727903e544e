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

// TestFailed checks that temporary failures of the database are ErrUnavailable and that invalid
// requests are not.
func TestFailed(t *testing.T) {
	answer := func(code string) error { return fmt.Errorf("query: %w", &pgconn.PgError{Code: code}) }
	for name, c := range map[string]struct {
		err               error
		unavailable, lost bool
	}{
		"connection refused":         {&net.OpError{Op: "dial", Err: errors.New("connection refused")}, true, true},
		"end of file":                {io.ErrUnexpectedEOF, true, true},
		"a closed connection":        {fmt.Errorf("query: %w", pgconn.ErrConnClosed), true, true},
		"no connection in time":      {context.DeadlineExceeded, true, true},
		"shutting down":              {answer("57P01"), true, true},
		"starting up":                {answer("57P03"), true, true},
		"a connection exception":     {answer("08006"), true, true},
		"a standby":                  {answer("25006"), true, true},
		"statement timeout":          {answer("57014"), true, false},
		"idle in transaction":        {answer("25P03"), true, false},
		"lock timeout":               {answer("55P03"), true, false},
		"too many connections":       {answer("53300"), true, false},
		"disk full":                  {answer("53100"), true, false},
		"input/output error":         {answer("58030"), true, false},
		"deadlock":                   {answer("40P01"), true, false},
		"serialization failure":      {answer("40001"), true, false},
		"a duplicate":                {answer("23505"), false, false},
		"a violated foreign key":     {answer("23503"), false, false},
		"a syntax error":             {answer("42601"), false, false},
		"no privilege":               {answer("42501"), false, false},
		"a number out of range":      {answer("22003"), false, false},
		"an error of this package":   {errors.New("a column of *int cannot hold 3 bytes"), false, false},
		"a record that is not there": {store.ErrNotFound, false, false},
	} {
		got := failed("do something", c.err)
		if errors.Is(got, store.ErrUnavailable) != c.unavailable {
			t.Errorf("%s: error = %v, want ErrUnavailable: %v", name, got, c.unavailable)
		}
		if errors.Is(got, context.DeadlineExceeded) {
			t.Errorf("%s: error = %v, want no context error", name, got)
		}
		if isConnectionLost(c.err) != c.lost {
			t.Errorf("%s: isConnectionLost = %v, want %v", name, !c.lost, c.lost)
		}
	}
	if failed("do something", nil) != nil {
		t.Error("failed(nil) != nil")
	}
}

// TestContextErrors checks that an ended context is reported as such, even if the connection it
// closed reports an error first.
func TestContextErrors(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	own := errors.New("own")
	for name, c := range map[string]struct{ err, want error }{
		"the context":            {context.Canceled, context.Canceled},
		"the context, wrapped":   {fmt.Errorf("query: %w", context.Canceled), context.Canceled},
		"its connection":         {fmt.Errorf("read: %w", net.ErrClosed), context.Canceled},
		"its statement":          {&pgconn.PgError{Code: "57014"}, context.Canceled},
		"something else":         {own, own},
		"unavailable, as stated": {fmt.Errorf("%w: lost", store.ErrUnavailable), store.ErrUnavailable},
	} {
		got := new(Store).failed(ended, "do something", c.err)
		if !errors.Is(got, c.want) {
			t.Errorf("%s: error = %v, want %v", name, got, c.want)
		}
		if c.want == context.Canceled && errors.Is(got, store.ErrUnavailable) {
			t.Errorf("%s: error = %v, want no ErrUnavailable", name, got)
		}
	}
}
