package main

import (
	"context"
	"errors"
	"time"

	"github.com/colaregistry/colaregistry/collect"
	"github.com/colaregistry/colaregistry/collect/reference"
)

// serveFetchFlags configure a server's collector.
type serveFetchFlags struct {
	Fetch     bool           `group:"Fetch flags:" help:"Fetch labels from TTB: the most recent days once a day and, in between, the labels chosen by --fetch-details. You can run several servers: they share the work. Requires --fetch-contact; implies --demo never."`
	Collector collectorFlags `embed:"" prefix:"fetch-" group:"Fetch flags:"`
	Reference bool           `group:"Fetch flags:" name:"fetch-reference" env:"COLAREGISTRY_FETCH_REFERENCE" default:"true" negatable:"" help:"Also fetch reference data, such as permit lists, once a day (default: on with --fetch)."`
	Addresses referenceFlags `embed:"" prefix:"fetch-" group:"Fetch flags:"`
}

// checkFetch validates the collector flags, if the collector is enabled.
func (c *serveCommand) checkFetch() error {
	if !c.Fetch {
		return nil
	}
	if err := c.Collector.check("--fetch-"); err != nil {
		return err
	}
	_, err := c.Addresses.sources("--fetch-", nil)
	return errors.Join(err, c.Collector.requireImageStore("--fetch-", c.storeFlags, c.imageFlags))
}

// reference returns the function that fetches reference data, or nil if fetching it is disabled.
func (c *serveCommand) reference(env *environment, st reference.Store) func(context.Context) {
	if !c.Fetch || !c.serveFetchFlags.Reference {
		return nil
	}
	sources, err := c.Addresses.sources("--fetch-", nil)
	if err != nil {
		panic(err) // checkFetch has checked them
	}
	o := reference.Options{
		Sources: sources, UserAgent: userAgent(c.Collector.Contact), Backoff: c.Collector.Backoff,
		Logger: env.log.With("task", "fetch-reference"),
	}
	return func(ctx context.Context) { reference.Follow(ctx, st, o, c.Collector.QuietHours.Until) }
}

// collector returns the follower that fetches labels, or nil without --fetch.
func (c *serveCommand) collector(env *environment, d deployment) *collect.Follower {
	if !c.Fetch {
		return nil
	}
	o := c.Collector.options()
	o.Logger = env.log.With("task", "fetch")
	if o.Images != collect.None {
		// Barcodes are read from one image at a time, on the collector's goroutine.
		o.ImageStore = &collect.LabelImages{Store: d.store, Files: d.images, Now: time.Now, Logger: o.Logger}
	}
	c.Collector.warnRate(o.Logger)
	return collect.NewFollower(d.store, o, d.admin.registerer())
}
