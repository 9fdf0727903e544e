package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// livenessTimeout is the timeout of one liveness check.
const livenessTimeout = 5 * time.Second

// connect opens a connection to a database on the server. The caller closes it.
func (s *Server) connect(ctx context.Context, database string) (*pgx.Conn, error) {
	return pgx.Connect(ctx, s.URL(database))
}

// with calls do with a connection to a database on the server.
func (s *Server) with(ctx context.Context, database string, do func(*pgx.Conn) error) error {
	conn, err := s.connect(ctx, database)
	if err != nil {
		return err
	}
	return errors.Join(do(conn), conn.Close(context.WithoutCancel(ctx)))
}

// answers returns an error unless this server responds on the port.
func (s *Server) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, livenessTimeout)
	defer cancel()
	return s.with(ctx, "postgres", func(conn *pgx.Conn) error {
		var data string
		if err := conn.QueryRow(ctx, `SELECT current_setting('data_directory')`).Scan(&data); err != nil {
			return err
		}
		if data != s.folder.data() {
			return fmt.Errorf("another server (data folder %s) responds on %s", data, s.Addr())
		}
		return nil
	})
}

// CreateDatabase creates an empty database with a unique name and returns its URL.
func (s *Server) CreateDatabase(ctx context.Context) (string, error) {
	return s.createFrom(ctx, "template0") // the template never has connections, which would block the copy
}

// CloneDatabase copies a database on the server and returns the URL of the copy. The original must
// have no connections.
func (s *Server) CloneDatabase(ctx context.Context, url string) (string, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return "", fmt.Errorf("clone database: %w", err)
	}
	return s.createFrom(ctx, config.Database)
}

func (s *Server) createFrom(ctx context.Context, template string) (string, error) {
	name := "test_" + strings.ToLower(rand.Text())
	err := s.Execute(ctx, "postgres",
		"CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+" TEMPLATE "+pgx.Identifier{template}.Sanitize())
	if err != nil {
		return "", fmt.Errorf("create database: %w", err)
	}
	return s.URL(name), nil
}

// DropDatabase drops a database by the URL that CreateDatabase returned, and closes its
// connections.
func (s *Server) DropDatabase(ctx context.Context, url string) error {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("drop database: %w", err)
	}
	if s.URL(config.Database) != url {
		return fmt.Errorf("drop database: %s is not on server %s", url, s.Addr())
	}
	err = s.Execute(ctx, "postgres", "DROP DATABASE "+pgx.Identifier{config.Database}.Sanitize()+" WITH (FORCE)")
	if err != nil {
		return fmt.Errorf("drop database: %w", err)
	}
	return nil
}

// Execute runs one or more SQL statements in a database on the server as superuser.
func (s *Server) Execute(ctx context.Context, database, sql string) error {
	return s.with(ctx, database, func(conn *pgx.Conn) error {
		_, err := conn.PgConn().Exec(ctx, sql).ReadAll()
		return err
	})
}

// CutConnections closes all client connections, even busy ones, and waits until they are gone. New
// connections are accepted.
func (s *Server) CutConnections(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	err := s.with(ctx, "postgres", func(conn *pgx.Conn) error {
		cut, err := cutConnections(ctx, conn)
		if err != nil {
			return err
		}
		return poll(ctx, func() error {
			var left int
			err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE pid = ANY($1)`, cut).Scan(&left)
			if err != nil {
				return final{err}
			}
			if left > 0 {
				return fmt.Errorf("%d connections are still open", left)
			}
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("cut connections: %w", err)
	}
	return nil
}

// cutConnections terminates all connections but its own and returns their process IDs.
func cutConnections(ctx context.Context, conn *pgx.Conn) ([]int32, error) {
	// In the WHERE clause, the call might run before the condition that excludes this connection.
	rows, err := conn.Query(ctx, `
		SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (pid int32, err error) {
		err = row.Scan(&pid, nil)
		return pid, err
	})
}
