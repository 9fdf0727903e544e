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

// StartStandby makes a standby of the server from a base backup and waits until it streams and accepts reading connections.
// It has the primary's settings, with those of the options over them; whether it is durable is the options' to say. What it
// has not received is kept for it in a replication slot, also while it is stopped. The caller closes it.
func (s *Server) StartStandby(ctx context.Context, o Options) (*Server, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	name := fmt.Sprintf("standby%d", s.standbys.Add(1))
	o.Settings = s.settingsOfStandby(o.Settings)
	fill := func(ctx context.Context, standby *Server) error { return standby.copyFrom(ctx, s) }
	standby, err := start(ctx, o, name, reservePort, fill)
	if err != nil {
		return nil, fmt.Errorf("standby of %s: %w", s.Name(), err)
	}
	if err := s.waitStreaming(ctx, standby.Name()); err != nil {
		err = fmt.Errorf("standby of %s: wait until it streams: %w\n%s", s.Name(), err, standby.log.tail(logTold))
		return nil, errors.Join(err, standby.Close())
	}
	return standby, nil
}

// settingsOfStandby returns the settings that a standby is given over those of the server. Some, such as max_connections, may
// not be lower than the primary's.
func (s *Server) settingsOfStandby(given map[string]string) map[string]string {
	settings := map[string]string{}
	maps.Copy(settings, s.options.Settings)
	delete(settings, "cluster_name")
	maps.Copy(settings, given)
	return settings
}

// copyFrom makes the cluster as a standby of the primary.
func (s *Server) copyFrom(ctx context.Context, primary *Server) error {
	host, port, _ := strings.Cut(primary.Addr(), ":")
	source := fmt.Sprintf("host=%s port=%s user=%s application_name=%s sslmode=disable", host, port, user, s.name)
	err := s.runProgram(ctx, "pg_basebackup", "--dbname="+source, "--pgdata="+s.folder.data(), "--write-recovery-conf",
		"--create-slot", "--slot="+s.name, "--wal-method=stream", "--checkpoint=fast", "--no-sync", "--no-manifest")
	if err != nil {
		return err
	}
	return s.waitForNobody()
}

// waitForNobody drops the synchronous standbys that came along with the primary's settings: once promoted, the standby
// would wait for itself.
func (s *Server) waitForNobody() error {
	f, err := os.OpenFile(filepath.Join(s.folder.data(), "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(settingLines(map[string]string{"synchronous_standby_names": ""}))
	return errors.Join(err, f.Close())
}

// waitStreaming waits until a standby receives what the server writes, as it is written.
func (s *Server) waitStreaming(ctx context.Context, name string) error {
	return s.waitFor(ctx, `SELECT EXISTS (SELECT FROM pg_stat_replication WHERE application_name = $1 AND state = 'streaming')`, name)
}

// waitFor waits until a question is answered with yes, and asks each time on a new connection.
func (s *Server) waitFor(ctx context.Context, question string, arguments ...any) error {
	return poll(ctx, func() error {
		return s.with(ctx, "postgres", func(conn *pgx.Conn) error {
			var yes bool
			if err := conn.QueryRow(ctx, question, arguments...).Scan(&yes); err != nil {
				return err
			}
			if !yes {
				return errors.New("not yet")
			}
			return nil
		})
	})
}

// Promote makes a standby the primary and waits until it can be written to. It does not touch the old primary: stop that
// first. It waits for no standby until SetSynchronous says so.
func (s *Server) Promote(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
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

// SetSynchronous sets synchronous_standby_names: from its return on, commits wait for those standbys, or for none when
// names is empty. The standbys must be streaming; it waits until one of them shows as synchronous. The server must be
// durable, since otherwise its commits wait for nothing.
func (s *Server) SetSynchronous(ctx context.Context, names string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
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
	// ALTER SYSTEM takes no parameters and must be alone.
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
	// A new connection shows the setting, so every process was told of it. But commits wait only once the checkpointer has
	// taken note, which it does between checkpoints: surely before the second of two.
	if err := s.Execute(ctx, "postgres", "CHECKPOINT; CHECKPOINT"); err != nil {
		return err
	}
	if names == "" {
		return nil
	}
	return s.waitFor(ctx, `SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum'))`)
}
