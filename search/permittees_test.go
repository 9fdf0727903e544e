package search

import (
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

// TestFutureApprovals checks that an approval takes effect on its date and does not hide an earlier
// approval until then.
func TestFutureApprovals(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	u := x.Begin()
	today := cola.NewDate(2026, 11, 20)
	for i, l := range []struct {
		permit   string
		approved cola.Date
	}{
		{"FUTURE", today.AddDays(1)},
		{"BOTH", today.AddDays(30)},
		{"BOTH", today.AddDays(-365)},
		{"OLD", today.AddDays(30)},
		{"OLD", today.AddDays(-366)},
	} {
		u.Label(labelWith(cola.TTBID(i+1),
			func(c *cola.Cola) { c.PermitNumber, c.ApprovalDate = l.permit, l.approved }))
		u.Permittee(&cola.Permittee{PermitNumber: l.permit})
	}
	if err := u.Commit(Marks{Labels: 1}); err != nil {
		t.Fatal(err)
	}
	v := x.View()
	for permit, want := range map[string]bool{"FUTURE": false, "BOTH": true, "OLD": false} {
		p, _ := v.Permittee(permit, today, 0)
		list := v.Permittees(cola.PermitteeSearch{Active: cola.Some(want), Today: today, Page: 1, PerPage: 10})
		listed := false
		for _, row := range list.Rows {
			listed = listed || row.PermitNumber == permit
		}
		if p.IsActive != want || !listed {
			t.Errorf("%s: IsActive = %t, listed = %t; want %t, true", permit, p.IsActive, listed, want)
		}
	}
	if p, _ := v.Permittee("FUTURE", today.AddDays(1), 0); !p.IsActive {
		t.Error("on the day of its approval: IsActive = false, want true")
	}
}
