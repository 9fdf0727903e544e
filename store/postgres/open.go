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
	// ledgerConnections is enough for one worker that settles and one that voids, with a spare for
	// each while a lost connection is being closed.
	ledgerConnections = 4
	// connectTimeout is the time limit for connecting to each host. It keeps a dead host from
	// delaying a failover for long.
	connectTimeout = 5 * time.Second
	// pingTimeout is the time limit for the liveness check of an idle connection before its reuse.
	pingTimeout = time.Second
	// Connections are closed after connectionLife plus up to lifeJitter, so that new connections
	// follow a proxy or a DNS name that moves.
	connectionLife = time.Hour
	lifeJitter     = 6 * time.Minute
	healthCheck    = 15 * time.Second
	// minVersion is the oldest server version with the features that the schema uses.
	minVersion = 130000
)

// Connection settings. Those in the URL take precedence.
//
// A ledger transaction locks accounts. If its client vanishes, the server releases the locks within
// seconds: by the idle timeout between round trips, or by TCP keep-alive during a round trip. The
// operator decides whether commits wait for the disk and for standbys.
var (
	commonSettings = map[string]string{
		"default_transaction_isolation": "read committed", // for statements outside transactions
		// Lets this version claim deliveries; see the migration "secrets".
		"colaregistry.opens_secrets": "on",
		"tcp_keepalives_idle":        "10",
		"tcp_keepalives_interval":    "5",
		"tcp_keepalives_count":       "3",
	}
	generalSettings = map[string]string{
		"statement_timeout":                   "0", // reading the whole registry may take a long time
		"idle_in_transaction_session_timeout": "60s",
	}
	ledgerSettings = map[string]string{
		// Callers time out earlier. The timeout does not end a commit's wait for a standby.
		"statement_timeout":                   "15s",
		"idle_in_transaction_session_timeout": "10s",
		// Every statement finds a few rows by key. Planning each batch would take longer than
		// running it, so plans are reused; a plan made while the tables are small must not scan
		// them once they are large.
		"plan_cache_mode": "force_generic_plan",
		"enable_seqscan":  "off",
	}
)

// Options configures Open and Migrate. The zero value is suitable for production.
type Options struct {
	Now       func() time.Time      // default: the database's clock
	Logger    *slog.Logger          // default: slog.Default()
	NoMigrate bool                  // fail if the schema is missing or older than the program
	Metrics   prometheus.Registerer // optional; receives connection metrics until Close; for one Store only
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// Open opens an existing database and upgrades its schema. If several processes open it
// concurrently, one migrates and the others wait. Open fails with store.ErrNewerSchema if a newer
// version of the program has migrated the database. url is a libpq URL, which may list several
// hosts, or a keyword/value string. Defaults come from the PG… environment variables.
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

// connect opens the pools and starts metrics and upkeep.
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
		if s.metrics, err = exportPoolMetrics(opts.Metrics,
			map[string]*pgxpool.Pool{"general": s.general, "ledger": s.ledger}); err != nil {
			return err
		}
	}
	s.upkeep = newUpkeep(s, named(config, "listener").ConnConfig)
	return nil
}

// named returns a configuration that adds the purpose of its connections to their application_name,
// for operators.
func named(config *pgxpool.Config, purpose string) *pgxpool.Config {
	config = config.Copy()
	config.ConnConfig.RuntimeParams["application_name"] += " " + purpose
	return config
}

func openPool(
	ctx context.Context, base *pgxpool.Config, connections int32, settings map[string]string,
) (*pgxpool.Pool, error) {
	config := base.Copy()
	config.MaxConns = connections
	config.MinConns, config.MinIdleConns = min(config.MinConns, connections), min(config.MinIdleConns, connections)
	config.AfterConnect = onConnect(config.ConnConfig.RuntimeParams, commonSettings, settings)
	return pgxpool.NewWithConfig(ctx, config)
}

// onConnect returns a callback that applies settings to a new connection, except those set by the
// URL. The settings are not sent as startup parameters, because poolers reject unknown ones.
func onConnect(params map[string]string, settings ...map[string]string) func(context.Context, *pgx.Conn) error {
	var names, values []string
	for _, some := range settings {
		for name, value := range some {
			if _, set := params[name]; !set {
				names, values = append(names, name), append(values, value)
			}
		}
	}
	return func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx,
			`SELECT set_config(name, value, FALSE) FROM unnest($1::text[], $2::text[]) AS s (name, value)`, names,
			values)
		if err != nil {
			return fmt.Errorf("%w: %w", errSettings, err)
		}
		return nil
	}
}

// parse parses a URL and fills in defaults. Its errors do not contain the URL, which may include a
// password.
func parse(url string) (*pgxpool.Config, error) {
	plain, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, withoutURL(err)
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, withoutURL(err)
	}
	params := plain.RuntimeParams
	if _, set := params["pool_max_conns"]; !set {
		config.MaxConns = int32(max(8, 4*runtime.NumCPU()))
	}
	if _, set := params["pool_max_conn_lifetime"]; !set {
		config.MaxConnLifetime = connectionLife
	}
	if _, set := params["pool_max_conn_lifetime_jitter"]; !set {
		config.MaxConnLifetimeJitter = lifeJitter
	}
	if _, set := params["pool_health_check_period"]; !set {
		config.HealthCheckPeriod = healthCheck
	}
	if _, set := params["pool_ping_timeout"]; !set {
		config.PingTimeout = pingTimeout
	}
	conn := config.ConnConfig
	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = connectTimeout
	}
	// Detect a dead peer within half a minute.
	dialer := &net.Dialer{Timeout: conn.ConnectTimeout, KeepAliveConfig: net.KeepAliveConfig{
		Enable:   true,
		Idle:     10 * time.Second,
		Interval: 5 * time.Second,
		Count:    4,
	}}
	conn.DialFunc = dialer.DialContext
	if conn.RuntimeParams["application_name"] == "" {
		conn.RuntimeParams["application_name"] = "colaregistry"
	}
	conn.RuntimeParams["client_encoding"] = "UTF8"
	conn.OnNotice = onNotice
	return config, checkConfig(conn)
}

// checkConfig rejects configurations that cannot work, and those that would show part of the
// password as a host name.
func checkConfig(conn *pgx.ConnConfig) error {
	switch conn.DefaultQueryExecMode {
	case pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol:
		return errors.New("default_query_exec_mode needs a binary format: use cache_statement, cache_describe or describe_exec")
	}
	invalid := strings.Contains(conn.Host, "@")
	for _, f := range conn.Fallbacks {
		invalid = invalid || strings.Contains(f.Host, "@")
	}
	if invalid {
		return invalidURL("host name contains @")
	}
	return nil
}

// checkServer rejects servers whose version or encoding is unsuitable.
func checkServer(ctx context.Context, db *sql.DB) error {
	var version int
	var name, encoding string
	err := db.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_version'),
		current_setting('server_encoding')`).Scan(&version, &name, &encoding)
	if err != nil {
		return err
	}
	return checkVersion(version, name, encoding)
}

func checkVersion(version int, name, encoding string) error {
	switch {
	case version < minVersion:
		return fmt.Errorf("PostgreSQL %s is not supported; version %d or later is required", name, minVersion/10000)
	case encoding != "UTF8":
		return fmt.Errorf("database encoding is %s; create the database with ENCODING 'UTF8'", encoding)
	}
	return nil
}
