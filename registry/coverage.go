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
	// importsInterval is how old the list of last imports may be.
	importsInterval = 5 * time.Second
	// importsTimeout limits how long it is read.
	importsTimeout = 3 * time.Second
)

// importsCache shares the list of last imports among callers.
type importsCache struct {
	store Store
	now   cola.Clock

	mu    sync.Mutex
	at    time.Time // when the list was read; zero before
	found []cola.LastImport
}

// last returns the latest import of each kind. The caller must not change the list.
func (i *importsCache) last(ctx context.Context) ([]cola.LastImport, error) {
	i.mu.Lock() // held for at most importsTimeout
	defer i.mu.Unlock()
	if age := i.now().Sub(i.at); !i.at.IsZero() && age >= 0 && age < importsInterval {
		return i.found, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), importsTimeout) // others also wait for the list
	defer cancel()
	found, err := i.store.LastImports(ctx)
	if err != nil {
		return nil, err
	}
	if found == nil {
		found = []cola.LastImport{}
	}
	i.found, i.at = found, i.now()
	return found, nil
}
