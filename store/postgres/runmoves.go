package postgres

import (
	"errors"

	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

func (d dumper) searches() error {
	var row records.SavedSearch
	return d.rows(store.ItemSearch, `SELECT id, account_id, mark_at, mark_revision, feed_hash, `+savedSearchNames+` FROM saved_searches ORDER BY id`,
		func(i *store.Item) fields {
			found := &i.Search
			return append(fields{&found.ID, &found.Account, &found.Mark.At, &found.Mark.Revision, &found.Feed}, savedSearchColumns(&row)...)
		},
		func(i *store.Item) error { return row.Store(&i.Search) })
}

func (d dumper) runs() error {
	const query = `SELECT search_id, coalesce(upto, 0), named_labels, ` + runNames + ` FROM saved_search_runs ORDER BY id`
	return d.rows(store.ItemRun, query, func(i *store.Item) fields {
		return append(fields{&i.Run.Search, &i.Run.UpTo, &i.Run.Named}, runColumns(&i.Run.SavedSearchRun)...)
	}, nil)
}

func (d dumper) matches() error {
	const query = `SELECT search_id, ` + matchNames + ` FROM saved_search_matches ORDER BY search_id, ttb_id`
	return d.rows(store.ItemMatch, query, func(i *store.Item) fields {
		return append(fields{&i.Match.Search}, matchColumns(&i.Match.SavedSearchMatch)...)
	}, nil)
}

func (d dumper) arrivals() error {
	return d.rows(store.ItemArrival, `SELECT ttb_id, revision, approval_date FROM cola_arrivals ORDER BY ttb_id`, func(i *store.Item) fields {
		return fields{&i.Arrival.TTBID, &i.Arrival.At, &i.Arrival.ApprovalDate}
	}, nil)
}

// addRuns adds one item about what searches look for and have found.
func (f *filler) addRuns(i *store.Item) error {
	f.known = max(f.known, i.Search.Mark.Revision, i.Arrival.At)
	switch i.Kind {
	case store.ItemSearch:
		return f.addSearch(&i.Search)
	case store.ItemRun:
		r := &i.Run
		f.add(f.runs, r.Search, r.ID, r.RanAt.Time(), r.DateFrom.Time(), r.DateTo.Time(), int64(r.MatchCount), int64(r.LateCount),
			orNull(int64(r.UpTo), r.UpTo != 0), int64(r.Named), r.Manual)
	case store.ItemMatch:
		m := &i.Match
		f.add(f.matches, m.Search, m.RunID, int64(m.TTBID), m.Late, int64(m.Met))
	case store.ItemArrival:
		a := &i.Arrival
		f.add(f.arrivals, int64(a.TTBID), int64(a.At), encode(&a.ApprovalDate))
	default:
		return errors.New("no such kind of item")
	}
	return nil
}

func (f *filler) addSearch(i *store.StoredSearch) error {
	row, err := records.NewStoredSearch(i)
	if err == nil {
		f.add(f.searches, append([]any{i.ID, int64(i.Account), i.Mark.At, int64(i.Mark.Revision), encodeHash(i.Feed)}, values(row.Columns())...)...)
	}
	return err
}
