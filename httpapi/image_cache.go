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
	"github.com/colaregistry/colaregistry/registry"
)

const (
	maxQueuedDrawings   = 64       // images waiting to be drawn
	drawingCacheBytes   = 64 << 20 // bytes of cached drawings
	maxImageReads       = 4        // concurrent database lookups of images
	imageReadRate       = 200      // database lookups per second
	maxQueuedImageReads = 256      // image requests waiting for a lookup
	maxKnownImages      = 16 << 10
	knownTTL            = time.Minute

	maxFileReads       = 16       // stored files read or resized concurrently
	maxQueuedFileReads = 256      // requests waiting for a stored file
	fileCacheBytes     = 64 << 20 // bytes of cached files
	largeImage         = 2 << 20  // bytes; at most maxLargeImages are sent at a time, because clients may read slowly
	maxLargeImages     = 8
	maxImageWidth      = 20_000
)

// defaultMaxDrawings returns a limit that leaves one processor for metered requests.
func defaultMaxDrawings() int { return max(1, runtime.NumCPU()-1) }

// imageCache draws or reads images at a bounded cost, because image requests need no credentials. A
// key identifies the content of an image: concurrent requests with the same key share one drawing,
// which is then cached. Here, "drawing" includes reading a stored file.
type imageCache struct {
	queue workQueue

	mu      sync.Mutex
	pending map[string]*pendingImage
	cache   *byteCache
}

// pendingImage is an image that is being drawn or waiting to be drawn. The fields after done are
// set before done is closed.
type pendingImage struct {
	waiting int // number of waiting requests; like started, guarded by imageCache.mu
	started bool
	cancel  context.CancelFunc
	done    chan struct{}
	content []byte
	err     error
}

func newImageCache(running, waiting, cacheBytes int) *imageCache {
	return &imageCache{
		queue:   newWorkQueue(running, waiting),
		pending: map[string]*pendingImage{},
		cache:   newByteCache(cacheBytes),
	}
}

// cached returns the cached drawing for a key, if any.
func (d *imageCache) cached(key string) ([]byte, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cache.get(key)
}

// get returns the drawing for a key, calling draw if it is not cached. It fails with
// CodeUnavailable if the queue is full. A queued drawing is dropped when the last request for it is
// canceled.
func (d *imageCache) get(ctx context.Context, key string, draw func() ([]byte, error)) ([]byte, error) {
	d.mu.Lock()
	if content, ok := d.cache.get(key); ok {
		d.mu.Unlock()
		return content, nil
	}
	one := d.pending[key]
	if one == nil {
		if !d.queue.enter() {
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

// start draws in the background. Canceling the first request does not stop it, because others may
// be waiting for the same drawing.
func (d *imageCache) start(ctx context.Context, key string, draw func() ([]byte, error)) *pendingImage {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	one := &pendingImage{cancel: cancel, done: make(chan struct{})}
	d.pending[key] = one
	go func() {
		defer cancel()
		defer d.queue.leave()
		if d.queue.acquire(ctx) != nil {
			return // removed by leave: no request is waiting
		}
		defer d.queue.release()
		if d.begin(one) {
			d.finish(key, one, draw)
		}
	}()
	return one
}

// begin reports whether a request is still waiting for the drawing. If so, it marks the drawing as
// started, after which it can't be canceled.
func (d *imageCache) begin(one *pendingImage) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	one.started = one.waiting > 0
	return one.started
}

func (d *imageCache) finish(key string, one *pendingImage, draw func() ([]byte, error)) {
	one.content, one.err = drawRecovered(draw)
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.pending, key)
	if one.err == nil {
		d.cache.add(key, one.content)
	}
	close(one.done)
}

// drawRecovered calls draw and turns a panic into an error, because web.Recover covers only the
// goroutines of requests.
func drawRecovered(draw func() ([]byte, error)) (content []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("label image: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return draw()
}

// leave removes a request that is no longer waiting.
func (d *imageCache) leave(key string, one *pendingImage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one.waiting--
	if one.waiting == 0 && !one.started {
		delete(d.pending, key)
		one.cancel()
	}
}

// byteCache is an LRU cache bounded by bytes. It is not safe for concurrent use.
type byteCache struct {
	maxBytes, bytes int
	lru             *simplelru.LRU[string, []byte]
}

// entryOverhead is added to the size of every entry, so that the number of tiny entries is bounded.
const entryOverhead = 512

func newByteCache(maxBytes int) *byteCache {
	k := &byteCache{maxBytes: maxBytes}
	forget := func(_ string, content []byte) { k.bytes -= len(content) + entryOverhead }
	lru, err := simplelru.NewLRU(max(1, maxBytes/entryOverhead), forget)
	if err != nil {
		panic(err) // unreachable: the size is positive
	}
	k.lru = lru
	return k
}

func (k *byteCache) get(key string) ([]byte, bool) { return k.lru.Get(key) }

// add caches a value under a new key, unless the value is larger than the cache.
func (k *byteCache) add(key string, content []byte) {
	size := len(content) + entryOverhead
	if size > k.maxBytes {
		return
	}
	for k.bytes+size > k.maxBytes {
		k.lru.RemoveOldest()
	}
	k.bytes += size
	k.lru.Add(key, content)
}

// knownImages caches the metadata of recently requested images, so they can be served without a
// database read. It is safe for concurrent use.
type knownImages struct {
	mu  sync.Mutex
	lru *simplelru.LRU[string, knownImage]
}

// knownImage is the cached metadata of an image: a stored file, a drawing, or an image that is
// missing.
type knownImage struct {
	file    *registry.ImageFile
	tag     string
	format  labelart.Format
	missing error     // why there is no image
	read    time.Time // time of the database read
}

func newKnownImages() *knownImages {
	lru, err := simplelru.NewLRU[string, knownImage](maxKnownImages, nil)
	if err != nil {
		panic(err) // unreachable: the size is positive
	}
	return &knownImages{lru: lru}
}

// get returns the cached metadata of an image, or the zero value. recent is true if the database
// was read within knownTTL.
func (k *knownImages) get(key string) (known knownImage, recent bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, ok := k.lru.Get(key)
	return known, ok && time.Since(known.read) < knownTTL
}

// add caches the metadata of an image that was just read from the database.
func (k *knownImages) add(key string, known knownImage) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known.read = time.Now()
	k.lru.Add(key, known)
}

// workQueue bounds unauthenticated work: a limited number of tasks run, a limited number wait, and
// the rest are rejected immediately.
type workQueue struct {
	places chan struct{} // one token per running or waiting task
	slots  chan struct{} // one token per running task
}

func newWorkQueue(running, waiting int) workQueue {
	return workQueue{places: make(chan struct{}, running+waiting), slots: make(chan struct{}, running)}
}

// enter takes a place in the queue, which leave frees. It returns false if the queue is full.
func (g workQueue) enter() bool {
	select {
	case g.places <- struct{}{}:
		return true
	default:
		return false
	}
}

func (g workQueue) leave() { <-g.places }

// acquire waits for a slot and takes it. release frees it.
func (g workQueue) acquire(ctx context.Context) error {
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g workQueue) release() { <-g.slots }

// run calls work once a slot is free. It fails with CodeUnavailable if the queue is full.
func (g workQueue) run(ctx context.Context, work func() error) error {
	if !g.enter() {
		return errTooManyImages()
	}
	defer g.leave()
	if err := g.acquire(ctx); err != nil {
		return err
	}
	defer g.release()
	return work()
}

func errTooManyImages() error {
	return &cola.Error{
		Code: cola.CodeUnavailable, Message: "Too many label images are being requested. Try again shortly.",
		RetryAfter: cola.UnavailableRetry,
	}
}
