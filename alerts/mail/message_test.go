package mail

import (
	"bytes"
	"flag"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/store"
)

var update = flag.Bool("update", false, "update the golden files")

// email is a parsed email.
type email struct {
	header     netmail.Header
	subject    string
	text, html string
}

// mustRead parses an email.
func mustRead(t *testing.T, raw []byte) email {
	t.Helper()
	m, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	r := email{header: m.Header}
	if r.subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		t.Fatal(err)
	}
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("Content-Type = %s, %v, want multipart/alternative", kind, err)
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	for _, part := range []struct {
		kind string
		dst  *string
	}{{"text/plain", &r.text}, {"text/html", &r.html}} {
		p, err := parts.NextRawPart()
		if err != nil {
			t.Fatal(err)
		}
		got, charset, err := mime.ParseMediaType(p.Header.Get("Content-Type"))
		if err != nil || got != part.kind || !strings.EqualFold(charset["charset"], "utf-8") ||
			p.Header.Get("Content-Transfer-Encoding") != "quoted-printable" {
			t.Fatalf("part header = %v, %v, want %s in UTF-8 and quoted-printable", p.Header, err, part.kind)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(p))
		if err != nil {
			t.Fatal(err)
		}
		*part.dst = strings.ReplaceAll(string(body), "\r\n", "\n")
	}
	if _, err := parts.NextPart(); err != io.EOF {
		t.Errorf("after two parts: error = %v, want io.EOF", err)
	}
	return r
}

// mustDeliver sends a message through a server and returns the resulting email.
func mustDeliver(t *testing.T, m alerts.Message) (email, []byte) {
	t.Helper()
	p := startServer(t, plaintext, "")
	s, _ := mustSender(t, urlOf("smtp", "", p.address), nil)
	if res := s.outcome(t.Context(), m); res.Fault != "" {
		t.Fatalf("Send = %+v, want success", res)
	}
	raw := p.all()[0].text
	for line := range bytes.Lines(raw) {
		if len(line) > 1000 || !bytes.HasSuffix(line, []byte("\r\n")) ||
			bytes.ContainsFunc(line, func(r rune) bool { return r > '~' }) {
			t.Errorf("line not allowed by RFC 5321: %q", line)
		}
	}
	return mustRead(t, raw), raw
}

// TestGolden compares emails with golden files. After a change, check the HTML in a browser.
func TestGolden(t *testing.T) {
	late := func(l *store.MatchedLabel) {
		l.Match.Late, l.Label.ApprovalDate = true, cola.NewDate(2026, 10, 26)
		l.Match.Met = cola.FilterSetOf("brand_name", "type_wine", "abv_min", "abv_max", "volume_min", "volume_unit",
			"container_bottle")
	}
	sparse := func(l *store.MatchedLabel) {
		l.Label.ProductName, l.Label.ClassName, l.Label.OriginName = "", "", ""
		l.Label.ApprovalDate, l.Match.Met = 0, 0
	}
	estimated := func(l *store.MatchedLabel) {
		l.Label.ApprovalDate = 0
		l.Label.SetEstimate(cola.NewDate(2026, 11, 11))
	}
	paused := func(reason, address string, since bool) alerts.Message {
		m := due(cola.EventPaused, address)
		m.Destination.Kind = cola.KindWebhook
		m.Destination.State = cola.DestinationPaused
		m.Destination.Reason = cola.Some(reason)
		if since {
			m.Destination.FailingSince = cola.Some(cola.TimestampOf(sentAt.AddDate(0, 0, -3)))
		}
		return m
	}
	confirm := due(cola.EventConfirm, "alex@example.org")
	confirm.Destination.State = cola.DestinationUnconfirmed
	for name, m := range map[string]alerts.Message{
		"three": ran(3, 1, label(9, "BLUE HERON", nil), label(10, "GREY HERON", late),
			label(11, "HERON & SØNS <WINE>", sparse)),
		"one":      ran(1, 1, label(9, "BLUE HERON", late)),
		"estimate": ran(1, 0, label(9, "BLUE HERON", estimated)),
		"none":     ran(0, 0),
		"many":     ran(1204, 12, label(9, "BLUE HERON", nil), label(10, "GREY HERON", late)),
		"test":     due(cola.EventTest, "alex@example.org"),
		"confirm":  confirm,
		"paused":   paused(cola.ReasonFailing, "https://user:hush@hooks.example.com/labels?key=1", true),
		"disabled": paused(cola.ReasonGone, "https://hooks.example.com/labels", false),
		"paused_own_email": func() alerts.Message {
			m := paused(cola.ReasonFailing, "", true)
			m.Destination.Kind = cola.KindEmail
			return m
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := mustDeliver(t, m)
			golden(t, name+".txt", "Subject: "+got.subject+"\n\n"+got.text)
			golden(t, name+".html", got.html)
			if strings.Contains(got.text+got.html, "hush") {
				t.Error("email contains a password")
			}
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// headers returns the headers to compare. Content-Type is left out, because its boundary is random.
func headers(r email) map[string]string {
	got := map[string]string{}
	for name := range r.header {
		if name != "Content-Type" {
			got[name] = r.header.Get(name)
		}
	}
	return got
}

// TestHeaders checks that an email supports one-click unsubscribe, is marked as auto-generated, and
// has the same ID on every attempt.
func TestHeaders(t *testing.T) {
	got, raw := mustDeliver(t, ran(1, 0, label(9, "BLUE HERON", nil)))
	want := map[string]string{
		"From": `"Label alerts" <alerts@labels.example>`, "To": "<alex@example.org>",
		"Subject": "=?UTF-8?q?1_new_label_for_=E2=80=9CHerons=E2=80=9D?=", "Mime-Version": "1.0",
		"Date":       "Mon, 16 Nov 2026 06:00:04 +0000",
		"Message-Id": "<msg_9d3f1c7a52e84b60a1f4c2d07be8365a@labels.example>", "Auto-Submitted": "auto-generated",
		"List-Unsubscribe":      "<https://labels.example/unsubscribe/3f6c1f1f0a9b4c52a52e84b60a1f4c2d07be8365>",
		"List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
	}
	if diff := cmp.Diff(want, headers(got)); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	unsubscribe := "\r\nList-Unsubscribe: " + want["List-Unsubscribe"] + "\r\n"
	if !bytes.Contains(raw, []byte(unsubscribe)) {
		t.Error("List-Unsubscribe is not on one line")
	}
	for _, event := range []string{cola.EventConfirm, cola.EventPaused} {
		got, _ := mustDeliver(t, due(event, "alex@example.org"))
		if got.header.Get("List-Unsubscribe") != "" || strings.Contains(got.text, "/unsubscribe/") {
			t.Errorf("%s has an unsubscribe link", event)
		}
	}
	notice, _ := mustDeliver(t, due(cola.EventPaused, "https://hooks.example.com/"))
	if to := notice.header.Get("To"); to != "<holder@example.com>" {
		t.Errorf("notice to the account: To = %s, want <holder@example.com>", to)
	}
}

// TestHostileNames checks that names, which come from third parties, cannot inject headers, lines
// or markup, or reorder or hide text.
func TestHostileNames(t *testing.T) {
	hostile := []string{
		"x\r\nBcc: eve@example.org\r\n\r\nHello", "\u202e)evil\u2066 \u200b\u2028\u2029",
		"<script>alert(1)</script><a href=https://evil.example>", strings.Repeat("VERY LONG ", 1000),
		"=?UTF-8?q?=0D=0ABcc:_eve?=", "\xff\xfe{{.}}%s", "-- \n", "שלום", "&lt;b&gt;&amp;",
	}
	for _, name := range hostile {
		m := ran(1, 0, label(9, name, func(l *store.MatchedLabel) {
			l.Label.ProductName = cola.Text(name)
			l.Label.ClassName = cola.Text(name)
			l.Label.OriginName = cola.Text(name)
		}))
		m.Content.Search.Name = name
		got, raw := mustDeliver(t, m)
		if len(got.header) != 10 || got.header.Get("Bcc") != "" || len(raw) > 30_000 || len([]rune(got.subject)) > 120 {
			t.Errorf("%q: %d bytes, headers %v; want 10 headers, no Bcc and a bounded length", name, len(raw), got.header)
		}
		if strings.ContainsFunc(got.subject+got.text+got.html,
			func(r rune) bool { return r != '\n' && vocabulary.IsInvisible(r) || r == '\u2028' || r == '\u2029' }) {
			t.Errorf("%q: email contains hidden characters", name)
		}
		if strings.Contains(got.html, "<script") || strings.Contains(got.html, "<a href=https://evil") {
			t.Errorf("%q: HTML is not escaped", name)
		}
		for line := range strings.Lines(got.text) {
			if strings.HasPrefix(line, "Bcc") || strings.HasPrefix(line, "Hello") {
				t.Errorf("%q: injected line %q", name, line)
			}
		}
		if u := got.header.Get("List-Unsubscribe"); u != "<https://labels.example/unsubscribe/3f6c1f1f0a9b4c52a52e84b60a1f4c2d07be8365>" {
			t.Errorf("%q: List-Unsubscribe = %s", name, u)
		}
	}
}

// TestManyLabels checks that the largest email stays below the 102 KB at which Gmail clips HTML, and
// that it links to the remaining labels.
func TestManyLabels(t *testing.T) {
	var labels []store.MatchedLabel
	for i := range cola.MaxMessageLabels {
		labels = append(labels, label(i, "DOMAINE DES GRANDES HÉRONNIÈRES", func(l *store.MatchedLabel) {
			l.Match.Late = i%2 == 0
			l.Label.ProductName = "VIEILLES VIGNES RÉSERVE EXCEPTIONNELLE"
			l.Label.ClassName = "SPARKLING WINE/CHAMPAGNE"
			l.Label.OriginName = "FRANCE"
			l.Match.Met = cola.FilterSetOf("query", "brand_name", "type_wine", "derived_category", "country",
				"container_bottle")
		}))
	}
	got, _ := mustDeliver(t, ran(2000, 50, labels...))
	if n := len(got.html); n > 90_000 {
		t.Errorf("HTML has %d bytes, want at most 90000", n)
	}
	for _, part := range []string{got.text, got.html} {
		if n := strings.Count(part, "ttbid="); n != cola.MaxMessageLabels ||
			!strings.Contains(part, "1,975 more labels") || !strings.Contains(part, runLink) {
			t.Errorf("%d labels, want %d and a link to the rest", n, cola.MaxMessageLabels)
		}
	}
}

// runLink is the URL of the run in ran.
const runLink = "https://labels.example/saved-searches/0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11/runs/1841"

// TestNoLabels checks that a message about a manual run gives only the count and a link.
func TestNoLabels(t *testing.T) {
	m := ran(41, 0)
	m.Content.Run.Manual = true
	got, _ := mustDeliver(t, m)
	for _, part := range []string{got.text, got.html} {
		if !strings.Contains(part, "41 labels") || !strings.Contains(part, runLink) ||
			strings.Contains(part, "ttbid=") {
			t.Errorf("want the count and a link, got\n%s", part)
		}
	}
}

// TestPalette checks that emails use the same colors as the web pages. Email style sheets can't use
// variables, so the templates repeat the values. Only the late-label badge has colors of its own.
func TestPalette(t *testing.T) {
	own := []string{"#ffffff", "#fef3c7", "#92400e", "#78350f", "#fde68a"}
	source, err := os.ReadFile("templates/layout.html")
	if err != nil {
		t.Fatal(err)
	}
	colors := regexp.MustCompile(`#[0-9a-f]{6}`).FindAllString(string(source), -1)
	for _, c := range colors {
		if !slices.Contains(own, c) && !strings.Contains(web.BaseStyle, c) {
			t.Errorf("%s isn't in the palette", c)
		}
	}
	if len(colors) < 15 {
		t.Errorf("found %d colors", len(colors))
	}
}

// TestExchange checks that the recorded text is the sent text minus the token in its links: with
// the token, account holders could confirm addresses that aren't theirs.
func TestExchange(t *testing.T) {
	token, err := linkToken(0, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []alerts.Message{
		ran(1, 0, label(9, "BLUE HERON", nil)), due(cola.EventTest, "alex@example.org"),
		due(cola.EventConfirm, "alex@example.org"), due(cola.EventPaused, "alex@example.org"),
	} {
		m.AccountEmail = "alex@example.org"
		s, _ := mustSender(t, "smtp://localhost:1", nil)
		c, err := s.compose(m)
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := s.message(m)
		want := store.Exchange{Subject: c.subject, Sent: strings.ReplaceAll(c.text, token, "REMOVED")}
		if diff := cmp.Diff(want, got); diff != "" || strings.Contains(want.Sent, token) {
			t.Errorf("%s (-want +got):\n%s", m.Event, diff)
		}
		if links := m.Event != cola.EventPaused; links != strings.Contains(c.text, token) {
			t.Errorf("%s: text has a token: %t, want %t", m.Event, !links, links)
		}
	}
}
