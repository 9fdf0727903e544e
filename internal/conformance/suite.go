package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/internal/nodetest"
)

// revisions are the protocol revisions that both the suite and the server support.
var revisions = []string{"2025-11-25", "2026-07-28"}

// suitePackage is the suite's npm package.
const suitePackage = "@modelcontextprotocol/conformance"

// baseline lists the checks that are expected to fail or to warn.
type baseline struct {
	failures, warnings []entry
	file               string // file that combines both lists, for the suite
}

// runSuite runs the MCP conformance suite for each revision.
func runSuite(ctx context.Context, b *bench) (*report, error) {
	r := newReport("suite", suitePackage+" against the server, by revision")
	program, err := b.kit.Program(suitePackage, "conformance")
	if err != nil {
		return nil, err
	}
	base, err := newBaseline(b.kit.Dir)
	if err != nil {
		return nil, err
	}
	started := b.count.Load()
	var all []result
	for _, revision := range revisions {
		results, err := b.runRevision(ctx, r, program, base, revision)
		if err != nil {
			return nil, err
		}
		all = append(all, results...)
	}
	base.check(r, all, b.keyed.since(started))
	return r, nil
}

func newBaseline(dir string) (b baseline, err error) {
	if b.failures, err = readBaseline("expected-failures.yml"); err != nil {
		return b, err
	}
	if b.warnings, err = readBaseline("accepted-warnings.yml"); err != nil {
		return b, err
	}
	b.file = filepath.Join(dir, "baseline.yml")
	return b, os.WriteFile(b.file, []byte(formatBaseline(slices.Concat(b.failures, b.warnings))), 0o600)
}

// runRevision runs the scenarios that one revision requires and reports the suite's results.
func (b *bench) runRevision(
	ctx context.Context, r *report, program string, base baseline, revision string,
) ([]result, error) {
	dir := filepath.Join(b.dir, "suite-"+revision)
	out, err := nodetest.Finish(b.kit.Command(ctx, program, "server", "--url", b.keyed.origin()+endpoint,
		"--requirements", revision, "--expected-failures", base.file, "--output-dir", dir))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(dir+".log", out.Stdout, 0o600); err != nil {
		return nil, err
	}
	scenarios, err := required(b.kit, revision)
	if err != nil {
		return nil, err
	}
	results, err := readResults(dir, scenarios)
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, out.Tail())
	}
	r.expect(revision+": the suite reports the expected results", out.Code == 0,
		"exit status %d%s", out.Code, verdict(string(out.Stdout)))
	t := tallyOf(results)
	r.expect(revision+": the suite ran every required scenario", t.scenarios == len(scenarios) && t.passed > 0,
		"%d of %d scenarios, %d checks passed", t.scenarios, len(scenarios), t.passed)
	r.say("%s: %d scenarios: %d checks passed, %d failed or warned as expected%s",
		revision, t.scenarios, t.passed, t.failed, t.optional())
	return results, nil
}

// result is the suite's result for one check.
type result struct {
	scenario string
	scored   bool // required by the revision
	ID       string
	Status   string
	Message  string `json:"errorMessage"`
}

// bad reports whether the suite considers the result a failure.
func (r result) bad() bool { return r.Status == "FAILURE" || r.Status == "WARNING" }

// resultFolder matches the suite's folder name for a scenario.
var resultFolder = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// readResults reads the suite's output folder. The suite also runs scenarios that the revision does
// not require; those are not scored.
func readResults(dir string, required []string) (all []result, err error) {
	folders, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		named := resultFolder.FindStringSubmatch(folder.Name())
		if named == nil {
			return nil, fmt.Errorf("unexpected folder %s in the suite's output", folder.Name())
		}
		content, err := os.ReadFile(filepath.Join(dir, folder.Name(), "checks.json"))
		if err != nil {
			return nil, err
		}
		var checks []result
		if err := json.Unmarshal(content, &checks); err != nil {
			return nil, fmt.Errorf("%s: %w", folder.Name(), err)
		}
		for _, c := range checks {
			c.scenario, c.scored = named[1], slices.Contains(required, named[1])
			all = append(all, c)
		}
	}
	return all, nil
}

// required returns the scenarios that a revision requires of a server, according to the suite.
func required(k *nodetest.Kit, revision string) ([]string, error) {
	content, err := os.ReadFile(k.Script("node_modules",
		filepath.FromSlash(suitePackage), "requirements", revision+".yaml"))
	if err != nil {
		return nil, err
	}
	scenarios := listed(string(content), "server")
	if len(scenarios) == 0 {
		return nil, fmt.Errorf("%s has no requirements for servers in revision %s", suitePackage, revision)
	}
	return scenarios, nil
}

// listed returns the items of a top-level list in a YAML file.
func listed(content, key string) (words []string) {
	inside := false
	for line := range strings.Lines(content) {
		line = strings.TrimRight(line, " \r\n")
		word, item := strings.CutPrefix(line, "  - ")
		switch {
		case line != "" && line[0] != ' ' && line[0] != '#':
			inside = line == key+":"
		case inside && item:
			words = append(words, word)
		}
	}
	return words
}

// colorCode matches the suite's terminal color codes.
var colorCode = regexp.MustCompile(`\x1b\[\d*m`)

// verdict returns the suite's output about unexpected failures or stale baseline entries, or else
// the end of its output.
func verdict(printed string) string {
	printed = colorCode.ReplaceAllString(printed, "")
	if i := strings.Index(printed, "Unexpected failures"); i >= 0 {
		return "\n" + strings.TrimSpace(printed[i:])
	}
	if i := strings.Index(printed, "Stale baseline entries"); i >= 0 {
		return "\n" + strings.TrimSpace(printed[i:])
	}
	return nodetest.LastOf([]byte(printed))
}
