package ttb

import (
	"context"
	"errors"

	"github.com/colaregistry/colaregistry/ingest/ttbpage"
)

// inSession sends a request in a session. It opens a session if there is none or the session has
// expired.
func (c *Client) inSession(ctx context.Context, r request) (answer, error) {
	for range 2 {
		if !c.open {
			if err := c.openSession(ctx); err != nil {
				return answer{}, err
			}
		}
		a, err := c.do(ctx, r)
		if !errors.Is(err, ErrSessionExpired) {
			return a, err
		}
		c.close()
	}
	return answer{}, &TemporaryError{Err: errors.New("the site ended the session right after it was opened")}
}

// openSession requests the search page, which sets the session cookies.
func (c *Client) openSession(ctx context.Context) error {
	c.close()
	a, err := c.do(ctx, request{path: searchPage, limit: maxPage, opens: true})
	if temporary := (*TemporaryError)(nil); errors.Is(err, errNotFound) && errors.As(err, &temporary) {
		return &TemporaryError{Status: temporary.Status} // without errNotFound: the label may exist
	}
	if err != nil {
		return err
	}
	if err := a.complete(ttbpage.SearchForm); err != nil {
		return err
	}
	if len(c.http.Jar.Cookies(c.base)) == 0 {
		return &TemporaryError{Err: errors.New("the search page opened no session: it set no cookie")}
	}
	c.open = true
	return nil
}
