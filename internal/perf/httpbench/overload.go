package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/colaregistry/colaregistry/internal/perf/measure"
)

// maxConnections is the maximum number of clients for an overloaded server, below the server's own
// limit.
const maxConnections = 8000

// overload measures the servers, except the bare handler, at a multiple of the rate that they
// sustain, and prints a row for each. Requests arrive at a constant rate. Slices of both rates and
// all servers alternate, so that other load on the machine affects all of them.
func overload(ctx context.Context, o options, targets []*target) error {
	sums := make([]overloaded, len(targets))
	for range max(1, int(o.duration/sliceDuration)) {
		for i, t := range targets {
			if err := t.overload(ctx, &sums[i], o.clients[len(o.clients)-1], o.overload, o.profile(t, "overload")); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
	}
	fmt.Println("\n| server | sustained/s | offered/s | accepted/s | ratio | rejected/s | p50 | p99 | max | rejections, p99 | unsent/s | CPU |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|")
	for i, t := range targets {
		sums[i].print(t.name)
	}
	return ctx.Err()
}

// overloaded contains overload's measurements of a server so far.
type overloaded struct {
	measure.OpenLoop
	sustained     int           // responses in the closed loop
	sustainedTook time.Duration // in the closed loop
	took, cpu     time.Duration // in the open loop
	offered       float64       // requests
}

// overload adds one slice at the sustained rate and one at a multiple of it.
func (t *target) overload(ctx context.Context, sum *overloaded, clients int, factor float64, profiles string) error {
	t.result = result{}
	if err := t.measure(ctx, sliceDuration, clients, ""); err != nil {
		return err
	}
	sum.sustained += t.result.Statuses[http.StatusOK]
	sum.sustainedTook += t.result.took
	rate := factor * t.rate()
	var profiling errgroup.Group
	if profiles != "" {
		profiling.Go(func() error { return saveProfile(ctx, t.admin, "profile", sliceDuration, profiles+".profile") })
	}
	before := t.server.CPU()
	found, err := measure.SearchAt(ctx, t.server.Address, t.keys, rate, min(int(rate), maxConnections), sliceDuration)
	sum.took += sliceDuration
	sum.cpu += t.server.CPU() - before
	sum.offered += rate * sliceDuration.Seconds()
	sum.Accepted.Add(found.Accepted)
	sum.Rejected.Add(found.Rejected)
	sum.Unsent += found.Unsent
	if n := found.Rejected.Statuses[http.StatusServiceUnavailable] + found.Rejected.Refused(); n != len(found.Rejected.Latencies) {
		err = errors.Join(err, fmt.Errorf("responses by status: %v", found.Rejected.Statuses))
	}
	return errors.Join(err, profiling.Wait())
}

func (s *overloaded) print(name string) {
	perSecond := func(n int) float64 { return float64(n) / s.took.Seconds() }
	sustained := float64(s.sustained) / s.sustainedTook.Seconds()
	accepted := s.Accepted.Latencies
	fmt.Printf("| %s | %.0f | %.0f | %.0f | %.2f | %.0f | %s | %s | %s | %s | %.0f | %.0f%% |\n", name, sustained,
		s.offered/s.took.Seconds(), perSecond(len(accepted)), perSecond(len(accepted))/sustained,
		perSecond(len(s.Rejected.Latencies)), measure.Milliseconds(accepted.At(0.5)), measure.Milliseconds(accepted.At(0.99)),
		measure.Milliseconds(accepted.At(1)), measure.Milliseconds(s.Rejected.Latencies.At(0.99)), perSecond(s.Unsent),
		100*s.cpu.Seconds()/s.took.Seconds())
}
