package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/perf/measure"
	"github.com/colaregistry/colaregistry/search"
)

// target is one of what is compared. It makes clients, which ask one question after the other.
type target interface {
	client(number int) client
}

// client asks questions and tells how long the answer took. It is used by one goroutine.
type client interface {
	ask(ctx context.Context, q *question) (reply, time.Duration, error)
}

// reply is an answer. Nothing of it is worked out before it is asked for.
type reply interface {
	// rows returns the total, or -1 for none, the keys of the page's rows in order, and where it ends.
	rows() (answer, error)
}

// answer is what a reply says.
type answer struct {
	total int
	keys  []string
	last  cola.Position // of the last label
	more  bool          // whether labels follow
}

// perPage is how many rows a page has.
const perPage = cola.DefaultPerPage

// service is the program, over HTTP, each request charged to an account.
type service struct {
	server *measure.Server
	keys   []string
}

func (s *service) client(number int) client {
	// Compression would be a help to a slow network. Plain SQL goes without, too.
	return &httpClient{service: s, client: &http.Client{Transport: &http.Transport{DisableCompression: true}}, at: number}
}

type httpClient struct {
	*service
	client *http.Client
	at     int // the key to use next; clients begin apart
	body   bytes.Buffer
}

func (c *httpClient) ask(ctx context.Context, q *question) (reply, time.Duration, error) {
	key := c.keys[c.at%len(c.keys)]
	c.at += 97 // apart from the other clients, and round the accounts evenly
	c.body.Reset()
	status, took, err := measure.Get(ctx, c.client, c.server.URL(q.path), key, &c.body)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %.200s", q.path, status, c.body.Bytes())
	}
	return &httpReply{q, c.body.Bytes()}, took, err
}

type httpReply struct {
	q    *question
	body []byte // until the client's next question
}

func (r *httpReply) rows() (answer, error) {
	switch {
	case r.q.barcode != "":
		var found struct{ Data cola.BarcodeResult }
		err := json.Unmarshal(r.body, &found)
		return ofLabels(found.Data.Colas, found.Data.TotalColas, false), err
	case r.q.class.sql == "permittee":
		var page struct {
			Data       []cola.PermitteeSummary
			Pagination cola.Pagination
		}
		err := json.Unmarshal(r.body, &page)
		return ofPermittees(page.Data, page.Pagination.Total), err
	}
	var page struct {
		Data       []cola.ColaSummary
		Pagination cola.Pagination
	}
	err := json.Unmarshal(r.body, &page)
	return ofLabels(page.Data, page.Pagination.Total, page.Pagination.HasMore), err
}

func ofLabels(rows []cola.ColaSummary, total int, more bool) answer {
	a := answer{total: total, more: more}
	for i := range rows {
		a.keys = append(a.keys, rows[i].TTBID.String())
		a.last = cola.Position{Date: rows[i].ApprovalDate, TTBID: rows[i].TTBID}
	}
	return a
}

func ofPermittees(rows []cola.PermitteeSummary, total int) answer {
	a := answer{total: total}
	for i := range rows {
		a.keys = append(a.keys, rows[i].PermitNumber)
	}
	return a
}

// memory is the index in this process, without HTTP, credentials and the ledger.
type memory struct{ view *search.View }

func (m memory) client(int) client { return m }

func (m memory) ask(_ context.Context, q *question) (reply, time.Duration, error) {
	begun := time.Now()
	var r memoryReply
	switch {
	case q.barcode != "":
		r.barcode, _ = m.view.Barcode(q.barcode, 100)
	case q.class.sql == "permittee":
		r.permittees = m.view.Permittees(q.permittees)
	default:
		r.labels = m.view.Search(q.colas)
	}
	took := time.Since(begun)
	r.q = q
	return &r, took, nil
}

type memoryReply struct {
	q          *question
	barcode    cola.BarcodeResult
	permittees search.PermitteePage
	labels     search.Page
}

func (r *memoryReply) rows() (answer, error) {
	switch {
	case r.q.barcode != "":
		return ofLabels(r.barcode.Colas, r.barcode.TotalColas, false), nil
	case r.q.class.sql == "permittee":
		return ofPermittees(r.permittees.Rows, r.permittees.Total), nil
	}
	return ofLabels(r.labels.Rows, r.labels.Total, r.labels.HasMore), nil
}
