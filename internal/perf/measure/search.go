package measure

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// queries is the mix of searches. Each %s is replaced by a random word.
var queries = []string{
	"/colas?per_page=20",
	"/colas?approval_date_from=2005-01-01&q=%s",
	"/colas?approval_date_from=2005-01-01&brand_name=%s",
	"/colas?product_type=wine&origin=californian",
	"/colas?approval_date_from=2005-01-01&q=%s+red",
	"/colas?approval_date_from=2015-01-01&abv_min=12&abv_max=14&container_type=bottle",
	"/colas?status=expired&derived_subcategory=Wine",
	"/permittees?q=%s",
}

var words = strings.Fields("oak creek river valley golden black mountain estate stone ridge fox bear sun moon blue")

// searchPaths returns every query in the mix with every word.
func searchPaths() (paths []string) {
	for _, q := range queries {
		for _, word := range words {
			if strings.Contains(q, "%s") {
				paths = append(paths, fmt.Sprintf(q, word))
			} else {
				paths = append(paths, q) // once per word, so that all queries are equally frequent
			}
		}
	}
	return paths
}

// Searches contains the results of Search, or of the accepted or rejected requests of SearchAt.
type Searches struct {
	Latencies Latencies   // of all requests, sorted
	Statuses  map[int]int // number of responses by status
	Bytes     int64       // of response bodies
}

// Add adds the results of another run.
func (s *Searches) Add(other Searches) {
	s.Latencies = append(s.Latencies, other.Latencies...)
	s.Latencies.Sort()
	if s.Statuses == nil {
		s.Statuses = map[int]int{}
	}
	for status, n := range other.Statuses {
		s.Statuses[status] += n
	}
	s.Bytes += other.Bytes
}

// record adds a response.
func (s *Searches) record(status, size int, took time.Duration) {
	if s.Statuses == nil {
		s.Statuses = map[int]int{}
	}
	s.Latencies = append(s.Latencies, took)
	s.Statuses[status]++
	s.Bytes += int64(size)
}

// Search runs the mix of searches from several concurrent clients until the context ends or they
// have sent limit requests; 0 means no limit. Each client keeps one connection. Requests rotate
// through the keys.
//
// The clients share the machine with the server, so they avoid net/http, whose client needs about
// as much CPU time per request as the server.
func Search(ctx context.Context, address string, keys []string, clients, limit int) (Searches, error) {
	var mu sync.Mutex
	var all Searches
	var failed error
	var turn atomic.Int64
	var wg sync.WaitGroup
	paths := searchPaths()
	for c := range clients {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(c)))
			one, err := searchUntil(ctx, address, func() (path, key string, more bool) {
				n := int(turn.Add(1))
				return paths[random.IntN(len(paths))], keys[n%len(keys)], limit == 0 || n <= limit
			})
			mu.Lock()
			defer mu.Unlock()
			all.Add(one)
			failed = errors.Join(failed, err)
		})
	}
	wg.Wait()
	return all, failed
}

// searchUntil sends requests over one connection until the context ends or no requests are left.
func searchUntil(ctx context.Context, address string, next func() (path, key string, more bool)) (s Searches, err error) {
	c, err := connect(ctx, address)
	if err != nil {
		return s, err
	}
	defer c.conn.Close()
	for ctx.Err() == nil {
		path, key, more := next()
		if !more {
			break
		}
		started := time.Now()
		status, size, err := c.search(path, key)
		if err != nil {
			return s, err
		}
		s.record(status, size, time.Since(started))
	}
	return s, nil
}

// connection is a client's connection to the server.
type connection struct {
	conn    net.Conn
	reader  *bufio.Reader
	address string
	request []byte // reused
}

func connect(ctx context.Context, address string) (*connection, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &connection{conn: conn, reader: bufio.NewReaderSize(conn, 16<<10), address: address}, nil
}

// search sends one request and reads the response.
func (c *connection) search(path, key string) (status, size int, err error) {
	c.request = fmt.Appendf(c.request[:0], "GET /api/v1%s HTTP/1.1\r\nHost: %s\r\nX-API-Key: %s\r\n\r\n", path, c.address, key)
	if _, err := c.conn.Write(c.request); err != nil {
		return 0, 0, err
	}
	if status, size, err = readResponse(c.reader); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return status, size, err
}

var contentLength = []byte("Content-Length")

// readResponse reads and discards a response whose length is declared, and returns its status and
// the size of its body.
func readResponse(r *bufio.Reader) (status, size int, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	if len(line) < len("HTTP/1.1 200") {
		return 0, 0, fmt.Errorf("status line %q", line)
	}
	if status, err = strconv.Atoi(string(line[len("HTTP/1.1 "):len("HTTP/1.1 200")])); err != nil {
		return 0, 0, fmt.Errorf("status line %q: %w", line, err)
	}
	size = -1
	for {
		if line, err = r.ReadSlice('\n'); err != nil {
			return 0, 0, err
		}
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		if len(name) == 0 {
			break
		}
		if bytes.EqualFold(name, contentLength) {
			if size, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, 0, err
			}
		}
	}
	if size < 0 {
		return 0, 0, errors.New("response without Content-Length")
	}
	_, err = r.Discard(size)
	return status, size, err
}

// Refused returns the number of requests that the rate limit or a quota rejected.
func (s Searches) Refused() int { return s.Statuses[http.StatusTooManyRequests] }

// Check fails unless every response is a success or a refusal.
func (s Searches) Check() error {
	if n := s.Statuses[http.StatusOK] + s.Refused(); n == 0 || n != len(s.Latencies) {
		return fmt.Errorf("responses by status: %v", s.Statuses)
	}
	return nil
}
