package browser

import (
	"embed"
	"encoding/json"
	"flag"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"github.com/colaregistry/colaregistry/internal/nodetest"
)

var withLighthouse = flag.Bool("lighthouse", false, "install and run Lighthouse")

// lighthouseKit contains package.json and its lock file.
//
//go:embed lighthouse
var lighthouseKit embed.FS

// TestLighthouse audits public pages of the program. Scores for accessibility, best practices and SEO
// must be at least 95. Performance depends on the machine, so its median is only printed, but the number
// and size of the requests are limited.
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
	type limits struct{ requests, bytes int }
	for path, limit := range map[string]limits{
		"/": {16, 250_000}, "/docs": {5, 60_000}, "/docs/quickstart": {5, 60_000}, "/docs/reference/labels": {5, 60_000}, // "/" has label images
	} {
		var performance []float64
		for range runs {
			r := audit(t, kit, p.base+path)
			performance = append(performance, r.Categories["performance"].Score)
			for _, name := range []string{"accessibility", "best-practices", "seo"} {
				if score := r.Categories[name].Score; score < minScore {
					t.Errorf("%s: %s %.2f, want at least %.2f; failed: %q", path, name, score, minScore, r.failed(name))
				}
			}
			if requests, bytes := r.transfer(t); requests > limit.requests || bytes > limit.bytes || bytes == 0 {
				t.Errorf("%s: %d requests with %d bytes, want at most %d with %d", path, requests, bytes, limit.requests, limit.bytes)
			}
		}
		slices.Sort(performance)
		t.Logf("%s: performance %.2f (median of %d: %.2f)", path, performance[runs/2], runs, performance)
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
		Details json.RawMessage // its form depends on the audit
	}
}

// audit runs Lighthouse on a page as on a phone.
func audit(t *testing.T, kit *nodetest.Kit, url string) (r report) {
	t.Helper()
	script, err := kit.Program("lighthouse", "lighthouse")
	if err != nil {
		t.Fatal(err)
	}
	cmd := kit.Command(t.Context(), script, url, "--output=json", "--quiet", "--no-enable-error-reporting",
		"--chrome-flags=--headless=new --no-sandbox")
	cmd.Env = append(cmd.Env, "CHROME_PATH="+mustChromium(t))
	out, err := nodetest.Finish(cmd)
	if err != nil || out.Code != 0 {
		t.Fatalf("Lighthouse: %v, exit %d%s", err, out.Code, out.Tail())
	}
	if err := json.Unmarshal(out.Stdout, &r); err != nil {
		t.Fatal(err)
	}
	return r
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

// transfer returns the number of requests and the bytes transferred.
func (r report) transfer(t *testing.T) (requests, bytes int) {
	t.Helper()
	var details struct {
		Items []struct{ TransferSize int }
	}
	if err := json.Unmarshal(r.Audits["network-requests"].Details, &details); err != nil {
		t.Fatal(err)
	}
	for _, i := range details.Items {
		bytes += i.TransferSize
	}
	return len(details.Items), bytes
}
