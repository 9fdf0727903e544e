package web

import (
	"testing"
	"testing/fstest"
)

// TestServedAssets checks that style sheets and scripts are minified, except scripts whose names say
// that they already are, and that the main style sheet starts with BaseStyle. Minified scripts must
// keep their top-level names, because other scripts may use them.
func TestServedAssets(t *testing.T) {
	const style, minifiedStyle = "/* Links\n   and more */\n@media print {\n  a { color: red; } /* ink */\n}\n", "@media print{a{color:red}}"
	const script = "// Adds links.\nconst linkCount = 1;\nfunction addLink() {\n  return `a\n  ${linkCount}`;\n}\n"
	a := LoadAssets(fstest.MapFS{
		"assets/a.js": {Data: []byte(script)}, "assets/b.min.js": {Data: []byte(script)}, "assets/a.svg": {Data: []byte("  <svg/>\n")},
		"assets/a.css": {Data: []byte(style)}, "assets/main.css": {Data: []byte(style)},
	}, "/a/", "main.css")
	for name, want := range map[string]string{
		"a.js": "const linkCount=1;function addLink(){return`a\n  ${linkCount}`}", "b.min.js": script,
		"a.css": minifiedStyle, "a.svg": "  <svg/>\n",
	} {
		if got := string(a.File(name)); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
		}
	}
	base, err := minified("base.css", []byte(BaseStyle))
	if got := string(a.File("main.css")); err != nil || got != string(base)+minifiedStyle {
		t.Errorf("main.css: %v\n%s", err, got)
	}
}
