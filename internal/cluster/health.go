package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	healthTimeout = 2 * time.Second
	watchInterval = 200 * time.Millisecond
	// settleTimeout is how long to wait for the cluster to recover.
	settleTimeout = 2 * time.Minute
)

// health is the state that a process reports on its admin listener.
type health struct {
	ready    bool
	ledgerUp bool
	inDoubt  int // in-doubt batches
}

// health queries a process for its health.
func (p *process) health(ctx context.Context) (h health, err error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	start, run := time.Now(), p.current()
	samples, err := scrape(ctx, "http://"+p.admin+"/metrics")
	if err != nil {
		return h, err
	}
	inDoubt, known := samples["colaregistry_ledger_doubtful_batches"]
	if !known {
		return h, errors.New("colaregistry_ledger_doubtful_batches is missing from the metrics")
	}
	h = health{
		ready:    samples["colaregistry_ready"] == 1,
		ledgerUp: samples["colaregistry_ledger_up"] == 1,
		inDoubt:  int(inDoubt),
	}
	if h.inDoubt == 0 {
		p.recordClear(run, start)
	}
	return h, nil
}

// scrape returns the unlabeled samples from a metrics page.
func scrape(ctx context.Context, address string) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", address, resp.Status)
	}
	samples := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			samples[name] = v
		}
	}
	return samples, lines.Err()
}

// watch polls the health of every process and returns the maximum number of in-doubt batches at one
// time.
func (c *cluster) watch(ctx context.Context) (mostInDoubt int) {
	for ctx.Err() == nil {
		sum := 0
		for _, p := range c.processes {
			if h, err := p.health(ctx); err == nil { // skip processes that are down
				sum += h.inDoubt
			}
		}
		mostInDoubt = max(mostInDoubt, sum)
		sleep(ctx, watchInterval)
	}
	return mostInDoubt
}

// awaitSettled waits until every process is ready, its ledger is up, and no batch is in doubt.
func (c *cluster) awaitSettled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for _, p := range c.processes {
		for {
			h, err := p.health(ctx)
			if err == nil && h.ready && h.ledgerUp && h.inDoubt == 0 {
				break
			}
			if sleep(ctx, watchInterval); ctx.Err() != nil {
				return errors.Join(fmt.Errorf("process %d has not recovered after %s: %+v: %w",
					p.number+1, settleTimeout, h, errors.Join(err, ctx.Err())), c.logs())
			}
		}
	}
	return nil
}

// sleep waits for a duration or until the context ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
