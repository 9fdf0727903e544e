package pgtest

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// endWithUs makes the kernel shut a program down, as in a crash, when this process ends, however it does. The program is in
// a process group of its own, so an interrupt from the keyboard does not take the server from under a test that has yet to
// end.
func endWithUs(attr *syscall.SysProcAttr) {
	attr.Pdeathsig = syscall.SIGQUIT
	attr.Setpgid = true
}

// processInfo is what there is to know of a process.
type processInfo struct {
	parent int
	state  byte // as in ps: T stopped, Z ended
}

// processes returns all processes by id.
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
			continue // it has ended
		}
		// The name, in parentheses, may hold anything; the state and the parent follow.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 2 {
			return nil, fmt.Errorf("process %d has the status %q", pid, stat)
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, fmt.Errorf("process %d has the status %q", pid, stat)
		}
		all[pid] = processInfo{parent: parent, state: fields[0][0]}
	}
	return all, nil
}

// reservation is a port that nobody else is given: a socket is bound to it that does not listen. The server may bind to it as
// well, since both allow addresses to be reused, and connections are refused while it does not. So the port is the server's
// also before it starts and while it is stopped.
type reservation struct {
	number int
	socket int
}

// reservePort reserves a free port of the loopback interface.
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
		return fmt.Errorf("a socket of IPv4 has the address %v", address)
	}
	r.number = inet.Port
	return nil
}

// release lets others have the port.
func (r *reservation) release() error { return os.NewSyscallError("close", syscall.Close(r.socket)) }
