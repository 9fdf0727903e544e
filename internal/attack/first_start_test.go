package attack

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/internal/program"
)

var printedSecret = regexp.MustCompile(`lar_\w+|/sign-in/link/\S+`)

// TestFirstStartSecrets starts a server that other machines can reach, with its output in a pipe as
// in a container. Neither the first nor a later start may print a credential; both must print
// working commands that create one.
func TestFirstStartSecrets(t *testing.T) {
	dir := t.TempDir()
	markFirstStart(t, dir)
	options := program.Options{Dir: dir, Address: strings.Replace(program.Address(t), "127.0.0.1", "0.0.0.0", 1)}
	for _, when := range []string{"first", "later"} {
		s := program.Start(t, options)
		s.AwaitOutput("account link")
		if found := printedSecret.FindString(s.Output() + s.Log()); found != "" {
			t.Errorf("%s start prints %s", when, found)
		}
		if keys := s.Run("key", "list"); strings.Contains(keys, "first start") {
			t.Errorf("%s start created a key without printing it:\n%s", when, keys)
		}
		for _, line := range strings.Split(s.Output(), "\n") {
			_, command, ok := strings.Cut(line, "colaregistry ")
			if !ok {
				continue
			}
			args := strings.Fields(strings.ReplaceAll(command, "'", ""))
			args = args[:len(args)-2] // Run adds --data-dir
			if out := s.Run(args...); !printedSecret.MatchString(out) {
				t.Errorf("%s prints no credential: %s", command, out)
			}
		}
		s.Stop()
	}
}

// TestFirstStartOnLoopback checks that a server on a loopback address prints a key and a link on
// its first start, and only a link later.
func TestFirstStartOnLoopback(t *testing.T) {
	dir := t.TempDir()
	markFirstStart(t, dir)
	for _, want := range []int{5, 1} { // first a key, a link and three example calls; later only a link
		s := program.Start(t, program.Options{Dir: dir})
		s.AwaitOutput("Dashboard")
		if found := printedSecret.FindAllString(s.Output(), -1); len(found) != want {
			t.Errorf("%d secrets printed, want %d:\n%s", len(found), want, s.Output())
		}
		s.Stop()
	}
}

// markFirstStart makes the next start in an empty folder load a few labels, as if resuming an
// interrupted first start.
func markFirstStart(t *testing.T, dir string) {
	t.Helper()
	b, err := json.Marshal(demo.Options{Colas: 50, Seed: 1, AsOf: cola.DateOf(time.Now())})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "demo.loading"), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
