package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// mustWriteLabels writes a file of new labels for one brand, all approved on one day and numbered
// from first.
func mustWriteLabels(t *testing.T, brand string, first, labels int, approved cola.Date) string {
	t.Helper()
	var b bytes.Buffer
	for i := range labels {
		row := map[string]any{
			"ttb_id": fmt.Sprintf("99365001%06d", first+i), "brand_name": brand,
			"product_type": "wine", "permit_number": "CA-W-1", "approval_date": approved,
		}
		if err := json.NewEncoder(&b).Encode(row); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "news.jsonl")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestAlerts follows docs/INSTALL.md: it creates a saved search, imports matching labels, and checks
// that ticks find each label exactly once.
func TestAlerts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		s, st := startServer(t, h), mustOpen(t, h)
		_, secret, _ := mustAccount(t, st, "alerts@example.com", cola.TierStarter)
		created := s.create(t, secret.Reveal(),
			`{"name":"News","filters":{"brand_name":"zyzzyva"},"schedule":{"cadence":"daily"}}`)
		uuid, _ := created.at("data", "uuid").(string)
		now := time.Now().UTC()
		h.run(t, "import", "colas", mustWriteLabels(t, "ZYZZYVA HILL", 1, 3, cola.DateOf(now)))
		tomorrow := now.AddDate(0, 0, 1).Format(time.RFC3339)
		if out := h.run(t, "alerts", "tick", "--at", tomorrow); !strings.HasPrefix(out, "1 search ran and found 3 labels. Next due 2") {
			t.Errorf("first tick printed %q, want 1 search and 3 labels", out)
		}
		if out := h.run(t, "alerts", "tick", "--at", tomorrow); !strings.HasPrefix(out, "0 searches ran and found 0 labels. Next due 2") {
			t.Errorf("second tick printed %q, want 0 searches", out)
		}
		get := func(path string) answer { return s.get(t, "/saved-searches/"+uuid+path, secret.Reveal()) }
		runs := get("/runs")
		run, _ := runs.at("data").([]any)[0].(map[string]any)
		if runs.at("meta", "total") != 1.0 || run["match_count"] != 3.0 || run["late_count"] != 0.0 ||
			run["date_from"] != now.Format(time.DateOnly) {
			t.Errorf("runs = %s, want one run with 3 matches, none late, from today", runs.body)
		}
		for _, path := range []string{"/matches", fmt.Sprintf("/runs/%.0f/matches", run["id"])} {
			if found := get(path); found.StatusCode != 200 ||
				fmt.Sprint(found.ids()) != "[99365001000001 99365001000002 99365001000003]" {
				t.Errorf("%s: status %d, want the 3 new labels: %s", path, found.StatusCode, found.body)
			}
		}
		if got := get("/runs/999/matches"); got.StatusCode != 404 {
			t.Errorf("unknown run: status %d, want 404: %s", got.StatusCode, got.body)
		}
	})
}

// mustSaveMany creates saved searches for a brand, all due at the same time.
func mustSaveMany(t *testing.T, st store.Store, searches int, due time.Time) cola.AccountID {
	t.Helper()
	account, _, _ := mustAccount(t, st, "many@example.com", cola.TierFree)
	if err := st.SetActiveLimit(t.Context(), account.ID, searches); err != nil {
		t.Fatal(err)
	}
	for i := range searches {
		schedule := cola.Schedule{Active: true, Cadence: cola.CadenceDaily, NextRunAt: cola.Some(cola.TimestampOf(due))}
		_, _, err := st.CreateSavedSearch(t.Context(), store.NewSavedSearch{
			Account: account.ID, MaxActive: searches,
			Search: cola.SavedSearch{
				UUID: manyUUID(i), Name: "many",
				Filters: cola.SavedSearchFilters{BrandName: "zyzzyva"}, Schedule: &schedule,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return account.ID
}

func manyUUID(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }

// runsOf returns the number of runs of the i-th search from mustSaveMany, and the number of labels
// they matched.
func runsOf(t *testing.T, st store.Store, account cola.AccountID, i int) (runs, matches int) {
	t.Helper()
	_, runs, err := st.RunsOf(t.Context(), account, manyUUID(i), store.Slice{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, matches, err = st.MatchesOf(t.Context(), account, manyUUID(i), 0, store.Slice{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return runs, matches
}

// TestTickKilled kills a process in the middle of a tick. Once its claims expire, other processes
// run the searches that it had not recorded, and no match is reported twice.
func TestTickKilled(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		const searches, labels = 1_200, 20
		st := mustOpen(t, h)
		// Import a label first, so that the next import is not an initial load.
		h.run(t, "import", "colas", mustWriteLabels(t, "EMU", 900, 1, cola.DateOf(time.Now())))
		now := time.Now()
		account := mustSaveMany(t, st, searches, now.Add(time.Minute))
		h.run(t, "import", "colas", mustWriteLabels(t, "ZYZZYVA", 1, labels, cola.DateOf(now)))
		tick := append([]string{
			"alerts", "tick", "--hold", "3s", "--at", now.AddDate(0, 0, 1).UTC().Format(time.RFC3339),
		}, slices.Concat(h.flags(), h.keyFlags(t))...)
		killed := command(tick...)
		if err := killed.Start(); err != nil {
			t.Fatal(err)
		}
		for polls := 0; ; polls++ {
			if runs, _ := runsOf(t, st, account, 0); runs > 0 {
				break
			}
			if polls > 10_000 {
				t.Fatal("no search ran")
			}
			time.Sleep(3 * time.Millisecond) // poll interval
		}
		killed.Process.Kill()
		killed.Wait()
		if runs, _ := runsOf(t, st, account, searches-1); runs > 0 {
			t.Fatal("tick had finished before the kill")
		}
		mustRun(t, tick...)
		time.Sleep(3 * time.Second) // until the killed process's claims expire, by the database clock
		mustRun(t, tick...)
		for i := range searches {
			if runs, matches := runsOf(t, st, account, i); runs != 1 || matches != labels {
				t.Fatalf("search %d: %d runs and %d matches, want 1 and %d", i, runs, matches, labels)
			}
		}
	})
}

// TestConcurrentTicks checks that concurrent ticks run every search exactly once between them.
func TestConcurrentTicks(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		const searches, processes = 1_500, 3
		st := mustOpen(t, h)
		now := time.Now()
		account := mustSaveMany(t, st, searches, now.Add(time.Minute))
		var outs [processes]bytes.Buffer
		var ends [processes]func() error
		for i := range processes {
			c := command(append([]string{"alerts", "tick", "--at", now.AddDate(0, 0, 1).UTC().Format(time.RFC3339)},
				slices.Concat(h.flags(), h.keyFlags(t))...)...)
			c.Stdout, c.Stderr = &outs[i], &outs[i]
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			ends[i] = c.Wait
		}
		total := 0
		for i, end := range ends {
			if err := end(); err != nil {
				t.Errorf("concurrent tick: %v\n%s", err, outs[i].String())
			}
			var ran int
			if _, err := fmt.Sscan(strings.ReplaceAll(outs[i].String(), ",", ""), &ran); err != nil {
				t.Errorf("tick printed %q, want the number of searches", outs[i].String())
			}
			total += ran
		}
		if total != searches {
			t.Errorf("%d searches ran, want %d", total, searches)
		}
		for i := 0; i < searches; i += 100 {
			if runs, _ := runsOf(t, st, account, i); runs != 1 {
				t.Errorf("search %d: %d runs, want 1", i, runs)
			}
		}
	})
}

// TestAlertsFlag checks that servers run saved searches unless --alerts is off, and that they count
// the runs in their metrics.
func TestAlertsFlag(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		idle, busy := startServer(t, h, "--alerts", "off", "--admin-listen", "127.0.0.1:0"), startServer(t,
			h, "--admin-listen", "127.0.0.1:0")
		st := mustOpen(t, h)
		account := mustSaveMany(t, st, 3, time.Now().Add(-time.Hour))
		for polls := 0; ; polls++ {
			if runs, _ := runsOf(t, st, account, 2); runs > 0 {
				break
			}
			if polls > 2_000 {
				t.Fatalf("no search ran\n%s", busy.err.String())
			}
			time.Sleep(100 * time.Millisecond) // poll interval
		}
		if _, text := fetch(t, busy.admin(t)+"/metrics"); !strings.Contains(text, "colaregistry_alert_runs_total 3") {
			t.Error("server with alerts: colaregistry_alert_runs_total is not 3")
		}
		if _, text := fetch(t, idle.admin(t)+"/metrics"); strings.Contains(text, "colaregistry_alert_runs_total") {
			t.Error("server with --alerts off exposes colaregistry_alert_runs_total")
		}
		busy.stop(t)
		idle.stop(t)
	})
}

// TestTickFlags checks that invalid flags and a missing registry are reported.
func TestTickFlags(t *testing.T) {
	for flags, want := range map[string]string{
		"--at 2026-11-23": "is not a time", "--hold 10ms": "too short", "--hold soon": "--hold", "": "no registry yet",
	} {
		var out output
		p := program{
			args: append([]string{"alerts", "tick", "--data-dir", filepath.Join(t.TempDir(), "none")},
				strings.Fields(flags)...),
			stdout: &out,
			stderr: &out,
		}
		if code := p.run(t.Context()); code == 0 || !strings.Contains(out.String(), want) {
			t.Errorf("alerts tick %s: exit %d, %s", flags, code, out.String())
		}
	}
}
