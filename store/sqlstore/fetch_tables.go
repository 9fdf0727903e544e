package sqlstore

import "github.com/colaregistry/colaregistry/store"

func fetchWindowTable() Table {
	return table(store.ItemFetchWindow, "fetch_windows",
		"day, class_from, class_to, history, state, total, attempts, due_at, completed_at, settled_at, failure",
		`day, class_from COLLATE "C", class_to COLLATE "C"`, func(i *store.Item) []any {
			w := &i.FetchWindow
			return []any{
				&w.Day, &w.Class.From, &w.Class.To, &w.History, &w.State, &w.Total, &w.Attempts, &w.DueAt, &w.CompletedAt,
				&w.SettledAt, &w.Failure,
			}
		})
}

func fetchLabelTable() Table {
	return table(store.ItemFetchLabel, "fetch_labels",
		"ttb_id, completed, images, history, state, attempts, due_at, failure", "ttb_id", func(i *store.Item) []any {
			l := &i.FetchLabel
			return []any{&l.TTBID, &l.Completed, &l.Images, &l.History, &l.State, &l.Attempts, &l.DueAt, &l.Failure}
		})
}
