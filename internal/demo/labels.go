package demo

import (
	"iter"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Labels makes the labels of the options in the order of their receipt, which is that of their ids.
// A label is the receiver's to keep and to change. It yields nothing for options that fail Check.
func Labels(o Options) iter.Seq[*cola.Cola] {
	return func(yield func(*cola.Cola) bool) {
		if o.Check() != nil || o.Colas == 0 {
			return
		}
		m := labelMaker{world: newWorld(o)}
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

// labelMaker makes labels one after another. It remembers some of the latest, for those that are
// submitted again.
type labelMaker struct {
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
func (m *labelMaker) label(index int, received cola.Date, id cola.TTBID) *cola.Cola {
	d := newRNG(m.o.Seed, streamLabel, uint64(index))
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
func (m *labelMaker) newFiling(d *rng, received cola.Date) productKey {
	kind := labelKind(d, received)
	brand := m.brandFor(d, kind, received)
	number := d.intn(int(m.line(kind).brands[brand].products))
	return productKey{kind, int32(brand), int32(number)}
}

// earlier returns the label that is submitted again, for a few; mostly a recent one, sometimes one
// that was itself a resubmission.
func (m *labelMaker) earlier(d *rng) (filing, bool) {
	if m.filed == 0 || !d.chance(0.028) {
		return filing{}, false
	}
	if m.refile > 0 && d.chance(0.2) {
		return m.again[d.intn(min(m.refile, len(m.again)))], true
	}
	return m.recent[d.intn(min(m.filed, len(m.recent)))], true
}

func (m *labelMaker) remember(f filing, resubmitted bool) {
	m.recent[m.filed%len(m.recent)] = f
	m.filed++
	if resubmitted {
		m.again[m.refile%len(m.again)] = f
		m.refile++
	}
}

// identify fills what a label is: its names, class, origin and permit.
func (m *labelMaker) identify(c *cola.Cola, p *product) {
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
func (m *labelMaker) address(d *rng, c *cola.Cola, p *product) {
	if yearOf(c.ApplicationDate) < 2010 && d.chance(0.12) {
		return
	}
	c.AddressRecipient = cola.Text(p.holder.company)
	c.AddressZipCode, c.AddressState = cola.Text(p.holder.zip), cola.Text(p.holder.home.Code)
}

// sequence numbers the applications of one day. TTB ids have the day as YYDDD, how it came in (001,
// electronically), and six digits that rise with gaps, as some applications are never approved.
type sequence struct {
	rng
	id cola.TTBID
}

func newSequence(o Options, day cola.Date) *sequence {
	t := day.Time()
	prefix := uint64(t.Year()%100*1000+t.YearDay())*1000 + 1
	return &sequence{newRNG(o.Seed, streamDay, uint64(day)), cola.TTBID(prefix * 1_000_000)}
}

func (s *sequence) next() cola.TTBID {
	s.id += cola.TTBID(s.between(1, 5))
	return s.id
}

// The kinds of application, in TTB's words.
const (
	labelApproval  cola.Text = "LABEL APPROVAL"
	exemption      cola.Text = "EXEMPTION FROM LABEL APPROVAL"
	bottleApproval cola.Text = "DISTINCTIVE LIQUOR BOTTLE APPROVAL"
)

// settleApplication settles what was applied for: an approval, an exemption for sale in one state
// only, or the approval of a distinctive bottle; and whether it is an earlier application submitted
// again.
func settleApplication(d *rng, c *cola.Cola, p *product, earlier cola.TTBID) {
	c.ApplicationType = labelApproval
	told := yearOf(c.ApplicationDate) >= 2008 || d.chance(0.6) // old records often do not say
	if told {
		c.IsDistinctiveContainer, c.IsResubmission = cola.Some(false), cola.Some(false)
	}
	switch {
	case p.domestic && d.chance(0.016):
		c.ApplicationType = exemption
		c.ForExemptionState = cola.Text(p.holder.home.Code)
	case p.contents.Kind == "bottle" && d.chance(distinctiveShare(p.kind)):
		c.ApplicationType = bottleApproval
		c.IsDistinctiveContainer = cola.Some(true)
		c.ForDistinctiveCapacity = capacity(p.contents)
	}
	if earlier != 0 {
		c.IsResubmission = cola.Some(true)
		c.ForResubmissionTTBID = earlier
	}
}

// distinctiveShare is the part of a commodity's bottles that need an approval of their own shape.
func distinctiveShare(kind vocabulary.ProductType) float64 {
	if kind == vocabulary.DistilledSpirits {
		return 0.035
	}
	return 0.002
}

// capacity writes the contents as applicants do: 750 MILLILITERS.
func capacity(c container) cola.Text {
	return cola.Text(strconv.FormatFloat(c.Volume, 'f', -1, 64) + " " + strings.ToUpper(string(c.Unit)))
}

// settleStatus settles the dates after the application and what has become of the approval. Nothing
// is dated after last.
func settleStatus(d *rng, c *cola.Cola, kind vocabulary.ProductType, last cola.Date) {
	c.ApprovalDate = approvalDay(d, kind, c.ApplicationDate, last)
	c.LatestUpdateDate = c.ApprovalDate
	c.ApplicationStatus = vocabulary.StatusApproved
	age := int(last - c.ApprovalDate)
	switch at := d.unit(); {
	case age > 5*365 && at < 0.13:
		c.ApplicationStatus = vocabulary.StatusExpired
		c.ExpirationDate = c.ApprovalDate.AddDays(d.between(3*365, age))
		c.LatestUpdateDate = c.ExpirationDate
	case age > 60 && at > 0.965:
		c.ApplicationStatus = vocabulary.StatusSurrendered
		c.LatestUpdateDate = c.ApprovalDate.AddDays(d.between(30, age))
	case age > 60 && at > 0.9645:
		c.ApplicationStatus = vocabulary.StatusRevoked
		c.LatestUpdateDate = c.ApprovalDate.AddDays(d.between(30, age))
	case age > 90 && at > 0.93:
		c.LatestUpdateDate = c.ApprovalDate.AddDays(d.between(1, age))
	}
	if age > 2*365 && d.chance(0.012) {
		c.ApprovalDate = 0 // the source does not tell it
	}
}
