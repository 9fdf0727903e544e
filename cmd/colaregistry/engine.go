package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/quota"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/registry/billing"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
)

// engine combines the parts of a registry on one database, without HTTP handlers.
type engine struct {
	index    *search.Index
	ledger   *quota.Ledger
	service  *registry.Service
	follower *registry.Follower // the caller must run it
	ready    chan struct{}      // closed when the index is built
}

type engineOptions struct {
	publicURL, upgradeURL string
	snapshot              string // path of the index snapshot
	metrics               prometheus.Registerer
	sendsMail             bool // some process sends email
	privateWebhooks       bool
	events                *security.Events
	vault                 *vault.Vault        // nil if the process doesn't manage destinations
	images                registry.ImageStore // nil if the process doesn't serve images
	operators             []string            // email addresses
	requestLogDays        int                 // days that requests are kept for account holders to see; 0 keeps none
	billing               *billing.Billing    // nil if plans aren't sold
}

func newEngine(env *environment, st store.Store, o engineOptions) *engine {
	e := &engine{ready: make(chan struct{})}
	e.index = search.New(search.Options{Logger: env.log})
	e.ledger = quota.New(st,
		quota.Options{Rules: quota.Rules{UpgradeURL: o.upgradeURL}, Logger: env.log, Metrics: o.metrics})
	e.service = registry.New(registry.Options{
		Store: st, Index: e.index, Ledger: e.ledger, PublicURL: o.publicURL,
		Now: time.Now, Logger: env.log, Metrics: o.metrics,
		SendsMail: o.sendsMail, PrivateWebhooks: o.privateWebhooks, Events: o.events, Vault: o.vault, Images: o.images,
		Operators: o.operators, RequestLogDays: o.requestLogDays, Billing: o.billing,
	})
	started := time.Now() // the caller runs the follower right away
	e.follower = registry.NewFollower(e.service, registry.FollowerOptions{
		Snapshot: o.snapshot,
		Progress: func(labels int) {
			env.log.Info("building the index", "labels", labels, "per_second", int(float64(labels)/time.Since(started).Seconds()))
		},
		Built: func(b registry.Build) {
			env.log.Info("ready", "labels", b.Labels, "undated", b.Undated,
				"took", b.Took.Round(time.Millisecond), "from_snapshot", b.Restored)
			close(e.ready)
		},
	})
	return e
}

// close commits charges, records refusals and requests, and closes the index. Call it before
// closing the store.
func (e *engine) close() {
	e.ledger.Close()
	e.service.Close()
	e.index.Close()
}
