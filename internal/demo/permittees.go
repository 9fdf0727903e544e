package demo

import (
	"math"
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// trade is a permittee's line of business.
type trade uint8

const (
	winery trade = iota
	importer
	brewery
	distillery
	wholesaler
)

// tradeWeights is the relative frequency of the trades among permittees.
var tradeWeights = weightedBy([]float64{42, 20, 24, 13, 1}, func(w float64) float64 { return w })

// busiestTrades lists the trades of the most active permittees. They are fixed, so that the head of
// the list does not depend on chance.
var busiestTrades = []trade{
	winery, importer, brewery, distillery, importer, winery, importer, brewery, winery, distillery,
}

// permittee is a generated permittee.
type permittee struct {
	number    string
	company   string
	operating string // trade name, or empty
	home      *state
	zip       string
	trade     trade
	known     bool // is or was on TTB's list, rather than only on labels
	listed    bool // is on the current list
}

// affinity returns the relative rate at which a permittee files for a product type. It depends only
// on the trade.
func (p *permittee) affinity(kind vocabulary.ProductType) float64 {
	switch p.trade {
	case winery:
		if kind == vocabulary.Wine {
			return 1
		}
	case brewery:
		switch kind {
		case vocabulary.MaltBeverage:
			return 1
		case vocabulary.Wine:
			return 0.01 // cider and sake
		}
	case distillery:
		if kind == vocabulary.DistilledSpirits {
			return 1
		}
	case importer:
		if kind == vocabulary.MaltBeverage {
			return 0.2
		}
		return 0.9
	case wholesaler:
		return 0.3
	}
	return 0
}

// permitteeCount returns the number of permittees. It grows more slowly than the number of labels,
// because the most active permittees file more.
func permitteeCount(colas int) int { return max(24, int(2.2*math.Pow(float64(colas), 0.65))) }

// newPermittees generates a world's permittees, most active first.
func newPermittees(o Options) []permittee {
	holders := make([]permittee, permitteeCount(o.Colas))
	used := make(map[string]bool, len(holders))
	homes := [wholesaler + 1]weights{
		winery:     weightedBy(table().States, func(s state) float64 { return s.Wine }),
		importer:   weightedBy(table().States, func(s state) float64 { return s.Wine + s.Spirits }),
		brewery:    weightedBy(table().States, func(s state) float64 { return s.Beer }),
		distillery: weightedBy(table().States, func(s state) float64 { return s.Spirits }),
		wholesaler: weightedBy(table().States, func(s state) float64 { return s.Wine + s.Beer }),
	}
	for i := range holders {
		d := newRNG(o.Seed, streamPermittee, uint64(i))
		p := &holders[i]
		p.trade = trade(tradeWeights.draw(&d))
		if i < len(busiestTrades) {
			p.trade = busiestTrades[i]
		}
		p.home = &table().States[homes[p.trade].draw(&d)]
		p.zip = pick(&d, p.home.ZIP) + strconv.Itoa(d.between(10, 99))
		p.company, p.operating = companyNames(&d, p.trade)
		p.known = d.chance(0.92)
		p.listed = p.known && d.chance(0.8)
		p.number = permitNumber(&d, p)
		for used[p.number] {
			p.number = permitNumber(&d, p)
		}
		used[p.number] = true
	}
	return holders
}

// companyNames returns the name of a permit's owner and the trade name, which is empty if both are
// the same.
func companyNames(d *rng, t trade) (company, operating string) {
	switch t {
	case importer, wholesaler:
		return english().fill(d, pick(d, english().Importers)), ""
	case brewery:
		company = english().fill(d, pick(d, english().Beer))
	case distillery:
		company = english().fill(d, pick(d, english().Spirits))
	default:
		company = english().fill(d, pick(d, english().Wine))
	}
	if d.chance(0.45) {
		return english().fill(d, pick(d, english().Companies)), company
	}
	return company + pick(d, []string{", LLC", " LLC", ", INC.", " INC", ", LTD.", " L.P."}), ""
}

// permitNumber returns a permit number in one of TTB's formats for the trade, with two to four
// parts.
func permitNumber(d *rng, p *permittee) string {
	n := strconv.Itoa(serial(d))
	st := p.home.Code
	switch p.trade {
	case importer:
		return st + "-I-" + n
	case wholesaler:
		return st + "-P-" + n
	case distillery:
		return "DSP-" + st + "-" + n
	case brewery:
		switch {
		case d.chance(0.14):
			return "BR-" + st + "-" + firstLetters(p.company) + "-" + n
		case d.chance(0.01):
			return "BR-" + n
		}
		return "BR-" + st + "-" + n
	}
	switch at := d.unit(); {
	case at < 0.62:
		return "BWN-" + st + "-" + n
	case at < 0.77:
		return "BW-" + st + "-" + n
	case at < 0.93:
		return st + "-W-" + n
	case at < 0.97:
		return "BWC-" + st + "-" + n
	case at < 0.99:
		return "TPWBH-" + st + "-" + n
	}
	return "BWC-" + n
}

// serial returns the serial number in a permit number: short for old permits, 15000 and up for
// those from the electronic system.
func serial(d *rng) int {
	if d.chance(0.2) {
		return d.between(2, 2_500)
	}
	return d.between(15_000, 24_999)
}

// firstLetters returns the first three letters A to Z of a company name, padded with X. TTB uses
// such letters in permit numbers to distinguish a brewery's locations.
func firstLetters(name string) string {
	b := make([]byte, 0, 3)
	for i := 0; i < len(name) && len(b) < 3; i++ {
		if name[i] >= 'A' && name[i] <= 'Z' {
			b = append(b, name[i])
		}
	}
	for len(b) < 3 {
		b = append(b, 'X')
	}
	return string(b)
}

// Permittees returns the permittees that are or were on TTB's list of permittees. Most are on the
// current list (Listed). Permittees that were never listed appear only on labels. If the options
// fail Check, it returns nil.
func Permittees(o Options) []cola.Permittee {
	if o.Check() != nil {
		return nil
	}
	var list []cola.Permittee
	for _, p := range newPermittees(o) {
		if !p.known {
			continue
		}
		list = append(list, cola.Permittee{
			PermitNumber:   p.number,
			CompanyName:    cola.Text(p.company),
			OperatingName:  cola.Text(p.operating),
			CompanyState:   cola.Text(p.home.Code),
			CompanyZipCode: cola.Text(p.zip),
			PermitteeType:  cola.Text(vocabulary.PermitteeTypeOf(p.number)),
			Listed:         p.listed,
		})
	}
	return list
}
