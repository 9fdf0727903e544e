package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

const (
	// pingWithin is how long the database may take to answer before it counts as unavailable.
	pingWithin = 2 * time.Second
	// pingEvery limits how often readiness probes reach the database: anybody may ask /readyz.
	pingEvery = 100 * time.Millisecond
)

// Drain fails readiness, so that load balancers send no more traffic. The service goes on answering.
func (s *Service) Drain() { s.draining.Store(true) }

// Ready returns nil if requests should be sent here: the index is built, the database answers and commits, and the process
// is not shutting down. The database is asked at most ten times a second, however many callers ask.
func (s *Service) Ready(ctx context.Context) error {
	if s.draining.Load() {
		return errors.New("shutting down")
	}
	if err := s.built(); err != nil {
		return err
	}
	if err := s.pings.ping(ctx); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	if !s.ledger.Up() {
		return errors.New("database: it answers, and does not commit")
	}
	return nil
}

// pings shares the result of one ping of the database among callers.
type pings struct {
	store Store
	now   cola.Clock

	mu   sync.Mutex
	at   time.Time // when the result was obtained; zero before the first ping
	last error
}

func (p *pings) ping(ctx context.Context) error {
	p.mu.Lock() // at most for pingWithin
	defer p.mu.Unlock()
	if age := p.now().Sub(p.at); !p.at.IsZero() && age >= 0 && age < pingEvery {
		return p.last
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingWithin) // others wait for the result, too
	defer cancel()
	p.last = p.store.Ping(ctx)
	p.at = p.now()
	return p.last
}
