package main

import (
	"math"
	"testing"
	"time"
)

const second = time.Second

// TestOneClient checks that a request without contention takes the sum of its costs.
func TestOneClient(t *testing.T) {
	c := measured()
	p := predict(c, deployment{processes: 1, processCores: 1, databases: 1, databaseCores: 1, clients: 1}, second)
	want := c.request + c.batch + c.charge + c.databaseBatch + c.databaseCharge + 2*c.roundTrip + c.commit
	if p.p50 != want || p.p99 != want || p.batch != 1 {
		t.Errorf("predict = %+v, want p50 and p99 %v with 1 charge per batch", p, want)
	}
	if rate := 1 / want.Seconds(); math.Abs(p.rate/rate-1) > 0.01 {
		t.Errorf("rate = %v, want %v", p.rate, rate)
	}
}

// TestBottleneck checks that the scarcest resource limits the rate: adding more of it raises the
// rate, and adding more of another resource does not.
func TestBottleneck(t *testing.T) {
	c := costs{request: 100 * time.Microsecond, charge: time.Microsecond, databaseCharge: 5 * time.Microsecond}
	small := deployment{processes: 1, processCores: 2, databases: 1, databaseCores: 4, clients: 500}
	base := predict(c, small, second)
	if limit := 2 / 101e-6; math.Abs(base.rate/limit-1) > 0.15 || base.processBusy < 0.85 {
		t.Errorf("predict = %+v, want %v requests/s with busy processes", base, limit)
	}
	larger := small
	larger.databases = 2
	if p := predict(c, larger, second); p.rate > base.rate*1.15 {
		t.Errorf("rate with two databases = %v, want %v: processes are the limit", p.rate, base.rate)
	}
	larger = small
	larger.processes = 2
	if p := predict(c, larger, second); p.rate < base.rate*1.7 {
		t.Errorf("rate with two processes = %v, want about twice %v", p.rate, base.rate)
	}
}

// TestDatabaseBottleneck checks that accounts spread over two databases are served twice as fast
// when the database is the limit.
func TestDatabaseBottleneck(t *testing.T) {
	c := costs{request: time.Microsecond, databaseCharge: 100 * time.Microsecond}
	d := deployment{processes: 4, processCores: 4, databases: 1, databaseCores: 1, clients: 500}
	one := predict(c, d, second)
	d.databases = 2
	two := predict(c, d, second)
	if one.databaseBusy < 0.95 || math.Abs(two.rate/one.rate-2) > 0.1 {
		t.Errorf("rates = %v, %v; want the second to be twice the first", one, two)
	}
}

// TestBatches checks that batches grow with the load, up to the limit.
func TestBatches(t *testing.T) {
	c := costs{commit: 10 * time.Millisecond}
	d := deployment{processes: 1, processCores: 1, databases: 1, databaseCores: 1}
	for _, tt := range []struct {
		clients  int
		min, max float64
	}{{1, 1, 1}, {100, 40, 100}, {2 * maxBatch, maxBatch / 2, maxBatch}} {
		d.clients = tt.clients
		if p := predict(c, d, second); p.batch < tt.min || p.batch > tt.max {
			t.Errorf("%d clients: %v charges per batch, want %v to %v", tt.clients, p.batch, tt.min, tt.max)
		}
	}
}
