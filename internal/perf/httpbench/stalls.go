package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/internal/perf/measure"
)

const (
	slow           = 200 * time.Millisecond // minimum duration of a stall
	stallClients   = 64                     // connections for each server
	importInterval = 12 * time.Second
	importLabels   = 2_000
	probeInterval  = 20 * time.Millisecond
)

// event is something that took time: a request, or a possible cause of slow requests.
type event struct {
	what  string
	start time.Time
	took  time.Duration
}

func (e event) end() time.Time { return e.start.Add(e.took) }

// timeline collects events.
type timeline struct {
	mu     sync.Mutex
	events []event
}

// add adds an event that ends now.
func (t *timeline) add(what string, start time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, event{what, start, time.Since(start)})
}

// The names of possible causes. The first three reveal stalls of the whole machine.
const (
	bareRequest  = "request to the bare handler"
	latePause    = "overrun of a 20 ms sleep"
	otherSync    = "sync of another file"
	importing    = "import"
	compaction   = "compaction"
	checkpoint   = "checkpoint"
	blockedWrite = "writers' wait for a checkpoint"
	slowCommit   = "commit of 100 ms or more"
)

// findStalls sends requests of all kinds to a server at a fixed rate while labels are being
// imported, and a tenth as many to the bare handler. It prints the slow requests along with
// whatever else was slow at the time.
func findStalls(ctx context.Context, o options, bare, t *target) error {
	ctx = measure.Timeout(ctx, o.stalls)
	probe, err := os.Create(filepath.Join(t.dir, "probe"))
	if err != nil {
		return err
	}
	defer probe.Close()
	var requests, causes timeline
	var running sync.WaitGroup
	running.Go(func() {
		sendAtRate(ctx, t, o.rate, func(r *rand.Rand) string { return t.material.Draw(r).Path }, func(path string, status int, due time.Time) {
			requests.add(fmt.Sprint(path, ", status ", status), due)
		})
	})
	running.Go(func() {
		sendAtRate(ctx, bare, o.rate/10, func(*rand.Rand) string { return "/" }, func(_ string, _ int, due time.Time) {
			causes.add(bareRequest, due)
		})
	})
	running.Go(func() { importRepeatedly(ctx, t, &causes) })
	running.Go(func() { every(ctx, probeInterval, func() {}, latePause, &causes) })
	running.Go(func() {
		every(ctx, 5*probeInterval, func() {
			_, _ = probe.WriteAt(make([]byte, 4096), 0) // an error would show as a fast sync
			_ = probe.Sync()
		}, otherSync, &causes)
	})
	running.Wait()
	logged, err := readLog(t.log)
	if err != nil {
		return err
	}
	all := append(causes.events, logged...)
	fmt.Println("| | count | p50 | p99 | p99.9 | max |")
	fmt.Println("|---|---|---|---|---|---|")
	printLatencies("request", requests.events)
	for _, what := range []string{bareRequest, latePause, otherSync, importing, compaction, checkpoint, blockedWrite, slowCommit} {
		printLatencies(what, slices.DeleteFunc(slices.Clone(all), func(e event) bool { return e.what != what }))
	}
	printStalls(requests.events, all)
	return nil
}

// sendAtRate sends requests until ctx is done, and reports each one when it ends, with the time at
// which it was due.
func sendAtRate(
	ctx context.Context, t *target, rate int, path func(*rand.Rand) string, report func(path string, status int, due time.Time),
) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: stallClients}}
	due := make(chan time.Time, 10*rate)
	var clients sync.WaitGroup
	for c := range stallClients {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(2, uint64(c)))
			for at := range due {
				p := path(random)
				key := t.keys[random.IntN(len(t.keys))]
				status, _, _ := measure.Get(context.WithoutCancel(ctx), client, t.server.URL(p), key, io.Discard)
				report(p, status, at) // with status 0 after an error
			}
		})
	}
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for ctx.Err() == nil {
		due <- <-tick.C
	}
	close(due)
	clients.Wait()
}

// importRepeatedly imports different labels every importInterval until ctx is done.
func importRepeatedly(ctx context.Context, t *target, to *timeline) {
	for seed := 2; ctx.Err() == nil; seed++ {
		start := time.Now()
		if err := measure.Import(context.WithoutCancel(ctx), t.program, importLabels, seed, t.flags...); err != nil {
			fmt.Fprintln(os.Stderr, "httpbench:", err)
		}
		to.add(importing, start)
		select {
		case <-time.After(importInterval - time.Since(start)):
		case <-ctx.Done():
		}
	}
}

// every calls do at intervals until ctx is done, and records how late each call returns.
func every(ctx context.Context, interval time.Duration, do func(), what string, to *timeline) {
	for ctx.Err() == nil {
		due := time.Now().Add(interval)
		time.Sleep(interval)
		do()
		to.add(what, due)
	}
}

// workLine matches the log lines of background work. It captures the time, message, duration and
// wait.
var workLine = regexp.MustCompile(`^time=(\S+) level=DEBUG msg=("index segments compacted"|"slow commit"|checkpoint).* took=(\S+)(?: waited=(\S+))?`)

// loggedWork maps log messages to the names of the background work.
var loggedWork = map[string]string{
	`"index segments compacted"`: compaction, `"slow commit"`: slowCommit, "checkpoint": checkpoint,
}

// readLog returns the background work that a server has logged.
func readLog(file string) (found []event, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(content)) {
		m := workLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		end, err := time.Parse(time.RFC3339Nano, m[1])
		if err != nil {
			return nil, err
		}
		add := func(what, text string) {
			if took, err := time.ParseDuration(text); err == nil && took > 0 {
				found = append(found, event{what, end.Add(-took), took})
			}
		}
		add(loggedWork[m[2]], m[3])
		add(blockedWrite, m[4])
	}
	return found, nil
}

func printLatencies(name string, events []event) {
	var l measure.Latencies
	for _, e := range events {
		l = append(l, e.took)
	}
	l.Sort()
	fmt.Printf("| %s | %d | %s | %s | %s | %s |\n", name, len(l), measure.Milliseconds(l.At(0.5)), measure.Milliseconds(l.At(0.99)),
		measure.Milliseconds(l.At(0.999)), measure.Milliseconds(l.At(1)))
}

// printStalls groups slow requests that overlap, and prints the longest of each group with the
// causes that overlap it and took at least a quarter of its time.
func printStalls(requests, causes []event) {
	requests = slices.DeleteFunc(slices.Clone(requests), func(e event) bool { return e.took < slow })
	slices.SortFunc(requests, func(a, b event) int { return a.start.Compare(b.start) })
	var groups [][]event
	for _, e := range requests {
		if n := len(groups) - 1; n >= 0 && slices.ContainsFunc(groups[n], func(o event) bool { return o.end().After(e.start) }) {
			groups[n] = append(groups[n], e)
		} else {
			groups = append(groups, []event{e})
		}
	}
	fmt.Printf("\n%d stalls, affecting %d requests\n\n", len(groups), len(requests))
	for _, g := range groups {
		longest := slices.MaxFunc(g, func(a, b event) int { return cmp.Compare(a.took, b.took) })
		fmt.Printf("%s: %d requests, up to %s (%s)\n", longest.start.Format("15:04:05.000"), len(g), measure.Milliseconds(longest.took), longest.what)
		worst := map[string]time.Duration{}
		for _, c := range causes {
			if c.start.Before(longest.end()) && c.end().After(longest.start) && c.took >= longest.took/4 {
				worst[c.what] = max(worst[c.what], c.took)
			}
		}
		for _, what := range slices.Sorted(maps.Keys(worst)) {
			fmt.Printf("    %s: %s\n", what, measure.Milliseconds(worst[what]))
		}
	}
}
