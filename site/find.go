package site

import (
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/internal/web"
)

// found is the result of a search.
type found struct {
	Query   string
	Partial bool     // whether no entry contains all words
	Results []result // best first
}

// result is an entry with the part of its text that matches.
type result struct {
	entry
	Heading, Excerpt []span
	Missing          []string // words of the query that the entry lacks
}

// span is a part of a text; Mark is set if it matches.
type span struct {
	Text string
	Mark bool
}

const (
	maxResults = 20
	maxInstant = 7   // results shown while typing
	maxFind    = 100 // characters of a search; the rest are ignored
	maxWords   = 8   // words of a search; the rest are ignored
	maxExcerpt = 28  // words
)

// suggestedSearches returns the searches suggested for an empty query, and when there are no
// results.
func suggestedSearches() []string {
	return []string{"rate limit", "pagination", "api key", "webhook signature", "429", "export CSV"}
}

// searchKeywords are additional words that match pages and sections, keyed by path. Commas separate
// names for the subject: a search for one of them finds the page or section first.
var searchKeywords = map[string]string{
	privacyPath: "contact, support, help, GDPR",
	plansPath:   "free, free tier, free plan, trial",

	docsPath + "/quickstart": "quick start, getting started, get started, start, tutorial, hello world, " +
		"samples, Python, JavaScript, Node.js, nodejs, Go, golang",
	docsPath + "/quickstart#1-get-a-key":                        "sign up, signup, register, create an account",
	docsPath + "/authentication":                                "X-API-Key header, API key, key",
	docsPath + "/authentication#create-a-key":                   "new key, API key, find my API key",
	docsPath + "/authentication#restrict-a-key":                 "scopes, permissions, IP, IP address",
	docsPath + "/authentication#rotate-a-key":                   "revoke, delete or remove a key",
	docsPath + "/api":                                           "SDK, client library, Java, PHP, Ruby",
	docsPath + "/api#filter-by-type-and-origin":                 "filters",
	docsPath + "/api#filter-by-date":                            "dates",
	docsPath + "/api#count-labels":                              "statistics, stats, aggregate",
	docsPath + "/api#check-a-brand-name":                        "brand check, name availability",
	docsPath + "/api#fields-and-formats":                        "JSON, CSV, export",
	docsPath + "/api#versions-and-compatibility":                "changelog, versioning",
	docsPath + "/pagination":                                    "cursor",
	docsPath + "/pagination#download-all-results":               "bulk, bulk download, dump",
	docsPath + "/quotas":                                        "usage limits",
	docsPath + "/quotas#costs":                                  "cost of a search",
	docsPath + "/quotas#wait-and-retry":                         "retry after 429 or 503",
	docsPath + "/errors":                                        "status codes, error codes",
	docsPath + "/search#words":                                  "search syntax, query syntax, boolean",
	docsPath + "/search#ids-and-barcodes":                       "COLA ID",
	docsPath + "/alerts":                                        "notifications",
	docsPath + "/webhooks#receive-messages":                     "webhook receiver",
	docsPath + "/dashboard":                                     "account, profile",
	docsPath + "/dashboard#change-your-plan":                    "upgrade, downgrade, billing, invoice",
	docsPath + "/dashboard#sign-in":                             "sign in, login, sign out, logout, password",
	docsPath + "/dashboard#account-deletion":                    "delete my account, close account",
	docsPath + "/assistants":                                    "MCP, AI, LLM, agents",
	docsPath + "/assistants#claude":                             "Claude",
	docsPath + "/assistants#vs-code":                            "Copilot",
	docsPath + "/coverage":                                      "COLA",
	docsPath + "/coverage#what-is-a-cola":                       "COLA definition, cola meaning",
	docsPath + "/coverage#approved-expired-surrendered-revoked": "status",
	docsPath + "/coverage#how-far-back":                         "history",
	docsPath + "/coverage#how-current": "updates, updated, update frequency, " +
		"refresh, freshness, real time",

	docsPath + "/install":                                  areaOperators + ", self-hosted, on-premises, deploy, deployment, demo, sandbox, test data",
	docsPath + "/configuration":                            "env, environment variables",
	docsPath + "/operations#postgresql-and-many-processes": "scaling, high availability",
	docsPath + "/operations#sizing":                        "requirements, hardware",
	docsPath + "/operations#the-operators-page":            "admin",
	docsPath + "/metrics":                                  "Prometheus, monitoring",
	docsPath + "/oauth":                                    "OAuth, SSO, single sign-on",

	referencePath:              "endpoints, parameters, query parameters",
	referencePath + "#request": "base URL, host",
	referencePath + "#header-X-Truncated-By-Quota": "truncated results",
	openAPIPath: "schema, spec, specification",

	toolsPath:                "tools",
	toolsPath + "#prompts":   "prompts",
	toolsPath + "#resources": "resources",
}

// Limits on searches and code samples per IP address (IPv6: per /64) and process. They are high
// enough for search-as-you-type requests.
const (
	typingBurst    = 60
	typingInterval = 250 * time.Millisecond
)

func newTypingLimit(now cola.Clock) *ratelimit.Limiter[netip.Prefix] {
	return ratelimit.New[netip.Prefix](typingBurst, typingInterval, maxLimitedClients, now)
}

// overTypingLimit counts a request. If the limit is exceeded, it sets Retry-After and returns true.
func (s *server) overTypingLimit(w http.ResponseWriter, r *http.Request) bool {
	wait := s.typingLimit.Take(security.Network(cola.ClientFrom(r.Context())), 1)
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(web.RetrySeconds(wait), 10))
	}
	return wait > 0
}

// find shows the results of a search. With the instant parameter, it returns only the best results,
// as options for the list that the search field shows while the visitor types.
func (s *server) find(w http.ResponseWriter, r *http.Request) {
	query := cleanQuery(r.URL.Query().Get("q"))
	p := page{Title: "Search the docs", Path: findPath, Body: "find", Query: query}
	limit := maxResults
	if r.URL.Query().Has("instant") {
		limit, p.Layout, p.Body = maxInstant, "fragment", "instant"
	}
	if query == "" {
		p.Data = found{}
		s.write(w, http.StatusOK, p)
		return
	}
	if s.overTypingLimit(w, r) {
		s.write(w, http.StatusTooManyRequests, page{Title: "Too many searches", Path: findPath, Body: "find_limit", Query: query})
		return
	}
	p.Title, p.Data = "Results for “"+query+"”", s.search.find(query, limit)
	s.write(w, http.StatusOK, p)
}

// cleanQuery collapses the spaces in a query and truncates it.
func cleanQuery(query string) string {
	query = strings.Join(strings.Fields(strings.ToValidUTF8(query, " ")), " ")
	if characters := []rune(query); len(characters) > maxFind {
		query = strings.TrimSpace(string(characters[:maxFind]))
	}
	return query
}

// The marks around words that match.
const (
	markStart = "\x02"
	markEnd   = "\x03"
)

// spans splits a text at its marks.
func spans(text string) (list []span) {
	for part := range strings.SplitSeq(text, markStart) {
		marked, rest, ok := strings.Cut(part, markEnd)
		if !ok {
			marked, rest = "", part
		}
		list = append(list, span{marked, true}, span{rest, false})
	}
	return slices.DeleteFunc(list, func(s span) bool { return s.Text == "" })
}
