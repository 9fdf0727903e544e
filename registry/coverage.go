package registry

import (
	"context"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Coverage returns how complete and current the registry's data is. It is free.
func (s *Service) Coverage(ctx context.Context, c cola.Caller) (cola.Coverage, cola.QuotaState, error) {
	state, err := s.admitFree(ctx, c, nil)
	if err != nil {
		return cola.Coverage{}, state, err
	}
	imports, err := s.imports.last(ctx)
	if err != nil {
		return cola.Coverage{}, state, storeError(err, "read imports")
	}
	coverage := *s.index.View().Coverage(s.today())
	coverage.LastImports = imports
	return coverage, state, nil
}

const (
	// importsInterval is how long the list of latest imports, or a failure to read it, is cached.
	importsInterval = 5 * time.Second
	// importsTimeout is the time limit for reading the list.
	importsTimeout = 3 * time.Second
)

// importsCache shares the list of latest imports among callers.
type importsCache struct {
	store Store
	now   cola.Clock

	mu     sync.Mutex   // not held during a read
	latest *importsRead // nil before the first read
}

// importsRead is a read of the list of latest imports.
type importsRead struct {
	done chan struct{} // closed after the fields below are set

	at    time.Time
	found []cola.LastImport
	err   error
}

// last returns the latest import of each kind. The caller must not change the list.
func (i *importsCache) last(ctx context.Context) ([]cola.LastImport, error) {
	r := i.current(ctx)
	select {
	case <-r.done:
		return r.found, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// current returns the latest read, or starts a new one if the latest is missing or too old.
func (i *importsCache) current(ctx context.Context) *importsRead {
	i.mu.Lock()
	defer i.mu.Unlock()
	if r := i.latest; r != nil {
		select {
		case <-r.done:
			if age := i.now().Sub(r.at); age >= 0 && age < importsInterval {
				return r
			}
		default:
			return r
		}
	}
	r := &importsRead{done: make(chan struct{})}
	i.latest = r
	go i.read(context.WithoutCancel(ctx), r) // other callers also wait for the list
	return r
}

func (i *importsCache) read(ctx context.Context, r *importsRead) {
	defer close(r.done)
	r.err = withTimeout(ctx, importsTimeout, func(ctx context.Context) (err error) {
		r.found, err = i.store.LastImports(ctx)
		return err
	})
	if r.found == nil {
		r.found = []cola.LastImport{}
	}
	r.at = i.now()
}
