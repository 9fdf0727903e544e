package ttb

import (
	"bytes"
	"context"
	"errors"
	"net/url"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/ingest/ttbpage"
)

// Search selects labels by inclusive ranges of completion dates and class/type codes.
type Search struct {
	First, Last        cola.Date
	ClassFrom, ClassTo string // empty for all classes
}

// Matches is the number of labels that a search matches.
type Matches struct {
	Total  int
	Listed int // number in the export, at most 1,000
}

const (
	resultPage = "publicSearchColasBasicProcess.do"
	exportFile = "publicSaveSearchResultsToFile.do"
)

// form returns the fields of the search form, as a browser sends them.
func (s Search) form() url.Values {
	return url.Values{
		"searchCriteria.dateCompletedFrom":     {day(s.First)},
		"searchCriteria.dateCompletedTo":       {day(s.Last)},
		"searchCriteria.classTypeFrom":         {s.ClassFrom},
		"searchCriteria.classTypeTo":           {s.ClassTo},
		"searchCriteria.productOrFancifulName": {""},
		"searchCriteria.productNameSearchType": {"E"},
		"searchCriteria.originCode":            {""},
	}
}

func day(d cola.Date) string { return d.Time().Format("01/02/2006") }

// Search runs a search and returns the number of matches. Export returns their rows.
func (c *Client) Search(ctx context.Context, s Search) (Matches, error) {
	c.searched, c.form = false, 0
	a, err := c.inSession(ctx, request{
		path: resultPage, query: "action=search", form: s.form(), referer: searchPage, limit: maxPage,
	})
	if err != nil {
		return Matches{}, err
	}
	if err := a.complete(ttbpage.Results); err != nil {
		return Matches{}, err
	}
	total, listed, ok := a.page.Total()
	if !ok {
		return Matches{}, unexpected("the result page has no readable total")
	}
	c.searched = true
	return Matches{Total: total, Listed: listed}, nil
}

// exportHeader is the start of an export's header.
var exportHeader = []byte("TTB ID,")

// Export returns the rows of the latest search as CSV. It returns ErrSessionExpired if the session
// no longer has them: search again.
func (c *Client) Export(ctx context.Context) ([]byte, error) {
	if !c.searched {
		return nil, ErrSessionExpired
	}
	a, err := c.do(ctx, request{
		path: exportFile, query: "path=/publicSearchColasBasicProcess", referer: resultPage, limit: maxExport,
	})
	if err == nil && a.page != nil {
		err = ErrSessionExpired // another page in place of the file
	}
	if errors.Is(err, ErrSessionExpired) {
		c.close()
	}
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(bytes.TrimPrefix(a.body, []byte("\ufeff")), exportHeader) {
		return nil, unexpected("the export is not a list of labels")
	}
	return a.body, nil
}
