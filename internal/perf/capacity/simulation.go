package main

import (
	"math/rand/v2"
	"slices"
	"time"
)

// maxBatch is the largest number of charges in a batch, as in package quota.
const maxBatch = 4096

// costs are the measured costs of a charged request. CPU times are for one core.
type costs struct {
	client  time.Duration // CPU time of the client, if it shares the machine
	request time.Duration // CPU time of the process, without the ledger
	batch   time.Duration // CPU time of the process per batch of charges
	charge  time.Duration // additional CPU time of the process per charge in a batch

	databaseBatch  time.Duration // CPU time of the database per batch
	databaseCharge time.Duration // additional CPU time of the database per charge

	roundTrip time.Duration // round-trip time between process and database; a batch takes two
	commit    time.Duration // until the commit is on disk and on any synchronous standby
}

// deployment is a system to simulate.
type deployment struct {
	processes, processCores  int  // cores per process
	databases, databaseCores int  // cores per database; accounts are spread evenly
	oneMachine               bool // clients, processes and databases share processCores
	clients                  int  // each sends its next request after a response
}

// prediction is the result of a simulation.
type prediction struct {
	rate         float64 // requests per second
	p50, p99     time.Duration
	batch        float64 // charges per batch
	processBusy  float64 // share of the processes' cores in use
	databaseBusy float64 // share of the databases' cores in use
}

// simulation is a discrete-event simulation of charged requests. Every process has a ledger worker
// for each database, which commits all waiting charges in one batch, then starts the next.
// Batches don't wait for each other's locks, so predictions hold only if there are many more
// accounts than requests in progress.
type simulation struct {
	clock
	costs
	callers   *cores // nil if the clients have their own machines
	frontends []frontend
	stores    []*cores
	random    *rand.Rand

	latencies []time.Duration
	batches   int
}

// frontend is a server process.
type frontend struct {
	cores   *cores
	workers []*worker // one for each database
}

// worker is a process's ledger worker for one database.
type worker struct {
	cores   *cores // cores of the process
	store   *cores // cores of the database
	waiting []func()
	busy    bool
}

// predict simulates a deployment for the given duration, after a warm-up that lasts a tenth as
// long.
func predict(c costs, d deployment, duration time.Duration) prediction {
	s := newSimulation(c, d)
	for range d.clients {
		s.send()
	}
	s.runUntil(duration / 10)
	s.latencies, s.batches = nil, 0
	for _, c := range slices.Concat(s.processCores(), s.stores) {
		c.used = 0
	}
	s.runUntil(duration/10 + duration)
	slices.Sort(s.latencies)
	n := len(s.latencies)
	return prediction{
		rate:         float64(n) / duration.Seconds(),
		p50:          s.latencies[n/2],
		p99:          s.latencies[n*99/100],
		batch:        float64(n) / float64(s.batches),
		processBusy:  utilization(s.processCores(), duration),
		databaseBusy: utilization(s.stores, duration),
	}
}

func newSimulation(c costs, d deployment) *simulation {
	s := &simulation{costs: c, random: rand.New(rand.NewPCG(1, 2))}
	machine := func(n int) *cores { return &cores{clock: &s.clock, total: n, free: n} }
	if d.oneMachine {
		shared := machine(d.processCores)
		s.callers = shared
		machine = func(int) *cores { return shared }
	}
	for range d.databases {
		s.stores = append(s.stores, machine(d.databaseCores))
	}
	for range d.processes {
		f := frontend{cores: machine(d.processCores)}
		for _, store := range s.stores {
			f.workers = append(f.workers, &worker{cores: f.cores, store: store})
		}
		s.frontends = append(s.frontends, f)
	}
	return s
}

func (s *simulation) processCores() (list []*cores) {
	for _, f := range s.frontends {
		list = append(list, f.cores)
	}
	return list
}

// send starts a client's next request, to a random process, for an account in a random database.
func (s *simulation) send() {
	if s.callers == nil {
		s.process()
		return
	}
	s.callers.use(s.client, s.process)
}

func (s *simulation) process() {
	started := s.now
	f := s.frontends[s.random.IntN(len(s.frontends))]
	w := f.workers[s.random.IntN(len(f.workers))]
	f.cores.use(s.request, func() {
		w.waiting = append(w.waiting, func() {
			s.latencies = append(s.latencies, s.now-started)
			s.send()
		})
		s.commitNext(w)
	})
}

// commitNext commits a worker's waiting charges in one batch, unless the worker is busy.
func (s *simulation) commitNext(w *worker) {
	n := min(len(w.waiting), maxBatch)
	if w.busy || n == 0 {
		return
	}
	w.busy = true
	batch := slices.Clone(w.waiting[:n])
	w.waiting = slices.Delete(w.waiting, 0, n)
	charges := time.Duration(n)
	w.cores.use(s.batch+charges*s.charge, func() {
		s.after(s.roundTrip, func() {
			w.store.use(s.databaseBatch+charges*s.databaseCharge, func() {
				s.after(s.roundTrip+s.costs.commit, func() {
					s.batches++
					w.busy = false
					for _, done := range batch {
						done()
					}
					s.commitNext(w)
				})
			})
		})
	})
}
