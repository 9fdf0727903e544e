package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/internal/loadtest"
	"github.com/colaregistry/colaregistry/internal/pgtest"
)

// longOutage slightly exceeds the time for which a batch is retried, so it leaves batches in doubt.
const longOutage = 6 * time.Second

var withAdmin = []string{"--admin-listen", "127.0.0.1:0"}

// TestDatabaseStoppedUnderLoad stops and restarts PostgreSQL, once with a crash and once with a
// clean shutdown.
func TestDatabaseStoppedUnderLoad(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t)
	h := seededOn(t, pg)
	s := startServer(t, h, withAdmin...)
	key := newOtherAccount(t, mustOpen(t, h))
	s.awaitReady(t, key)
	loadRun := startLoad(t, h, s)
	for _, outage := range []struct {
		mode     pgtest.Mode
		duration time.Duration
	}{{pgtest.Immediate, longOutage}, {pgtest.Fast, 0}} {
		loadRun.awaitMore(t, http.StatusOK, 30)
		mustDo(t, pg.Stop(t.Context(), outage.mode))
		s.awaitDown(t, key)
		time.Sleep(outage.duration)
		mustDo(t, pg.Restart(t.Context()))
		s.awaitReady(t, key)
		loadRun.awaitMore(t, http.StatusOK, 10)
	}
	if tally := loadRun.requireExact(t, false); tally.Unavailable == 0 {
		t.Error("no request was rejected during the outage")
	}
}

// TestConnectionsCutUnderLoad repeatedly cuts every connection during an import. The import may
// fail but can be rerun. The server then shows every imported label, including those it missed
// while disconnected.
func TestConnectionsCutUnderLoad(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t)
	h := seededOn(t, pg)
	s := startServer(t, h, withAdmin...)
	key := newOtherAccount(t, mustOpen(t, h))
	s.awaitReady(t, key)
	loadRun := startLoad(t, h, s)
	file, labels := moreLabels(t)
	const cuts = 6
	failures := 0
	for range cuts {
		loadRun.awaitMore(t, http.StatusOK, 20)
		if cutDuringImport(t, pg, h, file) {
			failures++
		}
	}
	t.Logf("%d of %d imports were cut off", failures, cuts)
	if got := lastLine(h.run(t, "import", "colas", file)); !strings.HasPrefix(got, fmt.Sprintf("read=%d ", len(labels))) || !strings.HasSuffix(got, " rejected=0") {
		t.Errorf("last import printed %q, want all labels read and no rejected rows", got)
	}
	if got, want := lastLine(h.run(t, "import", "colas", file)), fmt.Sprintf("read=%d added=0 changed=0 unchanged=%[1]d rejected=0", len(labels)); got != want {
		t.Errorf("repeated import printed %q, want %q", got, want)
	}
	await(t, "the server shows every label", func() bool {
		return scrape(t, s.admin(t))["colaregistry_index_labels"] == float64(loadTestLabels+len(labels))
	})
	for _, id := range []string{labels[0], labels[len(labels)-1]} {
		if found := s.get(t, "/colas?q="+id, key).ids(); len(found) != 1 || found[0] != id {
			t.Errorf("search for imported label %s found %v", id, found)
		}
	}
	loadRun.requireExact(t, false)
}

// cutDuringImport cuts every connection while a file is being imported and reports whether the
// import failed. A failure must be an error, not a panic.
func cutDuringImport(t *testing.T, pg *pgtest.Server, h testRegistry, file string) (failed bool) {
	t.Helper()
	importing := command(append([]string{"import", "colas", file}, h.flags()...)...)
	var out output
	importing.Stdout, importing.Stderr = &out, &out
	if err := importing.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // let the import start
	if err := pg.CutConnections(t.Context()); err != nil {
		t.Error(err)
	}
	err := importing.Wait()
	if err == nil {
		return false
	}
	if text := out.String(); importing.ProcessState.ExitCode() != 1 || !strings.Contains(text, "colaregistry: ") ||
		strings.Contains(text, "panic") {
		t.Errorf("interrupted import: %v, want exit code 1 and no panic:\n%s", err, text)
	}
	return true
}

// moreLabels writes a file of labels that the load-tested registry does not have. It also returns
// their IDs.
func moreLabels(t *testing.T) (file string, ids []string) {
	t.Helper()
	existing := map[cola.TTBID]bool{}
	for c := range demo.Labels(loadTestData()) {
		existing[c.TTBID] = true
	}
	o := loadTestData()
	o.Colas, o.Seed = 5*loadTestLabels, demoSeed+1
	var all, more bytes.Buffer
	mustDo(t, demo.WriteColas(&all, o))
	for c := range demo.Labels(o) { // one per line
		line, err := all.ReadBytes('\n')
		mustDo(t, err)
		if !existing[c.TTBID] {
			more.Write(line)
			ids = append(ids, c.TTBID.String())
		}
	}
	file = filepath.Join(t.TempDir(), "more.jsonl")
	mustDo(t, os.WriteFile(file, more.Bytes(), 0o600))
	return file, ids
}

// TestPrimaryLostUnderLoad loses a primary with synchronous commits at a bad moment. The standby is
// down, so some unacknowledged commits exist only on the primary, and connections are cut, so the
// servers look up those commits. Then the standby takes over without them. Two server processes
// configured with both hosts must fail over automatically.
func TestPrimaryLostUnderLoad(t *testing.T) {
	t.Parallel()
	primary := startPostgres(t)
	h := seededOn(t, primary)
	standby := mustSynchronousStandby(t, primary)
	h.DatabaseURL = bothHosts(t, h.DatabaseURL, standby)
	servers := []*serverProcess{startServer(t, h, withAdmin...), startServer(t, h.onOtherMachine(t), withAdmin...)}
	key := newOtherAccount(t, mustOpen(t, h))
	loadRun := startLoad(t, h, servers...)
	loadRun.awaitMore(t, http.StatusOK, 50)

	mustLeaveWaiting(t, primary, standby)
	time.Sleep(longOutage)
	mustDo(t, standby.Restart(t.Context()))
	for _, s := range servers {
		s.awaitReady(t, key)
	}
	loadRun.awaitMore(t, http.StatusOK, 50)

	mustLeaveWaiting(t, primary, standby)
	mustDo(t, primary.Stop(t.Context(), pgtest.Kill))
	for _, s := range servers {
		s.awaitDown(t, key)
	}
	mustDo(t, standby.Restart(t.Context()))
	mustDo(t, standby.Promote(t.Context()))
	for _, s := range servers {
		s.awaitReady(t, key)
	}
	loadRun.awaitMore(t, http.StatusOK, 20)
	if tally := loadRun.requireExact(t, false); tally.Unavailable == 0 {
		t.Error("no request was rejected during the outage")
	}
	requireShown(t, h, servers, key)
}

// mustSynchronousStandby gives a server a synchronous standby.
func mustSynchronousStandby(t *testing.T, primary *pgtest.Server) *pgtest.Server {
	t.Helper()
	standby, err := primary.StartStandby(t.Context(), pgtest.Options{Durable: true})
	mustDo(t, err)
	t.Cleanup(func() { standby.Close() })
	mustDo(t, primary.SetSynchronous(t.Context(), "ANY 1 ("+standby.Name()+")"))
	return standby
}

// mustLeaveWaiting stops the standby and cuts the connections whose commits wait for it. The
// clients retry and wait again.
func mustLeaveWaiting(t *testing.T, primary, standby *pgtest.Server) {
	t.Helper()
	mustDo(t, standby.Stop(t.Context(), pgtest.Immediate))
	// Give commits time to start waiting and, after the cut, to be retried.
	time.Sleep(500 * time.Millisecond)
	mustDo(t, primary.CutConnections(t.Context()))
	time.Sleep(time.Second)
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// requireShown imports a label and waits until every server shows it.
func requireShown(t *testing.T, h testRegistry, servers []*serverProcess, key string) {
	t.Helper()
	const all = "/colas?per_page=1&approval_date_from=2005-01-01"
	before, _ := servers[0].get(t, all, key).at("pagination", "total").(float64)
	h.run(t, "import", "colas", mustWriteLabel(t))
	for _, s := range servers {
		await(t, "an imported label is shown",
			func() bool { return s.get(t, all, key).at("pagination", "total") == before+1 })
	}
}

// bothHosts returns a database URL that lists the primary and the standby.
func bothHosts(t *testing.T, database string, standby *pgtest.Server) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	u.Host += "," + standby.Addr()
	u.RawQuery += "&target_session_attrs=read-write"
	return u.String()
}

// mustWriteLabel writes a file with one new label.
func mustWriteLabel(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "new.jsonl")
	label := `{"ttb_id":"99001001000001","brand_name":"AFTERWARD","product_type":"wine","permit_number":"CA-W-99001","application_status":"approved","approval_date":"2024-05-06"}`
	if err := os.WriteFile(file, []byte(label+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRollingRestart replaces three processes one after another under load. No request is rejected
// and no charge is lost.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	h := withDemoData(t)
	var servers []*serverProcess
	var registries []testRegistry
	flags := func(address string) []string {
		return append([]string{"--listen", address, "--drain-delay", "1s"}, withAdmin...)
	}
	for range 3 {
		address, err := loadtest.QuietAddress()
		if err != nil {
			t.Fatal(err)
		}
		registries = append(registries, h.onOtherMachine(t))
		servers = append(servers, startServer(t, registries[len(registries)-1], flags(address)...))
	}
	key := newOtherAccount(t, mustOpen(t, h))
	for _, s := range servers {
		s.awaitReady(t, key)
	}
	loadRun := startLoad(t, h, servers...)
	var endings []loadtest.Ending
	for i, s := range servers {
		loadRun.awaitMore(t, http.StatusOK, 20)
		e := loadtest.Ending{Process: i, At: time.Now()}
		s.stop(t)
		e.Gone = time.Now()
		endings = append(endings, e)
		servers[i] = startServer(t, registries[i], flags(strings.TrimPrefix(s.root(), "http://"))...)
		servers[i].awaitReady(t, key)
	}
	loadRun.awaitMore(t, http.StatusOK, 20)
	loadRun.requireExact(t, true, endings...)
}

// TestSharedRateLimit checks that one account gets exactly its rate limit across three
// processes, and that revoking its key takes effect on all of them at once.
func TestSharedRateLimit(t *testing.T) {
	t.Parallel()
	h := withDemoData(t)
	servers := []*serverProcess{
		startServer(t, h), startServer(t, h.onOtherMachine(t)), startServer(t, h.onOtherMachine(t)),
	}
	st := mustOpen(t, h)
	account, secret, _ := mustAccount(t, st, "three@example.com", cola.TierStarter)
	limit := cola.TierStarter.Limits().PerMinute
	c, client := &tally{}, newClient()
	var wg sync.WaitGroup
	for i := range 3 * limit {
		wg.Go(func() { c.call(client, servers[i%3].base, secret.Reveal(), 1) })
	}
	wg.Wait()
	if c.requests != limit || c.rejected != 2*limit || len(c.errs) > 0 {
		t.Errorf("%d of %d requests granted, %d rejected, failures %v; want %d and %d",
			c.requests, 3*limit, c.rejected, c.errs, limit, 2*limit)
	}
	if rows, requests := charged(t, st, account); rows != limit || requests != limit {
		t.Errorf("charged %d records in %d requests, want %d of each", rows, requests, limit)
	}

	_, secret, key := mustAccount(t, st, "revoked@example.com", cola.TierPro)
	for _, s := range servers {
		if status := s.get(t, "/usage", secret.Reveal()).StatusCode; status != http.StatusOK {
			t.Errorf("before the key is revoked: status %d, want 200", status)
		}
	}
	h.run(t, "key", "revoke", fmt.Sprint(key.ID))
	for _, s := range servers {
		for _, path := range []string{"/colas?per_page=1", "/usage", "/no/such/path"} {
			if status := s.get(t, path, secret.Reveal()).StatusCode; status != http.StatusUnauthorized {
				t.Errorf("%s after the key was revoked: %d, want 401", path, status)
			}
		}
	}
}

// TestConcurrentMigration starts three processes concurrently on an empty database, and checks that
// exactly one of them migrates it.
func TestConcurrentMigration(t *testing.T) {
	t.Parallel()
	h := onPostgres(t)
	var servers []*serverProcess
	for range 3 {
		servers = append(servers, launch(t, h.onOtherMachine(t)))
	}
	migrated := 0
	for _, s := range servers {
		s.await(t)
		migrated += strings.Count(s.err.String(), "database schema migrated")
	}
	if migrated != 1 {
		t.Errorf("%d migrations in the log, want 1", migrated)
	}
	_, secret, _ := mustAccount(t, mustOpen(t, h), "empty@example.com", cola.TierFree)
	for _, s := range servers {
		s.awaitReady(t, secret.Reveal())
		s.stop(t)
	}
}
