package search

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

var benchLabels = flag.Int("labels", 200_000, "labels that benchmarks search")

// class is one class of query that the index promises to answer in under a millisecond.
type class struct {
	name string
	ask  func(v *View, i int) int // asks variant i and returns the total
}

func search(edit func(s *cola.ColaSearch, i int)) func(*View, int) int {
	return func(v *View, i int) int {
		s := cola.ColaSearch{Page: 1, PerPage: 20}
		edit(&s, i)
		return v.Search(s).Total
	}
}

func text(words ...string) func(*View, int) int {
	return search(func(s *cola.ColaSearch, i int) { s.Text = words[i%len(words)] })
}

func brand(parts ...string) func(*View, int) int {
	return search(func(s *cola.ColaSearch, i int) { s.BrandName = parts[i%len(parts)] })
}

func permittees(edit func(s *cola.PermitteeSearch, i int)) func(*View, int) int {
	return func(v *View, i int) int {
		s := cola.PermitteeSearch{Page: 1, PerPage: 20, Today: cola.NewDate(2026, 11, 20)}
		edit(&s, i)
		return v.Permittees(s).Total
	}
}

func letters(n int) (all []string) {
	if n == 0 {
		return []string{""}
	}
	for _, head := range letters(n - 1) {
		for c := 'a'; c <= 'z'; c++ {
			all = append(all, head+string(c))
		}
	}
	return all
}

func starred(words []string) []string {
	out := slices.Clone(words)
	for i := range out {
		out[i] += "*"
	}
	return out
}

func classes(g *synthetic, sample []cola.IndexRecord) []class {
	today := cola.NewDate(2026, 11, 20)
	common := strings.Fields(commonWords)
	at := func(i int) *cola.IndexRecord { return &sample[i%len(sample)] }
	pairs := make([]string, 0, 500)
	spaced := make([]string, 0, 500)
	for i := range 500 {
		a, b := common[i*7%len(common)], common[(i*13+5)%len(common)]
		pairs = append(pairs, a+" "+b)
		spaced = append(spaced, a[max(0, len(a)-1-i%4):]+" "+b[:1+i%3%len(b)])
	}
	coded := slices.Clone(sample)
	coded = slices.DeleteFunc(coded, func(l cola.IndexRecord) bool { return l.MainBarcode == "" })
	code := func(i int) string { return coded[i%len(coded)].MainBarcode }
	american := cola.OriginNames("american")
	short := [][]string{letters(1), letters(2), letters(3)}
	quoted := slices.Clone(pairs)
	for i := range quoted {
		quoted[i] = `"` + quoted[i] + `"`
	}
	return []class{
		{"recent, default window", search(func(s *cola.ColaSearch, _ int) { s.From = today.AddDays(-365) })},
		{"no filter, all history", search(func(*cola.ColaSearch, int) {})},
		{"text: a common word", text(common...)},
		{"text: any word", text(g.words...)},
		{"text: two common words", text(pairs...)},
		{"text: three, default window", search(func(s *cola.ColaSearch, i int) { s.Text, s.From = pairs[i%len(pairs)]+" wine", today.AddDays(-365) })},
		{"text: phrase of common words", text(quoted...)},
		{"text: dense phrases", text(`"table red"`, `"red wine"`, `"table red wine"`, `"cabernet sauvignon"`, `"wine red"`, `"straight bourbon"`)},
		{"text: prefix of 1", text(starred(letters(1))...)},
		{"text: prefix of 2", text(starred(letters(2))...)},
		{"text: prefix of 3", text(starred(letters(3))...)},
		{"text: prefix of 4, digits", text("vine*", "brew*", "cabe*", "chat*", "1*", "2*", "19*", "20*", "201*", "2015*", "0500*", "15*")},
		{"text: permit number", search(func(s *cola.ColaSearch, i int) { s.Text = at(i).Summary.PermitNumber })},
		{"text: id", search(func(s *cola.ColaSearch, i int) { s.Text = at(i).Summary.TTBID.String() })},
		{"text: barcode", search(func(s *cola.ColaSearch, i int) { s.Text = code(i) })},
		{"brand: oak", brand("oak")},
		{"brand: 1 letter", brand(letters(1)...)},
		{"brand: 2 letters", brand(letters(2)...)},
		{"brand: 3 letters", brand(letters(3)...)},
		{"brand: part of a common word", brand("vineyard", "ineyar", "ower", "tion", "king", "ellars", "estat", "ston", "ring", "ther", "ridg", "chate")},
		{"brand: any word", brand(g.words...)},
		{"brand: with a space", brand(spaced...)},
		{"brand: words with a space", brand(pairs...)},
		{"brand: oak, default window", search(func(s *cola.ColaSearch, _ int) { s.BrandName, s.From = "oak", today.AddDays(-365) })},
		{"permit number", search(func(s *cola.ColaSearch, i int) { s.PermitNumber = at(i).Summary.PermitNumber })},
		{"part of a permit number", search(func(s *cola.ColaSearch, i int) {
			s.PermitPart = []string{"ca", "-", "i", "ca-i-", "bwn", "dsp-ky", "12", "nj-i-7", "br-ca-1"}[i%9]
		})},
		{"origin", search(func(s *cola.ColaSearch, i int) { s.OriginNames = []string{g.origins[i%len(g.origins)].Name} })},
		{"origin: american", search(func(s *cola.ColaSearch, i int) { s.OriginNames = american })},
		{"category path", search(func(s *cola.ColaSearch, i int) { s.CategoryPath = g.paths[i%len(g.paths)] })},
		{"category roots", search(func(s *cola.ColaSearch, i int) { s.Categories = cola.CategoryRoots()[:1+i%3] })},
		{"abv range", search(func(s *cola.ColaSearch, i int) {
			s.ABVMin, s.ABVMax = cola.Some(float64(i%10)), cola.Some(float64(10+i%40)+.5)
		})},
		{"volume range", search(func(s *cola.ColaSearch, i int) {
			s.VolumeMin, s.VolumeMax = cola.Some(float64(i%400)), cola.Some(float64(400+i%700))
		})},
		{"containers and types", search(func(s *cola.ColaSearch, i int) {
			s.Containers, s.ProductTypes = cola.ContainerTypes()[:1+i%10], cola.ProductTypes()[:1+i%3]
		})},
		{"status and domestic", search(func(s *cola.ColaSearch, i int) { s.Status, s.Domestic = cola.Statuses()[i%4], cola.Imported })},
		{"main barcode", search(func(s *cola.ColaSearch, i int) { s.Barcode = code(i) })},
		{"everything at once", search(func(s *cola.ColaSearch, i int) {
			s.Text, s.BrandName, s.Status = common[i%len(common)]+" w*", "an", cola.StatusApproved
			s.ProductTypes, s.Containers, s.Categories = cola.ProductTypes()[:2], cola.ContainerTypes()[:5], cola.CategoryRoots()[:2]
			s.ABVMin, s.ABVMax, s.VolumeMin = cola.Some(5.0), cola.Some(14.0), cola.Some(300.0)
		})},
		{"page 100 of 100", search(func(s *cola.ColaSearch, i int) { s.Text, s.Page, s.PerPage = common[i%10], 100, 100 })},
		{"cursor, deep", search(func(s *cola.ColaSearch, i int) {
			l := &at(i).Summary
			s.CursorMode, s.After, s.PerPage = true, cola.Position{Date: l.ApprovalDate, TTBID: l.TTBID}, 100
		})},
		{"barcode lookup", func(v *View, i int) int { r, _ := v.Barcode(code(i), 100); return r.TotalColas }},
		{"permittees: all", permittees(func(*cola.PermitteeSearch, int) {})},
		{"permittees: name of 1 to 3", permittees(func(s *cola.PermitteeSearch, i int) { s.Name = short[i%3][i%len(short[i%3])] })},
		{"permittees: name", permittees(func(s *cola.PermitteeSearch, i int) {
			s.Name = []string{"winery", "llc", "company", "oak", "s w", pairs[i%len(pairs)], g.words[i%len(g.words)]}[i%7]
		})},
		{"permittees: type, state, active", permittees(func(s *cola.PermitteeSearch, i int) {
			s.Type, s.State, s.Active = []string{"wine", "import", "plant"}[i%3], []string{"", "CA", "NJ"}[i/3%3], cola.Some(i%2 == 0)
		})},
		{"permittees: page 1000", permittees(func(s *cola.PermitteeSearch, i int) { s.Page, s.PerPage = 1000, 100 })},
		{"permittee", func(v *View, i int) int {
			d, _ := v.Permittee(at(i).Summary.PermitNumber, today, 10)
			return d.Colas
		}},
	}
}

// heap returns the bytes of the heap in use after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// peak returns the most the process's heap held while f ran.
func peak(f func()) (most uint64) {
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	f()
	close(done)
	<-watched
	return most
}

const mib = 1 << 20

// built makes the benchmarks' index once.
var built = sync.OnceValue(func() (b struct {
	index  *Index
	g      *synthetic
	sample []cola.IndexRecord
}) {
	n := *benchLabels
	b.g = newSynthetic(1, n)
	before := heap()
	b.index = New(Options{ManualFold: true})
	var spent time.Duration
	began := time.Now()
	high := peak(func() {
		u := b.index.Begin()
		for i := range b.g.permits {
			u.Permittee(&b.g.permits[i])
		}
		for i := range n {
			l := b.g.label(i, n)
			if i%max(1, n/997) == 0 {
				b.sample = append(b.sample, l)
			}
			at := time.Now()
			u.Label(&l)
			spent += time.Since(at)
		}
		at := time.Now()
		if err := u.Commit(Marks{Labels: 1}); err != nil {
			panic(err)
		}
		fmt.Fprintf(os.Stderr, "%d labels: collected in %v, committed in %v (with making them %v)\n", n, spent.Round(time.Millisecond),
			time.Since(at).Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	})
	s := b.index.View().Stats()
	save(b.index)
	fmt.Fprintf(os.Stderr, "held %d MiB, heap %d MiB more than before, %d MiB at the peak: %+v\n", s.Bytes/mib, (heap()-before)/mib, (high-before)/mib, s)
	return b
})

// save tells how long a snapshot takes, to write and to read.
func save(x *Index) {
	dir, err := os.MkdirTemp("", "snapshot")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	at := time.Now()
	if err := x.Save(dir+"/index", "bench"); err != nil {
		panic(err)
	}
	saved := time.Since(at)
	y := New(Options{ManualFold: true})
	defer y.Close()
	at = time.Now()
	if _, err := y.Restore(dir+"/index", "bench"); err != nil {
		panic(err)
	}
	fmt.Fprintf(os.Stderr, "saved in %v, restored in %v\n", saved.Round(time.Millisecond), time.Since(at).Round(time.Millisecond))
}

// BenchmarkClasses prints a table of how long each class of query takes.
func BenchmarkClasses(b *testing.B) {
	x := built()
	for _, shape := range []string{"one segment", "eight segments"} {
		if shape != "one segment" {
			churn(b, x.index, x.g)
		}
		report(b, shape, x.index.View(), classes(x.g, x.sample))
	}
}

// churn changes labels in batches, so that there are small segments and dead labels.
func churn(b *testing.B, x *Index, g *synthetic) {
	n := *benchLabels
	var spent []time.Duration
	for size := n / 16; size > 0 && size >= n/2048; size /= 2 {
		u := x.Begin()
		for range size {
			l := g.label(g.IntN(n), n)
			u.Label(&l)
		}
		at := time.Now()
		if err := u.Commit(Marks{}); err != nil {
			b.Fatal(err)
		}
		spent = append(spent, time.Since(at).Round(time.Millisecond))
	}
	fmt.Fprintf(os.Stderr, "commits of %d labels, and half as many each time: %v\n", n/16, spent)
}

func report(b *testing.B, shape string, v *View, all []class) {
	w := tabwriter.NewWriter(os.Stderr, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\tp50\tp99\tmax\tp99, quickest of 3\tmean total\n", shape)
	for _, c := range all {
		const asked = 1000
		took, quick, total := make([]time.Duration, asked), make([]time.Duration, asked), 0
		for round := range 3 {
			for i := range asked {
				at := time.Now()
				total += c.ask(v, i)
				if took[i] = time.Since(at); round == 0 || took[i] < quick[i] {
					quick[i] = took[i]
				}
			}
		}
		slices.Sort(took)
		slices.Sort(quick)
		late := ""
		if quick[asked*99/100] > time.Millisecond {
			late = "LATE"
		}
		fmt.Fprintf(w, "%s\t%v\t%v\t%v\t%v\t%d\t%s\n", c.name, took[asked/2], took[asked*99/100], took[asked-1],
			quick[asked*99/100], total/asked/3, late)
	}
	w.Flush()
	b.ReportMetric(float64(v.Stats().Bytes)/mib, "MiB")
}

// BenchmarkFold folds everything into one segment.
func BenchmarkFold(b *testing.B) {
	x := built()
	churn(b, x.index, x.g)
	var err error
	at := time.Now()
	high := peak(func() { err = x.index.Fold(context.Background()) })
	if err != nil {
		b.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "folded in %v, %d MiB at the peak, %d MiB after\n", time.Since(at).Round(time.Millisecond), high/mib, heap()/mib)
}

// BenchmarkImport publishes labels as an import does, a few thousand at a time, while they are folded in the background.
func BenchmarkImport(b *testing.B) {
	const batch = 5000
	n := *benchLabels
	g := newSynthetic(2, n)
	x := New(Options{})
	defer x.Close()
	var commits, searches []time.Duration
	most := 0
	began := time.Now()
	high := peak(func() {
		for i := 0; i < n; i += batch {
			u := x.Begin()
			for j := i; j < min(i+batch, n); j++ {
				l := g.label(j, n)
				u.Label(&l)
			}
			for range 20 {
				u.Permittee(&g.permits[g.IntN(len(g.permits))])
			}
			at := time.Now()
			if err := u.Commit(Marks{}); err != nil {
				b.Fatal(err)
			}
			commits = append(commits, time.Since(at))
			at = time.Now()
			x.View().Search(cola.ColaSearch{Query: cola.Query{Text: "oak wine"}, Page: 1, PerPage: 20})
			searches = append(searches, time.Since(at))
			most = max(most, x.View().Stats().Segments)
		}
	})
	slices.Sort(commits)
	slices.Sort(searches)
	fmt.Fprintf(os.Stderr, "imported in %v: commits p50 %v, p99 %v, max %v; searches p50 %v, p99 %v; at most %d segments; %d MiB at the peak, %d MiB after\n",
		time.Since(began).Round(time.Millisecond), commits[len(commits)/2], commits[len(commits)*99/100], commits[len(commits)-1],
		searches[len(searches)/2], searches[len(searches)*99/100], most, high/mib, heap()/mib)
}
