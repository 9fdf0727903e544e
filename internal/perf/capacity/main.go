// Command capacity predicts how many charged requests a deployment on PostgreSQL can serve. It
// simulates processes, ledger workers and databases with the CPU times that the command httpbench
// measures. docs/SCALING.md explains the results.
package main

import (
	"flag"
	"fmt"
	"time"
)

// measured returns the costs derived from the output of httpbench on PostgreSQL; see
// docs/SCALING.md.
func measured() costs {
	return costs{
		client:         19 * time.Microsecond,
		request:        50 * time.Microsecond,
		batch:          396 * time.Microsecond,
		charge:         16 * time.Microsecond,
		databaseBatch:  338 * time.Microsecond,
		databaseCharge: 22 * time.Microsecond,
		roundTrip:      50 * time.Microsecond,
		commit:         100 * time.Microsecond,
	}
}

func main() {
	c := measured()
	var d deployment
	flag.IntVar(&d.processes, "processes", 1, "number of server processes")
	flag.IntVar(&d.processCores, "process-cores", 4, "cores of each process")
	flag.IntVar(&d.databases, "databases", 1, "number of databases that the accounts are spread over")
	flag.IntVar(&d.databaseCores, "database-cores", 8, "cores of each database")
	flag.BoolVar(&d.oneMachine, "one-machine", false, "clients, processes and databases all share the cores that a single process would have")
	flag.IntVar(&d.clients, "clients", 256, "number of concurrent clients")
	flag.DurationVar(&c.request, "request", c.request, "CPU time of a process per request, without the ledger")
	flag.DurationVar(&c.roundTrip, "round-trip", c.roundTrip, "round-trip time between process and database")
	flag.DurationVar(&c.commit, "commit", c.commit, "time until a commit is on disk and on a synchronous standby")
	duration := flag.Duration("duration", 5*time.Second, "simulated time")
	flag.Parse()
	p := predict(c, d, *duration)
	fmt.Printf("%.0f requests/s, p50 %.2f ms, p99 %.2f ms, %.1f charges per batch, processes %.0f%% busy, databases %.0f%% busy\n",
		p.rate, p.p50.Seconds()*1000, p.p99.Seconds()*1000, p.batch, 100*p.processBusy, 100*p.databaseBusy)
}
