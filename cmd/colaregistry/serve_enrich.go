package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/colaregistry/colaregistry/collect/enrich"
	"github.com/colaregistry/colaregistry/store/images"
)

// serveEnrichFlags configure how a server enriches labels.
type serveEnrichFlags struct {
	Enricher enricherFlags `embed:"" prefix:"enrich-" group:"Enrich flags:"`
}

// enriches reports whether the server enriches labels.
func (c *serveCommand) enriches() bool { return c.Enricher.URL != "" || c.Enricher.Model != "" }

// checkEnrich validates the flags if the server enriches labels.
func (c *serveCommand) checkEnrich() error {
	if !c.enriches() {
		return nil
	}
	if err := c.Enricher.check("--enrich-"); err != nil {
		return err
	}
	return c.Enricher.requireImageStore("--enrich-", c.storeFlags, c.imageFlags)
}

// enrichRetry is the wait after a database or image store failure, or a panic.
const enrichRetry = time.Minute

// enricher returns a function that enriches labels until its context ends, or nil if enrichment is
// disabled. Errors and panics never stop the server.
func (c *serveCommand) enricher(env *environment, st enrich.Store) (func(context.Context), error) {
	if !c.enriches() {
		return nil, nil
	}
	log := env.log.With("task", "enrich")
	var files *images.Store
	if c.Enricher.Images {
		var err error
		if files, err = c.openImages(env, c.storeFlags, 1); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) {
		if files != nil {
			defer files.Close()
		}
		for {
			err := c.Enricher.follow(ctx, st, files, log)
			switch {
			case ctx.Err() != nil:
				return
			case errors.As(err, new(*enrich.StopError)), errors.As(err, new(*enrich.RejectedError)):
				log.Error("enrichment stopped until the server is restarted; check --enrich-url, --enrich-model and the key", "error", err)
				return
			}
			log.Warn("enrichment failed; retrying", "error", err, "wait", enrichRetry)
			select {
			case <-ctx.Done():
			case <-time.After(enrichRetry):
			}
		}
	}, nil
}

// follow enriches labels until the context ends. A panic becomes an error.
func (f *enricherFlags) follow(
	ctx context.Context, st enrich.Store, files *images.Store, log *slog.Logger,
) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("enrichment panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	_, err = f.run(ctx, st, files, true, log)
	return err
}
