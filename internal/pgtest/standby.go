package pgtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
)

// StartStandby creates a standby from a base backup and waits until it streams and accepts
// read-only connections. The standby has the primary's settings, overridden by those in the
// options. The options also decide whether it is durable. A replication slot retains data that the
// standby has not received, even while it is stopped. The caller closes the standby.
func (s *Server) StartStandby(ctx context.Context, o Options) (*Server, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	name := fmt.Sprintf("standby%d", s.standbys.Add(1))
	o.Settings = s.standbySettings(o.Settings)
	fill := func(ctx context.Context, standby *Server) error { return standby.copyFrom(ctx, s) }
	standby, err := start(ctx, o, name, reservePort, fill)
	if err != nil {
		return nil, fmt.Errorf("standby of %s: %w", s.Name(), err)
	}
	if err := s.waitStreaming(ctx, standby.Name()); err != nil {
		err = fmt.Errorf("standby of %s: wait until it streams: %w\n%s", s.Name(), err, standby.log.tail(maxLogTail))
		return nil, errors.Join(err, standby.Close())
	}
	return standby, nil
}

// standbySettings returns a standby's settings: the primary's, with overrides applied. It copies the
// primary's because some, such as max_connections, must not be lower on a standby.
func (s *Server) standbySettings(overrides map[string]string) map[string]string {
	settings := map[string]string{}
	maps.Copy(settings, s.options.Settings)
	delete(settings, "cluster_name")
	maps.Copy(settings, overrides)
	return settings
}

// copyFrom creates the cluster as a standby of the primary.
func (s *Server) copyFrom(ctx context.Context, primary *Server) error {
	host, port, _ := strings.Cut(primary.Addr(), ":")
	source := fmt.Sprintf("host=%s port=%s user=%s application_name=%s sslmode=disable", host, port, user, s.name)
	err := s.runProgram(ctx, "pg_basebackup", "--dbname="+source, "--pgdata="+s.folder.data(), "--write-recovery-conf",
		"--create-slot", "--slot="+s.name, "--wal-method=stream", "--checkpoint=fast", "--no-sync", "--no-manifest")
	if err != nil {
		return err
	}
	return s.clearSynchronous()
}

// clearSynchronous clears the synchronous standbys copied from the primary's settings. Otherwise a
// promoted standby would wait for itself.
func (s *Server) clearSynchronous() error {
	f, err := os.OpenFile(filepath.Join(s.folder.data(), "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(settingLines(map[string]string{"synchronous_standby_names": ""}))
	return errors.Join(err, f.Close())
}

// waitStreaming waits until a standby streams from the server.
func (s *Server) waitStreaming(ctx context.Context, name string) error {
	return s.waitFor(ctx,
		`SELECT EXISTS (SELECT FROM pg_stat_replication WHERE application_name = $1 AND state = 'streaming')`, name)
}

// waitFor polls a query until it returns true, on a new connection each time.
func (s *Server) waitFor(ctx context.Context, query string, arguments ...any) error {
	return poll(ctx, func() error {
		return s.with(ctx, "postgres", func(conn *pgx.Conn) error {
			var yes bool
			if err := conn.QueryRow(ctx, query, arguments...).Scan(&yes); err != nil {
				return err
			}
			if !yes {
				return errors.New("not yet")
			}
			return nil
		})
	})
}

// Promote makes a standby the primary and waits until it accepts writes. It does not touch the old
// primary, which the caller must stop first. The new primary doesn't wait for standbys
// until SetSynchronous is called.
func (s *Server) Promote(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	err := s.Execute(ctx, "postgres", `SELECT pg_promote(wait => false)`)
	if err == nil {
		err = s.waitFor(ctx, `SELECT NOT pg_is_in_recovery()`)
	}
	if err != nil {
		return fmt.Errorf("promote %s: %w", s.Name(), err)
	}
	return nil
}

// SetSynchronous sets synchronous_standby_names. After it returns, commits wait for those standbys,
// or for none if names is empty. The standbys must be streaming; SetSynchronous waits until
// one of them is synchronous. The server must be durable, because otherwise its commits do not
// wait.
func (s *Server) SetSynchronous(ctx context.Context, names string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	if err := s.setSynchronous(ctx, names); err != nil {
		return fmt.Errorf("set synchronous standbys: %w", err)
	}
	return nil
}

func (s *Server) setSynchronous(ctx context.Context, names string) error {
	if names != "" && !s.options.Durable {
		return errors.New("commits wait for standbys only with Options.Durable")
	}
	// ALTER SYSTEM takes no parameters and must be a single statement.
	literal := "'" + strings.ReplaceAll(names, "'", "''") + "'"
	if err := s.Execute(ctx, "postgres", "ALTER SYSTEM SET synchronous_standby_names = "+literal); err != nil {
		return err
	}
	if err := s.Execute(ctx, "postgres", "SELECT pg_reload_conf()"); err != nil {
		return err
	}
	if err := s.waitFor(ctx, `SELECT current_setting('synchronous_standby_names') = $1`, names); err != nil {
		return err
	}
	// Once a new connection shows the setting, every process has been signaled. Commits wait only
	// after the checkpointer has processed the signal. It does so between checkpoints, so it has
	// processed the signal before the second one here.
	if err := s.Execute(ctx, "postgres", "CHECKPOINT; CHECKPOINT"); err != nil {
		return err
	}
	if names == "" {
		return nil
	}
	return s.waitFor(ctx, `SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum'))`)
}
