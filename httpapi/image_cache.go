package httpapi

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/labelart"
)

const (
	waitingDrawings = 64       // images waiting to be drawn
	keptDrawings    = 64 << 20 // bytes of cached drawings
	readingImages   = 4        // concurrent reads of label records for images
	imageReadRate   = 200      // such reads a second
	waitingReads    = 256      // image requests waiting for such a read
	keptTags        = 16 << 10 // pictures whose tag is kept
	recentTag       = time.Minute
)

// defaultDrawings leaves one processor for metered requests.
func defaultDrawings() int { return max(1, runtime.NumCPU()-1) }

// drawings draws images at a bounded cost, since images need no credentials. A drawing has a key that
// identifies its content: concurrent requests share one drawing, which is then cached.
type drawings struct {
	gate gate

	mu      sync.Mutex
	pending map[string]*drawing
	kept    *keptBytes
}

// drawing is an image being drawn, or waiting for it. Fields below done are set before done is
// closed.
type drawing struct {
	waiting int // number of waiting requests; guarded by drawings.mu
	begun   bool
	cancel  context.CancelFunc
	done    chan struct{}
	content []byte
	err     error
}

func newDrawings(running, waiting, keep int) *drawings {
	return &drawings{gate: newGate(running, waiting), pending: map[string]*drawing{}, kept: newKeptBytes(keep)}
}

// find returns the drawing of a key if it is kept.
func (d *drawings) find(key string) ([]byte, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kept.get(key)
}

// get returns the drawing of a key, calling draw if it is not cached. It fails with CodeUnavailable
// if too many others wait. A drawing leaves the queue when its last request is canceled.
func (d *drawings) get(ctx context.Context, key string, draw func() ([]byte, error)) ([]byte, error) {
	d.mu.Lock()
	if content, ok := d.kept.get(key); ok {
		d.mu.Unlock()
		return content, nil
	}
	one := d.pending[key]
	if one == nil {
		if !d.gate.reserve() {
			d.mu.Unlock()
			return nil, errTooManyImages()
		}
		one = d.start(ctx, key, draw)
	}
	one.waiting++
	d.mu.Unlock()
	select {
	case <-one.done:
		return one.content, one.err
	case <-ctx.Done():
		d.leave(key, one)
		return nil, ctx.Err()
	}
}

// start draws in the background. The drawing outlives the first request, since others may wait for
// it.
func (d *drawings) start(ctx context.Context, key string, draw func() ([]byte, error)) *drawing {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	one := &drawing{cancel: cancel, done: make(chan struct{})}
	d.pending[key] = one
	go func() {
		defer cancel()
		defer d.gate.free()
		if d.gate.begin(ctx) != nil {
			return // removed by leave: no request waits
		}
		defer d.gate.end()
		if d.begin(one) {
			d.finish(key, one, draw)
		}
	}()
	return one
}

// begin reports whether a request still waits for the drawing. If so, drawing it can't be canceled.
func (d *drawings) begin(one *drawing) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	one.begun = one.waiting > 0
	return one.begun
}

func (d *drawings) finish(key string, one *drawing, draw func() ([]byte, error)) {
	one.content, one.err = recovered(draw)
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.pending, key)
	if one.err == nil {
		d.kept.add(key, one.content)
	}
	close(one.done)
}

// recovered turns a panic into an error. Drawings run outside request goroutines, which web.Recover
// covers.
func recovered(draw func() ([]byte, error)) (content []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("draw label image: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return draw()
}

// leave removes a request that no longer waits.
func (d *drawings) leave(key string, one *drawing) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one.waiting--
	if one.waiting == 0 && !one.begun {
		delete(d.pending, key)
		one.cancel()
	}
}

// keptBytes is an LRU cache bounded by bytes. It is not safe for concurrent use.
type keptBytes struct {
	most, held int
	lru        *simplelru.LRU[string, []byte]
}

// keptOverhead is added to the size of every entry, so that the number of tiny entries is bounded.
const keptOverhead = 512

func newKeptBytes(most int) *keptBytes {
	k := &keptBytes{most: most}
	forget := func(_ string, content []byte) { k.held -= len(content) + keptOverhead }
	lru, err := simplelru.NewLRU(max(1, most/keptOverhead), forget)
	if err != nil {
		panic(err) // its size is at least 1
	}
	k.lru = lru
	return k
}

func (k *keptBytes) get(key string) ([]byte, bool) { return k.lru.Get(key) }

// add caches a value under a new key, unless the value is larger than the cache.
func (k *keptBytes) add(key string, content []byte) {
	size := len(content) + keptOverhead
	if size > k.most {
		return
	}
	for k.held+size > k.most {
		k.lru.RemoveOldest()
	}
	k.held += size
	k.lru.Add(key, content)
}

// pictureTags remembers the tags of the pictures asked for last, so that a kept drawing is found without reading its record.
// It is safe for concurrent use.
type pictureTags struct {
	mu  sync.Mutex
	lru *simplelru.LRU[string, taggedPicture]
}

type taggedPicture struct {
	tag    string
	format labelart.Format
	read   time.Time // when the record was read
}

func newPictureTags() *pictureTags {
	lru, err := simplelru.NewLRU[string, taggedPicture](keptTags, nil)
	if err != nil {
		panic(err) // its size is at least 1
	}
	return &pictureTags{lru: lru}
}

// get returns the latest tag of a picture; zero if it is unknown. recent is true if the record was read within recentTag.
func (p *pictureTags) get(picture string) (known taggedPicture, recent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.lru.Get(picture)
	return known, ok && time.Since(known.read) < recentTag
}

func (p *pictureTags) add(picture, tag string, format labelart.Format) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lru.Add(picture, taggedPicture{tag, format, time.Now()})
}

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
