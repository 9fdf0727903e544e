package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

// accountCount is how many accounts share the load: each may make 120 requests a minute.
const accountCount = 2_000

// bench is one run of the measurements.
type bench struct {
	program string
	data    string
	labels  int
	dated   int // of the labels, with an approval date
	keys    []string
}

// accounts makes the accounts and their keys.
func (b *bench) accounts(ctx context.Context) error {
	if err := os.MkdirAll(b.data, 0o700); err != nil {
		return err
	}
	st, err := sqlite.Open(ctx, filepath.Join(b.data, "registry.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	for i := range accountCount {
		account, err := st.CreateAccount(ctx, fmt.Sprintf("perf%d@example.com", i), cola.TierPro)
		if err != nil {
			return err
		}
		secret := auth.NewSecret()
		key := secret.Key()
		key.AccountID, key.Name = account.ID, "perf"
		if _, err := st.CreateKey(ctx, key, secret.Hash()); err != nil {
			return err
		}
		b.keys = append(b.keys, secret.Reveal())
	}
	return nil
}

// importing measures the ledger idle, then beside the beginning of an import, which gives way to it; the rest of the import
// goes on alone.
func (b *bench) importing(ctx context.Context, idle, during time.Duration) error {
	b.countDated()
	s, err := b.serve(ctx)
	if err != nil {
		return err
	}
	quiet, cancel := context.WithTimeout(ctx, idle)
	defer cancel()
	before, err := b.ledger(quiet)
	if err != nil {
		return err
	}
	importing, finished := context.WithTimeout(ctx, during)
	defer finished()
	var took time.Duration
	done := make(chan error, 1)
	go func() {
		begun := time.Now()
		err := b.importLabels(ctx)
		took = time.Since(begun)
		finished()
		done <- err
	}()
	beside, err := b.ledger(importing)
	if err != nil {
		return err
	}
	if err := <-done; err != nil {
		return err
	}
	fmt.Printf("Import: %.0f s with a server on the same data, %s of it beside a busy ledger.\n\n", took.Seconds(), min(during, took.Round(time.Second)))
	printLedger(before, beside)
	return b.settleAndStop(ctx, s)
}

// importLabels runs demo and import as the README does, one piped into the other.
func (b *bench) importLabels(ctx context.Context) error {
	demo := exec.CommandContext(ctx, b.program, "demo", "--colas", fmt.Sprint(b.labels))
	load := exec.CommandContext(ctx, b.program, "import", "--data-dir", b.data, "colas", "-")
	pipe, err := demo.StdoutPipe()
	if err != nil {
		return err
	}
	load.Stdin, demo.Stderr, load.Stderr = pipe, os.Stderr, os.Stderr
	if err := demo.Start(); err != nil {
		return err
	}
	if err := load.Run(); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return demo.Wait()
}

func printLedger(before, during latencies) {
	fmt.Printf("| ledger commit, over HTTP | calls | 50th | 99th | largest |\n|---|---|---|---|---|\n")
	row := func(name string, l latencies) {
		fmt.Printf("| %s | %d | %s | %s | %s |\n", name, len(l), ms(l.at(0.5)), ms(l.at(0.99)), ms(l.at(1)))
	}
	row("idle", before)
	row("while importing", during)
	fmt.Printf("| ratio | | %.1f | %.1f | |\n\n", ratio(during.at(0.5), before.at(0.5)), ratio(during.at(0.99), before.at(0.99)))
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

// settleAndStop waits until the server shows every label and has folded, and tells its memory.
func (b *bench) settleAndStop(ctx context.Context, s *server) error {
	begun, expected := time.Now(), b.dated
	for {
		total, err := b.total()
		if err != nil {
			return err
		}
		if total >= expected {
			break
		}
		if time.Since(begun) > 5*time.Minute {
			return fmt.Errorf("the server shows %d labels five minutes after the import", total)
		}
		time.Sleep(50 * time.Millisecond)
	}
	lag := time.Since(begun)
	time.Sleep(90 * time.Second) // the last fold, the snapshot, and what the runtime gives back
	now, peak := s.memory()
	fmt.Printf("Shown by the running server %.1f s after the import ended; resident 90 s later %d MiB, highest during import and folds %d MiB.\n\n",
		lag.Seconds(), now, peak)
	return s.stop()
}

// countDated counts the labels with an approval date among those that the demo command writes: the others are in no date
// window, so a search of all dates shows as many when the whole import is shown.
func (b *bench) countDated() {
	for label := range demo.Labels(demo.Options{Colas: b.labels, Seed: 1, AsOf: cola.DateOf(time.Now())}) {
		if label.ApprovalDate != 0 {
			b.dated++
		}
	}
}

// total returns how many labels the server shows.
func (b *bench) total() (int, error) {
	req, err := http.NewRequest(http.MethodGet, "http://"+address+"/api/v1/colas?per_page=1&approval_date_from=1990-01-01", nil)
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

// restarts measures the time to ready from the snapshot and without one.
func (b *bench) restarts(ctx context.Context) error {
	fmt.Printf("| start | to ready | resident when ready | highest |\n|---|---|---|---|\n")
	for _, start := range []struct {
		name     string
		snapshot bool
	}{{"from the snapshot", true}, {"without one, from the database", false}} {
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
		now, peak := s.memory()
		fmt.Printf("| %s | %.2f s | %d MiB | %d MiB |\n", start.name, s.toReady.Seconds(), now, peak)
		if err := s.stop(); err != nil {
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
	fmt.Printf("| searches over HTTP, with exact totals, each committed to the ledger | requests/s | 50th | 99th | resident |\n|---|---|---|---|---|\n")
	for _, clients := range []int{1, 8, 64} {
		if _, _, err := b.search(timeout(ctx, 2*time.Second), clients); err != nil {
			return err
		}
		l, statuses, err := b.search(timeout(ctx, load), clients)
		if err != nil {
			return err
		}
		now, _ := s.memory()
		fmt.Printf("| %d clients | %.0f | %s | %s | %d MiB |\n", clients, float64(len(l))/load.Seconds(), ms(l.at(0.5)), ms(l.at(0.99)), now)
		if len(statuses) != 1 || statuses[http.StatusOK] == 0 {
			fmt.Printf("\nanswers by status: %v\n", statuses)
		}
	}
	fmt.Println()
	return s.stop()
}

// timeout returns a context that ends after d; its timer is let go when it fires.
func timeout(ctx context.Context, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(ctx, d)
	context.AfterFunc(ctx, cancel)
	return ctx
}
