package pgtest

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// killWithParent makes the kernel end a program, as in a crash, when this process ends for any
// reason. The program gets its own process group, so that Ctrl-C doesn't stop the server while a
// test is still cleaning up.
func killWithParent(attr *syscall.SysProcAttr) {
	attr.Pdeathsig = syscall.SIGQUIT
	attr.Setpgid = true
}

// processInfo describes a process.
type processInfo struct {
	parent int
	state  byte // as in ps: T stopped, Z zombie
}

// processes returns all processes, keyed by process ID.
func processes() (map[int]processInfo, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	all := map[int]processInfo{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue // it has exited
		}
		// The name, in parentheses, may contain any character; the state and the parent follow it.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 2 {
			return nil, fmt.Errorf("process %d: unexpected status %q", pid, stat)
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, fmt.Errorf("process %d: unexpected status %q", pid, stat)
		}
		all[pid] = processInfo{parent: parent, state: fields[0][0]}
	}
	return all, nil
}

// reservation is a port reserved by a socket that is bound to it but does not listen. The server
// can bind to the port too, because both sockets set SO_REUSEADDR. Connections are refused while
// the server is not listening. The port thus belongs to the server before it starts and while it is
// stopped.
type reservation struct {
	number int
	socket int
}

// reservePort reserves a free port on the loopback interface.
func reservePort() (*reservation, error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	r := &reservation{socket: socket}
	if err := r.bind(); err != nil {
		return nil, errors.Join(err, r.release())
	}
	return r, nil
}

func (r *reservation) bind() error {
	if err := syscall.SetsockoptInt(r.socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(r.socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return os.NewSyscallError("bind", err)
	}
	address, err := syscall.Getsockname(r.socket)
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	inet, ok := address.(*syscall.SockaddrInet4)
	if !ok {
		return fmt.Errorf("unexpected socket address %v", address)
	}
	r.number = inet.Port
	return nil
}

// release frees the port.
func (r *reservation) release() error { return os.NewSyscallError("close", syscall.Close(r.socket)) }
