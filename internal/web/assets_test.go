package web

import (
	"testing"
	"testing/fstest"
)

// TestScriptComments checks that comment lines and indentation are removed from scripts.
func TestScriptComments(t *testing.T) {
	const script = "// Adds links.\n\"use strict\";\n{\n  // reveal scrolls.\n  let a = \"http://x\"; // kept\n}\n"
	a := LoadAssets(fstest.MapFS{"assets/a.js": {Data: []byte(script)}}, "/a/", "a.css")
	const want = "\"use strict\";\n{\nlet a = \"http://x\"; // kept\n}\n"
	if got := string(a.File("a.js")); got != want {
		t.Errorf("script:\n%s\nwant:\n%s", got, want)
	}
}
