package registry

import (
	"errors"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search"
)

func TestClassifyQuery(t *testing.T) {
	from := cola.NewDate(2026, 1, 1)
	tests := []struct {
		query cola.Query
		want  string
	}{
		{cola.Query{}, "browse"},
		{cola.Query{From: from, To: from}, "browse"},
		{cola.Query{Text: "oak"}, "text"},
		{cola.Query{Text: "château l'oak"}, "text"},
		{cola.Query{Text: "nj-i-721"}, "text"},
		{cola.Query{Text: "1234567"}, "text"},
		{cola.Query{Text: "oa*"}, "prefix"},
		{cola.Query{Text: `"table red" wi*`}, "phrase"},
		{cola.Query{Text: "“table red”"}, "phrase"},
		{cola.Query{Text: "11054001000049"}, "id"},
		{cola.Query{Text: "036000291452"}, "barcode"},
		{cola.Query{Text: "0 36000-29145 2"}, "barcode"},
		{cola.Query{Barcode: "036000291452"}, "barcode"},
		{cola.Query{BrandName: "oak"}, "brand"},
		{cola.Query{PermitNumber: "NJ-I-721"}, "permit"},
		{cola.Query{PermitPart: "nj"}, "permit"},

		{cola.Query{ProductTypes: []string{"wine"}}, "filters"},
		{cola.Query{Categories: []string{"Wine"}}, "filters"},
		{cola.Query{CategoryPath: "Wine > Red Wine"}, "filters"},
		{cola.Query{OriginNames: []string{"FRANCE"}}, "filters"},
		{cola.Query{Domestic: vocabulary.Imported}, "filters"},
		{cola.Query{Status: vocabulary.StatusApproved}, "filters"},
		{cola.Query{AddressState: "NJ"}, "filters"},
		{cola.Query{Containers: []string{"can"}}, "filters"},
		{cola.Query{ABVMin: cola.Some(0.)}, "filters"},
		{cola.Query{ABVMax: cola.Some(14.)}, "filters"},
		{cola.Query{VolumeMin: cola.Some(700.)}, "filters"},
		{cola.Query{VolumeMax: cola.Some(700.), From: from}, "filters"},

		{cola.Query{Text: "oak", Barcode: "1", BrandName: "oak", PermitNumber: "A", Status: vocabulary.StatusApproved}, "text"},
		{cola.Query{Barcode: "1", BrandName: "oak", PermitNumber: "A", Status: vocabulary.StatusApproved}, "barcode"},
		{cola.Query{BrandName: "oak", PermitNumber: "A", Status: vocabulary.StatusApproved}, "brand"},
		{cola.Query{PermitNumber: "A", Status: vocabulary.StatusApproved}, "permit"},
	}
	for _, tt := range tests {
		if got := classifyQuery(&tt.query).String(); got != tt.want {
			t.Errorf("classifyQuery(%+v) = %s, want %s", tt.query, got, tt.want)
		}
	}
}

func TestClassNames(t *testing.T) {
	seen := map[string]bool{}
	for c := range numClasses {
		if seen[c.String()] || c.String() == "" {
			t.Errorf("class %d has an empty or duplicate name: %q", c, c.String())
		}
		seen[c.String()] = true
	}
}

// TestFollowerStats checks when a follower counts as behind: as new revisions appear and are
// applied, and after the store is restored from a backup.
func TestFollowerStats(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 11, 20, 12, 0, second, 0, time.UTC) }
	marks := func(at cola.Revision) search.Marks { return search.Marks{Labels: at, Permittees: at, References: at} }
	var s followerStats
	check := func(step string, behind time.Time) {
		t.Helper()
		if got := s.snapshot().behindSince; !got.Equal(behind) {
			t.Errorf("%s: behind since %v, want %v", step, got, behind)
		}
	}
	check("start", time.Time{})
	s.sawRevision(10, marks(10), at(1))
	check("up to date", time.Time{})
	s.sawRevision(11, marks(10), at(2))
	check("new revision", at(2))
	s.sawRevision(13, marks(10), at(3))
	check("another revision before the first is applied", at(2))
	s.applied(marks(13), 7, at(4))
	check("applied", time.Time{})
	if got := s.snapshot(); got.store != 13 || got.appliedLabels != 7 || !got.changedAt.Equal(at(4)) || !got.checkedAt.Equal(at(3)) {
		t.Errorf("after applying the revision: stats = %+v", got)
	}
	s.applied(marks(15), 1, at(5))
	if got := s.snapshot(); got.store != 15 || got.appliedLabels != 8 {
		t.Errorf("index ahead of the last seen revision: %+v, want store = 15", got)
	}
	s.sawRevision(15, search.Marks{Labels: 15, Permittees: 15, References: 14}, at(6))
	check("one part of the index behind", at(6))
	s.sawRevision(15, marks(15), at(7))
	check("up to date, nothing to apply", time.Time{})
	s.sawRevision(10, marks(15), at(8))
	check("restored store", at(8))
	if got := s.snapshot().store; got != 10 {
		t.Errorf("store revision after a restore = %d, want 10", got)
	}
}

func TestFollowerFailures(t *testing.T) {
	var s followerStats
	for i, err := range []error{nil, errors.New("gone"), errors.New("gone"), nil} {
		s.finished(err)
		if got := s.snapshot(); got.failing != (err != nil) || got.failures != min(uint64(i), 2) {
			t.Errorf("after attempt %d: stats = %+v", i, got)
		}
	}
}
