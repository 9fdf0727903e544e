package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/colaregistry/colaregistry/internal/loadtest"
	"github.com/colaregistry/colaregistry/internal/nodetest"
)

// issuer is a real authorization server. All traffic goes through a recorder, whose URL is the
// issuer identifier.
type issuer struct {
	recorder *recorder
	process  *nodetest.Daemon
	log      *os.File
}

// startIssuer starts the token issuer for a resource and waits until it responds.
func startIssuer(ctx context.Context, k *nodetest.Kit, resource string, count *atomic.Int64) (i *issuer, err error) {
	i = &issuer{}
	if i.recorder, err = newRecorder(ctx, count); err != nil {
		return nil, err
	}
	address, err := loadtest.QuietAddress()
	if err != nil {
		return i, err
	}
	if i.log, err = os.Create(filepath.Join(k.Dir, "issuer.log")); err != nil {
		return i, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return i, err
	}
	if i.process, err = nodetest.Launch(k.Command(ctx, k.Script("issuer.mjs"), i.url(), resource, port), i.log); err != nil {
		return i, err
	}
	i.recorder.forward(address, nil)
	if err := i.process.Await(ctx, i.url()+"/.well-known/openid-configuration"); err != nil {
		return i, fmt.Errorf("start issuer: %w%s", err, i.logged())
	}
	return i, nil
}

// url returns the issuer identifier.
func (i *issuer) url() string { return i.recorder.origin() }

// logged returns the end of the log, for error messages.
func (i *issuer) logged() string {
	log, err := os.ReadFile(i.log.Name())
	if err != nil {
		return "\n" + err.Error()
	}
	return nodetest.LastOf(log)
}

// close stops the issuer.
func (i *issuer) close() error {
	var errs []error
	if i.process != nil {
		errs = append(errs, i.process.Stop(10*time.Second))
	}
	if i.log != nil {
		errs = append(errs, i.log.Close())
	}
	return errors.Join(append(errs, i.recorder.close())...)
}
