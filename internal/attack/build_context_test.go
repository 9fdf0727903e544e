package attack

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestBuildContextSecrets checks that files ignored by git, such as .env, data and secrets,
// also stay out of container images and build caches.
func TestBuildContextSecrets(t *testing.T) {
	lines := func(file string) (patterns []string) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, "#") {
				patterns = append(patterns, strings.TrimPrefix(strings.Trim(line, "/"), "**/"))
			}
		}
		return patterns
	}
	excluded := lines("../../.dockerignore")
	for _, pattern := range append(lines("../../.gitignore"), ".git", ".env", "secrets") {
		if !slices.Contains(excluded, pattern) {
			t.Errorf(".dockerignore does not list %s", pattern)
		}
	}
}
