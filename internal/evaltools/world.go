package main

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/demo"
)

// world contains the registry's records for linear scans. It shares no code with the search engine,
// so that the facts don't repeat the engine's mistakes.
type world struct {
	labels     labels // newest first
	permittees map[string]cola.Permittee
	areas      []cola.AVADetail
	times      []cola.ProcessingTime

	permits []cola.RegistrationProcessingTime
	reports []cola.ProductionReport
}

// newWorld generates the same records that the server loaded. It reads the estimated dates of
// undated labels from the store, which computes them.
func newWorld(ctx context.Context, s *server) (*world, error) {
	w := &world{
		permittees: map[string]cola.Permittee{}, areas: demo.AVAs(records), times: demo.ProcessingTimes(records),
		permits: demo.RegistrationProcessingTimes(records),
		reports: demo.ProductionReports(records),
	}
	for c := range demo.Labels(records) {
		if c.ApprovalDate == 0 {
			stored, err := s.store.Cola(ctx, c.TTBID)
			if err != nil {
				return nil, err
			}
			c.SetEstimate(stored.DateEstimate)
		}
		w.labels = append(w.labels, c)
	}
	slices.SortFunc(w.labels, func(a, b *cola.Cola) int {
		return cmp.Or(cmp.Compare(b.EffectiveDate(), a.EffectiveDate()), cmp.Compare(b.TTBID, a.TTBID))
	})
	for _, p := range demo.Permittees(records) {
		w.permittees[p.PermitNumber] = p
	}
	return w, nil
}

// company returns the name of the company that holds the given permit.
func (w *world) company(permit string) string { return string(w.permittees[permit].CompanyName) }

// area returns the current American Viticultural Area with the given name, ignoring case.
func (w *world) area(name string) cola.AVADetail {
	for _, a := range w.areas {
		if strings.EqualFold(a.Name, name) && a.IsCurrent(records.AsOf) {
			return a
		}
	}
	return cola.AVADetail{}
}

// firstSeenSince returns the labels of brands whose first label was approved on or after the given
// day.
func (w *world) firstSeenSince(day string) labels {
	known := map[string]bool{}
	for _, c := range w.labels.where(between("2005-01-01", day)) {
		known[fold(c.BrandName)] = known[fold(c.BrandName)] || c.EffectiveDate().String() < day
	}
	isNew := func(c *cola.Cola) bool { return !known[fold(c.BrandName)] }
	return w.labels.where(between(day, records.AsOf.String()), isNew)
}

// labels is a selection of labels, newest first.
type labels []*cola.Cola

// where returns the labels for which all conditions hold.
func (l labels) where(conditions ...func(*cola.Cola) bool) (kept labels) {
	for _, c := range l {
		if !slices.ContainsFunc(conditions, func(holds func(*cola.Cola) bool) bool { return !holds(c) }) {
			kept = append(kept, c)
		}
	}
	return kept
}

// ids returns the TTB IDs of the newest n labels.
func (l labels) ids(n int) (ids []string) {
	for _, c := range l[:min(n, len(l))] {
		ids = append(ids, c.TTBID.String())
	}
	return ids
}

// first returns the newest label, or an empty one.
func (l labels) first() *cola.Cola {
	if len(l) == 0 {
		return &cola.Cola{}
	}
	return l[0]
}

// last returns the oldest label, or an empty one.
func (l labels) last() *cola.Cola { return l[max(0, len(l)-1):].first() }

// group is a value and the number of labels with it.
type group struct {
	value string
	count int
}

// by counts the labels by a value. The most frequent value comes first.
func (l labels) by(value func(*cola.Cola) string) (groups []group) {
	counts := map[string]int{}
	for _, c := range l {
		counts[value(c)]++
	}
	for v, n := range counts {
		groups = append(groups, group{v, n})
	}
	slices.SortFunc(groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.value, b.value))
	})
	return groups
}

// Values to count by.

func byYear(c *cola.Cola) string   { return strconv.Itoa(c.EffectiveDate().Time().Year()) }
func byPermit(c *cola.Cola) string { return c.PermitNumber }
func byKind(c *cola.Cola) string   { return string(c.ProductType) }
func byStatus(c *cola.Cola) string { return string(c.ApplicationStatus) }
func byOrigin(c *cola.Cola) string { return string(c.OriginName) }
func byBrand(c *cola.Cola) string  { return c.BrandName }
func byContainer(c *cola.Cola) string {
	return string(c.LLMContainerType)
}

// Conditions.

// between holds for labels with an approval date, known or estimated, in the given range.
func between(from, to string) func(*cola.Cola) bool {
	first, err1 := cola.ParseDate(from)
	last, err2 := cola.ParseDate(to)
	if cmp.Or(err1, err2) != nil {
		panic("invalid dates: " + from + ", " + to)
	}
	return func(c *cola.Cola) bool { return first <= c.EffectiveDate() && c.EffectiveDate() <= last }
}

// inYear holds for labels from the given year.
func inYear(year string) func(*cola.Cola) bool { return between(year+"-01-01", year+"-12-31") }

func ofKind(kind vocabulary.ProductType) func(*cola.Cola) bool {
	return func(c *cola.Cola) bool { return c.ProductType == kind }
}

// ofClass holds for labels with the given text in the class/type name.
func ofClass(text string) func(*cola.Cola) bool {
	return func(c *cola.Cola) bool { return strings.Contains(string(c.ClassName), text) }
}

// inCategory holds for labels with a category at or below the given path.
func inCategory(path string) func(*cola.Cola) bool {
	return func(c *cola.Cola) bool {
		category := c.EffectiveCategory()
		return category == path || strings.HasPrefix(category, path+" > ")
	}
}

func fromOrigin(name string) func(*cola.Cola) bool {
	return func(c *cola.Cola) bool { return string(c.OriginName) == name }
}

func imported(c *cola.Cola) bool { return c.DomesticOrImported == vocabulary.Imported }

func heldBy(permit string) func(*cola.Cola) bool {
	return func(c *cola.Cola) bool { return c.PermitNumber == permit }
}

func withStatus(status cola.Text) func(*cola.Cola) bool {
	return func(c *cola.Cola) bool { return c.ApplicationStatus == status }
}

// branded holds for labels whose brand name contains the words of the given name, next to each
// other.
func branded(name string) func(*cola.Cola) bool {
	words := " " + fold(name) + " "
	return func(c *cola.Cola) bool { return strings.Contains(" "+fold(c.BrandName)+" ", words) }
}

// mentioning holds for labels with every given word in the fields that the q parameter searches.
func mentioning(words string) func(*cola.Cola) bool {
	return func(c *cola.Cola) bool {
		text := strings.Fields(fold(strings.Join([]string{
			c.BrandName, string(c.ProductName), string(c.ClassName), string(c.AddressRecipient),
		}, " ")))
		return !slices.ContainsFunc(strings.Fields(fold(words)), func(word string) bool {
			return !slices.Contains(text, word)
		})
	}
}

func atLeastABV(percent float64) func(*cola.Cola) bool {
	return func(c *cola.Cola) bool { return c.ABV.OK && c.ABV.V >= percent }
}

// ofLiters holds for labels with the given net contents.
func ofLiters(liters float64) func(*cola.Cola) bool {
	return func(c *cola.Cola) bool {
		return c.Volume.OK && (c.VolumeUnit == "liters" && c.Volume.V == liters ||
			c.VolumeUnit == "milliliters" && c.Volume.V == liters*1000)
	}
}

// dated holds for labels with a known approval date.
func dated(c *cola.Cola) bool { return c.ApprovalDate != 0 }

// inContainer holds for labels with one of the given container types.
func inContainer(types ...cola.Text) func(*cola.Cola) bool {
	return func(c *cola.Cola) bool { return slices.Contains(types, c.LLMContainerType) }
}

// ofGrape holds for labels that list the given grape variety.
func ofGrape(name string) func(*cola.Cola) bool {
	return func(c *cola.Cola) bool {
		return slices.ContainsFunc(c.GrapeVarietals, func(grape string) bool { return strings.EqualFold(grape, name) })
	}
}

// fromArea holds for labels with the given appellation.
func fromArea(name string) func(*cola.Cola) bool {
	return func(c *cola.Cola) bool { return strings.EqualFold(string(c.WineAppellation), name) }
}

// withBarcode holds for labels with the given barcode on any image.
func withBarcode(value string) func(*cola.Cola) bool {
	return func(c *cola.Cola) bool {
		return string(c.BarcodeValue) == value ||
			slices.ContainsFunc(c.Barcodes, func(b cola.Barcode) bool { return b.BarcodeValue == value })
	}
}

// withID holds for the label with the given TTB ID.
func withID(id string) func(*cola.Cola) bool {
	return func(c *cola.Cola) bool { return c.TTBID.String() == id }
}

// fold returns a name in upper case, without accents, apostrophes or periods. It replaces an
// ampersand with AND and other punctuation with a space.
func fold(name string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(strings.ReplaceAll(strings.ToUpper(name), "&", " AND ")) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r):
			b.WriteRune(r)
		case unicode.IsMark(r), r == '\'', r == '’', r == '.':
		default:
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// heldIn holds for labels from permittees of the given type in the given state.
func heldIn(state, permitteeType string, w *world) func(*cola.Cola) bool {
	return func(c *cola.Cola) bool {
		p := w.permittees[c.PermitNumber]
		return string(p.CompanyState) == state && string(p.PermitteeType) == permitteeType
	}
}
