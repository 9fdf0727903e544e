package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	outcome    = regexp.MustCompile(`(?m)^> (.*)$`)
)

// TestWalkthroughs runs the commands in guides as printed, on the demo data, and checks the
// documented output.
func TestWalkthroughs(t *testing.T) {
	t.Parallel()
	for guide, want := range map[string][]string{
		"ALERTS.md": {
			`"match_count":1`, `"ttb_id":"99365001000017","late":false,"met":["brand_name","type_wine"]`,
			`"state":"delivered"`, `"verdict":"found"`,
		},
		"QUICKSTART.md": {
			`"brand_name":"RAVEN & OAK"`, `"grape_varietals":[`, `"prodct_type":[`, `"detail_views":{"used":1,`,
			`"name":"Wines named raven"`, `"brand_name":"LITTLE RAVEN"`,
		},
		"API.md": {
			`"product_type":"wine"`, `"year":`, `"company_name":`, `"others":{"groups":`, `"similarity":`, `"ava_id":`, `"value":`,
			`"list_records":{"used":`, `"active":false`,
		},
		"SEARCH.md": {`"value":"`},
	} {
		t.Run(guide, func(t *testing.T) { checkWalkthrough(t, guide, want) })
	}
}

// checkWalkthrough runs the shell blocks of a guide in one shell. The output must contain the
// guide's quoted lines in order, and every string in parts.
func checkWalkthrough(t *testing.T, name string, parts []string) {
	t.Parallel()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skipf("no shell: %v", err)
	}
	guide, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	onBoth(t, func(t *testing.T, h testRegistry) {
		s, st := startServer(t, h, "--webhook-allow-private"), mustOpen(t, h)
		if _, err := st.AccountByEmail(t.Context(), "demo@example.com"); err != nil {
			mustAccount(t, st, "demo@example.com", "pro")
		}
		script := "set -euo pipefail\n"
		for _, block := range shellBlock.FindAllStringSubmatch(string(guide), -1) {
			script += block[1]
		}
		for _, address := range []string{"http://127.0.0.1:8080", "http://localhost:8080"} {
			script = strings.ReplaceAll(script, address, strings.TrimSuffix(s.base, "/api/v1"))
		}
		script = strings.ReplaceAll(script, "127.0.0.1:9090", mustFreeAddress(t))
		script = strings.ReplaceAll(script, "go run ./cmd/colaregistry", "colaregistry")
		walk := exec.Command(shell, "-c", script)
		_, key, _ := mustAccount(t, st, "reader@example.com", "pro")
		walk.Dir, walk.Env = t.TempDir(), append(os.Environ(), "API="+s.base, "KEY="+key.Reveal(), "COLAREGISTRY_DATA_DIR="+h.DataDir,
			"COLAREGISTRY_DATABASE_URL="+h.DatabaseURL, "PATH="+mustProgramDir(t)+":"+os.Getenv("PATH"))
		if flags := h.keyFlags(t); flags != nil {
			walk.Env = append(walk.Env, "COLAREGISTRY_SECRET_KEY_FILE="+flags[1])
		}
		out, err := walk.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		output := string(out)
		for _, want := range outcomes(string(guide)) { // in document order
			var ok bool
			if _, output, ok = strings.Cut(output, want); !ok {
				t.Fatalf("no %q at this point in the output:\n%s", want, out)
			}
		}
		for _, want := range parts {
			if !strings.Contains(string(out), want) {
				t.Errorf("no %s in the output:\n%s", want, out)
			}
		}
	})
}

// mustFreeAddress returns a loopback address with an unused port.
func mustFreeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// outcomes returns the expected outputs from the guide.
func outcomes(guide string) (all []string) {
	for _, m := range outcome.FindAllStringSubmatch(guide, -1) {
		all = append(all, m[1])
	}
	return all
}

// mustProgramDir returns a folder that contains this test binary under the name colaregistry, so
// that it runs as the program.
func mustProgramDir(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "colaregistry")); err != nil {
		t.Fatal(err)
	}
	return dir
}
