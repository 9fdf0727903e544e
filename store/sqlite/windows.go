package sqlite

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

const (
	selectWindows = `SELECT account_id, grants FROM burst_windows WHERE account_id IN (SELECT value FROM json_each(?1))`
	// insertGrant appends a grant to a window.
	insertGrant = `INSERT INTO burst_windows (account_id, grants) VALUES (?1, json_array(json_array(?2, ?3)))
		ON CONFLICT (account_id) DO UPDATE SET grants = json_insert(grants, '$[#]', json_array(?2, ?3))`
	// grants is a subquery with a row for each grant.
	grants = `(SELECT account_id, g.value ->> 0 AS granted_at, g.value ->> 1 AS requests FROM burst_windows, json_each(grants) g)`
)

var setWindows = newRowWrite(`burst_windows (account_id, grants)`, 2, `new.column1, new.column2`,
	`(account_id) DO UPDATE SET grants = excluded.grants`)

// formatGrants returns the stored form of a window: a JSON array of [granted_at, requests].
func formatGrants(grants []store.Grant) string {
	var b strings.Builder
	b.Grow(2 + len(grants)*len(`[1700000000000000,1],`))
	b.WriteByte('[')
	var digits [20]byte
	for i, g := range grants {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('[')
		b.Write(strconv.AppendInt(digits[:0], g.At.UnixMicro(), 10))
		b.WriteByte(',')
		b.Write(strconv.AppendInt(digits[:0], int64(g.Requests), 10))
		b.WriteByte(']')
	}
	b.WriteByte(']')
	return b.String()
}

// parseGrants parses the stored form of a window. encoding/json would take longer than reading the
// row.
func parseGrants(text string) ([]store.Grant, error) {
	malformed := func() ([]store.Grant, error) { return nil, fmt.Errorf("malformed window %.100q", text) }
	if text == "" || text == "[]" {
		return nil, nil
	}
	if len(text) < len("[[0,0]]") || text[0] != '[' || text[len(text)-1] != ']' {
		return malformed()
	}
	grants := make([]store.Grant, 0, len(text)/len(`[1700000000000000,1],`)+1)
	for rest := text[1 : len(text)-1]; ; rest = rest[1:] {
		var pair [2]int64
		for i, open := range "[," {
			if rest == "" || rest[0] != byte(open) {
				return malformed()
			}
			end := 1
			for ; end < len(rest) && '0' <= rest[end] && rest[end] <= '9' && end <= 18; end++ {
				pair[i] = pair[i]*10 + int64(rest[end]-'0')
			}
			if end == 1 {
				return malformed()
			}
			rest = rest[end:]
		}
		if rest == "" || rest[0] != ']' {
			return malformed()
		}
		grants = append(grants, store.Grant{At: time.UnixMicro(pair[0]).UTC(), Requests: int(pair[1])})
		if rest = rest[1:]; rest == "" {
			return grants, nil
		}
		if rest[0] != ',' {
			return malformed()
		}
	}
}

// readWindows reads the windows of accounts.
func (s *Store) readWindows(ctx context.Context, accounts []cola.AccountID) ([]sqlstore.AccountRow, error) {
	rows, err := s.ledger.query(ctx, selectWindows, idList(accounts))
	return collect(rows, err, func(r scanner) (w sqlstore.AccountRow, err error) {
		var grants string
		if err = r.Scan(&w.Account.ID, &grants); err == nil {
			w.Grants, err = parseGrants(grants)
		}
		return w, err
	})
}

// writeWindows writes the windows of accounts.
func (s *Store) writeWindows(ctx context.Context, windows []sqlstore.AccountRow) error {
	rows := make([]any, 0, len(windows)*setWindows.columns)
	for _, w := range windows {
		rows = append(rows, int64(w.Account.ID), formatGrants(w.Grants))
	}
	return setWindows.exec(ctx, s.ledger, nil, rows)
}
