package auth

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

const (
	refreshAfter = 15 * time.Minute // older documents are fetched again, and used in the meantime
	keepFor      = 24 * time.Hour   // older documents are not used
	// askEvery is the least time between two fetches, so that tokens that name made-up keys cause no
	// flood of requests. askEveryWithout applies while there is no document, and nobody can sign in.
	askEvery        = 30 * time.Second
	askEveryWithout = 5 * time.Second
)

// published caches something that an issuer publishes: its keys or its endpoints. It is fetched when
// it is used, by one request for all callers that wait. While the issuer does not answer, the document
// stays in use. published is safe for concurrent use.
type published[T any] struct {
	name   string // for the log
	issuer string
	fetch  func(context.Context) (T, error)
	now    cola.Clock
	log    *slog.Logger

	mu      sync.Mutex
	latest  *edition[T]  // nil before the first
	tried   time.Time    // start of the last fetch
	failing bool         // the last fetch failed
	running *fetching[T] // nil if no fetch is running
}

// edition is a document as it was at one time. It never changes.
type edition[T any] struct {
	value T
	at    time.Time
}

// fetching is a running fetch.
type fetching[T any] struct {
	at      time.Time     // when it began
	done    chan struct{} // closed when the other fields are set
	edition *edition[T]
	err     error
}

// errAskedLately means that the issuer was asked too recently to be asked again.
var errAskedLately = errors.New("the issuer was asked a moment ago")

// get returns the document. It waits only if there is none to use.
func (p *published[T]) get(ctx context.Context) (*edition[T], error) {
	p.mu.Lock()
	e := p.current()
	if e != nil && p.now().Sub(e.at) < refreshAfter {
		p.mu.Unlock()
		return e, nil
	}
	f := p.ask()
	p.mu.Unlock()
	if e != nil {
		return e, nil
	}
	return f.wait(ctx)
}

// newer returns an edition that was fetched after another one, or the same if the issuer was asked too
// recently.
func (p *published[T]) newer(ctx context.Context, than *edition[T]) (*edition[T], error) {
	p.mu.Lock()
	e, failing := p.current(), p.failing
	if e != nil && e != than {
		p.mu.Unlock()
		return e, nil
	}
	f := p.ask()
	p.mu.Unlock()
	if f == nil && !failing {
		return than, nil
	}
	return f.wait(ctx)
}

// refresh fetches the document now.
func (p *published[T]) refresh(ctx context.Context) (*edition[T], error) {
	p.mu.Lock()
	f := p.start()
	p.mu.Unlock()
	return f.wait(ctx)
}

// retryAfter returns when the issuer may be asked again.
func (p *published[T]) retryAfter() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.pause()-p.now().Sub(p.tried), time.Second)
}

// wait returns the result of a fetch; a nil fetch is one that must not be started yet.
func (f *fetching[T]) wait(ctx context.Context) (*edition[T], error) {
	if f == nil {
		return nil, errAskedLately
	}
	select {
	case <-f.done:
		return f.edition, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// current returns the edition that may be used, or nil. The caller holds the lock, as for all that
// follow.
func (p *published[T]) current() *edition[T] {
	if p.latest == nil || p.now().Sub(p.latest.at) >= keepFor {
		return nil
	}
	return p.latest
}

func (p *published[T]) pause() time.Duration {
	if p.current() == nil {
		return askEveryWithout
	}
	return askEvery
}

// ask returns the running fetch, or starts one unless the last one was too recent: then it returns nil.
func (p *published[T]) ask() *fetching[T] {
	if p.running == nil && !p.tried.IsZero() && p.now().Sub(p.tried) < p.pause() {
		return nil
	}
	return p.start()
}

// start returns the running fetch, or starts one. It continues after its callers have left, for
// askWithin at most.
func (p *published[T]) start() *fetching[T] {
	if p.running != nil {
		return p.running
	}
	f := &fetching[T]{done: make(chan struct{}), at: p.now()}
	p.running, p.tried = f, f.at
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), askWithin)
		defer cancel()
		value, err := p.fetch(ctx)
		p.finish(f, value, err)
	}()
	return f
}

func (p *published[T]) finish(f *fetching[T], value T, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(f.done)
	if f.err = err; err == nil {
		f.edition = &edition[T]{value, f.at}
		p.latest = f.edition
	} else {
		p.tried = p.now() // the pause begins after a slow failure
	}
	switch {
	case err != nil:
		p.log.Warn("could not fetch the "+p.name+" of an issuer", "issuer", p.issuer, "error", err, "known", p.current() != nil)
	case p.failing:
		p.log.Info("fetched the "+p.name+" of an issuer again", "issuer", p.issuer)
	}
	p.failing, p.running = err != nil, nil
}
