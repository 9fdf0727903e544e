package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/internal/perf/measure"
)

// ledger calls /usage repeatedly until the context ends, and returns the sorted latencies. Each
// call is one ledger commit.
func (b *bench) ledger(ctx context.Context) (measure.Latencies, error) {
	client := &http.Client{}
	var l measure.Latencies
	for i := 0; ctx.Err() == nil; i++ {
		status, took, err := measure.Get(context.WithoutCancel(ctx), client,
			b.server.URL("/usage"), b.keys[i%len(b.keys)], io.Discard)
		if err != nil {
			return nil, err
		}
		if status != http.StatusOK {
			return nil, fmt.Errorf("/usage returned status %d", status)
		}
		l = append(l, took)
		time.Sleep(4 * time.Millisecond)
	}
	l.Sort()
	return l, nil
}

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

// search runs the mix from several concurrent clients until the context ends.
func (b *bench) search(ctx context.Context, clients int) (measure.Latencies, map[int]int, error) {
	var mu sync.Mutex
	var all measure.Latencies
	statuses := map[int]int{}
	var failed error
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(c)))
			client := &http.Client{Transport: &http.Transport{}}
			for i := c; ctx.Err() == nil; i += clients {
				path := queries[random.IntN(len(queries))]
				if strings.Contains(path, "%s") {
					path = fmt.Sprintf(path, words[random.IntN(len(words))])
				}
				status, took, err := measure.Get(context.WithoutCancel(ctx),
					client, b.server.URL(path), b.keys[i%len(b.keys)], io.Discard)
				mu.Lock()
				if err != nil {
					failed = err
				} else {
					statuses[status]++
					all = append(all, took)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	all.Sort()
	return all, statuses, failed
}
