package images

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
)

// Names is a list of the files in a store at one point in time, without renditions. It takes eight
// bytes of memory per file: the start of its SHA-256. Among six million files, the probability that
// any two share these bytes is one in a million.
type Names struct{ sorted []uint64 }

// Has reports whether the store had a file with the given SHA-256.
func (n *Names) Has(hash [32]byte) bool {
	_, found := slices.BinarySearch(n.sorted, binary.BigEndian.Uint64(hash[:]))
	return found
}

// Len returns the number of files.
func (n *Names) Len() int { return len(n.sorted) }

// add adds a file by its name, unless it is a rendition or some other kind of file.
func (n *Names) add(name string) {
	if len(name) != 64 {
		return
	}
	if hash, err := hex.DecodeString(name); err == nil {
		n.sorted = append(n.sorted, binary.BigEndian.Uint64(hash))
	}
}

// Names lists the files, but doesn't read them, so it includes damaged files until Read finds them.
// It fails if any part of the store can't be listed, because the files there would appear missing.
func (s *Store) Names(ctx context.Context) (*Names, error) {
	n := &Names{}
	list := s.listBucket
	if s.folder != "" {
		list = s.listFolder
	}
	if err := list(ctx, n); err != nil {
		return nil, fmt.Errorf("list image files: %w", err)
	}
	slices.Sort(n.sorted)
	return n, nil
}

func (s *Store) listBucket(ctx context.Context, n *Names) error {
	for list := s.bucket.List(nil); ; {
		file, err := list.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		n.add(path.Base(file.Key))
	}
}

// listFolder walks the folder itself, because the driver would read the whole folder again for
// every thousand files.
func (s *Store) listFolder(ctx context.Context, n *Names) error {
	return filepath.WalkDir(s.folder, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			n.add(entry.Name())
		}
		return errors.Join(err, ctx.Err())
	})
}
