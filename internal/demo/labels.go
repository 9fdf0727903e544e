package demo

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Labels generates labels in order of receipt, which is also the order of their IDs. The caller may
// keep and modify each label. If the options fail Check, Labels yields no labels.
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

// labelMaker generates labels in sequence. It remembers recent labels for resubmissions.
type labelMaker struct {
	*world
	recent        [2048]filing // ring buffer of the latest labels
	filed         int
	resubmissions [128]filing // ring buffer of the latest resubmissions, which may be resubmitted again
	refiled       int
}

// filing is the part of an earlier label that a resubmission repeats.
type filing struct {
	id  cola.TTBID
	key productKey
}

// label generates one label.
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
	numberApplication(c)
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

// newFiling picks the product for a label received on the given day.
func (m *labelMaker) newFiling(d *rng, received cola.Date) productKey {
	kind := labelKind(d, received)
	brand := m.brandFor(d, kind, received)
	number := d.intn(int(m.line(kind).brands[brand].products))
	return productKey{kind, int32(brand), int32(number)}
}

// earlier decides whether a label is one of the few resubmissions, and picks the earlier label:
// usually a recent one, sometimes one that was itself a resubmission.
func (m *labelMaker) earlier(d *rng) (filing, bool) {
	if m.filed == 0 || !d.chance(0.028) {
		return filing{}, false
	}
	if m.refiled > 0 && d.chance(0.2) {
		return m.resubmissions[d.intn(min(m.refiled, len(m.resubmissions)))], true
	}
	return m.recent[d.intn(min(m.filed, len(m.recent)))], true
}

func (m *labelMaker) remember(f filing, resubmitted bool) {
	m.recent[m.filed%len(m.recent)] = f
	m.filed++
	if resubmitted {
		m.resubmissions[m.refiled%len(m.resubmissions)] = f
		m.refiled++
	}
}

// identify sets the names, class, origin and permit of a label.
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

// address sets the applicant's business address. Some old records lack it.
func (m *labelMaker) address(d *rng, c *cola.Cola, p *product) {
	if yearOf(c.ApplicationDate) < 2010 && d.chance(0.12) {
		return
	}
	c.AddressRecipient = cola.Text(p.holder.company)
	c.AddressZipCode, c.AddressState = cola.Text(p.holder.zip), cola.Text(p.holder.home.Code)
}

// sequence assigns numbers to the applications of one day. A TTB ID consists of the day as YYDDD, the channel
// (001 for electronic), and six digits that ascend with gaps, because some applications are never
// approved.
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

// Application types, as TTB names them.
const (
	labelApproval  cola.Text = "LABEL APPROVAL"
	exemption      cola.Text = "EXEMPTION FROM LABEL APPROVAL"
	bottleApproval cola.Text = "DISTINCTIVE LIQUOR BOTTLE APPROVAL"
)

// settleApplication sets the application type: an approval, an exemption for sale in a single
// state, or the approval of a distinctive bottle. Any of them can be a resubmission of an earlier
// label.
func settleApplication(d *rng, c *cola.Cola, p *product, earlier cola.TTBID) {
	c.ApplicationType = labelApproval
	stated := yearOf(c.ApplicationDate) >= 2008 || d.chance(0.6) // often missing in old records
	if stated {
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

// numberApplication sets the serial number and the fields that only a few applications have. It
// derives them from the ID, without random numbers.
func numberApplication(c *cola.Cola) {
	c.SerialNumber = cola.Text(fmt.Sprintf("%02d%04d", yearOf(c.ApplicationDate)%100, c.TTBID%10_000))
	switch c.TTBID % 16 {
	case 3:
		c.Formula = cola.Text(strconv.Itoa(1_000_000 + int(c.TTBID%400_000)))
	case 8:
		c.TradeName = cola.Text(strings.ToUpper(c.BrandName))
	case 13:
		c.Qualifications = "NO MORE USE-UPS WILL BE GRANTED.\nThis COLA is conditioned upon compliance with TTB Ruling 2015-1."
	}
}

// distinctiveShare returns the share of a product type's bottles that need a distinctive bottle
// approval.
func distinctiveShare(kind vocabulary.ProductType) float64 {
	if kind == vocabulary.DistilledSpirits {
		return 0.035
	}
	return 0.002
}

// capacity formats the contents as applicants do: 750 MILLILITERS.
func capacity(c container) cola.Text {
	return cola.Text(strconv.FormatFloat(c.Volume, 'f', -1, 64) + " " + strings.ToUpper(string(c.Unit)))
}

// settleStatus sets the dates after the application and the current status. No date is after last.
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
		c.ApprovalDate = 0 // the source does not state it
	}
}
