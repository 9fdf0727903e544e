package search

import (
	"cmp"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/similar"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// registry is the reference implementation for the index: records in maps, filtered one by one. The
// only code it shares with the index is the vocabulary, brand keys, completion matching and name
// similarity.
type registry struct {
	labels     map[cola.TTBID]*cola.IndexRecord
	permittees map[string]cola.Permittee
	aliases    []vocabulary.CategoryAlias
	areas      []cola.AVADetail
	texts      map[string]wordList       // words of each string, cached
	brands     map[string]string         // cached keys of brands
	words      map[cola.TTBID][]wordList // cached words of the searchable fields of labels; reset on every change
	firstDates map[string]cola.Date      // cached result of firstSeen; reset on every change
}

func newRegistry() *registry {
	return &registry{labels: map[cola.TTBID]*cola.IndexRecord{}, permittees: map[string]cola.Permittee{}, texts: map[string]wordList{}, brands: map[string]string{}}
}

var plainLetters = strings.NewReplacer("É", "e", "é", "e", "Â", "a", "â", "a", "Ü", "u", "ü", "u", "ß", "ss", "Ø", "o",
	"ø", "o",
	"'", "", "’", "")

// plain folds the characters that occur in the test data.
func plain(s string) string {
	return strings.Join(strings.Fields(strings.ToLower(plainLetters.Replace(s))), " ")
}

var wordPattern = regexp.MustCompile(`[a-z0-9]+`)

// sorted sorts labels in the order of a search.
func (r *registry) sorted(found []*cola.IndexRecord, by cola.Sort) []*cola.IndexRecord {
	sort.Slice(found, func(i, j int) bool { return r.compare(&found[i].Summary, &found[j].Summary, by) < 0 })
	return found
}

// compare compares two labels in the given sort order.
func (r *registry) compare(a, b *cola.ColaSummary, by cola.Sort) int {
	undated := func(s *cola.ColaSummary) int {
		if effective(s) == 0 {
			return 1
		}
		return 0
	}
	if by == cola.SortOldest {
		return cmp.Or(undated(a)-undated(b), cmp.Compare(effective(a), effective(b)), cmp.Compare(a.TTBID, b.TTBID))
	}
	newest := cmp.Or(cmp.Compare(effective(b), effective(a)), cmp.Compare(b.TTBID, a.TTBID))
	if by == cola.SortBrand {
		return cmp.Or(strings.Compare(r.brandKey(a.BrandName), r.brandKey(b.BrandName)), newest)
	}
	return newest
}

// brandKey returns the sort key of a brand.
func (r *registry) brandKey(name string) string {
	key, ok := r.brands[name]
	if !ok {
		key = brandKeyOf(name)
		r.brands[name] = key
	}
	return key
}

func brandKeyOf(name string) string {
	words := slices.DeleteFunc(wordPattern.FindAllString(strings.ReplaceAll(plain(name), ".", ""), -1),
		func(w string) bool { return w == "and" })
	if len(words) == 0 {
		return cmp.Or(strings.Join(wordPattern.FindAllString(plain(name), -1), " "), plain(name))
	}
	key := strings.Join(words, " ")
	return key[:min(len(key), 96)]
}

// search returns every label that matches, in result order. want contains the phrases that the
// query's text must be parsed into.
func (r *registry) search(q *cola.Query, want []text.Phrase) []*cola.IndexRecord {
	return r.searchAmong(q, want, func(cola.TTBID) bool { return true })
}

// searchAmong is like search but limited to some labels.
func (r *registry) searchAmong(q *cola.Query, want []text.Phrase, among func(cola.TTBID) bool) []*cola.IndexRecord {
	filter := func(wanted func(l *cola.IndexRecord) bool) []*cola.IndexRecord {
		return r.filter(q, func(l *cola.IndexRecord) bool { return among(l.Summary.TTBID) && wanted(l) })
	}
	var found []*cola.IndexRecord
	id, isID := cola.ParseTTBID(q.Text)
	if _, ok := r.labels[id]; isID && ok {
		found = filter(func(l *cola.IndexRecord) bool { return l.Summary.TTBID == id })
	} else if q.Text == "" {
		found = filter(func(*cola.IndexRecord) bool { return true })
	} else if found = filter(func(l *cola.IndexRecord) bool { return hasBarcode(l, q.Text) }); found == nil {
		words := make([][]keyedWord, len(want))
		for i, w := range want {
			words[i] = keyed(w.Words)
		}
		found = filter(func(l *cola.IndexRecord) bool { return r.containsAll(l, want, words) })
	}
	return r.sorted(found, cola.SortNewest)
}

// effective returns the approval date, or its estimate if unknown.
func effective(s *cola.ColaSummary) cola.Date {
	if s.ApprovalDate == 0 {
		return s.ApprovalDateEstimate
	}
	return s.ApprovalDate
}

// someAreas are viticultural areas. stateOf maps them to their states.
var (
	someAreas = []cola.AVADetail{
		{AVA: cola.AVA{AVAID: "napa_valley", Name: "Napa Valley", States: []string{"CA"}}},
		{
			AVA:        cola.AVA{AVAID: "oakville", Name: "Oakville", States: []string{"CA"}},
			ParentAVAs: []string{"Napa Valley"},
		},
		{AVA: cola.AVA{AVAID: "to_kalon", Name: "To Kâlon", States: []string{"CA"}}, ParentAVAs: []string{"OAKVILLE"}},
	}
	stateOf = map[string]string{"napa_valley": "California", "oakville": "California", "to_kalon": "California"}
)

// liesIn reports whether an appellation is outer or inside it, at most depth-1 levels down.
func (r *registry) liesIn(name, outer string, depth int) bool {
	if name == "" || plain(name) == "" || depth == 0 {
		return false
	}
	if plain(name) == plain(outer) {
		return true
	}
	return slices.ContainsFunc(r.areas, func(a cola.AVADetail) bool {
		parents := append(slices.Clone(a.ParentAVAs), stateOf[a.AVA.AVAID])
		return plain(a.Name) == plain(name) && slices.ContainsFunc(parents, func(parent string) bool {
			return r.liesIn(parent, outer, depth-1)
		})
	})
}

// filter returns the wanted labels that match every filter except the text.
func (r *registry) filter(q *cola.Query, wanted func(l *cola.IndexRecord) bool) (found []*cola.IndexRecord) {
	aliases := vocabulary.AliasTable(r.aliases)
	among := r.amongBrands(q)
	for _, l := range r.labels {
		if r.matches(q, l, aliases) && among(&l.Summary) && (q.Appellation == "" || r.liesIn(l.WineAppellation, q.Appellation, 9)) &&
			wanted(l) {
			found = append(found, l)
		}
	}
	return found
}

// amongBrands returns the condition that the query's SimilarTo, BrandFirstSeen and
// PermitteeFirstSeen impose on a label.
func (r *registry) amongBrands(q *cola.Query) func(s *cola.ColaSummary) bool {
	if q.SimilarTo == "" && q.BrandFirstSeen == 0 && q.PermitteeFirstSeen == 0 {
		return func(*cola.ColaSummary) bool { return true }
	}
	first := r.firstSeen()
	return func(s *cola.ColaSummary) bool {
		brand := text.BrandKey(s.BrandName)
		if q.SimilarTo != "" {
			if brand == "" || compareNames(q.SimilarTo, s.BrandName, similar.All).Score < cola.DefaultMinScore {
				return false
			}
		}
		return (q.BrandFirstSeen == 0 || brand != "" && first["brand "+brand] >= q.BrandFirstSeen) &&
			(q.PermitteeFirstSeen == 0 || s.PermitNumber != "" && first["permit "+s.PermitNumber] >= q.PermitteeFirstSeen)
	}
}

// firstSeen returns the earliest effective date of each brand and permit.
func (r *registry) firstSeen() map[string]cola.Date {
	if r.firstDates != nil {
		return r.firstDates
	}
	first := map[string]cola.Date{}
	for _, l := range r.labels {
		date := effective(&l.Summary)
		for _, key := range []string{"brand " + text.BrandKey(l.Summary.BrandName), "permit " + l.Summary.PermitNumber} {
			if date != 0 && (first[key] == 0 || date < first[key]) {
				first[key] = date
			}
		}
	}
	r.firstDates = first
	return first
}

// hasBarcode reports whether a string has the form of a barcode and the label has that barcode.
func hasBarcode(l *cola.IndexRecord, text string) bool {
	return vocabulary.BarcodeShaped(text) &&
		slices.ContainsFunc(l.Barcodes, func(b cola.IndexBarcode) bool { return vocabulary.SameBarcode(b.Value, text) })
}

// containsAll reports whether the label's searchable fields contain every phrase of want. words
// contains the words of each phrase with their keys.
func (r *registry) containsAll(l *cola.IndexRecord, want []text.Phrase, words [][]keyedWord) bool {
	texts := r.searchable(l)
	for i, w := range want {
		also := text.Phrase{Words: []string{w.Also}}
		if !slices.ContainsFunc(texts, func(have wordList) bool {
			return containsPhrase(have, w, words[i]) || w.Also != "" && containsPhrase(have, also, keyed(also.Words))
		}) {
			return false
		}
	}
	return len(want) > 0
}

// searchable returns the words of each searchable field of the label.
func (r *registry) searchable(l *cola.IndexRecord) (texts []wordList) {
	s := &l.Summary
	if texts := r.words[s.TTBID]; texts != nil {
		return texts
	}
	p := r.permittees[s.PermitNumber]
	for _, text := range []string{
		s.TTBID.String(), s.BrandName, string(s.ProductName), string(s.ClassName),
		s.PermitNumber, l.AddressRecipient, string(p.CompanyName), string(p.OperatingName),
	} {
		texts = append(texts, r.wordsOf(text))
	}
	if r.words == nil {
		r.words = map[cola.TTBID][]wordList{}
	}
	r.words[s.TTBID] = texts
	return texts
}

// wordList has the words of a string: the sequences in which it can be read, and all words.
type wordList struct {
	sequences [][]keyedWord
	all       []keyedWord
	spaced    string // without punctuation
}

type keyedWord struct{ text, key string }

func keyed(words []string) []keyedWord {
	list := make([]keyedWord, len(words))
	for i, w := range words {
		list[i] = keyedWord{w, vocabulary.WordKey(w)}
	}
	return list
}

var (
	initialsPattern = regexp.MustCompile(`\b[a-z](?:(?:\.[a-z])+|(?:\. [a-z])+|(?: [a-z])+|(?:-[a-z])+)\b`)
	elisionPattern  = regexp.MustCompile(`^(c|d|j|l|m|n|o|qu|s|t|all|dall|degl|dell|gl|nell|sant|sull|un)$`)
	partsPattern    = regexp.MustCompile(`[a-z0-9']+`)
)

// wordsOf splits a string into words.
func (r *registry) wordsOf(text string) wordList {
	if list, ok := r.texts[text]; ok {
		return list
	}
	var list wordList
	list.spaced = strings.Join(wordPattern.FindAllString(strings.ReplaceAll(plain(text), ".", ""), -1), " ")
	raw := wordPattern.FindAllString(plain(text), -1)
	for _, words := range [][]string{sequenceOf(text), withoutConnectors(raw), sequenceOf(splitWords(text)), sequenceOf(joinWords(text))} {
		list.sequences = append(list.sequences, keyed(words))
		list.all = append(list.all, keyed(words)...)
	}
	list.all = append(list.all, keyed(raw)...)
	r.texts[text] = list
	return list
}

// splitWords splits each word with apostrophes into its parts.
func splitWords(text string) string {
	text = strings.ReplaceAll(plain(strings.NewReplacer("'", "\x02", "’", "\x02").Replace(text)), "\x02", "'")
	return partsPattern.ReplaceAllStringFunc(text, func(word string) string {
		parts := strings.Split(word, "'")
		var kept []string
		for i, part := range parts {
			elided := i > 0 && len(part) > 1 && elisionPattern.MatchString(parts[i-1])
			negated := strings.HasSuffix(part, "n") && i+1 < len(parts) && parts[i+1] == "t"
			if elided || len(part) > 2 && !negated {
				kept = append(kept, part)
			}
		}
		if len(parts) == 1 || len(kept) == 0 {
			return strings.ReplaceAll(word, "'", "")
		}
		return strings.Join(kept, " ")
	})
}

// joinWords joins words that have a space in place of an apostrophe.
func joinWords(text string) string {
	joined := ""
	for _, word := range strings.Fields(plain(text)) {
		if !attaches(joined[strings.LastIndex(joined, " ")+1:], word) {
			joined += " "
		}
		joined += word
	}
	return joined
}

var attachedPattern = regexp.MustCompile(
	`^([a-z0-9]{3,} s|[a-z0-9]{2,}n t|(c|d|j|l|m|n|o|qu|s|t|all|dall|degl|dell|gl|nell|sant|sull|un) [a-z0-9]{2,})$`)

// attaches reports whether the space between two words may stand for an apostrophe.
func attaches(word, next string) bool {
	return attachedPattern.MatchString(word+" "+next) && !vocabulary.IsConnector(next)
}

// sequenceOf returns the words that phrases are matched against.
func sequenceOf(text string) []string {
	joined := initialsPattern.ReplaceAllStringFunc(plain(text), func(run string) string {
		return strings.Join(wordPattern.FindAllString(run, -1), "")
	})
	return withoutConnectors(wordPattern.FindAllString(joined, -1))
}

// withoutConnectors drops connectors, unless there are only connectors.
func withoutConnectors(words []string) []string {
	if kept := slices.DeleteFunc(slices.Clone(words), vocabulary.IsConnector); len(kept) > 0 {
		return kept
	}
	return words
}

// containsPhrase reports whether a string contains a phrase.
func containsPhrase(have wordList, w text.Phrase, want []keyedWord) bool {
	met := func(have keyedWord, i int) bool {
		if w.Prefix && i == len(want)-1 {
			return strings.HasPrefix(have.text, want[i].text)
		}
		return have.text == want[i].text || !w.Exact && have.key == want[i].key
	}
	return have.contains(len(want), met)
}

// contains reports whether a sequence of the list has n consecutive words that meet conditions 0 to
// n-1. If n is 1, any word of the list may meet the condition.
func (l wordList) contains(n int, meets func(word keyedWord, i int) bool) bool {
	return n == 1 && inOrder(l.all, 1, meets) ||
		slices.ContainsFunc(l.sequences, func(words []keyedWord) bool { return inOrder(words, n, meets) })
}

// inOrder reports whether n consecutive words meet conditions 0 to n-1.
func inOrder(words []keyedWord, n int, meets func(word keyedWord, i int) bool) bool {
	for start := 0; start+n <= len(words); start++ {
		all := true
		for i := range n {
			all = all && meets(words[start+i], i)
		}
		if all {
			return true
		}
	}
	return false
}

// matches reports whether a label matches every filter except the text.
func (r *registry) matches(q *cola.Query, l *cola.IndexRecord, aliases map[string]string) bool {
	s := &l.Summary
	ml, hasVolume := vocabulary.Milliliters(l.Volume.V, l.VolumeUnit)
	within := func(root string) bool {
		return vocabulary.PathWithin(vocabulary.ResolveCategory(categoryOf(l), aliases), root)
	}
	anyOf := func(want []string, have string) bool { return len(want) == 0 || slices.Contains(want, have) }
	is := func(want, have string) bool { return want == "" || want == have }
	between := func(minV, maxV cola.Opt[float64], v float64, known bool) bool {
		return !minV.OK && !maxV.OK || known && (!minV.OK || v >= minV.V) && (!maxV.OK || v <= maxV.V)
	}
	return anyOf(q.ProductTypes, string(s.ProductType)) &&
		(len(q.Categories) == 0 || slices.ContainsFunc(q.Categories, within)) &&
		(q.CategoryPath == "" || within(vocabulary.ResolveCategory(q.CategoryPath, aliases))) &&
		(q.OriginNames == nil || slices.Contains(q.OriginNames, placeOf(l))) &&
		is(q.Domestic, l.DomesticOrImported) && is(q.Status, string(s.ApplicationStatus)) &&
		r.hasBrand(q.BrandName, s.BrandName) && hasPart(q.PermitPart, s.PermitNumber) &&
		(q.Class == "" || strings.EqualFold(q.Class, string(s.ClassName))) && is(q.PermitNumber, s.PermitNumber) && is(q.AddressState, strings.ToUpper(l.AddressState)) &&
		(q.Barcode == "" || l.MainBarcode != "" && vocabulary.SameBarcode(q.Barcode, l.MainBarcode)) &&
		(q.From == 0 || effective(s) != 0 && effective(s) >= q.From) &&
		(q.To == 0 || effective(s) != 0 && effective(s) <= q.To) &&
		!(q.NoEstimates && s.ApprovalDate == 0 && s.ApprovalDateEstimate != 0) &&
		between(q.ABVMin, q.ABVMax, l.ABV.V, l.ABV.OK) && between(q.VolumeMin,
		q.VolumeMax, ml, l.Volume.OK && hasVolume) &&
		(q.Grape == "" || plain(q.Grape) != "" && slices.ContainsFunc(l.GrapeVarietals, func(g string) bool {
			return plain(g) == plain(q.Grape)
		})) &&
		anyOf(q.Containers, strings.ToLower(l.ContainerType))
}

// categoryOf returns the category path of a label: the stored path or, if none, the path of its
// class.
func categoryOf(l *cola.IndexRecord) string {
	if l.CategoryPath == "" {
		return vocabulary.CategoryOfClass(l.ClassID, string(l.Summary.ClassName))
	}
	return l.CategoryPath
}

// placeOf returns the origin of a label, distinguishing the two Georgias.
func placeOf(l *cola.IndexRecord) string {
	name := strings.ToUpper(string(l.Summary.OriginName))
	if name != "GEORGIA" {
		return name
	}
	code := l.OriginID
	if code != "08" && code != "6E" {
		code = map[string]string{"domestic": "08", "imported": "6E"}[l.DomesticOrImported]
	}
	if code == "" {
		return name
	}
	return name + "\x1f" + code
}

var quotedPattern = regexp.MustCompile(`^"(.*)"$`)

// hasBrand reports whether a brand contains want or, if want is in quotes, is that brand.
func (r *registry) hasBrand(want, have string) bool {
	if quoted := quotedPattern.FindStringSubmatch(want); quoted != nil {
		return plain(quoted[1]) != "" && text.BrandKey(quoted[1]) == text.BrandKey(have)
	}
	return r.hasNamePart(want, have)
}

// hasNamePart reports whether a name contains a part: as written except for punctuation, or its
// words in sequence.
func (r *registry) hasNamePart(part, name string) bool {
	if part == "" {
		return true
	}
	have, want := r.wordsOf(name), r.wordsOf(part)
	if strings.Contains(have.spaced, want.spaced) && want.spaced != "" {
		return true
	}
	for _, words := range [][]keyedWord{want.sequences[0], want.sequences[2], want.sequences[3]} { // skip split initials
		if len(words) > 0 && have.contains(len(words), func(w keyedWord, i int) bool { return w.key == words[i].key }) {
			return true
		}
	}
	return false
}

func hasPart(want, have string) bool {
	return want == "" || plain(want) != "" && strings.Contains(plain(have), plain(want))
}

// rows returns labels as list rows.
func (r *registry) rows(labels []cola.ColaSummary) []cola.ColaRow {
	rows := make([]cola.ColaRow, len(labels))
	for i, label := range labels {
		l := r.labels[label.TTBID]
		rows[i] = cola.ColaRow{
			ColaSummary: label,
			CompanyName: r.permittees[label.PermitNumber].CompanyName,
			ABV:         l.ABV,
		}
		ml, ok := vocabulary.Milliliters(l.Volume.V, l.VolumeUnit)
		if ok && l.Volume.OK {
			rows[i].VolumeML = cola.Some(ml)
		}
	}
	return rows
}

// permitteeList returns the summaries of all permittees that match, in list order.
func (r *registry) permitteeList(s *cola.PermitteeSearch) []cola.PermitteeSummary {
	counts := map[string]*cola.PermitteeSummary{}
	latest := map[string]cola.Date{}
	for number, p := range r.permittees {
		counts[number] = &cola.PermitteeSummary{
			PermitNumber:   number,
			CompanyName:    p.CompanyName,
			OperatingName:  p.OperatingName,
			CompanyState:   p.CompanyState,
			CompanyZipCode: p.CompanyZipCode,
			PermitteeType:  p.PermitteeType,
		}
	}
	for _, l := range r.labels {
		p := counts[l.Summary.PermitNumber]
		if p == nil {
			continue
		}
		p.Colas++
		if l.Summary.ApplicationStatus == vocabulary.StatusApproved {
			p.ColasApproved++
		}
		p.LastColaApplicationDate = max(p.LastColaApplicationDate, l.ApplicationDate)
		if date := effective(&l.Summary); date <= s.Today {
			latest[p.PermitNumber] = max(latest[p.PermitNumber], date)
		}
	}
	var found []cola.PermitteeSummary
	for number, p := range counts {
		switch {
		case r.permittees[number].Listed:
			p.IsActive, p.ActiveReason = true, cola.ActiveListed
		case latest[number] != 0 && s.Today-latest[number] <= 365:
			p.IsActive, p.ActiveReason = true, cola.ActiveRecent
		}
		if (r.hasNamePart(s.Name, string(p.CompanyName)) || r.hasNamePart(s.Name, string(p.OperatingName))) &&
			hasPart(s.Type, string(p.PermitteeType)) &&
			(s.State == "" || string(p.CompanyState) == s.State) && (!s.Active.OK || s.Active.V == p.IsActive) {
			found = append(found, *p)
		}
	}
	sort.Slice(found, func(i, j int) bool {
		if found[i].Colas != found[j].Colas {
			return found[i].Colas > found[j].Colas
		}
		return found[i].PermitNumber < found[j].PermitNumber
	})
	return found
}
