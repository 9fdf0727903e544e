package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/collect"
	"github.com/colaregistry/colaregistry/collect/ttb"
)

// collectorFlags configure a collector. In serve, they have the prefix fetch-; the environment
// variables are the same.
type collectorFlags struct {
	Contact string         `env:"COLAREGISTRY_FETCH_CONTACT" placeholder:"EMAIL|URL" help:"Your email address or web page. Sent with every request, so that TTB can reach you. Required to fetch."`
	Details collect.Choice `env:"COLAREGISTRY_FETCH_DETAILS" enum:"none,new,all" default:"new" placeholder:"none|new|all" help:"Which labels' forms to fetch: none, new (labels that are new or changed on the fetched days), or all (those and stored labels without details) (default: ${default})."`
	Images  collect.Choice `env:"COLAREGISTRY_FETCH_IMAGES" enum:"none,new,all" default:"none" placeholder:"none|new|all" help:"Which labels' images to fetch and scan for barcodes: none, new (along with their forms), or all (those and stored labels without image files) (default: ${default})."`
	Rate    float64        `env:"COLAREGISTRY_FETCH_RATE" default:"1" placeholder:"N" help:"Requests per second across all processes, at most 5 (default: ${default})."`
	BaseURL string         `env:"COLAREGISTRY_FETCH_BASE_URL" name:"base-url" default:"https://ttbonline.gov/colasonline/" placeholder:"URL" help:"Base URL of TTB's registry (default: ${default})."`

	quietFlags

	Hold    time.Duration `env:"COLAREGISTRY_FETCH_HOLD" hidden:"" default:"2m" help:"Time after which other processes take over the work of a process that was killed."`
	Backoff time.Duration `env:"COLAREGISTRY_FETCH_BACKOFF" hidden:"" default:"2s" help:"Upper bound on the first wait after a failure."`
}

// quietFlags set the quiet hours.
type quietFlags struct {
	QuietHours collect.QuietHours `env:"COLAREGISTRY_FETCH_QUIET_HOURS" placeholder:"HH:MM-HH:MM" help:"Daily time range (UTC) when no process sends requests, such as 13:00-21:00 (default: none)."`
}

// Rates in requests per second.
const (
	minRate    = 0.001
	maxRate    = 5
	politeRate = 1
)

// check validates the flags. prefix precedes their names in errors: "--" or "--fetch-".
func (f *collectorFlags) check(prefix string) error {
	switch base, err := url.Parse(f.BaseURL); {
	case err != nil:
		return fmt.Errorf("%sbase-url: %w", prefix, err)
	case !(f.Rate >= minRate) || f.Rate > maxRate && !onThisMachine(base):
		return fmt.Errorf("%srate must be from %g to %d", prefix, minRate, maxRate)
	case f.Contact == "":
		return fmt.Errorf("%scontact is required", prefix)
	case !isContact(f.Contact):
		return fmt.Errorf("%scontact must be an email address or an http or https URL", prefix)
	case f.Images != collect.None && f.Details == collect.None:
		return fmt.Errorf("%[1]simages requires %[1]sdetails new or all, because the forms list the images", prefix)
	}
	if _, err := ttb.New(f.options().Site); err != nil {
		return fmt.Errorf("%sbase-url: %w", prefix, err)
	}
	return nil
}

// onThisMachine reports whether the host of a URL is a loopback address.
func onThisMachine(u *url.URL) bool {
	address, err := netip.ParseAddr(u.Hostname())
	return err == nil && address.IsLoopback()
}

// isContact reports whether s is an email address or a URL that can be part of a header.
func isContact(s string) bool {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '(' || r == ')' }) {
		return false
	}
	if u, err := url.Parse(s); err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") {
		return true
	}
	address, err := mail.ParseAddress(s)
	return err == nil && address.Address == s
}

// userAgent returns the User-Agent of all fetches.
func userAgent(contact string) string {
	return fmt.Sprintf("colaregistry/%s (+%s)", version(), contact)
}

// requireImageStore returns an error if images are fetched and the database is PostgreSQL, but
// --image-store is not set: the default is a folder on this machine, which other servers may not be
// able to read.
func (f *collectorFlags) requireImageStore(prefix string, database storeFlags, location imageFlags) error {
	p, err := database.place()
	if err == nil && p.path == "" && f.Images != collect.None && location.ImageStore == "" {
		err = errors.New(prefix + "images with PostgreSQL requires --image-store; use the same folder or bucket for all processes")
	}
	return err
}

// warnRate warns about a rate that the site may not accept.
func (f *collectorFlags) warnRate(log *slog.Logger) {
	if f.Rate > politeRate {
		log.Warn(fmt.Sprintf("the site may block clients that send more than %d request per second", politeRate), "rate", f.Rate)
	}
}

// options returns the options for a run. The caller sets the days, the logger and the image store.
func (f *collectorFlags) options() collect.Options {
	return collect.Options{
		Site:    ttb.Options{BaseURL: f.BaseURL, UserAgent: userAgent(f.Contact)},
		Details: f.Details, Images: f.Images,
		QuietHours: f.QuietHours, Interval: time.Duration(float64(time.Second) / f.Rate), Hold: f.Hold, Backoff: f.Backoff,
	}
}
