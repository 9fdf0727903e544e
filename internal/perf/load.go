package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
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
