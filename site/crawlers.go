package site

import (
	"html"
	"maps"
	"slices"
	"strings"
	"time"
)

// Paths that browsers and crawlers request by convention.
const (
	faviconPath = "/favicon.ico"
	robotsPath  = "/robots.txt"
	sitemapPath = "/sitemap.xml"
)

// addCrawlerFiles adds the icon, the rules for crawlers and the list of public pages. Call it after
// all pages have been added.
func (s *server) addCrawlerFiles() {
	pages := append(slices.Sorted(maps.Keys(s.pages)), "/", plansPath)
	pages = slices.DeleteFunc(pages, func(path string) bool { return strings.HasSuffix(path, ".md") })
	s.addFile(faviconPath, "image/png", s.assets.File("icon.png"))
	s.addFile(robotsPath, "text/plain; charset=utf-8", []byte(s.robots()))
	s.addFile(sitemapPath, "application/xml", []byte(s.sitemap(pages)))
}

// robots returns the rules for crawlers. They may visit the public pages and the files those pages
// load.
func (s *server) robots() string {
	rules := []string{"User-agent: *"}
	for _, path := range []string{"/$", docsPath, plansPath + "$", privacyPath + "$", "/llms.txt", assetsPath, "/assets/", "/images/"} {
		rules = append(rules, "Allow: "+path)
	}
	rules = append(rules, "Disallow: /", "", "Sitemap: "+s.opts.PublicURL+sitemapPath, "")
	return strings.Join(rules, "\n")
}

func (s *server) sitemap(paths []string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	b.WriteString(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	for _, path := range paths {
		b.WriteString("<url><loc>" + html.EscapeString(s.opts.PublicURL+path) + "</loc>")
		if !s.opts.Built.IsZero() {
			b.WriteString("<lastmod>" + s.opts.Built.UTC().Format(time.DateOnly) + "</lastmod>")
		}
		b.WriteString("</url>\n")
	}
	b.WriteString("</urlset>\n")
	return b.String()
}
