package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

func TestWordsOf(t *testing.T) {
	for text, want := range map[string][]string{
		"GOLDEN OAK'S Château": {"golden", "oaks", "chateau"},
		"A. B. & CO 12 X2Y":    {},
		"":                     {},
		"Müller-Thurgau 2015":  {"muller", "thurgau"},
	} {
		if got := wordsOf(text); !slices.Equal(got, want) {
			t.Errorf("%q has the words %q, not %q", text, got, want)
		}
	}
}

// TestQuestionsRepeat draws the same questions for every target.
func TestQuestionsRepeat(t *testing.T) {
	v := testVocabulary()
	drawn := func(seed uint64) (paths []string) {
		d := newDraws(v, testNow, seed)
		for range 20 {
			for _, c := range classes() {
				q := c.draw(d, c)
				paths = append(paths, q.path)
				d.walk.went(cola.Position{Date: 1, TTBID: 1}, true)
			}
		}
		return paths
	}
	if diff := cmp.Diff(drawn(1), drawn(1)); diff != "" {
		t.Errorf("the same seed draws other questions:\n%s", diff)
	}
	if slices.Equal(drawn(1), drawn(2)) {
		t.Error("another seed draws the same questions")
	}
}

func TestVocabularyIsInOrderOfIDs(t *testing.T) {
	v := testVocabulary()
	if len(v.labels) != 2 || v.labels[0].Summary.TTBID > v.labels[1].Summary.TTBID || len(v.coded) != 2 {
		t.Errorf("%d labels, %d with a barcode, the first is %s", len(v.labels), len(v.coded), v.labels[0].Summary.TTBID)
	}
	large := newVocabulary(100 * sampleSize)
	for i := range 100_000 {
		large.offer(&cola.IndexRecord{Summary: cola.ColaSummary{TTBID: cola.TTBID(11054001000049 + i)}})
	}
	if n := len(large.labels); n < 700 || n > 1300 {
		t.Errorf("of 100,000 labels one in a hundred should be taken, not %d", n)
	}
}

// TestWalk follows a walk to its last page, and one that ends before.
func TestWalk(t *testing.T) {
	d := newDraws(testVocabulary(), testNow, 1)
	i := slices.IndexFunc(classes(), func(c *class) bool { return c.sql == "walk" })
	c := classes()[i]
	for page := 1; page <= lastWalked; page++ {
		q := c.draw(d, c)
		if q.colas.Page != page || q.colas.CursorMode != (page > 1) {
			t.Fatalf("page %d: %s is page %d", page, q.path, q.colas.Page)
		}
		if page > 1 && (q.colas.After != cola.Position{Date: 700_000, TTBID: cola.TTBID(page - 1)}) {
			t.Fatalf("page %d begins after %v", page, q.colas.After)
		}
		d.walk.went(cola.Position{Date: 700_000, TTBID: cola.TTBID(page)}, true)
	}
	for range 2 {
		if q := c.draw(d, c); q.colas.CursorMode {
			t.Errorf("a new walk begins at %s", q.path)
		}
		d.walk.went(cola.Position{}, false)
	}
}

// TestPathsSayWhatIsSearched reads the path of each question back.
func TestPathsSayWhatIsSearched(t *testing.T) {
	d := newDraws(testVocabulary(), testNow, 3)
	for _, c := range classes() {
		q := c.draw(d, c)
		u, err := url.Parse(q.path)
		if err != nil {
			t.Fatal(err)
		}
		got := u.Query()
		for name, want := range map[string]string{
			"q": q.colas.Text + q.permittees.Name, "brand_name": q.colas.BrandName, "permit_number": q.colas.PermitNumber,
			"product_type": strings.Join(q.colas.ProductTypes, ","), "category": strings.Join(q.colas.Categories, ","),
			"container_type": strings.Join(q.colas.Containers, ","), "origin": strings.Join(q.colas.OriginNames, ","),
			"abv_min": optionalText(q.colas.ABVMin), "abv_max": optionalText(q.colas.ABVMax),
		} {
			if got.Get(name) != want {
				t.Errorf("%s: %s asks for %s %q, the search for %q", c.name, q.path, name, got.Get(name), want)
			}
		}
		if from := got.Get("approval_date_from"); from != q.colas.From.String() && !q.colas.DefaultWindow {
			t.Errorf("%s: %s begins at %q, the search at %s", c.name, q.path, from, q.colas.From)
		}
	}
}

func optionalText(v cola.Opt[float64]) string {
	if !v.OK {
		return ""
	}
	return fmt.Sprint(v.V)
}

func TestParameters(t *testing.T) {
	for text, want := range map[string]string{"Oak": "oak", "golden RED": "golden & red", "cha*": "cha:*", "red wi*": "red & wi:*"} {
		if got := tsquery(text); got != want {
			t.Errorf("%q is asked as %q, not %q", text, got, want)
		}
	}
	for part, want := range map[string]string{"Oak": "%oak%", `50% _\`: `%50\% \_\\%`, "Maker's": "%makers%"} {
		if got := containing(part); got != want {
			t.Errorf("what contains %q is like %q, not %q", part, got, want)
		}
	}
	q := question{colas: cola.ColaSearch{Query: cola.Query{Text: "Golden RED*"}}}
	for name, want := range map[string]any{"word": "golden", "other_word": "red*", "words": "golden & red:*"} {
		if got := q.value(name); got != want {
			t.Errorf("%s is %v, not %v", name, got, want)
		}
	}
	q.colas.Text = "Chât*"
	if got := q.value("prefix"); got != "chat%" {
		t.Errorf("what begins with %s is like %v", q.colas.Text, got)
	}
	if got := numbers("04252614"); !slices.Equal(got, []int64{4252614, 42100005264}) {
		t.Errorf("the numbers of an abbreviated barcode are %v", got)
	}
	if got := numbers("QR-7"); got != nil {
		t.Errorf("what is no number has the numbers %v", got)
	}
}
