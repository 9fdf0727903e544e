package ttb

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/ingest/ttbpage"
)

const (
	labelPage = "viewColaDetails.do"
	imageFile = "publicViewAttachment.do"
)

// Form returns the printable form of a label as HTML, and makes its images available to Image. It
// returns ErrNoLabel if the site has no form, as for applications filed on paper.
func (c *Client) Form(ctx context.Context, id cola.TTBID) ([]byte, error) {
	body, err := c.label(ctx, id, formQuery(id), ttbpage.Printable)
	if err == nil {
		c.form = id
	}
	return body, err
}

func formQuery(id cola.TTBID) string { return "action=publicFormDisplay&ttbid=" + id.String() }

// Detail returns the detail page of a label as HTML, or ErrNoLabel.
func (c *Client) Detail(ctx context.Context, id cola.TTBID) ([]byte, error) {
	return c.label(ctx, id, "action=publicDisplaySearchBasic&ttbid="+id.String(), ttbpage.Detail)
}

// label returns a page about a label.
func (c *Client) label(ctx context.Context, id cola.TTBID, query string, kind ttbpage.Kind) ([]byte, error) {
	c.form = 0 // the session is bound to the label of this page
	a, err := c.inSession(ctx, request{path: labelPage, query: query, limit: maxPage})
	switch {
	case errors.Is(err, errNotFound):
		return nil, ErrNoLabel
	case err != nil:
		return nil, err
	case a.page != nil && a.page.Kind == ttbpage.NoPage:
		return nil, ErrNoLabel
	}
	if err := a.complete(kind); err != nil {
		return nil, err
	}
	stated, err := a.page.Label()
	if err != nil || stated.TTBID != id.String() {
		c.close() // the site may have mixed up sessions
		return nil, unexpected("the page is for label %q, not %s", stated.TTBID, id)
	}
	return a.body, nil
}

// Image returns an image of the label whose Form was opened last, given the image's file name on
// the form. It returns ErrSessionExpired if the form must be opened again, and ErrNoImage if the
// site does not have the image.
//
// The site answers with an error page in both cases. If it does so again after the form was
// reopened, the image counts as missing.
func (c *Client) Image(ctx context.Context, fileName string) ([]byte, error) {
	if c.form == 0 {
		return nil, ErrSessionExpired
	}
	a, err := c.do(ctx, request{
		path: imageFile, query: imageQuery(fileName), referer: labelPage + "?" + formQuery(c.form), limit: maxImage,
	})
	switch {
	case errors.Is(err, errNotFound):
		return nil, ErrNoImage
	case errors.Is(err, ErrSessionExpired):
		c.close()
		return nil, err
	case err != nil:
		return nil, err
	case len(a.body) == 0:
		return nil, ErrNoImage
	case a.page == nil:
		return a.body, nil
	}
	image := failedImage{c.form, fileName}
	if c.failed == image {
		return nil, ErrNoImage
	}
	c.failed = image
	c.close()
	return nil, ErrSessionExpired
}

// imageQuery returns the query for an image. It escapes the file name; the image URLs on forms
// don't.
func imageQuery(fileName string) string {
	return "filename=" + strings.ReplaceAll(url.QueryEscape(fileName), "+", "%20") + "&filetype=l"
}
