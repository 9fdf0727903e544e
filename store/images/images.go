// Package images stores the files of label images in a folder or an S3 bucket.
//
// A file is named by the SHA-256 of its content, so it never changes, and images with the same
// content share it. It is written atomically, and checked whenever it is read. Next to it are its
// renditions: smaller copies, and copies of images in formats that browsers don't show. They are
// created on first use and can be deleted at any time.
//
//	ab/cd/abcd…ef         the file as fetched
//	ab/cd/abcd…ef-1-320   its rendition with a width of 320 pixels, by version 1 of this code
//	ab/cd/abcd…ef-1-full  its full-size rendition
//	ab/cd/abcd…ef.damaged a file that was found to be damaged
//
// The database records which file belongs to an image (see store.ImageFiles).
package images

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	_ "gocloud.dev/blob/s3blob" // opens s3:// URLs
	"gocloud.dev/gcerrors"
	"golang.org/x/sync/semaphore"

	"github.com/colaregistry/colaregistry/store"
)

// Options configures a Store. All fields are optional.
type Options struct {
	Logger     *slog.Logger
	MaxRenders int // concurrent renderings; default: one less than the number of processors, at least one
}

// Store is an open folder or bucket. It is safe for concurrent use, including by several processes.
type Store struct {
	bucket  *blob.Bucket
	folder  string // empty for an S3 bucket
	log     *slog.Logger
	renders *semaphore.Weighted // one unit per running rendering
	memory  *semaphore.Weighted // bytes of memory used by running renderings
}

// Open opens a folder, which it creates if it doesn't exist, or an s3://BUCKET URL. The URL accepts
// the parameters of gocloud.dev/blob/s3blob, such as region and endpoint, and prefix. Credentials
// come from the environment, as in other programs that use S3.
func Open(ctx context.Context, location string, o Options) (*Store, error) {
	bucket, err := openBucket(ctx, location)
	if err != nil {
		return nil, fmt.Errorf("open image store: %w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxRenders <= 0 {
		o.MaxRenders = max(1, runtime.NumCPU()-1)
	}
	folder := location
	if isURL(location) {
		folder = ""
	}
	return &Store{
		bucket: bucket, folder: folder, log: o.Logger,
		renders: semaphore.NewWeighted(int64(o.MaxRenders)), memory: semaphore.NewWeighted(maxMemory),
	}, nil
}

// CheckLocation returns an error if a location is malformed. It doesn't open the location.
func CheckLocation(location string) error {
	scheme, rest, isURL := strings.Cut(location, "://")
	switch {
	case location == "":
		return errors.New("the location of label images is empty")
	case !isURL:
		return nil
	case scheme != "s3":
		return fmt.Errorf("%q is neither a folder nor an s3:// URL", location)
	case rest == "" || strings.ContainsAny(rest[:1], "/?"):
		return fmt.Errorf("%q has no bucket name", location)
	}
	return nil
}

func openBucket(ctx context.Context, location string) (*blob.Bucket, error) {
	if err := CheckLocation(location); err != nil {
		return nil, err
	}
	if isURL(location) {
		return blob.OpenBucket(ctx, location)
	}
	// Temporary files are created next to the final ones, because a rename is atomic only within a
	// file system.
	return fileblob.OpenBucket(location, &fileblob.Options{
		CreateDir: true, DirFileMode: 0o700, NoTempDir: true, Metadata: fileblob.MetadataDontWrite,
	})
}

func isURL(location string) bool { return strings.Contains(location, "://") }

// Close closes the store.
func (s *Store) Close() error { return s.bucket.Close() }

// Put stores an image file, unless it is already stored, and returns its description. It replaces a
// damaged file. It fails with a FormatError if the content is not an image within the limits.
func (s *Store) Put(ctx context.Context, content []byte) (store.ImageContent, error) {
	c, err := describe(content)
	if err != nil {
		return store.ImageContent{}, err
	}
	switch _, err := s.original(ctx, c); {
	case err == nil:
		return c, nil
	case !errors.As(err, new(*DamagedError)):
		return store.ImageContent{}, err
	}
	return c, s.write(ctx, key(c), content, durable)
}

// checkName is the file that CheckWritable writes.
const checkName = "write-check"

// CheckWritable fails if files can't be written or read, for example because the bucket doesn't
// exist or the folder is read-only. It leaves its file in place, because it may not be allowed to
// delete files.
func (s *Store) CheckWritable(ctx context.Context) error {
	content := []byte("colaregistry writes this file to check that it can store label images.\n")
	if err := s.write(ctx, checkName, content, recreated); err != nil {
		return err
	}
	_, err := s.read(ctx, checkName, len(content))
	return err
}

// Check fails with a DamagedError unless a file is intact.
func (s *Store) Check(ctx context.Context, c store.ImageContent) error {
	_, err := s.original(ctx, c)
	return err
}

// DamagedError means that a file is missing, or that its content has changed since it was stored.
// Put repairs it.
type DamagedError struct {
	Key     string
	Missing bool
}

// Error names the file.
func (e *DamagedError) Error() string {
	if e.Missing {
		return "image file " + e.Key + " is missing"
	}
	return "image file " + e.Key + " is damaged"
}

// original returns the file as fetched. It fails with a DamagedError unless the file is intact.
func (s *Store) original(ctx context.Context, c store.ImageContent) ([]byte, error) {
	name := key(c)
	content, err := s.read(ctx, name, c.Bytes)
	switch {
	case gcerrors.Code(err) == gcerrors.NotFound:
		return nil, &DamagedError{name, true}
	case err != nil:
		return nil, err
	case sha256.Sum256(content) != c.Hash:
		return nil, &DamagedError{name, false}
	}
	return content, nil
}

// served is like original, for a file that is about to be served. It renames a damaged file, so
// that Names omits it and fetch replaces it. A file keeps its name if it can't be read, because
// it may be intact, or if it turns out to be intact when it is read again.
func (s *Store) served(ctx context.Context, c store.ImageContent) ([]byte, error) {
	content, err := s.original(ctx, c)
	if damaged := (*DamagedError)(nil); !errors.As(err, &damaged) || damaged.Missing {
		return content, err
	}
	if content, err = s.original(ctx, c); err == nil {
		return content, nil
	}
	if damaged := (*DamagedError)(nil); errors.As(err, &damaged) && !damaged.Missing {
		return nil, errors.Join(err, s.renameDamaged(ctx, damaged.Key, damaged.Key+".damaged"))
	}
	return nil, err
}

// renameDamaged copies a file and deletes the original, because buckets can't rename.
func (s *Store) renameDamaged(ctx context.Context, from, to string) error {
	err := s.bucket.Copy(ctx, to, from, nil)
	if err == nil {
		err = s.bucket.Delete(ctx, from)
	}
	if err != nil {
		return fmt.Errorf("rename image file %s: %w", from, err)
	}
	s.log.Warn("renamed a damaged image file; to fetch it again, run: colaregistry fetch ttb --images all", "file", from, "to", to)
	return nil
}

// key returns the name of the file as fetched.
func key(c store.ImageContent) string {
	name := hex.EncodeToString(c.Hash[:])
	return name[:2] + "/" + name[2:4] + "/" + name
}

// read returns the content of a file. It reads at most one byte beyond the expected size, so that
// it doesn't load a huge file in place of an image.
func (s *Store) read(ctx context.Context, name string, size int) (content []byte, err error) {
	r, err := s.bucket.NewReader(ctx, name, nil)
	if err != nil {
		return nil, fmt.Errorf("read image file: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var b bytes.Buffer
	b.Grow(min(int(r.Size()), size) + bytes.MinRead)
	if _, err := b.ReadFrom(io.LimitReader(r, int64(size)+1)); err != nil {
		return nil, fmt.Errorf("read image file %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// durability says whether a file must survive a machine crash.
type durability bool

const (
	durable   durability = true
	recreated durability = false // can be created again
)

// write writes a file atomically.
func (s *Store) write(ctx context.Context, name string, content []byte, d durability) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var file *os.File // the temporary file in a folder; nil in a bucket
	w, err := s.bucket.NewWriter(ctx, name, &blob.WriterOptions{
		ContentType: "application/octet-stream", // otherwise the driver detects it from the content
		BeforeWrite: func(as func(any) bool) error { as(&file); return nil },
	})
	if err != nil {
		return fmt.Errorf("write image file: %w", err)
	}
	_, err = w.Write(content)
	if err == nil && file != nil && d == durable {
		err = file.Sync()
	}
	if err != nil {
		cancel() // otherwise Close would complete the file
		w.Close()
		return fmt.Errorf("write image file %s: %w", name, err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write image file %s: %w", name, err)
	}
	if file == nil || d == recreated {
		return nil
	}
	return syncFolders(filepath.Dir(file.Name()))
}

// syncFolders makes a new name in a folder durable, along with the names of the folder and its
// parent, which may also be new.
func syncFolders(dir string) error {
	for range 3 {
		f, err := os.Open(dir)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("write image file: sync %s: %w", dir, err)
		}
		dir = filepath.Dir(dir)
	}
	return nil
}
