package demo

import (
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// The kinds of application, in TTB's words.
const (
	labelApproval  cola.Text = "LABEL APPROVAL"
	exemption      cola.Text = "EXEMPTION FROM LABEL APPROVAL"
	bottleApproval cola.Text = "DISTINCTIVE LIQUOR BOTTLE APPROVAL"
)

// settleApplication settles what was applied for: an approval, an exemption for sale in one state only, or the approval of
// a distinctive bottle; and whether it is an earlier application submitted again.
func settleApplication(d *dice, c *cola.Cola, p *product, earlier cola.TTBID) {
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

// settleStatus settles the dates after the application and what has become of the approval. Nothing is dated after last.
func settleStatus(d *dice, c *cola.Cola, kind vocabulary.ProductType, last cola.Date) {
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
