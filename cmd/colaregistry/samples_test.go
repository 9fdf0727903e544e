package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"golang.org/x/net/html"
)

// mustTool returns the path of a program that make tools installs. If it doesn't work, the test fails
// in CI and is skipped elsewhere.
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

// runFiles runs a program in a new folder with files and returns its output.
func runFiles(t *testing.T, files map[string]string, env []string, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), env...)
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(cmd.Dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(program), err, out)
	}
	return string(out)
}

// codeSample is a code sample in the reference.
type codeSample struct {
	operation, source string
	placeholder       bool // whether it needs a value from another response
}

// referenceSamples returns the code samples in the reference, by language.
func referenceSamples(t *testing.T, s *serverProcess) map[string][]codeSample {
	t.Helper()
	samples, seen := map[string][]codeSample{}, map[string]bool{}
	public := strings.TrimSuffix(s.base, "/api/v1")
	_, overview := fetch(t, public+"/docs/reference")
	for _, link := range regexp.MustCompile(`<a href="(/docs/reference/[a-z-]+)">`).FindAllStringSubmatch(overview, -1) {
		if seen[link[1]] {
			continue // the page contains the menu twice
		}
		seen[link[1]] = true
		_, page := fetch(t, public+link[1])
		root, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			if language := attribute(n, "data-language"); language != "" {
				samples[language] = append(samples[language], newCodeSample(n))
			}
		}
	}
	return samples
}

// newCodeSample reads a sample from the element that shows it.
func newCodeSample(shown *html.Node) codeSample {
	c := codeSample{operation: strings.TrimSuffix(attribute(shown, "name"), "-sample")}
	for n := range shown.Descendants() {
		if n.Data == "pre" {
			for d := range n.Descendants() {
				if d.Type == html.TextNode {
					c.source += d.Data
				}
			}
		}
	}
	for d := range shown.Parent.Parent.Descendants() { // the samples of the operation, with a note
		c.placeholder = c.placeholder || strings.HasPrefix(d.Data, "Replace the placeholder")
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

// sampleRunners run samples in one process, which prints a line "## NUMBER" before each sample.
var sampleRunners = map[string]func(t *testing.T, samples []codeSample, env []string) string{
	"curl": func(t *testing.T, samples []codeSample, env []string) string {
		script := "set -eu\n"
		for i, s := range samples {
			script += fmt.Sprintf("echo; echo '## %d'; %s\n", i, strings.Replace(s.source, "curl ", "curl -sS ", 1))
		}
		shell := mustTool(t, "bash", "-c", "curl --version")
		return runFiles(t, map[string]string{"samples.sh": script}, env, shell, "samples.sh")
	},
	"Python": func(t *testing.T, samples []codeSample, env []string) string {
		files := numbered(samples, ".py")
		files["run"] = "for i in range(" + strconv.Itoa(len(samples)) + "):\n" +
			"    print(f'\\n## {i}', flush=True)\n    exec(compile(open(f'{i}.py').read(), f'{i}.py', 'exec'), {})\n"
		return runFiles(t, files, env, mustPython(t), "run")
	},
	"JavaScript": func(t *testing.T, samples []codeSample, env []string) string {
		files := numbered(samples, ".mjs")
		files["run.mjs"] = "for (let i = 0; i < " + strconv.Itoa(len(samples)) + "; i++) {\n" +
			"  console.log(`\\n## ${i}`);\n  await import(`./${i}.mjs`);\n}\n"
		return runFiles(t, files, env, mustNode(t), "run.mjs")
	},
	"Go": func(t *testing.T, samples []codeSample, env []string) string {
		program := `package main
			import ("fmt"; "io"; "log"; "net/http"; "os"; "strings")
			var _ = strings.NewReader // not every sample has a body
			func main() {`
		for i, s := range samples {
			program += fmt.Sprintf("\nfmt.Println(\"\\n## %d\")\nfunc() {\n%s\n}()\n", i, s.source)
		}
		return runFiles(t, map[string]string{"main.go": program + "}\n"}, env, mustGo(t), "run", "main.go")
	},
}

// numbered returns a file with each sample.
func numbered(samples []codeSample, extension string) map[string]string {
	files := map[string]string{}
	for i, s := range samples {
		files[strconv.Itoa(i)+extension] = s.source
	}
	return files
}

// TestReferenceSamples runs the samples on the reference pages as printed. Those with a placeholder
// run only with curl, and may return 404.
func TestReferenceSamples(t *testing.T) {
	t.Parallel()
	h := demoFile(t)
	s, st := startServer(t, h), mustOpen(t, h)
	all := referenceSamples(t, s)
	for language, run := range sampleRunners {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			var samples []codeSample
			for _, c := range all[language] {
				if !c.placeholder || language == "curl" {
					samples = append(samples, c)
				}
			}
			_, key, _ := mustAccount(t, st, language+"@example.com", "pro") // so that samples don't conflict
			outputs := regexp.MustCompile(`(?m)^## \d+$`).Split(run(t, samples, []string{"API_KEY=" + key.Reveal()}), -1)[1:]
			if len(outputs) != len(samples) || len(samples) < 15 || len(all[language]) < 40 {
				t.Fatalf("%d outputs of %d samples, of %d on the pages", len(outputs), len(samples), len(all[language]))
			}
			for i, c := range samples {
				checkSampleOutput(t, c, strings.TrimSpace(outputs[i]))
			}
		})
	}
}

// checkSampleOutput checks that a sample printed the body of a successful response.
func checkSampleOutput(t *testing.T, c codeSample, output string) {
	t.Helper()
	var body struct {
		Error *struct{ Code string }
	}
	err := json.Unmarshal([]byte(output), &body)
	switch {
	case c.placeholder && (output == "" || err == nil && body.Error != nil && body.Error.Code == "not_found"):
	case err != nil || body.Error != nil:
		t.Errorf("%s: %.300s\n%s", c.operation, output, c.source)
	}
}

// signatureCase is a webhook with the expected outcome of its verification.
type signatureCase struct {
	name    string
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	want    bool
}

// newSignatureCases returns webhooks signed by the Standard Webhooks library, and webhooks whose headers
// are missing or malformed.
func newSignatureCases(t *testing.T) []signatureCase {
	t.Helper()
	const secret, other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	const body = `{"name":"CHÂTEAU"}`
	sign := func(secret string, at time.Time, body string) string {
		hook, err := webhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		signature, err := hook.Sign("msg_1", at, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return signature
	}
	now := time.Now()
	old, early := now.Add(-10*time.Minute), now.Add(10*time.Minute)
	headers := func(at time.Time, signature string) map[string]string {
		sent := strconv.FormatInt(at.Unix(), 10)
		return map[string]string{"webhook-id": "msg_1", "webhook-timestamp": sent, "webhook-signature": signature}
	}
	cases := []signatureCase{
		{"genuine", secret, headers(now, sign(secret, now, body)), body, true},
		{"after a rotation", secret, headers(now, sign(other, now, body)+" "+sign(secret, now, body)), body, true},
		{"changed", secret, headers(now, sign(secret, now, body)), body + " ", false},
		{"another secret", other, headers(now, sign(secret, now, body)), body, false},
		{"another time", secret, headers(now.Add(time.Second), sign(secret, now, body)), body, false},
		{"old", secret, headers(old, sign(secret, old, body)), body, false},
		{"early", secret, headers(early, sign(secret, early, body)), body, false},
		{"unknown version", secret, headers(now, strings.Replace(sign(secret, now, body), "v1,", "v9,", 1)), body, false},
		{"no headers", secret, map[string]string{}, body, false},
	}
	changed := func(name, header string, values ...string) {
		for _, value := range values {
			h := headers(now, sign(secret, now, body))
			h[header] = value
			cases = append(cases, signatureCase{fmt.Sprintf("%s %.20q", name, value), secret, h, body, false})
		}
	}
	for header := range headers(now, "") {
		h := headers(now, sign(secret, now, body))
		delete(h, header)
		cases = append(cases, signatureCase{"no " + header, secret, h, body, false})
	}
	changed("ID", "webhook-id", "", "msg_2", "é")
	changed("timestamp", "webhook-timestamp", "", " ", "abc", "²", "NaN", "Infinity", "1e400", "0x10", "-1", "1.5",
		strings.Repeat("9", 30), strings.Repeat("9", 400), strings.Repeat("9", 5000))
	changed("signature", "webhook-signature", "", " ", "v1", "v1,", "v1,AAAA", "v1,é", ",", sign(secret, now, body)+"A",
		strings.TrimPrefix(sign(secret, now, body), "v1,"), strings.Repeat("v1,A ", 1000))
	return cases
}

// TestSignatureSamples runs the functions in the alerts guide that verify webhooks.
func TestSignatureSamples(t *testing.T) {
	t.Parallel()
	block := func(language string) string { return guideSample(t, "ALERTS", language) }
	cases := newSignatureCases(t)
	input, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	for language, run := range map[string]func(t *testing.T) string{
		"js": func(t *testing.T) string {
			return runFiles(t, map[string]string{"cases.json": string(input), "verify.mjs": block("js"), "run.mjs": `
				import { readFileSync } from "node:fs";
				import { verify } from "./verify.mjs";
				const cases = JSON.parse(readFileSync("cases.json"));
				console.log(JSON.stringify(cases.map((c) => verify(c.secret, c.headers, Buffer.from(c.body)))));`,
			}, nil, mustNode(t), "run.mjs")
		},
		"python": func(t *testing.T) string {
			return runFiles(t, map[string]string{
				"cases.json": string(input),
				"run": block("python") + "\nimport json\ncases = json.load(open('cases.json'))\n" +
					"print(json.dumps([verify(c['secret'], c['headers'], c['body'].encode()) for c in cases]))\n",
			}, nil, mustPython(t), "run")
		},
		"go": func(t *testing.T) string {
			return runFiles(t, map[string]string{"cases.json": string(input), "main.go": `package main
				import (
					"crypto/hmac"; "crypto/sha256"; "encoding/base64"; "encoding/json"; "fmt"
					"net/http"; "os"; "strconv"; "strings"; "time"
				)
				func main() {
					var cases []struct { Secret, Body string; Headers map[string]string }
					input, _ := os.ReadFile("cases.json")
					if err := json.Unmarshal(input, &cases); err != nil { panic(err) }
					var results []bool
					for _, c := range cases {
						header := http.Header{}
						for name, value := range c.Headers { header.Set(name, value) }
						results = append(results, verify(c.Secret, header, []byte(c.Body)))
					}
					json.NewEncoder(os.Stdout).Encode(results)
				}
				` + block("go")}, nil, mustGo(t), "run", "main.go")
		},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			var results []bool
			if out := run(t); json.Unmarshal([]byte(out), &results) != nil || len(results) != len(cases) {
				t.Fatalf("output %s", out)
			}
			for i, c := range cases {
				if results[i] != c.want {
					t.Errorf("%s: verified %t, want %t", c.name, results[i], c.want)
				}
			}
		})
	}
}
