//go:build unix

package keyring

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner sets the owner and group of a file to those of the original.
func keepOwner(file *os.File, original fs.FileInfo) error {
	want, ok := original.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if has, ok := info.Sys().(*syscall.Stat_t); ok && has.Uid == want.Uid && has.Gid == want.Gid {
		return nil
	}
	if err := file.Chown(int(want.Uid), int(want.Gid)); err != nil {
		return fmt.Errorf("can't preserve the file's owner (user %d, group %d); run the command as that user or as root: %w",
			want.Uid, want.Gid, err)
	}
	return nil
}
