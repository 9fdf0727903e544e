package measure

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// OpenLoop contains the results of SearchAt. Latencies are measured from the time at which a
// request was due.
type OpenLoop struct {
	Accepted Searches // status 200
	Rejected Searches // any other status
	Unsent   int      // requests that were due, but for which no connection was free
}

// SearchAt sends the mix of searches at a constant rate, in requests per second, for a duration or
// until the context ends, whether or not the server keeps up. It first opens the given number of
// connections, each of which carries one request at a time. If all are busy, requests are sent
// late, but their latencies are still measured from the time at which they were due. This keeps a
// slow server from appearing faster by delaying requests.
func SearchAt(
	ctx context.Context, address string, keys []string, rate float64, connections int, d time.Duration,
) (OpenLoop, error) {
	l := openLoop{due: make(chan arrival)}
	for range connections {
		c, err := connect(ctx, address)
		if err != nil {
			l.fail(err)
			break
		}
		l.clients.Go(func() { l.fail(l.serve(c)) })
	}
	paths := searchPaths()
	random := rand.New(rand.NewPCG(1, 2))
	interval := time.Duration(float64(time.Second) / rate)
	start, sent := time.Now(), 0
	ctx, cancel := context.WithDeadline(ctx, start.Add(d))
	defer cancel()
	for ctx.Err() == nil {
		a := arrival{start.Add(time.Duration(sent) * interval), paths[random.IntN(len(paths))], keys[sent%len(keys)]}
		time.Sleep(time.Until(a.at))
		select {
		case l.due <- a:
			sent++
		case <-ctx.Done():
		}
	}
	l.Unsent = max(0, int(time.Since(start)/interval)-sent)
	close(l.due)
	l.clients.Wait()
	l.Accepted.Latencies.Sort()
	l.Rejected.Latencies.Sort()
	return l.OpenLoop, l.failed
}

// arrival is a request to send.
type arrival struct {
	at        time.Time // when it is due
	path, key string
}

// openLoop is a run of SearchAt.
type openLoop struct {
	due     chan arrival
	clients sync.WaitGroup

	mu sync.Mutex // guards the fields below
	OpenLoop
	failed error
}

func (l *openLoop) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = errors.Join(l.failed, err)
}

// serve sends the due requests over one connection until l.due is closed.
func (l *openLoop) serve(c *connection) error {
	defer c.conn.Close()
	for a := range l.due {
		status, size, err := c.search(a.path, a.key)
		if err != nil {
			return err
		}
		took := time.Since(a.at)
		l.mu.Lock()
		if status == http.StatusOK {
			l.Accepted.record(status, size, took)
		} else {
			l.Rejected.record(status, size, took)
		}
		l.mu.Unlock()
	}
	return nil
}
