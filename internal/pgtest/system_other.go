//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

var errSystem = fmt.Errorf("disposable servers require Unix: %w", errors.ErrUnsupported)

type identity struct{}

func ordinaryUser(int) (*identity, error) { return nil, errSystem }

func (*identity) own(string) error      { return errSystem }
func (*identity) canReach(string) error { return errSystem }

func attributes(*identity) *syscall.SysProcAttr { return nil }

func tryLock(*os.File) (bool, error) { return false, errSystem }

func (s *Server) kill(context.Context, *process) error { return errSystem }
