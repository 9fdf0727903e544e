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
	// pingWithin is the time limit for the database's answer.
	pingWithin = 2 * time.Second
	// pingEvery limits how often readiness probes reach the database, since /readyz is public.
	pingEvery = 100 * time.Millisecond
)

// Drain fails readiness, so that load balancers send no more traffic. The service continues to answer.
func (s *Service) Drain() { s.draining.Store(true) }

// Ready returns nil if requests should be sent here: the index is built, the database answers and commits, and the process
// is not shutting down. It pings the database at most ten times a second, regardless of the number of callers.
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
		return errors.New("database: answers but does not commit")
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
	p.mu.Lock() // held for at most pingWithin
	defer p.mu.Unlock()
	if age := p.now().Sub(p.at); !p.at.IsZero() && age >= 0 && age < pingEvery {
		return p.last
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingWithin) // others also wait for the result
	defer cancel()
	p.last = p.store.Ping(ctx)
	p.at = p.now()
	return p.last
}
