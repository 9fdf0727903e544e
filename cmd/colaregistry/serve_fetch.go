package main

import (
	"time"

	"github.com/colaregistry/colaregistry/collect"
)

// serveFetchFlags configure the collector of a server.
type serveFetchFlags struct {
	Fetch     bool           `group:"Fetch flags:" help:"Fetch labels from TTB: the latest days once a day and, in between, the labels chosen by --fetch-details. Several servers share the work. Requires --fetch-contact; implies --demo never."`
	Collector collectorFlags `embed:"" prefix:"fetch-" group:"Fetch flags:"`
}

// checkFetch validates the flags of the collector, if it is enabled.
func (c *serveCommand) checkFetch() error {
	if !c.Fetch {
		return nil
	}
	if err := c.Collector.check("--fetch-"); err != nil {
		return err
	}
	return c.Collector.requireImageStore("--fetch-", c.storeFlags, c.imageFlags)
}

// collector returns what fetches labels, or nil without --fetch.
func (c *serveCommand) collector(env *environment, d deployment) *collect.Follower {
	if !c.Fetch {
		return nil
	}
	o := c.Collector.options()
	o.Logger = env.log.With("task", "fetch")
	if o.Images != collect.None {
		// Barcodes of one image at a time are read, on the goroutine of the collector.
		o.ImageStore = &collect.LabelImages{Store: d.store, Files: d.images, Now: time.Now, Logger: o.Logger}
	}
	c.Collector.warnRate(o.Logger)
	return collect.NewFollower(d.store, o, d.admin.registerer())
}
