package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/store/sqlstore"
)

const (
	// ledgerConnections serve one worker that settles and one that voids, with one to spare for
	// each while a lost connection is still being given up.
	ledgerConnections = 4
	// connectTimeout bounds the making of a connection to each host, so that one that is gone does
	// not hold up a failover.
	connectTimeout = 5 * time.Second
	// pingTimeout bounds how long a connection that was idle is asked whether it lives before it is
	// used.
	pingTimeout = time.Second
	// connectionLife is how long a connection is kept at most, give or take lifeJitter: behind a
	// proxy or a name that moves, connections find their way to where they belong.
	connectionLife = time.Hour
	lifeJitter     = 6 * time.Minute
	healthCheck    = 15 * time.Second
	// minVersion is the oldest server that has what the schema uses.
	minVersion = 130000
)

// Settings of the connections; what the URL says comes first. A transaction of the ledger holds
// locks on accounts, which the server takes from it soon when its client has vanished without a
// word: by the timeout between two round trips, and by the keep-alive in the middle of one. Whether
// a commit waits for the disk and for standbys is for the operator to say.
var (
	commonSettings = map[string]string{
		"default_transaction_isolation": "read committed", // of statements outside transactions
		"colaregistry.opens_secrets":    "on",             // lets this version claim deliveries; see the migration "secrets"
		"tcp_keepalives_idle":           "10",
		"tcp_keepalives_interval":       "5",
		"tcp_keepalives_count":          "3",
	}
	generalSettings = map[string]string{
		"statement_timeout":                   "0", // reading everything takes as long as it takes
		"idle_in_transaction_session_timeout": "60s",
	}
	ledgerSettings = map[string]string{
		"statement_timeout":                   "15s", // callers give up before; a commit that waits for a standby it does not end
		"idle_in_transaction_session_timeout": "10s",
		// Every statement finds a few rows by their keys. Planning it anew for each batch takes
		// longer than running it, and a plan that was made when the tables were small must not read
		// them whole when they are large.
		"plan_cache_mode": "force_generic_plan",
		"enable_seqscan":  "off",
	}
)

// Options of Open and Migrate. The zero Options are those of production.
type Options struct {
	Now       func() time.Time      // the clock of the database; its own when nil
	Logger    *slog.Logger          // slog.Default() when nil
	NoMigrate bool                  // fail when the schema is older than the program, or there is none
	Metrics   prometheus.Registerer // gets the state of the connections, until Close, for one store only; nil: not measured
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// Open opens a database, which must exist, and brings its schema up to date. Of several processes
// that open it at once one does, and the others wait. It fails with store.ErrNewerSchema when a
// newer version of the program has migrated the database. The URL is one that libpq takes too, of
// several hosts if need be, or keywords and values; what it leaves out comes from the PG…
// environment.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	const operation = "open database"
	config, err := parse(url)
	if err != nil {
		return nil, failed(operation, err)
	}
	from, to, err := prepare(ctx, config.ConnConfig, opts)
	if err != nil {
		return nil, failedToOpen(ctx, operation, err)
	}
	if from != to {
		opts.Logger.Info("database schema migrated", "from", from, "to", to)
	}
	s := &Store{created: from == 0, now: opts.Now, logger: opts.Logger}
	s.control = sqlstore.New(database{s}, sqlstore.Options{Now: opts.Now, Grants: grants})
	if err := s.connect(ctx, config, opts); err != nil {
		s.release()
		return nil, failedToOpen(ctx, operation, err)
	}
	return s, nil
}

// connect opens the connections and what goes with them.
func (s *Store) connect(ctx context.Context, config *pgxpool.Config, opts Options) (err error) {
	if s.general, err = openPool(ctx, config, config.MaxConns, generalSettings); err != nil {
		return err
	}
	if s.ledger, err = openPool(ctx, named(config, "ledger"), ledgerConnections, ledgerSettings); err != nil {
		return err
	}
	if err := s.general.QueryRow(ctx, `SELECT store_id FROM meta`).Scan(fields{&s.id}); err != nil {
		return err
	}
	if opts.Metrics != nil {
		if s.measure, err = measurePools(opts.Metrics, map[string]*pgxpool.Pool{"general": s.general, "ledger": s.ledger}); err != nil {
			return err
		}
	}
	s.upkeep = newUpkeep(s, named(config, "listener").ConnConfig)
	return nil
}

// named returns the configuration of connections that show to an operator what they are for.
func named(config *pgxpool.Config, purpose string) *pgxpool.Config {
	config = config.Copy()
	config.ConnConfig.RuntimeParams["application_name"] += " " + purpose
	return config
}

func openPool(ctx context.Context, base *pgxpool.Config, connections int32, settings map[string]string) (*pgxpool.Pool, error) {
	config := base.Copy()
	config.MaxConns = connections
	config.MinConns, config.MinIdleConns = min(config.MinConns, connections), min(config.MinIdleConns, connections)
	config.AfterConnect = onConnect(config.ConnConfig.RuntimeParams, commonSettings, settings)
	return pgxpool.NewWithConfig(ctx, config)
}

// onConnect returns what makes settings of a new connection, less those that are given. They are no
// part of the greeting, where a pooler in between would refuse what it does not know.
func onConnect(given map[string]string, settings ...map[string]string) func(context.Context, *pgx.Conn) error {
	var names, values []string
	for _, some := range settings {
		for name, value := range some {
			if _, set := given[name]; !set {
				names, values = append(names, name), append(values, value)
			}
		}
	}
	return func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `SELECT set_config(name, value, FALSE) FROM unnest($1::text[], $2::text[]) AS s (name, value)`, names, values)
		if err != nil {
			return fmt.Errorf("%w: %w", errSettings, err)
		}
		return nil
	}
}

// parse reads a URL and fills in what it leaves out. Its errors do not show the URL, which may hold
// a password.
func parse(url string) (*pgxpool.Config, error) {
	plain, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, withoutURL(err)
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, withoutURL(err)
	}
	given := plain.RuntimeParams
	if _, set := given["pool_max_conns"]; !set {
		config.MaxConns = int32(max(8, 4*runtime.NumCPU()))
	}
	if _, set := given["pool_max_conn_lifetime"]; !set {
		config.MaxConnLifetime = connectionLife
	}
	if _, set := given["pool_max_conn_lifetime_jitter"]; !set {
		config.MaxConnLifetimeJitter = lifeJitter
	}
	if _, set := given["pool_health_check_period"]; !set {
		config.HealthCheckPeriod = healthCheck
	}
	if _, set := given["pool_ping_timeout"]; !set {
		config.PingTimeout = pingTimeout
	}
	conn := config.ConnConfig
	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = connectTimeout
	}
	// A peer that is gone is noticed within half a minute.
	dialer := &net.Dialer{Timeout: conn.ConnectTimeout, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 4,
	}}
	conn.DialFunc = dialer.DialContext
	if conn.RuntimeParams["application_name"] == "" {
		conn.RuntimeParams["application_name"] = "colaregistry"
	}
	conn.RuntimeParams["client_encoding"] = "UTF8"
	conn.OnNotice = noteCommit
	return config, checkConfig(conn)
}

// checkConfig refuses what cannot work, and what would show a part of the password as the name of a
// host.
func checkConfig(conn *pgx.ConnConfig) error {
	switch conn.DefaultQueryExecMode {
	case pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol:
		return errors.New("default_query_exec_mode: values must travel in binary; use cache_statement, cache_describe or describe_exec")
	}
	odd := strings.Contains(conn.Host, "@")
	for _, f := range conn.Fallbacks {
		odd = odd || strings.Contains(f.Host, "@")
	}
	if odd {
		return invalidURL("there is an @ in the name of the host")
	}
	return nil
}

// checkServer refuses a server that the schema or the text of records does not fit.
func checkServer(ctx context.Context, db *sql.DB) error {
	var version int
	var name, encoding string
	err := db.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_version'),
		current_setting('server_encoding')`).Scan(&version, &name, &encoding)
	if err != nil {
		return err
	}
	return checkFit(version, name, encoding)
}

func checkFit(version int, name, encoding string) error {
	switch {
	case version < minVersion:
		return fmt.Errorf("the server is PostgreSQL %s; version %d or later is needed", name, minVersion/10000)
	case encoding != "UTF8":
		return fmt.Errorf("the database has the encoding %s; make it with ENCODING 'UTF8'", encoding)
	}
	return nil
}
