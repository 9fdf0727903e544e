package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/internal/perf/measure"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

// accountCount is the number of accounts that share the load. Each may make 120 requests per
// minute.
const accountCount = 2_000

// bench is one run of the measurements.
type bench struct {
	program string
	data    string
	labels  int
	dated   int // number of labels with an approval date
	keys    []string
	server  *measure.Server // the current server
}

// run runs steps until one fails. It then stops the server if the step left it running.
func (b *bench) run(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			if b.server != nil {
				_ = b.server.Stop() // the step's error matters more
			}
			return err
		}
	}
	return nil
}

// accounts creates the accounts and their keys.
func (b *bench) accounts(ctx context.Context) error {
	if err := os.MkdirAll(b.data, 0o700); err != nil {
		return err
	}
	st, err := sqlite.Open(ctx, filepath.Join(b.data, "registry.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	b.keys, err = measure.Accounts(ctx, st, accountCount)
	return err
}

// importing measures the ledger on an idle server and then during the first part of an import. The
// rest of the import runs without load.
func (b *bench) importing(ctx context.Context, idle, during time.Duration) error {
	b.countDated()
	s, err := b.serve(ctx)
	if err != nil {
		return err
	}
	idleCtx, cancel := context.WithTimeout(ctx, idle)
	defer cancel()
	before, err := b.ledger(idleCtx)
	if err != nil {
		return err
	}
	loadCtx, stopLoad := context.WithTimeout(ctx, during)
	defer stopLoad()
	importCtx, stopImport := context.WithCancel(ctx)
	defer stopImport()
	var took time.Duration
	done := make(chan error, 1)
	go func() {
		started := time.Now()
		err := b.importLabels(importCtx)
		took = time.Since(started)
		stopLoad()
		done <- err
	}()
	duringImport, err := b.ledger(loadCtx)
	if err != nil {
		stopImport()
		<-done
		return err
	}
	if err := <-done; err != nil {
		return err
	}
	fmt.Printf("Import: %.0f s while a server runs on the same data; the ledger is under load for the first %s.\n\n",
		took.Seconds(), min(during, took.Round(time.Second)))
	printLedger(before, duringImport)
	return b.settleAndStop(ctx, s)
}

// importLabels imports demo labels into the data folder.
func (b *bench) importLabels(ctx context.Context) error {
	return measure.Import(ctx, b.program, b.labels, 1, "--data-dir", b.data)
}

// serve starts the server on the data folder.
func (b *bench) serve(ctx context.Context) (s *measure.Server, err error) {
	b.server, err = measure.Serve(ctx, b.program, b.data+".log", "--data-dir", b.data)
	return b.server, err
}

func printLedger(before, during measure.Latencies) {
	fmt.Printf("| ledger commit over HTTP | calls | p50 | p99 | max |\n|---|---|---|---|---|\n")
	row := func(name string, l measure.Latencies) {
		fmt.Printf("| %s | %d | %s | %s | %s |\n", name, len(l),
			measure.Milliseconds(l.At(0.5)), measure.Milliseconds(l.At(0.99)), measure.Milliseconds(l.At(1)))
	}
	row("idle", before)
	row("while importing", during)
	fmt.Printf("| ratio | | %.1f | %.1f | |\n\n",
		measure.Ratio(during.At(0.5), before.At(0.5)), measure.Ratio(during.At(0.99), before.At(0.99)))
}

// settleAndStop waits until the server shows every label with an approval date, gives it time to
// compact its index, prints its memory use, and stops it.
func (b *bench) settleAndStop(ctx context.Context, s *measure.Server) error {
	started, expected := time.Now(), b.dated
	for {
		total, err := b.total()
		if err != nil {
			return err
		}
		if total >= expected {
			break
		}
		if time.Since(started) > 5*time.Minute {
			return fmt.Errorf("the server shows only %d labels five minutes after the import", total)
		}
		time.Sleep(50 * time.Millisecond)
	}
	lag := time.Since(started)
	time.Sleep(90 * time.Second) // for the last compaction, the snapshot, and the release of memory
	now, peak := s.Memory()
	fmt.Printf("Visible in the running server %.1f s after the import; resident memory 90 s later %d MiB, peak %d MiB.\n\n",
		lag.Seconds(), now, peak)
	return s.Stop()
}

// countDated counts the demo labels with an approval date. The other labels are outside every date
// window, so a search over all dates has this total once the import is complete.
func (b *bench) countDated() {
	for label := range demo.Labels(demo.Options{Colas: b.labels, Seed: 1, AsOf: cola.DateOf(time.Now())}) {
		if label.ApprovalDate != 0 {
			b.dated++
		}
	}
}

// total returns the number of labels that the server shows.
func (b *bench) total() (int, error) {
	req, err := http.NewRequest(http.MethodGet, b.server.URL("/colas?per_page=1&approval_date_from=1990-01-01"), nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("X-API-Key", b.keys[len(b.keys)-1])
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var page struct {
		Pagination cola.Pagination `json:"pagination"`
	}
	err = json.NewDecoder(resp.Body).Decode(&page)
	return page.Pagination.Total, err
}

// restarts measures the time to readiness with and without a snapshot.
func (b *bench) restarts(ctx context.Context) error {
	fmt.Printf("| start | until ready | memory when ready | peak |\n|---|---|---|---|\n")
	for _, start := range []struct {
		name     string
		snapshot bool
	}{{"with snapshot", true}, {"without snapshot", false}} {
		snapshot := filepath.Join(b.data, "registry.index")
		if !start.snapshot {
			if err := os.Remove(snapshot); err != nil {
				return err
			}
		}
		s, err := b.serve(ctx)
		if err != nil {
			return err
		}
		now, peak := s.Memory()
		fmt.Printf("| %s | %.2f s | %d MiB | %d MiB |\n", start.name, s.ToReady.Seconds(), now, peak)
		if err := s.Stop(); err != nil {
			return err
		}
	}
	fmt.Println()
	return nil
}

// searching runs the mix of searches over HTTP.
func (b *bench) searching(ctx context.Context, load time.Duration) error {
	s, err := b.serve(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("| metered searches over HTTP, with exact totals | requests/s | p50 | p99 | memory |\n|---|---|---|---|---|\n")
	for _, clients := range []int{1, 8, 64} {
		if _, err := measure.Search(measure.Timeout(ctx, 2*time.Second), s.Address, b.keys, clients, 0); err != nil {
			return err
		}
		found, err := measure.Search(measure.Timeout(ctx, load), s.Address, b.keys, clients, 0)
		if err != nil {
			return err
		}
		now, _ := s.Memory()
		l := found.Latencies
		fmt.Printf("| %d clients | %.0f | %s | %s | %d MiB |\n", clients, float64(len(l))/load.Seconds(),
			measure.Milliseconds(l.At(0.5)), measure.Milliseconds(l.At(0.99)), now)
		if len(found.Statuses) != 1 || found.Statuses[http.StatusOK] == 0 {
			fmt.Printf("\nresponses by status: %v\n", found.Statuses)
		}
	}
	fmt.Println()
	return s.Stop()
}
