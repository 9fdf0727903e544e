package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/colaregistry/colaregistry/collect/enrich"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/images"
)

// enricherFlags configure the enrichment of labels by a model.
type enricherFlags struct {
	URL     string     `env:"COLAREGISTRY_ENRICH_URL" name:"url" placeholder:"URL" help:"Base URL of an OpenAI-compatible API, such as https://api.openai.com/v1."`
	Model   string     `env:"COLAREGISTRY_ENRICH_MODEL" placeholder:"NAME" help:"Name of the model."`
	Key     string     `env:"COLAREGISTRY_ENRICH_KEY" placeholder:"KEY" help:"API key, if the endpoint needs one."`
	KeyFile secretFile `env:"COLAREGISTRY_ENRICH_KEY_FILE" name:"key-file" placeholder:"FILE" help:"File with the API key."`
	Images  bool       `env:"COLAREGISTRY_ENRICH_IMAGES" help:"Also send each label's main image, if it was fetched."`
	Limit   int        `env:"COLAREGISTRY_ENRICH_LIMIT" default:"1000" placeholder:"N" help:"Requests per day (UTC) across all processes (default: ${default})."`
	Tokens  int        `env:"COLAREGISTRY_ENRICH_TOKENS" default:"5000000" placeholder:"N" help:"Tokens per day (UTC) across all processes (default: ${default})."`
	Rate    float64    `env:"COLAREGISTRY_ENRICH_RATE" default:"1" placeholder:"N" help:"Requests per second (default: ${default})."`
}

// maxEnrichRate is the highest --rate.
const maxEnrichRate = 100

// check validates the flags. prefix precedes their names in errors.
func (f *enricherFlags) check(prefix string) error {
	address, err := url.Parse(f.URL)
	switch {
	case f.URL == "" || f.Model == "":
		return fmt.Errorf("%[1]surl and %[1]smodel are required", prefix)
	case err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http":
		return fmt.Errorf("%surl must be an http or https URL", prefix)
	case address.User != nil || address.RawQuery != "" || address.ForceQuery || address.Fragment != "":
		// Errors in the log contain the URL.
		return fmt.Errorf("%[1]surl must not contain a user, a query or a fragment; use %[1]skey-file for the key", prefix)
	case address.Scheme == "http" && (f.Key != "" || f.KeyFile != "") && !onThisMachine(address):
		return fmt.Errorf("%surl must be an https URL, because the key is sent to it", prefix)
	case f.Limit < 1 || f.Tokens < 1:
		return fmt.Errorf("%[1]slimit and %[1]stokens must be positive", prefix)
	case !(f.Rate >= minRate) || f.Rate > maxEnrichRate:
		return fmt.Errorf("%srate must be from %g to %d", prefix, minRate, maxEnrichRate)
	}
	return nil
}

// requireImageStore returns an error if images are sent and the database is PostgreSQL, but
// --image-store is not set (see collectorFlags.requireImageStore).
func (f *enricherFlags) requireImageStore(prefix string, database storeFlags, location imageFlags) error {
	p, err := database.place()
	if err == nil && p.path == "" && f.Images && location.ImageStore == "" {
		err = errors.New(prefix + "images with PostgreSQL requires --image-store; use the same folder or bucket as fetch")
	}
	return err
}

// run enriches labels. files may be nil without --images.
func (f *enricherFlags) run(
	ctx context.Context, st enrich.Store, files *images.Store, follow bool, log *slog.Logger,
) (enrich.Report, error) {
	o := enrich.Options{
		Enricher: &enrich.OpenAI{URL: f.URL, Model: f.Model, Key: f.Key},
		Model:    f.Model,
		Limit:    store.EnrichmentLimit{Requests: f.Limit, Tokens: f.Tokens},
		Interval: time.Duration(float64(time.Second) / f.Rate),
		Follow:   follow,
		Logger:   log,
	}
	if f.Images {
		o.Images = files
	}
	return enrich.Run(ctx, st, o)
}

type enrichCommand struct {
	storeFlags
	imageFlags
	logFlags
	enricherFlags
	Follow bool `env:"COLAREGISTRY_ENRICH_FOLLOW" help:"Keep running: process new labels as they arrive, and resume each day when the daily limit resets."`
}

// Validate checks the flags. Kong calls it after parsing.
func (c *enrichCommand) Validate() error {
	if err := c.check("--"); err != nil {
		return err
	}
	return c.checkImages()
}

// Run enriches labels and prints a line of counts for scripts.
func (c *enrichCommand) Run(env *environment) (err error) {
	if err := c.enricherFlags.requireImageStore("--", c.storeFlags, c.imageFlags); err != nil {
		return err
	}
	st, err := c.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	log := c.logger(env.stderr)
	var files *images.Store
	if c.Images {
		env.log = log
		if files, err = c.openImages(env, c.storeFlags, 1); err != nil {
			return err
		}
		defer closing(files, &err)
	}
	r, err := c.run(env, st, files, c.Follow, log)
	fmt.Fprintf(env.stdout, "asked=%d enriched=%d failed=%d tokens_in=%d tokens_out=%d\n",
		r.Asked, r.Enriched, r.Failed, r.TokensIn, r.TokensOut)
	switch {
	case errors.As(err, new(*enrich.StopError)):
		return fmt.Errorf("the API is rejecting requests; check --url, --model and --key-file: %w", err)
	case err != nil:
		return err
	case r.Limit:
		fmt.Fprintln(env.stderr,
			"The daily limit has been reached. Run the command again tomorrow (UTC), or raise --limit or --tokens.")
	}
	return nil
}
