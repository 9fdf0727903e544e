package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/keyring"
	"github.com/colaregistry/colaregistry/internal/openapitest"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/store"
)

// TestMain lets the test binary act as the program: invoked as colaregistry, it runs main.
func TestMain(m *testing.M) {
	testscript.Main(sharing{m}, map[string]func(){"colaregistry": main})
}

// sharing runs the tests with one lazily started PostgreSQL server and one lazily created embedded
// database with demo labels.
type sharing struct{ m *testing.M }

func (s sharing) Run() int {
	defer func() { os.RemoveAll(loadedInFile.place) }()
	runMoreInParallel()
	return pgtest.Main(s.m)
}

// runMoreInParallel raises -parallel unless it is set, because most of these tests wait for
// processes.
func runMoreInParallel() {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if !set {
		flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
	}
}

// TestScripts runs the scripts with each kind of database. A line that begins with [sqlite] or
// [postgres] runs only with that kind.
func TestScripts(t *testing.T) {
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Dir: "testdata/script", RequireExplicitExec: true,
				Condition: func(name string) (bool, error) { return name == kind, nil },
				Setup:     func(e *testscript.Env) error { return setDatabases(t, e, kind) },
			})
		})
	}
}

// setDatabases sets the database of a script's commands, its name for copying (SOURCE), and the
// name of a second database (OTHER).
func setDatabases(t *testing.T, e *testscript.Env, kind string) (err error) {
	source, other := "sqlite:data/registry.db", "sqlite:another/registry.db"
	if kind == "postgres" {
		server := pgtest.Shared(t)
		if source, err = server.CreateDatabase(t.Context()); err != nil {
			return err
		}
		if other, err = server.CreateDatabase(t.Context()); err != nil {
			return err
		}
		e.Setenv("COLAREGISTRY_DATABASE_URL", source)
		keyFile := filepath.Join(t.TempDir(), "secret.key")
		if err := keyring.Create(keyFile); err != nil {
			return err
		}
		e.Setenv("COLAREGISTRY_SECRET_KEY_FILE", keyFile)
	}
	e.Setenv("SOURCE", source)
	e.Setenv("OTHER", other)
	return nil
}

// output collects the output of a process.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// command returns a command that runs the program in a separate process.
func command(args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	c := exec.Command(self)
	c.Args = append([]string{"colaregistry"}, args...)
	return c
}

// mustRun runs the program to completion and returns its standard output.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	c := command(args...)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("colaregistry %s: %v\n%s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return string(out)
}

// serverProcess is a server under test.
type serverProcess struct {
	cmd      *exec.Cmd
	base     string // URL including /api/v1
	key      string // printed on the first start, or the registry's
	out, err output
	done     chan error
}

var (
	printedBase = regexp.MustCompile(`(http://\S+)/api/v1`)
	printedKey  = regexp.MustCompile(`API key\s+(lar_\w+)`)
)

// startServer starts serve and waits until it responds.
func startServer(t *testing.T, h testRegistry, args ...string) *serverProcess {
	t.Helper()
	s := launch(t, h, args...)
	s.await(t)
	return s
}

// launch starts serve without waiting for it to respond.
func launch(t *testing.T, h testRegistry, args ...string) *serverProcess {
	t.Helper()
	s := &serverProcess{key: h.key, done: make(chan error, 1)}
	s.cmd = command(slices.Concat([]string{"serve", "--listen", "127.0.0.1:0"}, h.flags(), h.keyFlags(t), args)...)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.err
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.done <- s.cmd.Wait() }()
	t.Cleanup(func() { s.kill() })
	return s
}

// await waits until the server responds.
func (s *serverProcess) await(t *testing.T) {
	t.Helper()
	for range 3600 { // three minutes, because loading the demo data can be slow on a busy machine
		if m := printedBase.FindStringSubmatch(s.out.String()); m != nil && strings.HasSuffix(s.out.String(), "\n") {
			s.base = m[0]
			if k := printedKey.FindStringSubmatch(s.out.String()); k != nil {
				s.key = k[1]
			}
			return
		}
		select {
		case err := <-s.done:
			t.Fatalf("serve exited: %v\n%s%s", err, s.out.String(), s.err.String())
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatalf("serve did not start\n%s%s", s.out.String(), s.err.String())
}

func (s *serverProcess) kill() {
	if s.cmd.ProcessState == nil {
		s.cmd.Process.Kill()
		<-s.done
		s.done <- nil
	}
}

// stop asks the server to shut down and checks that it exits cleanly.
func (s *serverProcess) stop(t *testing.T) {
	t.Helper()
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-s.done:
		if err != nil {
			t.Fatalf("serve: %v\n%s", err, s.err.String())
		}
		s.done <- nil
	case <-time.After(time.Minute):
		t.Fatalf("serve did not exit\n%s", s.err.String())
	}
}

// answer is a response with its body read and, when it is JSON, decoded.
type answer struct {
	*http.Response
	body []byte
	json map[string]any
}

// get calls the API and checks the response against the OpenAPI document.
func (s *serverProcess) get(t *testing.T, path, key string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("X-API-Key", key)
	}
	return do(t, req)
}

func do(t *testing.T, req *http.Request) answer {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	description(t).Validate(t, req, resp)
	return readAnswer(t, resp)
}

// readAnswer reads a response.
func readAnswer(t *testing.T, resp *http.Response) answer {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{Response: resp, body: body}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(a.body, &a.json); err != nil {
			t.Fatalf("%s: %v in %s", resp.Request.URL, err, a.body)
		}
	}
	return a
}

// description returns the committed OpenAPI document.
func description(t *testing.T) *openapitest.Spec {
	return openapitest.Load(t, "../../httpapi/openapi.json")
}

// at returns the value at a path of keys in the JSON body.
func (a answer) at(keys ...string) any {
	var v any = a.json
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}

// ids returns the ttb_id of every label in the response data.
func (a answer) ids() []string {
	var ids []string
	rows, _ := a.at("data").([]any)
	for _, r := range rows {
		ids = append(ids, r.(map[string]any)["ttb_id"].(string))
	}
	return ids
}

// mustAccount creates an account with a key.
func mustAccount(t *testing.T, st store.Store, email string, tier cola.Tier) (store.Account, auth.Secret, store.Key) {
	t.Helper()
	a, err := st.CreateAccount(t.Context(), email, tier)
	if err != nil {
		t.Fatal(err)
	}
	secret := auth.NewSecret()
	key := secret.Key()
	key.AccountID, key.Name = a.ID, "test"
	if key, err = st.CreateKey(t.Context(), key, secret.Hash(), 0); err != nil {
		t.Fatal(err)
	}
	return a, secret, key
}

// sharedData returns the path of a file in the optional data directory, or skips the test.
func sharedData(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("COLAREGISTRY_SHARED_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no real data: %v", err)
	}
	return path
}
