package browser

import (
	"bytes"
	"embed"
	"encoding/json"
	"flag"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/internal/nodetest"
)

var withLighthouse = flag.Bool("lighthouse", false, "install and run Lighthouse")

// lighthouseKit contains package.json and its lock file.
//
//go:embed lighthouse
var lighthouseKit embed.FS

// TestLighthouse audits the landing page, a guide, a reference page and an MCP tools page. Scores
// for accessibility, best practices and SEO must be at least 95; they are the same in every run, so
// only the first run measures them. Performance depends on the machine, so its median is only
// printed, but the number and size of the requests are limited.
func TestLighthouse(t *testing.T) {
	if !*withLighthouse {
		t.Skip("run by make lighthouse")
	}
	files, err := fs.Sub(lighthouseKit, "lighthouse")
	if err != nil {
		t.Fatal(err)
	}
	kit, err := nodetest.Install(t.Context(),
		nodetest.Options{Files: files, Name: "colaregistry-lighthouse", Dir: filepath.Join(t.TempDir(), "kit")})
	if err != nil {
		t.Fatal(err)
	}
	p := startProgram(t)
	const runs, minScore = 5, 0.95
	limit := transfer{Requests: 6, Pictures: 8, Bytes: 50_000, Size: 150_000}
	for _, path := range []string{"/", "/docs/quickstart", "/docs/reference/labels", "/docs/tools/labels"} {
		var performance []float64
		var most transfer
		for i := range runs {
			categories := []string{"performance"}
			if i == 0 {
				categories = append(categories, "accessibility", "best-practices", "seo")
			}
			r := audit(t, kit, p.base+path, categories)
			performance = append(performance, r.Categories["performance"].Score)
			for _, name := range categories[1:] {
				score := r.Categories[name].Score
				t.Logf("%s: %s %.2f, failed audits %q", path, name, score, r.failed(name))
				if score < minScore {
					t.Errorf("%s: %s %.2f, want at least %.2f", path, name, score, minScore)
				}
			}
			most = most.max(r.transfer(t))
		}
		slices.Sort(performance)
		t.Logf("%s: performance %.2f (median of %d: %.2f), %+v", path, performance[runs/2], runs, performance, most)
		if most.max(limit) != limit || most.Bytes == 0 {
			t.Errorf("%s: transferred %+v, want at most %+v", path, most, limit)
		}
	}
}

// report is the part of a Lighthouse report that the test reads.
type report struct {
	Categories map[string]struct {
		Score     float64
		AuditRefs []struct{ ID string }
	}
	Audits map[string]struct {
		Score   *float64
		Details json.RawMessage // format depends on the audit
	}
}

// audit runs Lighthouse on a page, emulating a phone, for the given categories.
func audit(t *testing.T, kit *nodetest.Kit, url string, categories []string) (r report) {
	t.Helper()
	script, err := kit.Program("lighthouse", "lighthouse")
	if err != nil {
		t.Fatal(err)
	}
	for attempt := 1; ; attempt++ {
		cmd := kit.Command(t.Context(), script, url, "--output=json", "--quiet", "--no-enable-error-reporting",
			"--only-categories="+strings.Join(categories, ","),
			"--chrome-flags=--headless=new --no-sandbox")
		cmd.Env = append(cmd.Env, "CHROME_PATH="+mustChromium(t))
		out, err := nodetest.Finish(cmd)
		// On a busy machine, Lighthouse may miss the start of the page load and ask to be run again.
		if attempt < 3 && bytes.Contains(out.Stderr, []byte("Please run Lighthouse again")) {
			continue
		}
		if err != nil || out.Code != 0 {
			t.Fatalf("Lighthouse: %v, exit %d%s", err, out.Code, out.Tail())
		}
		if err := json.Unmarshal(out.Stdout, &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
}

// failed returns the audits of a category that didn't pass.
func (r report) failed(category string) (ids []string) {
	for _, ref := range r.Categories[category].AuditRefs {
		if score := r.Audits[ref.ID].Score; score != nil && *score < 1 {
			ids = append(ids, ref.ID)
		}
	}
	return ids
}

// transfer counts a page's requests. Requests, Bytes and Size exclude pictures. Bytes is the number
// of bytes transferred, and Size is the number of bytes after decompression.
type transfer struct{ Requests, Pictures, Bytes, Size int }

// max returns the maximum of each field.
func (a transfer) max(b transfer) transfer {
	return transfer{max(a.Requests, b.Requests), max(a.Pictures, b.Pictures), max(a.Bytes, b.Bytes), max(a.Size, b.Size)}
}

func (r report) transfer(t *testing.T) (sum transfer) {
	t.Helper()
	var details struct {
		Items []struct {
			ResourceType               string
			TransferSize, ResourceSize int
		}
	}
	if err := json.Unmarshal(r.Audits["network-requests"].Details, &details); err != nil {
		t.Fatal(err)
	}
	for _, i := range details.Items {
		if i.ResourceType == "Image" {
			sum.Pictures++
			continue
		}
		sum.Requests++
		sum.Bytes += i.TransferSize
		sum.Size += i.ResourceSize
	}
	return sum
}
