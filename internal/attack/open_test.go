package attack

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/internal/mailtest"
	"github.com/colaregistry/colaregistry/internal/stripetest"
)

// bound describes how the cost of an unauthenticated request is limited.
type bound struct {
	Words string // as in docs/SECURITY.md
	Reads int    // maximum database accesses per second under a flood of any size
}

var (
	inMemory = bound{"answered from memory", 0}
	drawn    = bound{"at most 200 database reads per second, none for unknown IDs or recently requested images; drawing, rendering, file reads and large responses are limited", 250}
	sealed   = bound{"the attempt is stored only in an encrypted cookie; concurrent requests share one call to the issuer", 0}
	redeemed = bound{"at most one code exchange per sign-in attempt; 10 failed exchanges per IP address, then 10 a minute", 0}
	batched  = bound{"unknown tokens are looked up in batches", 120}
	sampled  = bound{"computed at most once a minute for all visitors", 0}
	limited  = bound{"computed at most once a minute for all visitors; 20 requests per IP address, then one every two seconds", 0}
	queued   = bound{"10 requests per IP address, then 1 a minute; up to 1,000 wait in memory and are handled in the background, at most 100 a second", 60} // ten requests from the flooding address, a few accesses each
	searched = bound{"at most 100 characters and 8 words; 60 searches per IP address, then four a second", 0}
	filled   = bound{"60 requests per IP address, shared with searches, then four a second; at most 4,000 bytes", 0}
	signed   = bound{"unsigned events are rejected without a database read; at most 512 KiB", 0}
	probed   = bound{"at most ten database queries per second", 20}
)

// open lists every route that responds without credentials, with its bound. docs/SECURITY.md has
// the same list.
var open = map[string]bound{
	"GET /":                                                  sampled,
	"GET /.well-known/ai-catalog.json":                       inMemory,
	"GET /.well-known/mcp-registry-auth":                     inMemory,
	"GET /.well-known/oauth-protected-resource":              inMemory,
	"GET /.well-known/oauth-protected-resource/mcp":          inMemory,
	"GET /.well-known/oauth-protected-resource/mcp/chatgpt":  inMemory,
	"GET /.well-known/oauth-protected-resource/mcp/readonly": inMemory,
	"GET /.well-known/openai-apps-challenge":                 inMemory,
	"GET /api/v1/openapi.json":                               inMemory,
	"GET /assets/{version}/{name}":                           inMemory,
	"GET /confirm/{token}":                                   batched,
	"POST /confirm/{token}":                                  batched,
	"GET /docs":                                              inMemory,
	"GET /docs/find":                                         searched,
	"GET /docs/images/{name}":                                inMemory,
	"GET /docs/samples/{operation}":                          filled,
	"GET /favicon.ico":                                       inMemory,
	"GET /feeds/{token}":                                     batched,
	"GET /healthz":                                           inMemory,
	"GET /images/{image}":                                    drawn,
	"GET /llms.txt":                                          inMemory,
	"GET /mcp/server-card":                                   inMemory,
	"GET /mcp/server.json":                                   inMemory,
	"GET /plans":                                             inMemory,
	"GET /privacy":                                           inMemory,
	"GET /readyz":                                            probed,
	"GET /robots.txt":                                        inMemory,
	"GET /sign-in":                                           inMemory,
	"GET /sign-in/status":                                    inMemory,
	"POST /sign-in":                                          sealed,
	"GET /sign-in/callback":                                  redeemed,
	"POST /sign-in/email":                                    queued,
	"GET /sign-in/link/{token}":                              batched,
	"POST /sign-in/link/{token}":                             batched,
	"GET /site/samples/{name}":                               limited,
	"GET /sitemap.xml":                                       inMemory,
	"POST /sign-out":                                         inMemory,
	"POST /stripe/webhook":                                   signed,
	"GET /site/{version}/{name}":                             inMemory,
	"GET /unsubscribe/{token}":                               batched,
	"POST /unsubscribe/{token}":                              batched,
}

// anonymous requests a route without credentials. It fills in unknown tokens.
func (w *world) anonymous(client *http.Client, method, route string) response {
	w.t.Helper()
	request := w.path(strings.ReplaceAll(route, "{token}", strings.ToLower(rand.Text()+rand.Text())))
	if request == "/sign-in/email" && method == http.MethodPost {
		form := url.Values{"email": {rand.Text() + "@example.com"}}
		return w.send(client, method, request, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, form.Encode())
	}
	return w.send(client, method, request, nil, nil)
}

// closed reports whether a route denied access to a client without credentials. Routes with a token
// in the path count as open, because anyone can try tokens.
func closed(method, route string, a response) bool {
	switch {
	case strings.Contains(route, "{token}"):
		return a.Status == http.StatusMethodNotAllowed
	case a.Status == http.StatusNotFound && method != http.MethodGet:
		return true
	case a.Status == http.StatusSeeOther:
		return strings.HasPrefix(a.Header.Get("Location"), "/sign-in")
	}
	return slices.Contains([]int{http.StatusUnauthorized, http.StatusMethodNotAllowed}, a.Status)
}

// TestOpenRouteBounds requests every route without credentials. Routes that respond must be listed
// in open and in docs/SECURITY.md, and a flood of requests must stay within their bound.
func TestOpenRouteBounds(t *testing.T) {
	w := newBareWorld(t, startOnPostgres, "--alerts", "off", // alerts would also use the database
		"--smtp", mailtest.Start(t).URL(), "--mail-from", "alerts@registry.example", "--sign-up", "open",
		"--stripe-secret-key", stripetest.SecretKey, "--stripe-webhook-secret", stripetest.WebhookSecret,
		"--stripe-api-url", stripetest.Start(t).URL)
	client := &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: flooders},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	doc, err := os.ReadFile("../../docs/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range w.visits() {
		name := v[0] + " " + v[1]
		a := w.anonymous(client, v[0], v[1])
		if b, listed := open[name]; !listed && !closed(v[0], v[1], a) {
			t.Errorf("%s returns %d without credentials; add it to open with its bound", name, a.Status)
		} else if row := fmt.Sprintf("| `%s` | %s |", name, b.Words); listed && !strings.Contains(string(doc), row) {
			t.Errorf("docs/SECURITY.md has no row %s", row)
		}
	}
	w.floods(client)
}

const (
	flooders = 16
	flooding = 640 // requests per route
	// background is the number of connections per second that an idle server may take from its pools.
	background = 40
)

// floods sends many concurrent requests to each open route and to some closed ones, and compares
// the number of database accesses with the bound.
func (w *world) floods(client *http.Client) {
	w.t.Helper()
	floods := maps.Clone(open)
	for _, name := range []string{"GET /api/v1/colas", "POST /api/v1/saved-searches", "GET /explore", "POST /mcp"} {
		floods[name] = inMemory // rejected immediately
	}
	for name, b := range floods {
		method, route, _ := strings.Cut(name, " ")
		began, before := time.Now(), w.acquires()
		var all sync.WaitGroup
		for range flooders {
			all.Go(func() {
				for range flooding / flooders {
					w.anonymous(client, method, route)
				}
			})
		}
		all.Wait()
		reads, took := w.acquires()-before, time.Since(began)
		if most := (took.Seconds() + 1) * float64(background+b.Reads); reads > most {
			w.t.Errorf("%s: %d requests caused %.0f database accesses in %v, want at most %.0f",
				name, flooding, reads, took, most)
		}
	}
}

var acquired = regexp.MustCompile(`(?m)^colaregistry_db_acquires_total\{.*\} (\S+)$`)

// acquires returns how many times the server has taken a connection from its pools.
func (w *world) acquires() (n float64) {
	w.t.Helper()
	pools := acquired.FindAllStringSubmatch(w.metrics(), -1)
	if len(pools) == 0 {
		w.t.Fatal("colaregistry_db_acquires_total is missing from the metrics")
	}
	for _, pool := range pools {
		value, err := strconv.ParseFloat(pool[1], 64)
		if err != nil {
			w.t.Fatal(err)
		}
		n += value
	}
	return n
}
