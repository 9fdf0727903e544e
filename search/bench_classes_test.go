package search

import (
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// class is a class of measured queries.
type class struct {
	name string
	ask  func(v *View, i int) int // runs variant i and returns the total
}

func search(edit func(s *cola.ColaSearch, i int)) func(*View, int) int {
	return func(v *View, i int) int {
		s := cola.ColaSearch{Page: 1, PerPage: 20}
		edit(&s, i)
		return v.Search(s).Total
	}
}

func searchText(words ...string) func(*View, int) int {
	return search(func(s *cola.ColaSearch, i int) { s.Text = words[i%len(words)] })
}

func brand(parts ...string) func(*View, int) int {
	return search(func(s *cola.ColaSearch, i int) { s.BrandName = parts[i%len(parts)] })
}

// letters returns every string of n letters.
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

// surround adds a prefix and a suffix to each string.
func surround(before string, words []string, after string) []string {
	out := slices.Clone(words)
	for i := range out {
		out[i] = before + out[i] + after
	}
	return out
}

// hyphenated returns the strings with hyphens in place of spaces.
func hyphenated(words []string) []string {
	out := slices.Clone(words)
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], " ", "-")
	}
	return out
}

// samples contains the labels and search terms that the classes query for.
type samples struct {
	g      *synthetic
	sample []cola.IndexRecord // existing labels
	coded  []cola.IndexRecord // labels with a barcode
	today  cola.Date
	common []string
	pairs  []string // pairs of common words
	spaced []string // the end of one word, a space and the beginning of another
}

func newSamples(g *synthetic, sample []cola.IndexRecord) *samples {
	a := &samples{g: g, sample: sample, today: cola.NewDate(2026, 11, 20), common: strings.Fields(commonWords)}
	a.coded = slices.DeleteFunc(slices.Clone(sample), func(l cola.IndexRecord) bool { return l.MainBarcode == "" })
	for i := range 500 {
		x, y := a.common[i*7%len(a.common)], a.common[(i*13+5)%len(a.common)]
		a.pairs = append(a.pairs, x+" "+y)
		a.spaced = append(a.spaced, x[max(0, len(x)-1-i%4):]+" "+y[:1+i%3%len(y)])
	}
	return a
}

func classes(a *samples) []class {
	return slices.Concat(a.general(), a.texts(), a.brands(), a.filters(), a.permittees(),
		a.sorted(cola.SortOldest), a.sorted(cola.SortBrand))
}

func (a *samples) label(i int) *cola.ColaSummary { return &a.sample[i%len(a.sample)].Summary }

func (a *samples) code(i int) string { return a.coded[i%len(a.coded)].MainBarcode }

func (a *samples) general() []class {
	return []class{
		{"recent, default window", search(func(s *cola.ColaSearch, _ int) { s.From = a.today.AddDays(-365) })},
		{"no filter, all dates", search(func(*cola.ColaSearch, int) {})},
		{"daily counts, last 30 days", func(v *View, i int) (n int) {
			q := cola.Query{Text: a.common[i%len(a.common)], From: a.today.AddDays(-29), To: a.today}
			for _, found := range v.CountByDay(q) {
				n += found
			}
			return n
		}},
		{
			"page 100 of 100",
			search(func(s *cola.ColaSearch, i int) { s.Text, s.Page, s.PerPage = a.common[i%10], 100, 100 }),
		},
		{"cursor, deep", search(func(s *cola.ColaSearch, i int) {
			l := a.label(i)
			s.CursorMode, s.After, s.PerPage = true, cola.Position{Date: l.EffectiveDate(), TTBID: l.TTBID}, 100
		})},
		{"barcode lookup", func(v *View, i int) int { r, _ := v.Barcode(a.code(i), 100); return r.TotalColas }},
		{"everything at once", search(func(s *cola.ColaSearch, i int) {
			s.Text, s.BrandName, s.Status = a.common[i%len(a.common)]+" w*", "an", vocabulary.StatusApproved
			s.ProductTypes = vocabulary.ProductTypes()[:2]
			s.Containers = cola.ContainerTypes()[:5]
			s.Categories = vocabulary.CategoryRoots()[:2]
			s.ABVMin, s.ABVMax, s.VolumeMin = cola.Some(5.0), cola.Some(14.0), cola.Some(300.0)
		})},
	}
}

func (a *samples) texts() []class {
	return []class{
		{"text: a common word", searchText(a.common...)},
		{"text: random word", searchText(a.g.words...)},
		{"text: two common words", searchText(a.pairs...)},
		{"text: three words, default window", search(func(s *cola.ColaSearch, i int) {
			s.Text, s.From = a.pairs[i%len(a.pairs)]+" wine", a.today.AddDays(-365)
		})},
		{"text: phrase of common words", searchText(surround(`"`, a.pairs, `"`)...)},
		{"text: plurals of common words", searchText(surround("", a.common, "s")...)},
		{"text: hyphenated common words", searchText(hyphenated(a.pairs)...)},
		{"text: long chain of hyphens", searchText(strings.Join(a.common[:20], "-"), "table-red-wine-"+a.common[0])},
		{"text: space instead of an apostrophe", searchText(slices.Concat(surround("d ", a.common, ""), surround("", a.common, " s"))...)},
		{"text: misspelled word", func(v *View, i int) int { return len(v.NearestWords(a.common[i%len(a.common)] + "x")) }},
		{"text: dense phrases", searchText(`"table red"`, `"red wine"`, `"table red wine"`, `"cabernet sauvignon"`, `"wine red"`,
			`"straight bourbon"`, `"red w*"`, `"cabernet s*"`)},
		{"text: 1-character prefix", searchText(surround("", letters(1), "*")...)},
		{"text: 2-character prefix", searchText(surround("", letters(2), "*")...)},
		{"text: 3-character prefix", searchText(surround("", letters(3), "*")...)},
		{
			"text: prefixes of common words, digits",
			searchText("vine*", "brew*", "cabe*", "chat*", "1*", "2*", "19*", "20*", "201*", "2015*", "0500*", "15*"),
		},
		{"text: permit number", search(func(s *cola.ColaSearch, i int) { s.Text = a.label(i).PermitNumber })},
		{"text: id", search(func(s *cola.ColaSearch, i int) { s.Text = a.label(i).TTBID.String() })},
		{"text: barcode", search(func(s *cola.ColaSearch, i int) { s.Text = a.code(i) })},
	}
}

func (a *samples) brands() []class {
	return []class{
		{"brand: oak", brand("oak")},
		{
			"brand: oak, default window",
			search(func(s *cola.ColaSearch, _ int) { s.BrandName, s.From = "oak", a.today.AddDays(-365) }),
		},
		{"brand: 1 letter", brand(letters(1)...)},
		{"brand: 2 letters", brand(letters(2)...)},
		{"brand: 3 letters", brand(letters(3)...)},
		{
			"brand: part of a common word",
			brand("vineyard", "ineyar", "ower", "tion", "king", "ellars", "estat", "ston", "ring", "ther", "chate"),
		},
		{"brand: random word", brand(a.g.words...)},
		{"brand: with a space", brand(a.spaced...)},
		{"brand: words with a space", brand(a.pairs...)},
		{"brand: plurals", brand(surround("", a.pairs, "s")...)},
		{"brand: plurals of one word", brand(surround("", a.common, "s")...)},
		{"brand: whole", search(func(s *cola.ColaSearch, i int) { s.BrandName = `"` + a.label(i).BrandName + `"` })},
		{"brand: punctuation", brand("o'", "d'or", "st.", "a.b", "é", "&", "/")},
	}
}

func (a *samples) filters() []class {
	american := vocabulary.OriginNames("american")
	parts := []string{"ca", "-", "i", "ca-i-", "bwn", "dsp-ky", "12", "nj-i-7", "br-ca-1"}
	return []class{
		{"permit number", search(func(s *cola.ColaSearch, i int) { s.PermitNumber = a.label(i).PermitNumber })},
		{"class/type", search(func(s *cola.ColaSearch, i int) { s.Class = string(a.label(i).ClassName) })},
		{"part of a permit number", search(func(s *cola.ColaSearch, i int) { s.PermitPart = parts[i%len(parts)] })},
		{
			"origin",
			search(func(s *cola.ColaSearch, i int) { s.OriginNames = []string{a.g.origins[i%len(a.g.origins)].Name} }),
		},
		{"origin: american", search(func(s *cola.ColaSearch, i int) { s.OriginNames = american })},
		{"category path", search(func(s *cola.ColaSearch, i int) { s.CategoryPath = a.g.paths[i%len(a.g.paths)] })},
		{
			"category roots",
			search(func(s *cola.ColaSearch, i int) { s.Categories = vocabulary.CategoryRoots()[:1+i%3] }),
		},
		{"abv range", search(func(s *cola.ColaSearch, i int) {
			s.ABVMin, s.ABVMax = cola.Some(float64(i%10)), cola.Some(float64(10+i%40)+.5)
		})},
		{"volume range", search(func(s *cola.ColaSearch, i int) {
			s.VolumeMin, s.VolumeMax = cola.Some(float64(i%400)), cola.Some(float64(400+i%700))
		})},
		{"containers and types", search(func(s *cola.ColaSearch, i int) {
			s.Containers, s.ProductTypes = cola.ContainerTypes()[:1+i%10], vocabulary.ProductTypes()[:1+i%3]
		})},
		{"status and domestic", search(func(s *cola.ColaSearch, i int) {
			s.Status, s.Domestic = vocabulary.Statuses()[i%4], vocabulary.Imported
		})},
		{"main barcode", search(func(s *cola.ColaSearch, i int) { s.Barcode = a.code(i) })},
		{"brand first seen in the last week", search(func(s *cola.ColaSearch, i int) { s.BrandFirstSeen = a.today.AddDays(-7 - i%7) })},
		{"brand first seen in the last year", search(func(s *cola.ColaSearch, i int) { s.BrandFirstSeen = a.today.AddDays(-365 + i%30) })},
		{"permittee first seen in the last year", search(func(s *cola.ColaSearch, i int) {
			s.PermitteeFirstSeen = a.today.AddDays(-365 + i%30)
		})},
		{"brand first seen in the last twenty years", search(func(s *cola.ColaSearch, i int) {
			s.BrandFirstSeen = a.today.AddDays(-7300 + i%30)
		})},
	}
}

// sorted returns searches in the given order. They match few, many or all labels. Some start, or
// have all their results, near the end of the order.
func (a *samples) sorted(by cola.Sort) []class {
	in := func(name string, edit func(s *cola.ColaSearch, i int)) class {
		return class{"sort " + string(by) + ": " + name, search(func(s *cola.ColaSearch, i int) {
			s.Sort = by
			edit(s, i)
		})}
	}
	return []class{
		in("no filter", func(*cola.ColaSearch, int) {}),
		in("default window", func(s *cola.ColaSearch, _ int) { s.From = a.today.AddDays(-365) }),
		in("a common word", func(s *cola.ColaSearch, i int) { s.Text = a.common[i%len(a.common)] }),
		in("random word", func(s *cola.ColaSearch, i int) { s.Text = a.g.words[i%len(a.g.words)] }),
		in("category roots", func(s *cola.ColaSearch, i int) { s.Categories = vocabulary.CategoryRoots()[:1+i%3] }),
		in("brand, 1 letter", func(s *cola.ColaSearch, i int) { s.BrandName = letters(1)[i%26] }),
		in("brand, end of the alphabet", func(s *cola.ColaSearch, i int) { s.BrandName = []string{"wolf", "white", "zeb", "yell"}[i%4] }),
		in("permit number", func(s *cola.ColaSearch, i int) { s.PermitNumber = a.label(i).PermitNumber }),
		in("page 100 of 100", func(s *cola.ColaSearch, i int) { s.Text, s.Page, s.PerPage = a.common[i%10], 100, 100 }),
		in("cursor, deep", func(s *cola.ColaSearch, i int) {
			s.CursorMode, s.After, s.PerPage = true, PositionOf(a.label(i), by), 100
		}),
		in("cursor, deep, a common word", func(s *cola.ColaSearch, i int) {
			s.Text, s.CursorMode, s.After, s.PerPage = a.common[i%10], true, PositionOf(a.label(i), by), 100
		}),
	}
}

func (a *samples) permittees() []class {
	list := func(edit func(s *cola.PermitteeSearch, i int)) func(*View, int) int {
		return func(v *View, i int) int {
			s := cola.PermitteeSearch{Page: 1, PerPage: 20, Today: a.today}
			edit(&s, i)
			return v.Permittees(s).Total
		}
	}
	short := [][]string{letters(1), letters(2), letters(3)}
	named := func(i int) string {
		return []string{
			"winery", "llc", "company", "oak", "s w",
			a.pairs[i%len(a.pairs)], a.g.words[i%len(a.g.words)],
		}[i%7]
	}
	return []class{
		{"permittees: all", list(func(*cola.PermitteeSearch, int) {})},
		{
			"permittees: name, 1 to 3 letters",
			list(func(s *cola.PermitteeSearch, i int) { s.Name = short[i%3][i%len(short[i%3])] }),
		},
		{"permittees: name", list(func(s *cola.PermitteeSearch, i int) { s.Name = named(i) })},
		{"permittees: type, state, active", list(func(s *cola.PermitteeSearch, i int) {
			s.Type, s.State = []string{"wine", "import", "plant"}[i%3], []string{"", "CA", "NJ"}[i/3%3]
			s.Active = cola.Some(i%2 == 0)
		})},
		{"permittees: page 1000", list(func(s *cola.PermitteeSearch, i int) { s.Page, s.PerPage = 1000, 100 })},
		{"permittee", func(v *View, i int) int {
			d, _ := v.Permittee(a.label(i).PermitNumber, a.today, 10)
			return d.Colas
		}},
	}
}

// facets returns a query for the facets of a search across all dates. Its total is the number of
// facet values.
func facets(edit func(p *cola.SearchParams, i int)) func(*View, int) int {
	return func(v *View, i int) (values int) {
		p := cola.SearchParams{ApprovalDateFrom: 1}
		edit(&p, i)
		s, err := p.FacetSearch(cola.NewDate(2026, 11, 20).Time())
		if err != nil {
			panic(err)
		}
		for _, f := range v.Facets(s) {
			values += len(f.Values) + f.More
		}
		return values
	}
}

// counts returns a query that counts the matching labels by dimensions. Its total is the number of
// groups.
func counts(top int, edit func(q *cola.Query, i int), by ...string) func(*View, int) int {
	return func(v *View, i int) int {
		s := cola.CountSearch{GroupBy: by, Top: top}
		edit(&s.Query, i)
		found := v.CountGroups(s)
		return len(found.Groups) + found.Others.Groups.V
	}
}

// countClasses returns the counts that are measured: all labels by each dimension and by pairs of
// dimensions, and the labels found by some searches.
func countClasses(a *samples) (all []class) {
	unfiltered := func(*cola.Query, int) {}
	for _, dimension := range cola.Dimensions() {
		all = append(all, class{"counts: " + dimension, counts(30, unfiltered, dimension)})
	}
	for _, by := range [][]string{
		{cola.ByYear, cola.ByProductType}, {cola.ByMonth, cola.ByStatus}, {cola.ByClass, cola.ByYear},
		{cola.ByOrigin, cola.ByClass}, {cola.BySubcategory, cola.ByABV}, {cola.ByYear, cola.ByBrand}, {cola.ByBrand, cola.ByYear},
		{cola.ByPermit, cola.ByClass}, {cola.ByBrand, cola.ByPermit}, {cola.ByPermit, cola.ByBrand},
	} {
		all = append(all, class{"counts: " + strings.Join(by, ", "), counts(1000, unfiltered, by...)})
	}
	return append(all,
		class{"counts: brand, a common word", counts(30, func(q *cola.Query, i int) {
			q.Text = a.common[i%len(a.common)]
		}, cola.ByBrand)},
		class{"counts: brand, permit, default window", counts(1000, func(q *cola.Query, _ int) {
			q.From = a.today.AddDays(-365)
		}, cola.ByBrand, cola.ByPermit)},
	)
}

// facetClasses returns the searches whose facets are measured.
func facetClasses(g *synthetic, sample []cola.IndexRecord) []class {
	common := strings.Fields(commonWords)
	return []class{
		{"facets: default window", facets(func(p *cola.SearchParams, _ int) { p.ApprovalDateFrom = 0 })},
		{"facets: all dates", facets(func(*cola.SearchParams, int) {})},
		{"facets: a common word", facets(func(p *cola.SearchParams, i int) { p.Q = common[i%len(common)] })},
		{"facets: random word", facets(func(p *cola.SearchParams, i int) { p.Q = g.words[i%len(g.words)] })},
		{"facets: 1-character prefix", facets(func(p *cola.SearchParams, i int) { p.Q = letters(1)[i%26] + "*" })},
		{"facets: brand, 1 letter", facets(func(p *cola.SearchParams, i int) { p.BrandName = letters(1)[i%26] })},
		{
			"facets: category roots",
			facets(func(p *cola.SearchParams, i int) { p.Category = vocabulary.CategoryRoots()[:1+i%3] }),
		},
		{"facets: abv range", facets(func(p *cola.SearchParams, i int) { p.ABVMin = cola.Some(float64(i % 10)) })},
		{
			"facets: permit number",
			facets(func(p *cola.SearchParams, i int) { p.PermitNumber = sample[i%len(sample)].Summary.PermitNumber }),
		},
		{"facets: american", facets(func(p *cola.SearchParams, _ int) { p.Origin = "american" })},
		{"facets: five selected", facets(func(p *cola.SearchParams, i int) {
			p.Origin, p.Status, p.ProductType = "american", vocabulary.StatusApproved, vocabulary.ProductTypes()[:1+i%3]
			p.ContainerType, p.DerivedSubcategory = cola.ContainerTypes()[:1+i%10], vocabulary.CategoryRoots()[i%3]
		})},
		{"facets: five selected, a word, default window", facets(func(p *cola.SearchParams, i int) {
			p.Q = common[i%len(common)]
			p.Origin = "american"
			p.Status = vocabulary.StatusApproved
			p.ProductType = vocabulary.ProductTypes()[:1+i%3]
			p.ContainerType = cola.ContainerTypes()[:1+i%10]
			p.DerivedSubcategory = vocabulary.CategoryRoots()[i%3]
			p.ApprovalDateFrom = 0
		})},
	}
}

// suggest returns a query for suggestions. Its total is the number of labels with the suggested
// values.
func suggest(field string, texts ...string) func(*View, int) int {
	return func(v *View, i int) (labels int) {
		for _, s := range v.Suggest(cola.SuggestSearch{Field: field, Q: texts[i%len(texts)], Limit: 25}) {
			labels += s.Count
		}
		return labels
	}
}

// correction returns a query for the correction of misspelled words.
func correction(field string, words []string, n int) func(*View, int) int {
	return func(v *View, i int) int {
		var typed []string
		for j := range n {
			typed = append(typed, words[(i+j)%len(words)]+"x")
		}
		return len(v.Correct(field, strings.Join(typed, " ")))
	}
}

// suggestClasses returns the completions that are measured.
func suggestClasses(g *synthetic) []class {
	common := strings.Fields(commonWords)
	ends := make([]string, 0, len(common)) // a word and the first letter of the next
	for i, word := range common {
		ends = append(ends, word+" "+common[(i+1)%len(common)][:1])
	}
	all := []class{
		{"suggest: brand, 1 letter", suggest(cola.SuggestBrand, letters(1)...)},
		{"suggest: brand, 2 letters", suggest(cola.SuggestBrand, letters(2)...)},
		{"suggest: brand, 3 letters", suggest(cola.SuggestBrand, letters(3)...)},
		{"suggest: brand, a common word", suggest(cola.SuggestBrand, common...)},
		{"suggest: brand, two words", suggest(cola.SuggestBrand, ends...)},
		{"suggest: brand, random word", suggest(cola.SuggestBrand, g.words...)},
		{"suggest: brand, connector", suggest(cola.SuggestBrand, surround("", common, " a")...)},
		{"suggest: company, 1 letter", suggest(cola.SuggestCompany, letters(1)...)},
		{"suggest: company, a common word", suggest(cola.SuggestCompany, append(common, "llc", "inc", "company")...)},
		{"suggest: company, random word", suggest(cola.SuggestCompany, g.words...)},
		{"suggest: brand, a correction", correction(cola.SuggestBrand, common, 1)},
		{"suggest: brand, six words", correction(cola.SuggestBrand, common, 6)},
		{"suggest: company, a correction", correction(cola.SuggestCompany, common, 1)},
	}
	for _, field := range []string{
		cola.SuggestCategory, cola.SuggestOrigin, cola.SuggestClass, cola.SuggestAppellation, cola.SuggestGrape,
	} {
		first := suggest(field, letters(1)...)
		all = append(all, class{"suggest: " + field + ", first in a view", func(v *View, i int) int {
			v.suggestions = &suggestionCache{}
			return first(v, i)
		}}, class{"suggest: " + field, first})
	}
	return all
}

// similarBrands returns a query for the brands similar to a name.
func similarBrands(edit func(s *cola.BrandSearch, i int)) func(*View, int) int {
	return func(v *View, i int) int {
		s := cola.BrandSearch{MinScore: cola.DefaultMinScore, Page: 1, PerPage: 20}
		edit(&s, i)
		return v.Brands(s).Total
	}
}

// brandClasses returns the searches for similar brands that are measured.
func brandClasses(g *synthetic, a *samples) []class {
	name := func(i int) string { return a.label(i).BrandName }
	misspelled := func(i int) string {
		n := name(i)
		return n[:len(n)/2] + n[len(n)/2+1:]
	}
	return []class{
		{"similar: a brand", similarBrands(func(s *cola.BrandSearch, i int) { s.Name = name(i) })},
		{"similar: a misspelled brand", similarBrands(func(s *cola.BrandSearch, i int) { s.Name = misspelled(i) })},
		{"similar: random word", similarBrands(func(s *cola.BrandSearch, i int) { s.Name = g.words[i%len(g.words)] })},
		{"similar: a common word", similarBrands(func(s *cola.BrandSearch, i int) { s.Name = a.common[i%len(a.common)] })},
		{"similar: two common words", similarBrands(func(s *cola.BrandSearch, i int) { s.Name = a.pairs[i%len(a.pairs)] })},
		{"similar: six words", similarBrands(func(s *cola.BrandSearch, i int) {
			s.Name = a.pairs[i%len(a.pairs)] + " " + name(i) + " " + a.pairs[(i+7)%len(a.pairs)]
		})},
		{"similar: product type", similarBrands(func(s *cola.BrandSearch, i int) {
			s.Name, s.ProductTypes = a.common[i%len(a.common)], vocabulary.ProductTypes()[i%3:i%3+1]
		})},
		{"similar: labels for similar brands", search(func(s *cola.ColaSearch, i int) { s.SimilarTo = misspelled(i) })},
		{"similar: lowest score, page 10", similarBrands(func(s *cola.BrandSearch, i int) {
			s.Name, s.MinScore, s.Page, s.PerPage = misspelled(i), 1, 10, 100
		})},
	}
}
