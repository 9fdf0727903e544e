package demo

import (
	"iter"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Labels makes the labels of the options in the order of their receipt, which is that of their ids. A label is the
// receiver's to keep and to change. It yields nothing for options that fail Check.
func Labels(o Options) iter.Seq[*cola.Cola] {
	return func(yield func(*cola.Cola) bool) {
		if o.Check() != nil || o.Colas == 0 {
			return
		}
		m := maker{world: newWorld(o)}
		index := 0
		for day := range calendar(o.Colas, o.AsOf) {
			sequence := newSequence(o, day.day)
			for range day.count {
				c := m.label(index, day.day, sequence.next())
				index++
				if !yield(c) {
					return
				}
			}
		}
	}
}

// maker makes labels one after another. It remembers some of the latest, for those that are submitted again.
type maker struct {
	*world
	recent [2048]filing // ring of the latest labels
	filed  int
	again  [128]filing // ring of the latest resubmissions, which may be submitted yet again
	refile int
}

// filing is what a resubmission takes over from an earlier label.
type filing struct {
	id  cola.TTBID
	key productKey
}

// label makes one label.
func (m *maker) label(index int, received cola.Date, id cola.TTBID) *cola.Cola {
	d := throw(m.o.Seed, streamLabel, uint64(index))
	earlier, resubmitted := m.earlier(&d)
	key := earlier.key
	if !resubmitted {
		key = m.newFiling(&d, received)
	}
	p := m.product(key)
	c := &cola.Cola{}
	c.TTBID = id
	c.ApplicationDate = received
	m.identify(c, &p)
	settleApplication(&d, c, &p, earlier.id)
	settleStatus(&d, c, p.kind, m.o.AsOf)
	m.address(&d, c, &p)
	describeContents(&d, c, &p)
	if d.chance(0.87) {
		m.enrich(&d, c, &p)
	}
	if d.chance(0.965) {
		addImages(&d, c, &p)
	} else if d.chance(0.3) {
		c.BarcodeType, c.BarcodeValue = p.barcode.symbology, cola.Text(p.barcode.value)
	}
	c.Derive()
	m.remember(filing{id, key}, resubmitted)
	return c
}

// newFiling draws the product that a label received on the day is for.
func (m *maker) newFiling(d *dice, received cola.Date) productKey {
	kind := labelKind(d, received)
	brand := m.brandFor(d, kind, received)
	number := d.below(int(m.line(kind).brands[brand].products))
	return productKey{kind, int32(brand), int32(number)}
}

// earlier returns the label that is submitted again, for a few; mostly a recent one, sometimes one that was itself a
// resubmission.
func (m *maker) earlier(d *dice) (filing, bool) {
	if m.filed == 0 || !d.chance(0.028) {
		return filing{}, false
	}
	if m.refile > 0 && d.chance(0.2) {
		return m.again[d.below(min(m.refile, len(m.again)))], true
	}
	return m.recent[d.below(min(m.filed, len(m.recent)))], true
}

func (m *maker) remember(f filing, resubmitted bool) {
	m.recent[m.filed%len(m.recent)] = f
	m.filed++
	if resubmitted {
		m.again[m.refile%len(m.again)] = f
		m.refile++
	}
}

// identify fills what a label is: its names, class, origin and permit.
func (m *maker) identify(c *cola.Cola, p *product) {
	c.BrandName = p.brand.name
	c.ProductName = cola.Text(p.fanciful)
	c.ProductType = p.kind
	c.ClassID, c.ClassName = cola.Text(p.class), m.classNames[p.class]
	c.OriginID, c.OriginName = cola.Text(p.brand.origin), m.originNames[p.brand.origin]
	c.DomesticOrImported = vocabulary.Imported
	if p.domestic {
		c.DomesticOrImported = vocabulary.Domestic
	}
	c.PermitNumber = p.holder.number
}

// address fills the applicant's business address, which some old records lack.
func (m *maker) address(d *dice, c *cola.Cola, p *product) {
	if yearOf(c.ApplicationDate) < 2010 && d.chance(0.12) {
		return
	}
	c.AddressRecipient = cola.Text(p.holder.company)
	c.AddressZipCode, c.AddressState = cola.Text(p.holder.zip), cola.Text(p.holder.home.Code)
}

// sequence numbers the applications of one day. TTB ids have the day as YYDDD, how it came in (001, electronically), and
// six digits that rise with gaps, as some applications are never approved.
type sequence struct {
	dice
	id cola.TTBID
}

func newSequence(o Options, day cola.Date) *sequence {
	t := day.Time()
	prefix := uint64(t.Year()%100*1000+t.YearDay())*1000 + 1
	return &sequence{throw(o.Seed, streamDay, uint64(day)), cola.TTBID(prefix * 1_000_000)}
}

func (s *sequence) next() cola.TTBID {
	s.id += cola.TTBID(s.between(1, 5))
	return s.id
}
