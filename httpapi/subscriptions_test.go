package httpapi

import (
	"bytes"
	"html"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/openapitest"
	"github.com/colaregistry/colaregistry/registry"
)

const (
	unsubscribeTarget = "/unsubscribe/" + exampleMailToken
	confirmTarget     = "/confirm/" + exampleMailToken
	oneClickForm      = "List-Unsubscribe=One-Click"
	formType          = "Content-Type: application/x-www-form-urlencoded"
)

// checkPrivate checks that a response forbids caching, indexing, framing and scripts, and
// suppresses the Referer header.
func checkPrivate(t *testing.T, resp *http.Response, contentType string) {
	t.Helper()
	h := resp.Header
	for name, want := range map[string]string{
		"Content-Type": contentType, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow", "X-Content-Type-Options": "nosniff",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	policy := h.Get("Content-Security-Policy")
	if strings.HasPrefix(contentType, "text/html") && (!strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, "form-action 'self'") || strings.Contains(policy, "script-src")) {
		t.Errorf("Content-Security-Policy = %q", policy)
	}
	if h.Get("Set-Cookie") != "" || h.Get("X-Quota-Reset") != "" {
		t.Errorf("headers = %v", h)
	}
}

var (
	buttons  = regexp.MustCompile(`<form method="post" action="([^"]+)" class="field"><button class="button( quiet)?">([^<]+)</button></form>`)
	headline = regexp.MustCompile(`<h1>([^<]+)</h1>`)
)

// seen summarizes a page: its headline, and the buttons with their targets. * marks the primary
// button.
func seen(t *testing.T, page string) string {
	t.Helper()
	if strings.Contains(page, "<script") || strings.Contains(page, "ZgotmplZ") || !strings.Contains(page, `<meta name="color-scheme" content="light dark">`) {
		t.Errorf("page has a script, a value rejected by the template, or a single color scheme:\n%s", page)
	}
	var b strings.Builder
	if match := headline.FindStringSubmatch(page); match != nil {
		b.WriteString(html.UnescapeString(match[1]))
	}
	for _, match := range buttons.FindAllStringSubmatch(page, -1) {
		b.WriteString(" [" + match[3] + " " + strings.TrimSuffix(match[1], exampleMailToken) + "]")
		if match[2] == "" {
			b.WriteString("*")
		}
	}
	return b.String()
}

// TestSubscriptionPage checks that GET and HEAD requests, which link scanners send, have no effect.
func TestSubscriptionPage(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for _, target := range []string{unsubscribeTarget, confirmTarget, unsubscribeTarget + "?utm_source=mail", "/unsubscribe/%30" + exampleMailToken[1:]} {
		for _, method := range []string{"GET", "HEAD"} {
			f := newFake()
			resp := send(t, mustServe(t, f, io.Discard), method, target)
			spec.Validate(t, httptest.NewRequest(method, target, nil), resp)
			if resp.StatusCode != http.StatusOK || f.sending.done != "show" || f.spent != 0 {
				t.Errorf("%s %s: status = %d, operation = %q, %d requests spent; want 200, show, 0", method, target, resp.StatusCode, f.sending.done, f.spent)
			}
			checkPrivate(t, resp, "text/html; charset=utf-8")
		}
	}
}

// TestSubscriptionPages checks each page in each state of a subscription.
func TestSubscriptionPages(t *testing.T) {
	const unsubscribe, subscribe, resubscribe, decline = " [Unsubscribe /unsubscribe/]", " [Subscribe /confirm/]*", " [Subscribe again /confirm/]*", " [No, thanks /unsubscribe/]"
	const unsubscribedPage, confirmPage, subscribedPage = "You’re unsubscribed" + resubscribe, "Subscribe?" + subscribe + decline, "You’re subscribed" + unsubscribe
	active := registry.Subscription{Address: "t…@example.com", State: cola.DestinationActive}
	subscription := func(state, reason string) registry.Subscription {
		return registry.Subscription{Address: "t…@example.com", Search: "Oaks", State: state, Reason: reason}
	}
	for _, tt := range []struct {
		name                                 string
		s                                    registry.Subscription
		getEnd, postEnd, getAgree, postAgree string
	}{
		{"active", active, "Unsubscribe?" + unsubscribe + "*", unsubscribedPage, subscribedPage, subscribedPage},
		{"unconfirmed", subscription(cola.DestinationUnconfirmed, ""), confirmPage, unsubscribedPage, confirmPage, subscribedPage},
		{"ended", subscription(cola.DestinationPaused, cola.ReasonUnsubscribed), unsubscribedPage, unsubscribedPage, unsubscribedPage, subscribedPage},
		{"paused", subscription(cola.DestinationPaused, cola.ReasonHolder), "Unsubscribe?" + unsubscribe + "*", unsubscribedPage, subscribedPage, subscribedPage},
	} {
		for request, want := range map[[2]string]string{
			{"GET", unsubscribeTarget}: tt.getEnd, {"POST", unsubscribeTarget}: tt.postEnd, {"GET", confirmTarget}: tt.getAgree, {"POST", confirmTarget}: tt.postAgree,
		} {
			f := newFake()
			f.sending.recipient = tt.s
			resp := send(t, mustServe(t, f, io.Discard), request[0], request[1])
			page := mustRead(t, resp)
			if got := seen(t, page); resp.StatusCode != http.StatusOK || got != want {
				t.Errorf("%s, %v: response = %d %q, want %q", tt.name, request, resp.StatusCode, got, want)
			}
			if named := f.sending.recipient.Confirmed() && tt.s.Search != ""; !strings.Contains(page, "t…@example.com") || strings.Contains(page, "Oaks") != named {
				t.Errorf("%s, %v: page has too few or too many details:\n%s", tt.name, request, page)
			}
			checkPrivate(t, resp, "text/html; charset=utf-8")
		}
	}
}

// TestEscapedSearchNames checks that search names are escaped.
func TestEscapedSearchNames(t *testing.T) {
	f := newFake()
	f.sending.recipient = registry.Subscription{Search: `</p><script>alert(1)</script>"'&`, State: cola.DestinationActive}
	page := mustRead(t, send(t, mustServe(t, f, io.Discard), "GET", confirmTarget))
	if seen(t, page); !strings.Contains(html.UnescapeString(page), `“</p><script>alert(1)</script>"'&”`) || !strings.Contains(page, "this address") {
		t.Errorf("page = %s", page)
	}
}

// TestOneClick checks that a mail client's one-click POST, from any origin and in either form
// encoding, gets a plain-text response, and that any other POST unsubscribes too but gets a page.
func TestOneClick(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	var parts bytes.Buffer
	form := multipart.NewWriter(&parts)
	if err := form.WriteField("List-Unsubscribe", "One-Click"); err != nil || form.Close() != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		body  string
		lines []string
		text  bool
	}{
		"urlencoded":        {oneClickForm, []string{formType}, true},
		"multipart":         {parts.String(), []string{"Content-Type: " + form.FormDataContentType()}, true},
		"from another site": {oneClickForm, []string{formType, "Origin: https://mail.example.com", "Sec-Fetch-Site: cross-site"}, true},
		"the button":        {"", []string{formType, "Origin: http://127.0.0.1:8080"}, false},
		"empty":             {"", nil, false},
		"other field":       {"a=b", []string{formType}, false},
		"no content type":   {oneClickForm, nil, false},
		"invalid":           {"%zz&" + strings.Repeat("x", 1<<20), []string{formType}, false},
		"invalid multipart": {"--x\r\n", []string{"Content-Type: multipart/form-data; boundary=x"}, false},
	} {
		f := newFake()
		resp := sendBody(t, mustServe(t, f, io.Discard), "POST", unsubscribeTarget, strings.NewReader(tt.body), tt.lines...)
		spec.Validate(t, httptest.NewRequest("POST", unsubscribeTarget, nil), resp)
		body := mustRead(t, resp)
		if resp.StatusCode != http.StatusOK || f.sending.done != "unsubscribe" || (body == "You’re unsubscribed.\n") != tt.text {
			t.Errorf("%s: status = %d, operation = %q:\n%s", name, resp.StatusCode, f.sending.done, body)
		}
		contentType := "text/html; charset=utf-8"
		if tt.text {
			contentType = "text/plain; charset=utf-8"
		}
		checkPrivate(t, resp, contentType)
	}
}

// TestSubscriptionErrors checks that errors appear on a page, or as plain text for one-click
// requests.
func TestSubscriptionErrors(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for _, tt := range []struct {
		err     error
		status  int
		message string
		retry   string
	}{
		{nil, 404, "Link not found", ""}, // unknown token
		{cola.Unavailable(), 503, "Something went wrong", "5"},
		{errBroken, 500, "Something went wrong", ""},
	} {
		for request, form := range map[[2]string]string{
			{"GET", "/unsubscribe/"}: "", {"POST", "/unsubscribe/"}: "", {"GET", "/confirm/"}: "", {"POST", "/confirm/"}: "", {"POST", "/unsubscribe/?one"}: oneClickForm,
		} {
			var log strings.Builder
			f := newFake()
			f.sending.err = tt.err
			base, query, _ := strings.Cut(request[1], "?")
			target := base + strings.Repeat("ab", 20) + "?" + query
			resp := sendBody(t, mustServe(t, f, &log), request[0], target, strings.NewReader(form), formType, "X-Request-Id: find-me")
			spec.Validate(t, httptest.NewRequest(request[0], target, nil), resp)
			body := mustRead(t, resp)
			if resp.StatusCode != tt.status || form == "" && !strings.HasPrefix(seen(t, body), tt.message) || strings.Contains(body, "secrets") || strings.Contains(body, "abab") || resp.Header.Get("Retry-After") != tt.retry {
				t.Errorf("%v, %v: status = %d, Retry-After = %q\n%s", request, tt.err, resp.StatusCode, resp.Header.Get("Retry-After"), body)
			}
			if plain := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain"); plain != (form != "") {
				t.Errorf("%v: Content-Type = %s", request, resp.Header.Get("Content-Type"))
			}
			if tt.status == 500 && (form == "" && !strings.Contains(body, "find-me") || !strings.Contains(log.String(), "secrets") || !strings.Contains(log.String(), `"level":"ERROR"`)) {
				t.Errorf("%v: request ID missing, or error not logged:\n%s", request, log.String())
			}
			if f.sending.done != "" {
				t.Errorf("%v: operation = %q", request, f.sending.done)
			}
		}
	}
}

func TestSubscriptionMethods(t *testing.T) {
	for target, want := range map[string]string{unsubscribeTarget: "GET, HEAD, POST", confirmTarget: "GET, HEAD, POST", "/feeds/" + exampleFeedToken: "GET, HEAD"} {
		for _, method := range []string{"PUT", "DELETE", "BREW"} {
			f := newFake()
			resp := send(t, mustServe(t, f, io.Discard), method, target)
			if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != want || f.sending.done != "" {
				t.Errorf("%s %s: status = %d, Allow = %q", method, target, resp.StatusCode, resp.Header.Get("Allow"))
			}
		}
	}
}

// TestLogHasNoTokens checks that the log shows only the route of requests with a token in the URL,
// whether the token is valid or not. These tokens are as sensitive as passwords.
func TestLogHasNoTokens(t *testing.T) {
	for _, err := range []error{nil, cola.Unavailable(), errBroken} {
		var log strings.Builder
		f := newFake()
		f.sending.err = err
		h := mustServe(t, f, &log)
		requests := 0
		for _, token := range []string{exampleMailToken, exampleFeedToken, "wrong" + exampleMailToken} {
			for _, path := range []string{"/unsubscribe/", "/confirm/", "/feeds/", "/unsubscribe/x/", "/feed/", "/"} {
				for _, method := range []string{"GET", "HEAD", "POST", "PUT", "OPTIONS"} {
					requests++
					sendBody(t, h, method, path+token, strings.NewReader(oneClickForm), formType, "Referer: http://127.0.0.1:8080"+path+token)
				}
			}
		}
		for _, secret := range []string{exampleMailToken, exampleFeedToken} {
			if strings.Contains(log.String(), secret) {
				t.Errorf("log contains %s", secret)
			}
		}
		for _, pattern := range []string{unsubscribePath, confirmPath, feedPath} {
			if !strings.Contains(log.String(), `"route":"`+pattern+`"`) {
				t.Errorf("log does not contain %s", pattern)
			}
		}
		if lines := strings.Count(log.String(), "\n"); lines != requests {
			t.Errorf("log has %d lines, want %d", lines, requests)
		}
	}
}

// TestPagePanic checks that a panic in a page's handler returns the usual JSON error.
func TestPagePanic(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	f := newFake()
	f.panic = errBroken
	resp := send(t, mustServe(t, f, io.Discard), "GET", confirmTarget)
	spec.Validate(t, httptest.NewRequest("GET", confirmTarget, nil), resp)
	if got := mustDecode(t, resp); resp.StatusCode != http.StatusInternalServerError || got.Error.Code != "internal_error" {
		t.Errorf("response = %d %+v", resp.StatusCode, got)
	}
}
