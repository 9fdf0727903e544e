package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/internal/nodetest"
	"github.com/colaregistry/colaregistry/internal/program"
)

// generate generates clients from the document and compiles them.
func (b *bench) generate(t *testing.T) {
	document, err := filepath.Abs(documentPath)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("typescript", func(t *testing.T) { b.generateTypeScript(t, document) })
	t.Run("go", func(t *testing.T) { b.generateGo(t, document) })
}

func (b *bench) generateTypeScript(t *testing.T, document string) {
	for _, run := range []struct {
		client, name, runs, did string
		args                    []string
	}{
		{
			"openapi-typescript", "openapi-typescript", "openapi-typescript",
			"generated types", []string{document, "-o", "generated/schema.ts"},
		},
		{
			"@hey-api/openapi-ts", "@hey-api/openapi-ts", "openapi-ts", "generated a client",
			[]string{"-i", document, "-o", "generated/hey", "-c", "@hey-api/client-fetch"},
		},
		{"typescript", "typescript", "tsc", "compiled both", []string{"-p", "."}},
	} {
		started := time.Now()
		script, err := b.kit.Program(run.name, run.runs)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nodetest.Succeed(b.kit.Command(t.Context(), script, run.args...)); err != nil {
			t.Errorf("%s: %v", run.client, err)
		}
		b.add(t, run.client, run.did, started)
	}
}

// generateGo creates the Go clients' module.
func (b *bench) generateGo(t *testing.T, document string) {
	b.goDir = filepath.Join(filepath.Dir(b.kit.Dir), "go")
	if err := writeModule(b.goDir); err != nil {
		t.Fatal(err)
	}
	for _, run := range []struct {
		client, did string
		args        []string
	}{
		{
			"github.com/ogen-go/ogen", "generated a client and a server",
			[]string{"tool", "ogen", "--target", "ogen", "--package", "ogen", document},
		},
		{"github.com/oapi-codegen/oapi-codegen/v2", "generated a client", []string{
			"tool", "oapi-codegen", "-generate", "models,client", "-package", "oapi", "-o", "oapi/client.go", document,
		}},
		{"go", "compiled both, and the programs that use them", []string{"build", "-o", "bin/", "./..."}},
	} {
		started := time.Now()
		if _, err := nodetest.Succeed(b.inModule(t.Context(), "go", run.args...)); err != nil {
			t.Errorf("%s: %v", run.client, err)
		}
		b.add(t, run.client, run.did, started)
	}
}

// inModule returns a command that runs in the Go clients' module.
func (b *bench) inModule(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := nodetest.Command(ctx, name, args...)
	cmd.Dir = b.goDir
	return cmd
}

// writeModule writes the committed module, with each program in a folder of the same name.
func writeModule(dir string) error {
	return fs.WalkDir(committed, "gokit", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := committed.ReadFile(name)
		if err != nil {
			return err
		}
		target := strings.TrimSuffix(filepath.Base(name), ".txt")
		if program, ok := strings.CutSuffix(target, ".go"); ok {
			target = filepath.Join(program, "main.go")
		}
		target = filepath.Join(dir, target)
		return errors.Join(os.MkdirAll(filepath.Dir(target), 0o700), os.WriteFile(target, content, 0o600))
	})
}

// report fails the test for every failed call.
func report(t testing.TB, client string, outcomes map[string]error) {
	t.Helper()
	for _, call := range slices.Sorted(maps.Keys(outcomes)) {
		if err := outcomes[call]; err != nil {
			t.Errorf("%s: %s: %.2000v", client, call, err)
		}
	}
}

// callHeyAPI calls every operation with the hey-api client, through Prism.
func (b *bench) callHeyAPI(t *testing.T) {
	started := time.Now()
	checkPrism(t, b)
	prism := b.startPrism(t, b.URL+"/api/v1")
	bridge := "http://" + serve(t, b.kit.Command(t.Context(), b.kit.Script("bridge.mjs")))
	outcomes, _ := b.walk(t, "hey-api", func(r request) response { return viaBridge(t, bridge, prism, r) })
	report(t, "hey-api", outcomes)
	b.add(t, "@hey-api/openapi-ts", fmt.Sprintf("called %d operations", len(outcomes)), started)
	b.add(t, "@stoplight/prism-cli",
		fmt.Sprintf("checked the requests and responses of %d operations", len(outcomes)), started)
}

// viaBridge makes a call with the generated TypeScript client.
func viaBridge(t *testing.T, bridge, base string, r request) (got response) {
	content, err := json.Marshal(struct {
		Base string `json:"base"`
		request
	}{base, r})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(bridge, "application/json", bytes.NewReader(content))
	if err != nil {
		return response{Error: err.Error()}
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		got.Error = err.Error()
	}
	return got
}

// startPrism starts a proxy to an API. If a request or response violates the document, the proxy
// responds with an error.
func (b *bench) startPrism(t *testing.T, upstream string) (base string) {
	t.Helper()
	script, err := b.kit.Program("@stoplight/prism-cli", "prism")
	if err != nil {
		t.Fatal(err)
	}
	document, err := filepath.Abs(documentPath)
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := strings.Cut(program.Address(t), ":")
	var log strings.Builder
	prism, err := nodetest.Launch(b.kit.Command(t.Context(), script, "proxy",
		"--errors", "--host", host, "--port", port, document, upstream), &log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { prism.Stop(10 * time.Second) }) // ignore the exit status
	for range 600 {
		if conn, err := net.Dial("tcp", net.JoinHostPort(host, port)); err == nil {
			conn.Close()
			return "http://" + net.JoinHostPort(host, port)
		}
		time.Sleep(100 * time.Millisecond)
	}
	prism.Stop(10 * time.Second)
	t.Fatalf("starting Prism:%s", nodetest.LastOf([]byte(log.String())))
	return ""
}

// checkPrism checks that Prism rejects a response that violates the document.
func checkPrism(t *testing.T, b *bench) {
	t.Helper()
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"data":{"tier":"gold"}}`)
	}))
	defer bad.Close()
	got := over(t, b.startPrism(t, bad.URL))(request{Key: "x", op: operation{method: "GET", path: "/usage"}})
	if got.problem() == nil || !strings.Contains(fmt.Sprint(got.Body), "VIOLATIONS") {
		t.Errorf("Prism accepted an invalid response: %+v", got)
	}
}

// callOgen calls every operation with the ogen client. Fixed responses (see step) must equal those
// received without the client.
func (b *bench) callOgen(t *testing.T) {
	started := time.Now()
	address := serve(t, b.inModule(t.Context(), filepath.Join(b.goDir, "bin", "ogenproxy"), b.URL+"/api/v1"))
	outcomes, through := b.walk(t, "ogen", over(t, "http://"+address+"/api/v1"))
	report(t, "ogen", outcomes)
	operations, key, direct := readOperations(t), b.newKey("direct"), over(t, b.URL+"/api/v1")
	for _, s := range steps {
		if !s.fixed {
			continue
		}
		want := direct(newRequest(operations[s.operation], s, key, b.known))
		if diff := cmp.Diff(want.Body, through[s.operation].Body); diff != "" && outcomes[s.operation] == nil {
			t.Errorf("%s: the client changes the response (-server +client):\n%s", s.operation, diff)
		}
	}
	b.add(t, "github.com/ogen-go/ogen", fmt.Sprintf("called %d operations, decoding strictly", len(outcomes)), started)
}
