package clients

import (
	"embed"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/colaregistry/colaregistry/internal/mailtest"
	"github.com/colaregistry/colaregistry/internal/nodetest"
	"github.com/colaregistry/colaregistry/internal/program"
)

// online lets tests install the clients, which requires network access the first time.
var online = flag.Bool("online", false, "install and run third-party clients")

func TestMain(m *testing.M) { os.Exit(program.Main(m.Run)) }

// committed contains the scripts and pins. A file gokit/x.txt is written as x. Without the suffix,
// Go would treat it as part of this module or omit it.
//
//go:embed kit gokit
var committed embed.FS

const documentPath = "../../httpapi/openapi.json"

// bench contains the server and the parts that the clients share.
type bench struct {
	*program.Server
	page  *httptest.Server // serves the page from another origin
	hook  *httptest.Server // receives webhooks and confirmation codes
	codes chan string
	known map[string]string
	kit   *nodetest.Kit
	goDir string // the Go clients' module
	table table

	imported int    // number of labels imported by importNewLabel
	code     string // the endpoint's latest confirmation code
}

// TestClients runs every client.
func TestClients(t *testing.T) {
	if !*online {
		t.Skip("run by make clients")
	}
	b := newBench(t)
	t.Cleanup(func() { b.table.print() })
	if !t.Run("generate", b.generate) {
		t.FailNow() // the other tests need the clients
	}
	t.Run("hey-api", b.callHeyAPI)
	t.Run("ogen", b.callOgen)
	t.Run("mcp", b.callTools)
	t.Run("browser", b.browse)
	for line := range strings.Lines(b.Log()) {
		if strings.Contains(line, "code=internal_error") || strings.Contains(line, "panic") {
			t.Errorf("error in the server log: %s", line)
		}
	}
}

// newBench starts the server and installs the clients.
func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{codes: make(chan string, 10)}
	b.page = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>Another origin</title>")
	}))
	b.hook = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Data struct{ Code string } }
		if json.NewDecoder(r.Body).Decode(&message) == nil && message.Data.Code != "" {
			b.codes <- message.Data.Code
		}
	}))
	t.Cleanup(func() { b.page.Close(); b.hook.Close() })
	var err error
	files, err := fs.Sub(committed, "kit")
	if err != nil {
		t.Fatal(err)
	}
	if b.kit, err = nodetest.Install(t.Context(), nodetest.Options{Files: files, Name: "colaregistry-clients", Dir: filepath.Join(t.TempDir(), "kit")}); err != nil {
		t.Fatal(err)
	}
	b.Server = program.Start(t, program.Options{Flags: []string{
		"--allowed-origin", b.page.URL, "--webhook-allow-private",
		"--smtp", mailtest.Start(t).URL(), "--mail-from", "Label alerts <alerts@registry.example>",
	}})
	b.known = b.discover(t)
	return b
}

// newKey creates an account on the largest plan and returns its key. Each client gets a separate
// account, so that clients do not share a rate limit.
func (b *bench) newKey(name string) string {
	email := name + "@example.com"
	b.Run("account", "create", "--email", email, "--tier", "pro")
	return b.Run("key", "create", "--account", email, "--name", name)
}

// serve starts a program that prints its listen address, and returns the address.
func serve(t *testing.T, cmd *exec.Cmd) (address string) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	daemon, err := nodetest.Launch(cmd, &log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		daemon.Stop(10 * time.Second) // ignore the exit status
		if t.Failed() && log.Len() > 0 {
			t.Logf("%s:\n%s", filepath.Base(cmd.Path), nodetest.LastOf([]byte(log.String())))
		}
	})
	if _, err := fmt.Fscanln(out, &address); err != nil {
		t.Fatalf("starting %s: %v", filepath.Base(cmd.Path), err)
	}
	return address
}

// table is the summary printed at the end.
type table []row

type row struct {
	client, did string
	took        time.Duration
	failed      bool
}

// add adds a row for a client's work since started.
func (b *bench) add(t *testing.T, client, did string, started time.Time) {
	b.table = append(b.table, row{client, did, time.Since(started), t.Failed()})
}

func (rows table) print() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "\nclient\tversion\tresult\ttime\twhat it did")
	for _, r := range rows {
		result := "ok"
		if r.failed {
			result = "FAILED"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%.1fs\t%s\n", r.client, versionOf(r.client), result, r.took.Seconds(), r.did)
	}
}
