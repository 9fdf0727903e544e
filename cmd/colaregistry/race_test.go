//go:build race

package main

import (
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// TestConcurrent runs tests in which a process does several things at once. make race runs only
// this test in the package, because starting a process takes seconds with the race detector.
func TestConcurrent(t *testing.T) {
	for _, test := range []func(*testing.T){
		TestAdminCloseDuringProfile, TestConcurrentTicks, TestGracefulShutdown, TestServeEnrich, TestServeFetchStops,
		TestSharedLedger,
	} {
		name := runtime.FuncForPC(reflect.ValueOf(test).Pointer()).Name()
		t.Run(strings.TrimPrefix(name[strings.LastIndex(name, ".")+1:], "Test"), test)
	}
}
