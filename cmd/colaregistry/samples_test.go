package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/httpapi"
)

// mustTool returns the path of a program that "make tools" installs. If the program doesn't work,
// the test fails in CI and is skipped elsewhere.
func mustTool(t *testing.T, name string, check ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		err = exec.Command(path, check...).Run()
	}
	if err != nil && os.Getenv("CI") != "" {
		t.Fatalf("%s: %v; run make tools", name, err)
	} else if err != nil {
		t.Skipf("%s: %v; run make tools", name, err)
	}
	return path
}

func mustPython(t *testing.T) string { return mustTool(t, "python3", "-c", "import requests") }
func mustNode(t *testing.T) string   { return mustTool(t, "node", "--version") }
func mustGo(t *testing.T) string     { return mustTool(t, "go", "version") }

// tryFiles runs a program in a new folder with the given files and returns its output.
func tryFiles(t *testing.T, files map[string]string, env []string, program string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), env...)
	for name, content := range files {
		name = filepath.Join(cmd.Dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// codeSample is a code sample in the reference.
type codeSample struct{ operation, source string }

// forEachReferencePage calls visit with each parsed page of the API reference and the tool
// reference.
func forEachReferencePage(t *testing.T, s *serverProcess, visit func(page *html.Node)) {
	t.Helper()
	seen := map[string]bool{}
	_, overview := fetch(t, s.root()+"/docs/reference")
	for _, link := range regexp.MustCompile(`<a href="(/docs/(?:reference|tools)/[a-z-]+)">`).FindAllStringSubmatch(overview, -1) {
		if seen[link[1]] {
			continue // the page contains the menu twice
		}
		seen[link[1]] = true
		_, page := fetch(t, s.root()+link[1])
		root, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		visit(root)
	}
}

// referenceSamples returns the code samples in the reference, by language.
func referenceSamples(t *testing.T, s *serverProcess) map[string][]codeSample {
	t.Helper()
	samples := map[string][]codeSample{}
	forEachReferencePage(t, s, func(page *html.Node) {
		for n := range page.Descendants() {
			if language := attribute(n, "data-language"); language != "" {
				samples[language] = append(samples[language], newCodeSample(n))
			}
		}
	})
	return samples
}

// TestReferenceAnswers checks that the printed responses to calls that read public records match
// the server's.
func TestReferenceAnswers(t *testing.T) {
	t.Parallel()
	h := seeded(t)
	s, checked := startServer(t, h), 0
	check := func(op *html.Node, got []byte) {
		var want, body map[string]any
		for n := range op.Descendants() {
			if attribute(n, "class") == "code example" && want == nil && !isIn(n, "form") {
				if err := json.Unmarshal([]byte(textOf(n)), &want); err != nil {
					t.Errorf("%s: %v", attribute(op, "id"), err)
				}
			}
		}
		if err := json.Unmarshal(got, &body); err != nil {
			t.Errorf("%s: %v: %s", attribute(op, "id"), err, got)
		}
		for _, m := range []map[string]any{want, body} {
			delete(m, "charged") // depends on the account
			delete(m, "notes")   // mention a local address
		}
		if diff := cmp.Diff(body, want); diff != "" {
			t.Errorf("%s (-server +page):\n%s", attribute(op, "id"), diff)
		}
		checked++
	}
	forEachReferencePage(t, s, func(page *html.Node) {
		for op := range page.Descendants() {
			if attribute(op, "class") != "operation" || strings.Contains(attribute(op, "id"), "saved_search") {
				continue
			}
			for n := range op.Descendants() {
				switch {
				case attribute(n, "class") == "request":
					if target := strings.TrimPrefix(textOf(n), "GET /api/v1"); publicRecords.MatchString(target) {
						check(op, s.get(t, target, h.key).body)
					}
				case attribute(n, "data-language") == "Arguments" && attribute(op, "id") != "get_usage":
					got := s.callTool(t, h.key, newCodeSample(n).source)
					check(op, got)
				}
			}
		}
	})
	if checked < 29 {
		t.Errorf("checked %d calls, want all that read public records", checked)
	}
}

// publicRecords matches calls with the same response for all accounts.
var publicRecords = regexp.MustCompile(`^/(colas|barcode|brands|permittees|suggest|coverage|processing-times|production-reports|avas)\b`)

// isIn reports whether an element has an ancestor with the given name.
func isIn(n *html.Node, name string) bool {
	for a := range n.Ancestors() {
		if a.Data == name {
			return true
		}
	}
	return false
}

// textOf returns the text in an element.
func textOf(n *html.Node) (text string) {
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			text += d.Data
		}
	}
	return text
}

// callTool sends a tools/call with the given parameters, and returns the structured content.
func (s *serverProcess) callTool(t *testing.T, key, params string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.root()+"/mcp/chatgpt",
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"X-API-Key": key, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
	} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct {
		Result struct{ StructuredContent json.RawMessage }
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	return got.Result.StructuredContent
}

// newCodeSample reads a sample from the element that shows it.
func newCodeSample(shown *html.Node) codeSample {
	c := codeSample{operation: strings.TrimSuffix(attribute(shown, "name"), "-sample")}
	for n := range shown.Descendants() {
		if n.Data == "pre" {
			c.source += textOf(n)
		}
	}
	return c
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// sampleRunners run samples in one process, which prints a line "## NUMBER" before each sample and
// stops at the first failure.
var sampleRunners = map[string]func(t *testing.T, samples []codeSample, env []string) (string, error){
	"curl": func(t *testing.T, samples []codeSample, env []string) (string, error) {
		script := "set -eu\n"
		for i, s := range samples {
			script += fmt.Sprintf("echo; echo '## %d'; %s\n", i, strings.Replace(s.source, "curl ", "curl -sS --fail-with-body ", 1))
		}
		shell := mustTool(t, "bash", "-c", "curl --version")
		return tryFiles(t, map[string]string{"samples.sh": script}, env, shell, "samples.sh")
	},
	"Python": func(t *testing.T, samples []codeSample, env []string) (string, error) {
		files := numbered(samples, ".py")
		files["run"] = "for i in range(" + strconv.Itoa(len(samples)) + "):\n" +
			"    print(f'\\n## {i}', flush=True)\n    exec(compile(open(f'{i}.py').read(), f'{i}.py', 'exec'), {})\n"
		return tryFiles(t, files, env, mustPython(t), "run")
	},
	"JavaScript": func(t *testing.T, samples []codeSample, env []string) (string, error) {
		files := numbered(samples, ".mjs")
		files["run.mjs"] = "for (let i = 0; i < " + strconv.Itoa(len(samples)) + "; i++) {\n" +
			"  console.log(`\\n## ${i}`);\n  await import(`./${i}.mjs`);\n}\n"
		return tryFiles(t, files, env, mustNode(t), "run.mjs")
	},
	// The samples become packages of a single program, because linking is slow.
	"Go": func(t *testing.T, samples []codeSample, env []string) (string, error) {
		files := map[string]string{"go.mod": "module samples\n\ngo 1.24\n"}
		imports, calls := "", ""
		for i, s := range samples {
			source := strings.Replace(s.source, "package main\n", fmt.Sprintf("package s%d\n", i), 1)
			files[fmt.Sprintf("s%d/main.go", i)] = strings.Replace(source, "\nfunc main() {", "\nfunc Main() {", 1)
			imports += fmt.Sprintf("\t\"samples/s%d\"\n", i)
			calls += fmt.Sprintf("\tfmt.Println(\"\\n## %d\")\n\ts%d.Main()\n", i, i)
		}
		files["main.go"] = "package main\n\nimport (\n\t\"fmt\"\n" + imports + ")\n\nfunc main() {\n" + calls + "}\n"
		return tryFiles(t, files, env, mustGo(t), "run", ".")
	},
}

// numbered returns the samples as numbered files.
func numbered(samples []codeSample, extension string) map[string]string {
	files := map[string]string{}
	for i, s := range samples {
		files[strconv.Itoa(i)+extension] = s.source
	}
	return files
}

// TestReferenceSamples runs all samples on the reference pages, with placeholders replaced as a
// reader would. All must succeed. With an invalid key, the first and the last must fail.
func TestReferenceSamples(t *testing.T) {
	t.Parallel()
	h := demoFile(t)
	s := startServer(t, h, "--webhook-allow-private")
	all, records := referenceSamples(t, s), newSampleRecords(t, h, s)
	for language, run := range sampleRunners {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			f := records[language]
			var samples []codeSample
			for _, c := range all[language] {
				c.source = f.replace(c)
				samples = append(samples, c)
			}
			output, err := run(t, samples, []string{"API_KEY=" + f.key})
			outputs := regexp.MustCompile(`(?m)^## \d+$`).Split(output, -1)[1:]
			if err != nil || len(outputs) != len(samples) || len(samples) < 42 {
				t.Fatalf("%v; %d outputs for %d samples; last:\n%s\n%s", err, len(outputs), len(samples),
					samples[max(0, len(outputs)-1)].source, outputs[max(0, len(outputs)-1)])
			}
			for i, c := range samples {
				if strings.TrimSpace(outputs[i]) == "" != noContent[c.operation] || strings.Contains(outputs[i], `"isError":true`) {
					t.Errorf("%s: output %.300q", c.operation, outputs[i])
				}
			}
			for _, c := range []codeSample{samples[0], samples[len(samples)-1]} {
				if output, err := run(t, []codeSample{c}, []string{"API_KEY=lar_invalid"}); err == nil || !strings.Contains(output, "unauthorized") {
					t.Errorf("%s: %v, %.300q with an invalid key; want unauthorized", c.operation, err, output)
				}
			}
		})
	}
}

// TestFilledSamples runs samples with hostile values, which must reach the server unchanged.
func TestFilledSamples(t *testing.T) {
	t.Parallel()
	const hostile = "a \"b\" 'c' $HOME `d` \\e ${f} \n\a\u00a0 é \U0001f377 \U000e0001 </script> %2C,&=#"
	var got struct {
		sync.Mutex
		query, path []string
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Lock()
		defer got.Unlock()
		got.query, got.path = append(got.query, r.URL.Query().Get("q")), append(got.path, path.Base(r.URL.Path))
		fmt.Fprint(w, `{"data":{}}`)
	}))
	defer server.Close()
	const pathValue = `$HOME"'` + "`;é"
	samples := map[string][]codeSample{}
	reference := httpapi.New(struct{ httpapi.Service }{}, nil, httpapi.Options{PublicURL: server.URL}).Reference
	for _, section := range reference.Sections {
		for _, op := range section.Operations {
			for _, s := range op.WithParams(url.Values{"q": {hostile}, "permit_number": {pathValue}}).Samples {
				if op.ID == "searchColas" || op.ID == "getPermittee" {
					samples[s.Language] = append(samples[s.Language], codeSample{op.ID, s.Source})
				}
			}
		}
	}
	for language, run := range sampleRunners {
		t.Run(language, func(t *testing.T) {
			got.query, got.path = nil, nil
			output, err := run(t, samples[language], []string{"API_KEY=key"})
			if err != nil || len(got.query) != 2 {
				t.Fatalf("%v, %d requests:\n%s", err, len(got.query), output)
			}
			if got.query[0] != hostile || got.path[1] != pathValue {
				t.Errorf("samples send %q and %q; want %q and %q", got.query[0], got.path[1], hostile, pathValue)
			}
		})
	}
}

// noContent are the operations that return 204.
var noContent = map[string]bool{"deleteSavedSearch": true, "deleteFeed": true, "deleteDestination": true}

// sampleRecords are the records that samples need in one account, and the account's key.
type sampleRecords struct {
	key              string
	search, run      string   // a search that ran
	label            string   // found by the search
	delivery         string   // delivery of the run
	destination      string   // confirmed
	spares           []string // searches that samples may change
	pending, deleted string   // unconfirmed destinations
	confirmed, code  string   // an unconfirmed destination with its code
}

// newSampleRecords creates records in a new account for each language, including a run that finds
// imported labels.
func newSampleRecords(t *testing.T, h testRegistry, s *serverProcess) map[string]*sampleRecords {
	t.Helper()
	st, all := mustOpen(t, h), map[string]*sampleRecords{}
	codes := &challengeCodes{byPath: map[string]string{}}
	receiver := newWebhookReceiver(t, func(string, int) int { return http.StatusNoContent })
	silent := httptest.NewServer(codes)
	t.Cleanup(silent.Close)
	for language := range sampleRunners {
		_, secret, _ := mustAccount(t, st, language+"@example.com", cola.TierPro)
		f := &sampleRecords{key: secret.Reveal()}
		create := func(path, body string) string {
			uuid, _ := s.mustAnswer(t, http.StatusCreated, "POST", path, f.key, body).at("data", "uuid").(string)
			return uuid
		}
		for i := range 7 {
			f.spares = append(f.spares, create("/saved-searches",
				fmt.Sprintf(`{"name":"Sample %d","filters":{"brand_name":"quokka"},"schedule":{"cadence":"daily"}}`, i)))
		}
		f.search, f.spares = f.spares[0], f.spares[1:]
		receiver.destination(t, s, f.key, f.search, "/"+language)
		receiver.confirm(t, s, f.key, nil)
		for i, uuid := range []*string{&f.pending, &f.deleted, &f.confirmed} {
			*uuid = create("/destinations", fmt.Sprintf(`{"kind":"webhook","address":"%s/%s/%d"}`, silent.URL, language, i))
		}
		all[language] = f
	}
	h.run(t, "import", "colas", mustWriteLabels(t, "QUOKKA", 1, 3, cola.DateOf(time.Now())))
	for _, f := range all {
		s.mustAnswer(t, http.StatusAccepted, "POST", "/saved-searches/"+f.search+"/run", f.key, "")
	}
	for language, f := range all {
		f.await(t, s)
		f.code = codes.await(t, "/"+language+"/2")
	}
	return all
}

// await waits until the run is delivered.
func (f *sampleRecords) await(t *testing.T, s *serverProcess) {
	t.Helper()
	for range 40 { // two minutes, within the rate limit
		runs, _ := s.get(t, "/saved-searches/"+f.search+"/runs", f.key).at("data").([]any)
		sent, _ := s.get(t, "/deliveries?state=delivered", f.key).at("data").([]any)
		for _, d := range sent {
			if d := d.(map[string]any); d["event"] == cola.EventRan && len(runs) > 0 {
				f.run, f.delivery = fmt.Sprintf("%.0f", runs[0].(map[string]any)["id"]), fmt.Sprintf("%.0f", d["id"])
				f.destination, _ = d["destination"].(string)
				f.label = s.get(t, "/colas?q=quokka&per_page=1", f.key).ids()[0]
				return
			}
		}
		time.Sleep(3 * time.Second)
	}
	t.Fatalf("no delivered run: %s", s.get(t, "/deliveries", f.key).body)
}

// challengeCodes collects the codes in challenges, which it doesn't answer.
type challengeCodes struct {
	mu     sync.Mutex
	byPath map[string]string
}

// ServeHTTP implements http.Handler.
func (c *challengeCodes) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := regexp.MustCompile(`"code":"([A-Z0-9-]+)"`).FindSubmatch(body); m != nil {
		c.byPath[r.URL.Path] = string(m[1])
	}
}

func (c *challengeCodes) await(t *testing.T, path string) string {
	t.Helper()
	for range 600 {
		c.mu.Lock()
		code := c.byPath[path]
		c.mu.Unlock()
		if code != "" {
			return code
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("no challenge at %s", path)
	return ""
}

// replace returns the sample with its placeholders replaced by real values.
func (f *sampleRecords) replace(c codeSample) string {
	search, destination := f.search, f.destination
	switch c.operation {
	case "deleteSavedSearch", "changeSavedSearch", "runSavedSearch", "update_saved_search", "delete_saved_search":
		search, f.spares = f.spares[0], f.spares[1:]
	case "deleteDestination":
		destination = f.deleted
	case "resendConfirmation":
		destination = f.pending
	case "confirmDestination":
		destination = f.confirmed
	}
	return strings.NewReplacer(
		"0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11", search, "5b1d3c52-0c5c-4a52-8f6d-7d1f6f0a9b10", destination,
		"/explain/26282001000009", "/explain/"+f.label, "/runs/1841/", "/runs/"+f.run+"/", "/deliveries/5127", "/deliveries/"+f.delivery, "KX7Q-2MFA", f.code,
	).Replace(c.source)
}
