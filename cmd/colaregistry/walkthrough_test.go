package main

import (
	"archive/zip"
	"compress/gzip"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

var (
	shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	outcome    = regexp.MustCompile(`(?m)^> (.*)$`)
)

// walkthrough describes how to run the shell blocks of a guide.
type walkthrough struct {
	// skip lists the beginnings of blocks that don't run here: they start a server, or need another
	// program or one of the reader's files.
	skip    []string
	files   map[string]string                 // files in the working directory, by name
	arrange func(t *testing.T, s store.Store) // before the script; may be nil
	want    []string                          // parts of the output
}

const labelColumns = "ttb_id,brand_name,product_type,permit_number,approval_date\n"

// TestWalkthroughs runs the commands in guides as printed, on the demo data, and checks the
// documented output.
func TestWalkthroughs(t *testing.T) {
	t.Parallel()
	for guide, w := range map[string]walkthrough{
		"README.md": {
			skip: []string{"go run ./cmd/colaregistry serve\n", "claude ", "sudo ", "make "},
			files: map[string]string{
				"export.csv":    labelColumns + "99365001000031,OLD RAVEN,wine,BWN-OR-16677,2026-01-02\n",
				"more.jsonl.gz": compressed(`{"ttb_id": "99365001000032", "brand_name": "NEW RAVEN", "product_type": "wine", "permit_number": "BWN-OR-16677"}`),
			},
			want: []string{
				"/sign-in/link/", `"brand_name":"RAVEN & OAK","similarity":"sounds_alike"`, `"year":`, "read=2 added=2", "you@example.com",
			},
		},
		"docs/ALERTS.md":   {want: []string{`"too_broad":false`, `"data":[]`}},
		"docs/WEBHOOKS.md": {want: []string{`"state":"pending"`, `"code":"not_active"`, `"event":"destination.confirm"`}},
		"docs/QUICKSTART.md": {want: []string{
			`"brand_name":"RAVEN & OAK"`, `"grape_varietals":[`, `"prodct_type":[`, `"detail_views":{"used":1,`, `"name":"Wines named raven"`,
		}},
		"docs/INSTALL.md": {
			// The test has its own server and data directory.
			skip: []string{"go run ./cmd/colaregistry serve\n", "export COLAREGISTRY_DATA_DIR"},
			want: []string{
				"/sign-in/link/", `"list_records":{"used":0`, `"brand_name":"LITTLE RAVEN"`, `"match_count":1`,
				`"ttb_id":"26266001009917","late":false,"met":["brand_name","type_wine"]`, `"state":"delivered"`, `"verdict":"found"`,
			},
		},
		"docs/API.md": {want: []string{
			`"product_type":"wine"`, `"year":`, `"company_name":`, `"others":{"groups":`, `"similarity":`, `"ava_id":`, `"value":`,
			`"list_records":{"used":`, `"active":false`,
		}},
		"docs/AUTHENTICATION.md": {want: []string{`"list_records":{"used":0`, "401 Unauthorized", `"code":"unauthorized"`}},
		"docs/COVERAGE.md":       {want: []string{`"data_as_of":"`, `"years":[`}},
		"docs/ERRORS.md":         {want: []string{`"code":"validation_error"`, `"orign":["`}},
		"docs/SEARCH.md":         {want: []string{`"value":"`}},
		"docs/IMPORT.md": {
			skip: []string{"colaregistry import --rejects"}, // rejected rows make it fail
			files: map[string]string{
				"export.csv":                labelColumns + "99365001000041,OLD RAVEN,wine,BWN-OR-16677,2026-01-02\n",
				"more.jsonl.gz":             compressed(`{"ttb_id": "99365001000042", "brand_name": "NEW RAVEN", "product_type": "wine", "permit_number": "BWN-OR-16677"}`),
				"pages/list.csv":            labelColumns + "99365001000043,LOST RAVEN,wine,BWN-OR-16677,2026-01-02\n",
				"pages.zip":                 zipped("list.csv", labelColumns+"99365001000044,FOUND RAVEN,wine,BWN-OR-16677,2026-01-02\n"),
				"frl-wine-producers.csv":    "Permit_Number,Owner_Name\nBWN-OR-99990,A\n",
				"FRL_Wine_List.csv":         "Permit_Number,Owner_Name\nBWN-OR-99991,B\n",
				"FRL_All_Permits.json":      `{"Definitions":["Permit_Number","Owner_Name"],"Permit Data":[["BWN-OR-99992","C"]]}`,
				"avas.geojson":              `{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"ava_id":"raven_hills","name":"Raven Hills"}}]}`,
				"Wine_monthly_data_csv.csv": "CY_Month_Number," + statisticColumns + "1,2024,1-Production,1-Total,Still,5,100,Wine,FALSE\n",
				"Wine_yearly_data_csv.csv":  statisticColumns + "2024,1-Production,1-Total,Still,5,1200,Wine,FALSE\n",
				"cola_stats.xml": `<ROWSET><FOR_XML2><commodity>DS</commodity><Turnaround_Time_Median>4</Turnaround_Time_Median>` +
					`<month>11</month><day>20</day><year>2026</year></FOR_XML2></ROWSET>`,
				"form_stats.csv": "application_type,processing_time,processing_new,creation_date\nDistilled Spirits,5,11/14/2026,11/20/2026\n",
			},
			want: []string{"read=2 added=2", "read=1000 added=", "read=1 added=1"},
		},
		"docs/OAUTH.md": {arrange: connectApp, want: []string{"my-app", "ada@example.com", "bob@example.com"}},
	} {
		t.Run(guide, func(t *testing.T) { w.check(t, guide) })
	}
}

const statisticColumns = "Year,Statistical_Group,Statistical_Category,Statistical_Detail,Count_IMs,Value,commodity,Stat_Redaction\n"

// connectApp connects an app to Ada's account, as the first app and connection.
func connectApp(t *testing.T, s store.Store) {
	t.Helper()
	account, err := s.CreateAccount(t.Context(), "ada@example.com", cola.TierFree)
	if err != nil {
		t.Fatal(err)
	}
	app, err := s.RegisterApp(t.Context(), store.App{Issuer: "https://issuer.example", ClientID: "my-app", Name: "My app"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Connect(t.Context(), account.ID, app.ID, nil); err != nil {
		t.Fatal(err)
	}
}

func compressed(content string) string {
	var b strings.Builder
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(content))
	_ = z.Close()
	return b.String()
}

func zipped(name, content string) string {
	var b strings.Builder
	z := zip.NewWriter(&b)
	if w, err := z.Create(name); err == nil {
		_, _ = w.Write([]byte(content))
	}
	_ = z.Close()
	return b.String()
}

// script returns the shell blocks of a guide that are not skipped.
func (w walkthrough) script(t *testing.T, guide string) string {
	t.Helper()
	script, skipped := "set -euo pipefail\n", map[string]bool{}
	for _, block := range shellBlock.FindAllStringSubmatch(guide, -1) {
		i := slices.IndexFunc(w.skip, func(start string) bool { return strings.HasPrefix(block[1], start) })
		if i < 0 {
			script += block[1]
		} else {
			skipped[w.skip[i]] = true
		}
	}
	if len(skipped) < len(w.skip) {
		t.Errorf("skipped only %v of the blocks %q", skipped, w.skip)
	}
	return strings.NewReplacer("go run ./cmd/colaregistry", "colaregistry", "--colas 1000000", "--colas 1000").Replace(script)
}

// check runs the shell blocks of a guide in one shell. The output must contain the guide's quoted
// lines in order, and every string in want.
func (w walkthrough) check(t *testing.T, name string) {
	t.Parallel()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skipf("no shell: %v", err)
	}
	guide, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	onBoth(t, func(t *testing.T, h testRegistry) {
		s, st := startServer(t, h, "--webhook-allow-private"), mustOpen(t, h)
		if _, err := st.AccountByEmail(t.Context(), "demo@example.com"); err != nil {
			mustAccount(t, st, "demo@example.com", "pro")
		}
		if w.arrange != nil {
			w.arrange(t, st)
		}
		script := w.script(t, string(guide))
		for _, address := range []string{"http://127.0.0.1:8080", "http://localhost:8080"} {
			script = strings.ReplaceAll(script, address, strings.TrimSuffix(s.base, "/api/v1"))
		}
		receiver := mustFreeAddress(t)
		script = strings.NewReplacer("127.0.0.1:9090", receiver, "https://hooks.example.com", "http://"+receiver).Replace(script)
		walk := exec.Command(shell, "-c", script)
		_, key, _ := mustAccount(t, st, "reader@example.com", "pro")
		walk.Dir, walk.Env = t.TempDir(), append(os.Environ(), "API="+s.base, "API_KEY="+key.Reveal(), "COLAREGISTRY_DATA_DIR="+h.DataDir,
			"COLAREGISTRY_DATABASE_URL="+h.DatabaseURL, "PATH="+mustProgramDir(t)+":"+os.Getenv("PATH"))
		walk.Stdin = strings.NewReader(key.Reveal() + "\n") // for the quickstart, which asks for it
		if flags := h.keyFlags(t); flags != nil {
			walk.Env = append(walk.Env, "COLAREGISTRY_SECRET_KEY_FILE="+flags[1])
		}
		for file, content := range w.files {
			file = filepath.Join(walk.Dir, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600)); err != nil {
				t.Fatal(err)
			}
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
		for _, want := range w.want {
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
