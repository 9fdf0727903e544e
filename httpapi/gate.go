package httpapi

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
)

// gate bounds work that needs no credentials: some runs, some waits, and further work is refused at
// once.
type gate struct {
	places chan struct{} // one token per running or waiting piece of work
	slots  chan struct{} // one token per running piece of work
}

func newGate(running, waiting int) gate {
	return gate{places: make(chan struct{}, running+waiting), slots: make(chan struct{}, running)}
}

// reserve takes a place, which free returns. It reports false if all places are taken.
func (g gate) reserve() bool {
	select {
	case g.places <- struct{}{}:
		return true
	default:
		return false
	}
}

func (g gate) free() { <-g.places }

// begin waits for a slot, which end returns.
func (g gate) begin(ctx context.Context) error {
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g gate) end() { <-g.slots }

// run does work once a slot is free. It fails with CodeUnavailable if all places are taken.
func (g gate) run(ctx context.Context, work func() error) error {
	if !g.reserve() {
		return errTooManyImages()
	}
	defer g.free()
	if err := g.begin(ctx); err != nil {
		return err
	}
	defer g.end()
	return work()
}

func errTooManyImages() error {
	return &cola.Error{
		Code: cola.CodeUnavailable, Message: "Too many label images are being drawn. Try again shortly.",
		RetryAfter: cola.UnavailableRetry,
	}
}
