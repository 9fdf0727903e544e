package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/store/sqlstore"
)

const (
	// changesChannel receives a notification for every commit that assigns a revision.
	changesChannel = "colaregistry_changes"
	// idleTimeout is how long the listening connection may be silent before it is pinged.
	idleTimeout       = 10 * time.Second
	pingReplyTimeout  = 5 * time.Second
	minReconnectPause = 100 * time.Millisecond // pause before reconnecting; doubles with every failure
	maxReconnectPause = 5 * time.Second
	deleteInterval    = time.Minute
)

// upkeep runs in the background. It listens for changes and deletes old rows.
type upkeep struct {
	store   *Store
	config  *pgx.ConnConfig
	wakeups chan struct{}
	stop    context.CancelFunc
	running sync.WaitGroup
}

func newUpkeep(s *Store, config *pgx.ConnConfig) *upkeep {
	ctx, stop := context.WithCancel(context.Background())
	u := &upkeep{store: s, config: config, wakeups: make(chan struct{}, 1), stop: stop}
	u.running.Go(func() { u.follow(ctx) })
	u.running.Go(func() { u.deleteOldRows(ctx) })
	return u
}

func (u *upkeep) close() {
	u.stop()
	u.running.Wait()
}

// wake sends a wake-up, unless one is pending.
func (u *upkeep) wake() {
	select {
	case u.wakeups <- struct{}{}:
	default:
	}
}

// follow listens for changes and reconnects when the connection is lost.
func (u *upkeep) follow(ctx context.Context) {
	pause, lost := minReconnectPause, false
	for {
		err := u.listen(ctx, func() {
			if lost {
				u.store.logger.Info("listening for changes again")
			}
			pause, lost = minReconnectPause, false
		})
		if ctx.Err() != nil {
			return
		}
		if !lost {
			u.store.logger.Warn("not listening for changes; polling instead", "error", oneLine(err))
		}
		lost = true
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, maxReconnectPause)
	}
}

// listen turns notifications into wake-ups until the connection is lost. Once it is listening, it
// calls started and then sends a wake-up, since earlier notifications may have been lost.
func (u *upkeep) listen(ctx context.Context, started func()) error {
	conn, err := pgx.ConnectConfig(ctx, u.config)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx) // errors don't matter: no data is lost
	}()
	if _, err := conn.Exec(ctx, `LISTEN `+changesChannel); err != nil {
		return err
	}
	started()
	for {
		u.wake()
		if err := await(ctx, conn); err != nil {
			return err
		}
	}
}

// await returns when a notification arrives. It pings an idle connection to detect a dead one.
func await(ctx context.Context, conn *pgx.Conn) error {
	for {
		waitCtx, cancel := context.WithTimeout(ctx, idleTimeout)
		_, err := conn.WaitForNotification(waitCtx)
		cancel()
		if err == nil || ctx.Err() != nil || !pgconn.Timeout(err) {
			return err
		}
		pingCtx, cancel := context.WithTimeout(ctx, pingReplyTimeout)
		err = conn.Ping(pingCtx)
		cancel()
		if err != nil {
			return err
		}
	}
}

// deleteOldRows periodically deletes old batches and revisions, and the rows that
// sqlstore.DeleteExpired covers. Ledger transactions and page views don't delete old rows
// themselves: during a long read, dead rows pile up at the start of the index, and every search for
// old rows would have to scan them.
func (u *upkeep) deleteOldRows(ctx context.Context) {
	tick := time.NewTicker(deleteInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for kind, deleteOld := range map[string]func(context.Context) error{
			"ledger batches": u.store.deleteOldBatches, "revisions": u.store.deleteOldRevisions,
			"rows": func(ctx context.Context) error { return sqlstore.DeleteExpired(ctx, u.store.control) },
		} {
			if err := deleteOld(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errClosed) {
				u.store.logger.Warn("deleting old "+kind+" failed", "error", oneLine(err))
			}
		}
	}
}

// poolCollector exports the metrics of connection pools.
type poolCollector struct {
	pools    map[string]*pgxpool.Pool
	registry prometheus.Registerer
	metrics  []poolMetric
}

type poolMetric struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	labels []string // in addition to the pool's name
	value  func(*pgxpool.Stat) float64
}

func exportPoolMetrics(registry prometheus.Registerer, pools map[string]*pgxpool.Pool) (*poolCollector, error) {
	c := &poolCollector{pools: pools, registry: registry, metrics: poolMetrics()}
	if err := registry.Register(c); err != nil {
		return nil, err
	}
	return c, nil
}

func poolMetrics() []poolMetric {
	pool := []string{"pool"}
	connections := prometheus.NewDesc("colaregistry_db_connections",
		"Database connections, by pool and state.", []string{"pool", "state"}, nil)
	maxConns := prometheus.NewDesc("colaregistry_db_connections_max",
		"Maximum number of connections in a pool.", pool, nil)
	acquires := prometheus.NewDesc("colaregistry_db_acquires_total", "Connections acquired from a pool.", pool, nil)
	empty := prometheus.NewDesc("colaregistry_db_acquires_waited_total",
		"Connections acquired after waiting for a free one.", pool, nil)
	canceled := prometheus.NewDesc("colaregistry_db_acquires_canceled_total",
		"Canceled waits for a connection.", pool, nil)
	wait := prometheus.NewDesc("colaregistry_db_acquire_wait_seconds_total",
		"Time spent waiting for connections.", pool, nil)
	return []poolMetric{
		{
			connections, prometheus.GaugeValue, []string{"idle"},
			func(s *pgxpool.Stat) float64 { return float64(s.IdleConns()) },
		},
		{
			connections, prometheus.GaugeValue, []string{"in_use"},
			func(s *pgxpool.Stat) float64 { return float64(s.AcquiredConns()) },
		},
		{
			connections, prometheus.GaugeValue, []string{"constructing"},
			func(s *pgxpool.Stat) float64 { return float64(s.ConstructingConns()) },
		},
		{maxConns, prometheus.GaugeValue, nil, func(s *pgxpool.Stat) float64 { return float64(s.MaxConns()) }},
		{acquires, prometheus.CounterValue, nil, func(s *pgxpool.Stat) float64 { return float64(s.AcquireCount()) }},
		{empty, prometheus.CounterValue, nil, func(s *pgxpool.Stat) float64 { return float64(s.EmptyAcquireCount()) }},
		{
			canceled, prometheus.CounterValue, nil,
			func(s *pgxpool.Stat) float64 { return float64(s.CanceledAcquireCount()) },
		},
		{
			wait, prometheus.CounterValue, nil,
			func(s *pgxpool.Stat) float64 { return s.EmptyAcquireWaitTime().Seconds() },
		},
	}
}

// Describe implements prometheus.Collector.
func (c *poolCollector) Describe(out chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		out <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c *poolCollector) Collect(out chan<- prometheus.Metric) {
	for name, pool := range c.pools {
		stat := pool.Stat()
		for _, m := range c.metrics {
			out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(stat), append([]string{name}, m.labels...)...)
		}
	}
}

func (c *poolCollector) close() { c.registry.Unregister(c) }
