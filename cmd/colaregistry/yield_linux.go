package main

import (
	"os"
	"strconv"
	"syscall"
)

// background is the nice value of work that should not hold up a server on the same machine.
const background = 10

// yieldProcessor makes the process give way to others. Linux keeps a nice value for each thread, and new threads take that
// of their maker, so every thread there is gets it. Where it is not allowed the work goes on as it was.
func yieldProcessor() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, background)
		}
	}
}
