package dashboard

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/internal/registrytest"
)

func testLinks() recordLinks {
	return recordLinks{registrytest.PublicURL, append(ownHosts(Options{
		PublicURL: registrytest.PublicURL, Hosts: []string{
			"Other.Example", "192.0.2.7", "::ffff:192.0.2.8",
			"[2001:db8::1]",
		},
	}), "by-name.example")}
}

// TestPictures checks that images load from /images/ on this server, and from other servers only
// over https. Links may use http or https. URLs on this server outside /images/ are used for
// neither.
func TestPictures(t *testing.T) {
	for address, want := range map[string]picture{
		registrytest.PublicURL + "/images/1105-1": {
			Src: "/images/1105-1?width=192&format=svg", Href: "/images/1105-1",
		},
		registrytest.PublicURL + "/images/1105-1.png": {
			Src: "/images/1105-1.png?width=192", Href: "/images/1105-1.png",
		},
		"https://e.example/a.jpg?x=1&y=2": {
			Src:  "https://e.example/a.jpg?x=1&y=2",
			Href: "https://e.example/a.jpg?x=1&y=2",
		},
		"https://192.0.2.9/a.jpg":                  {Src: "https://192.0.2.9/a.jpg", Href: "https://192.0.2.9/a.jpg"},
		"http://ttb.example/a.jpg":                 {Href: "http://ttb.example/a.jpg"},
		"javascript:alert(1)":                      {},
		"JaVaScRiPt:alert(1)":                      {},
		" javascript:alert(1)":                     {},
		"java\tscript:alert(1)":                    {Text: "java script:alert(1)"},
		"data:text/html,<script>alert(1)</script>": {},
		"//evil.example/a.jpg":                     {},
		"/keys/new":                                {},
		"https:///a.jpg":                           {},
		"https:evil.example":                       {},
		"file:///etc/passwd":                       {},
		"":                                         {},
		"https://e.example/" + strings.Repeat("a", 3000): {},
	} {
		if want.Text == "" {
			want.Text = address
		}
		if got := testLinks().picture(address, rowPicture); got != want {
			t.Errorf("picture(%q) = %+v, want %+v", truncate(address, 60), got, want)
		}
	}
}

func TestLinksToOwnHost(t *testing.T) {
	own := strings.TrimPrefix(registrytest.PublicURL, "https://")
	for _, address := range []string{
		registrytest.PublicURL + "/explore/11054001000049", registrytest.PublicURL, registrytest.PublicURL + "/imagesx",
		registrytest.PublicURL + "/images/..",
		registrytest.PublicURL + "/images/../explore?q=oak", registrytest.PublicURL + "/images/%2e%2e/explore",
		registrytest.PublicURL + `/images/..\explore`,
		registrytest.PublicURL + "/images/.", registrytest.PublicURL + "/images/", registrytest.PublicURL +
			"/images/1?x=1",
		"http://" + own + "/explore",
		"https://" + own + ":443/explore", "https://" + own + ":8443/explore",
		"https://" + strings.ToUpper(own) + "/explore",
		"HTTPS://" + own + "/explore", "https://" + own + "./explore", "https://me@" + own + "/explore",
		"https://ttb.example@" + own + "/explore",
		"https://ttb.example:443@" + own + "/explore", `https://ttb.example\@` + own + "/explore",
		"https:/" + own + "/explore",
		`https:\\` + own + `\explore`, "//" + own + "/explore", "/explore?q=oak", "explore?q=oak",
		"https://" + own + "\t/explore",
		"https://%72egistry.example/explore", "https://registry。example/explore", "https://ｒegistry.example/explore",
		"https://re\u00adgistry.example/explore", "https://other.example/explore",
		"https://by-name.example:8080/explore",
		"https://192.0.2.7/explore", "https://192.0.2.007/explore", "https://3221225991/explore",
		"https://0xc0000207/explore",
		"https://0300.0.2.7/explore", "https://192.0.519/explore", "https://[::ffff:192.0.2.7]/explore",
		"https://192.0.2.8/explore",
		"https://[2001:db8:0::1]/explore", "https://[2001:db8::1%25eth0]/explore", "https://localhost/explore",
		"https://a.localhost/explore",
		"https://127.0.0.1/explore", "https://127.1/explore", "https://[::1]/explore", "https://0.0.0.0/explore",
		"https://0/explore",
	} {
		if p := testLinks().picture(address, labelPicture); p.Src != "" || p.Href != "" {
			t.Errorf("picture(%q) = %+v, want no URLs", address, p)
		}
	}
}

// FuzzRecordLinks checks that for any URL in a record, browsers and this package agree on the host
// of the link, and that it is not our own.
func FuzzRecordLinks(f *testing.F) {
	for _, seed := range []string{
		registrytest.PublicURL + "/images/1-1", "https://ttb.example/a.jpg",
		`https://a\@registry.example/`, "http://[::1]:80/", "https://127.1/",
	} {
		f.Add(seed)
	}
	absolute := regexp.MustCompile(`^https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]*)?([/?#]|$)`)
	relative := regexp.MustCompile(`^/images/[^/\\?#]+$`)
	f.Fuzz(func(t *testing.T, address string) {
		links := testLinks()
		href := links.href(address)
		if href == "" {
			return
		}
		lower := strings.ToLower(href)
		if relative.MatchString(href) {
			id, err := url.PathUnescape(strings.TrimPrefix(href, "/images/"))
			if err != nil || strings.Trim(id, ".") == "" {
				t.Errorf("%q leads to %q", address, href)
			}
			return
		}
		found := absolute.FindStringSubmatch(lower)
		if found == nil || slices.Contains(links.own, strings.TrimRight(strings.Trim(found[1], "[]"), ".")) {
			t.Errorf("%q leads to %q", address, href)
		}
	})
}
