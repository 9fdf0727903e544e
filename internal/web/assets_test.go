package web

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestServedAssets checks that comment lines and indentation are removed from scripts, that comments
// and indentation are removed from all style sheets, and that the main one starts with BaseStyle.
func TestServedAssets(t *testing.T) {
	const style = "/* Links\n   and more */\n@media print {\n  a { color: red; } /* ink */\n}\n"
	const wantStyle = "\n@media print {\na { color: red; }\n}\n"
	a := LoadAssets(fstest.MapFS{
		"assets/a.js":  {Data: []byte("// Adds links.\n\"use strict\";\n{\n  // reveal scrolls.\n  let a = \"http://x\"; // kept\n}\n")},
		"assets/a.css": {Data: []byte(style)}, "assets/main.css": {Data: []byte(style)}, "assets/a.svg": {Data: []byte("  <svg/>\n")},
	}, "/a/", "main.css")
	for name, want := range map[string]string{
		"a.js": "\"use strict\";\n{\nlet a = \"http://x\"; // kept\n}\n", "a.css": wantStyle, "a.svg": "  <svg/>\n",
		"main.css": string(styleFiller.ReplaceAll([]byte(BaseStyle), nil)) + wantStyle,
	} {
		if got := string(a.File(name)); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
		}
	}
}

// TestTemplateLiterals checks that no template literal in a script spans lines: removing indentation
// would change it.
func TestTemplateLiterals(t *testing.T) {
	scripts := 0
	for _, folder := range []string{"../../site/assets", "../../dashboard/assets"} {
		names, err := fs.Glob(os.DirFS(folder), "*.js")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			scripts++
			source, err := os.ReadFile(folder + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(source)) {
				if strings.Count(line, "`")%2 != 0 {
					t.Errorf("%s: a template literal spans lines: %.100s", name, line)
				}
			}
		}
	}
	if scripts < 7 {
		t.Errorf("found %d scripts", scripts)
	}
}
