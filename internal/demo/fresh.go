package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// FreshPerDay is the number of labels that LoadFresh adds for a day.
const FreshPerDay = 24

const (
	// freshIndex separates the random numbers for fresh labels from those used by Labels.
	freshIndex = 1 << 40
	// freshSequence separates their IDs from those of other labels, which are numbered from 1 each
	// day.
	freshSequence = 900_000
	// reserved is a word that fresh labels don't contain: a guide imports labels with this word and
	// expects alerts to find only those labels.
	reserved = "HERON"
)

// Fresh returns new labels for the registry that Labels generates, all approved on the given day.
func Fresh(o Options, day cola.Date) (labels []*cola.Cola) {
	m := labelMaker{world: newWorld(o)}
	m.o.AsOf = max(o.AsOf, day)
	for i := 0; len(labels) < FreshPerDay; i++ {
		received := day.AddDays(-3 - i%5)
		t := received.Time()
		id := cola.TTBID((uint64(t.Year()%100*1000+t.YearDay())*1000+1)*1_000_000 + freshSequence + uint64(i))
		c := m.label(freshIndex+int(day)*1000+i, received, id)
		if strings.Contains(strings.ToUpper(c.BrandName+string(c.ProductName)), reserved) {
			continue
		}
		c.ApprovalDate, c.LatestUpdateDate, c.ExpirationDate = day, day, 0
		c.ApplicationStatus = vocabulary.StatusApproved
		c.Derive()
		labels = append(labels, c)
	}
	return labels
}

// LoadFresh writes a day's fresh labels to a registry with demo data. Unlike labels from Load, they
// trigger alerts. It can be called again for the same day.
func LoadFresh(ctx context.Context, st store.Colas, o Options, day cola.Date) error {
	var batch []cola.Patch[cola.Cola]
	for _, c := range Fresh(o, day) {
		batch = append(batch, whole(*c))
	}
	if _, err := st.UpsertColas(ctx, batch, store.Commit); err != nil {
		return fmt.Errorf("load fresh demo labels: %w", err)
	}
	return nil
}
