package doclinks

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	dropped = regexp.MustCompile(`[^\w\- ]`)
)

// TestLinks checks that relative links point to existing files and headings.
func TestLinks(t *testing.T) {
	root := filepath.Join("..", "..")
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	if len(pages) < 10 {
		t.Fatalf("found only %d pages", len(pages))
	}
	for _, page := range pages {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(m[1], ":") {
				continue // external
			}
			path, anchor, _ := strings.Cut(m[1], "#")
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s does not exist", page, m[1])
			} else if anchor != "" && strings.HasSuffix(target, ".md") && !anchors(read(t, target))[anchor] {
				t.Errorf("%s: %s points to a missing heading", page, m[1])
			}
		}
	}
}

// anchors returns the anchors of a page's headings, as GitHub makes them.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		found[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
