//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package filelock

import (
	"errors"
	"os"
)

const canLockFiles = false

func lockFile(*os.File, bool) (bool, error) { return false, errors.ErrUnsupported }

func unlockFile(*os.File) error { return errors.ErrUnsupported }
