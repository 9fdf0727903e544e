package postgres

import (
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// errSettings: a connection was made, and its settings could not be.
var errSettings = errors.New("settings of a new connection")

// isUnconnected reports whether a connection could not be made, as opposed to one that failed.
func isUnconnected(err error) bool {
	var connecting *pgconn.ConnectError
	return errors.As(err, &connecting) || errors.Is(err, errSettings)
}

// oneLine returns an error that tells in one line why no connection could be made: each address once, with what it said last.
// The driver tells of an address twice, where it is asked with TLS and without, and the first answer hides the second. Other
// errors are returned as they are.
func oneLine(err error) error {
	var connecting *pgconn.ConnectError
	if !errors.As(err, &connecting) {
		return err
	}
	text := strings.Replace(err.Error(), connecting.Error(), "failed to connect: "+reasons(connecting.Unwrap()), 1)
	return toldError{strings.Join(strings.Fields(text), " "), err}
}

// toldError is an error in other words.
type toldError struct {
	text string
	error
}

func (e toldError) Error() string { return e.text }
func (e toldError) Unwrap() error { return e.error }

// reasons lists why each address could not be connected to, in the order in which they were tried.
func reasons(err error) string {
	attempts := []error{err}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		attempts = joined.Unwrap()
	}
	var addresses, last []string // what each said last; a name that has no address stands for itself
	for _, attempt := range attempts {
		address, reason, found := strings.Cut(attempt.Error(), ": ") // "address (host): reason"
		bare, _, _ := strings.Cut(address, " (")
		told := address + ": " + strings.Replace(reason, "dial tcp "+bare+": ", "", 1)
		if !found || !strings.HasSuffix(address, ")") {
			address, told = attempt.Error(), attempt.Error()
		}
		if i := slices.Index(addresses, address); i >= 0 {
			last[i] = told
			continue
		}
		addresses, last = append(addresses, address), append(last, told)
	}
	return strings.Join(last, "; ")
}
