package main

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/mailtest"
	"github.com/colaregistry/colaregistry/internal/stripetest"
	"github.com/colaregistry/colaregistry/internal/ttbsite"
)

// metricTable maps metric names to their type and labels.
type metricTable map[string]string

var (
	metricRow  = regexp.MustCompile("(?m)^\\| `(colaregistry_\\w+)` \\| (\\w+) \\|([^|]*)\\| (.*) \\|$")
	metricType = regexp.MustCompile(`(?m)^# TYPE (colaregistry_\w+) (\w+)$`)
	metricName = regexp.MustCompile(`\bcolaregistry_\w+`)
	labelName  = regexp.MustCompile(`(\w+)="`)
)

// postgresOnly starts the description of a metric that exists only with PostgreSQL.
const postgresOnly = "(PostgreSQL)"

// documentedMetrics reads the table in the metrics guide.
func documentedMetrics(t *testing.T, guide string) metricTable {
	t.Helper()
	table := metricTable{}
	for _, row := range metricRow.FindAllStringSubmatch(guide, -1) {
		if table[row[1]] != "" {
			t.Errorf("%s has two rows", row[1])
		}
		labels := strings.FieldsFunc(row[3], func(r rune) bool { return strings.ContainsRune("`, ", r) })
		slices.Sort(labels)
		table[row[1]] = fmt.Sprint(row[2], " ", labels)
		if strings.HasPrefix(row[4], postgresOnly) {
			table[row[1]] = postgresOnly + table[row[1]]
		}
	}
	return table
}

// add adds the metrics exposed by a listener to the table.
func (table metricTable) add(t *testing.T, address string) {
	t.Helper()
	_, text := fetch(t, address+"/metrics")
	for _, m := range metricType.FindAllStringSubmatch(text, -1) {
		name, labels := m[1], map[string]bool{}
		for line := range strings.Lines(text) {
			sample, rest, _ := strings.Cut(line, "{")
			if sample != name && !(m[2] == "histogram" && strings.TrimSuffix(sample, "_bucket") == name) {
				continue
			}
			for _, label := range labelName.FindAllStringSubmatch(rest, -1) {
				labels[label[1]] = true
			}
		}
		delete(labels, "le")
		names := []string{}
		for l := range labels {
			names = append(names, l)
		}
		slices.Sort(names)
		table[name] = fmt.Sprint(m[2], " ", names)
	}
}

// TestDocumentedMetrics checks that the metrics guide documents exactly the metrics that a
// server and an import expose with either database, with their types and labels.
func TestDocumentedMetrics(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		b, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	documented := documentedMetrics(t, read("METRICS.md"))
	for _, guide := range []string{"METRICS.md", "OPERATIONS.md"} {
		for _, name := range metricName.FindAllString(read(guide), -1) {
			if !documented.knows(name) {
				t.Errorf("docs/%s mentions %s, which is missing from the table of metrics", guide, name)
			}
		}
	}
	onBoth(t, func(t *testing.T, h testRegistry) {
		s := startSender(t, h, mailtest.Start(t), "--admin-listen", "127.0.0.1:0", "--oidc-issuer", startIssuer(t).URL,
			"--stripe-secret-key", stripetest.SecretKey, "--stripe-webhook-secret", stripetest.WebhookSecret,
			"--stripe-api-url", stripetest.Start(t).URL)
		if resp, err := http.Post(s.root()+"/stripe/webhook", "application/json", nil); err != nil || resp.StatusCode != http.StatusBadRequest {
			t.Errorf("unsigned event: %v, %v; want 400", resp, err)
		}
		_, secret, _ := mustAccount(t, mustOpen(t, h), "metrics@example.com", cola.TierFree)
		s.get(t, "/colas", secret.Reveal()) // request metrics appear only after a request
		at := cola.TimestampOf(time.Now())
		recorded := cola.Import{Kind: "colas", StartedAt: at, FinishedAt: at}
		if err := mustOpen(t, h).RecordImport(t.Context(), recorded); err != nil {
			t.Fatal(err)
		}
		address, end := startImport(t, h)
		defer end()
		empty, site := embedded(t), mustTTBSite(t, ttbsite.Options{})
		web := site.Start()
		defer web.Close()
		collector := startServer(t, empty, fetchFlags(t, empty, web.URL)...)
		exposed := metricTable{}
		exposed.add(t, s.admin(t))
		exposed.add(t, collector.admin(t))
		exposed.add(t, address)
		if diff := cmp.Diff(documented.of(h), exposed); diff != "" {
			t.Errorf("metrics (-docs/METRICS.md +exposed):\n%s", diff)
		}
	})
}

// of returns the metrics that exist for a registry's kind of database.
func (table metricTable) of(h testRegistry) metricTable {
	existing := metricTable{}
	for name, row := range table {
		row, only := strings.CutPrefix(row, postgresOnly)
		if !only || !h.embedded() {
			existing[name] = row
		}
	}
	return existing
}

// knows reports whether the table contains a metric or the histogram it belongs to.
func (table metricTable) knows(name string) bool {
	for _, part := range []string{"", "_bucket", "_count", "_sum"} {
		if whole, ok := strings.CutSuffix(name, part); ok && table[whole] != "" {
			return part == "" || strings.HasPrefix(table[whole], "histogram")
		}
	}
	return false
}
