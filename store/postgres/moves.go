package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// dumper gives the items of one state to whoever takes them.
type dumper struct {
	ctx   context.Context
	q     querier
	yield func(*store.Item) error
}

// Dump implements store.Moves.
func (s *Store) Dump(ctx context.Context, yield func(*store.Item) error) error {
	const operation = "read everything"
	if err := s.start(); err != nil {
		return failed(operation, err)
	}
	defer s.done()
	var f follower
	err := s.view(ctx, func(q querier) error {
		d := dumper{ctx, q, func(i *store.Item) error { return f.told(yield(i)) }}
		for _, dump := range []func() error{
			d.accounts, d.keys, d.apps, d.identities, d.links, d.signIns, d.searches, d.runs, d.matches,
			d.destinations, d.deliveries, d.attempts, d.creations, d.asked,
			d.months, d.days, d.grants, d.refusals, d.references, d.permittees, d.colas, d.arrivals,
		} {
			if err := dump(); err != nil {
				return err
			}
		}
		return nil
	})
	if f.err != nil {
		return fmt.Errorf("%s: %w", operation, f.err)
	}
	return s.failed(ctx, operation, err)
}

// rows reads rows as items: columns says which fields of the item they fill, and settle makes the item of them.
func (d dumper) rows(kind store.ItemKind, query string, columns func(*store.Item) fields, settle func(*store.Item) error) error {
	return eachRow(d.ctx, d.q, query, nil, func(rows pgx.Rows) error {
		i := &store.Item{Kind: kind}
		if err := rows.Scan(columns(i)); err != nil {
			return err
		}
		if settle != nil {
			if err := settle(i); err != nil {
				return err
			}
		}
		return d.yield(i)
	})
}

func (d dumper) accounts() error {
	return d.rows(store.ItemAccount, selectAccounts+` ORDER BY a.id`,
		func(i *store.Item) fields { return accountColumns(&i.Account) }, nil)
}

func (d dumper) keys() error {
	const query = `SELECT id, account_id, hash, name, prefix, last_four, created_at, last_used_at, revoked_at, expires_at
		FROM api_keys ORDER BY id`
	return d.rows(store.ItemKey, query, func(i *store.Item) fields {
		k := &i.Key
		return fields{&k.ID, &k.AccountID, &k.Hash, &k.Name, &k.Prefix, &k.LastFour, &k.CreatedAt, &k.LastUsedAt, &k.RevokedAt, &k.ExpiresAt}
	}, nil)
}

func (d dumper) apps() error {
	return d.rows(store.ItemApp, selectApps+` ORDER BY id`, func(i *store.Item) fields { return appColumns(&i.App) }, nil)
}

func (d dumper) identities() error {
	return d.rows(store.ItemIdentity, `SELECT account_id, issuer, subject FROM identities ORDER BY issuer, subject`,
		func(i *store.Item) fields {
			return fields{&i.Identity.Account, &i.Identity.Issuer, &i.Identity.Subject}
		}, nil)
}

func (d dumper) links() error {
	const query = `SELECT id, account_id, app_id, scopes, created_at, last_used_at, revoked_at FROM links ORDER BY id`
	return d.rows(store.ItemLink, query, func(i *store.Item) fields {
		l := &i.Link
		return fields{&l.ID, &l.Account, &l.App.ID, &l.Scopes, &l.CreatedAt, &l.LastUsedAt, &l.RevokedAt}
	}, nil)
}

func (d dumper) months() error {
	var m storedMonth
	return d.rows(store.ItemMonth, selectMonths+` ORDER BY account_id, period`, func(*store.Item) fields { return m.columns() },
		func(i *store.Item) (err error) {
			i.Month, err = m.usage()
			return err
		})
}

func (d dumper) days() error {
	const query = `SELECT account_id, day, channel, credential_kind, credential_id, meter, units, requests FROM usage_days
		ORDER BY account_id, day, channel, credential_kind, credential_id, meter`
	return d.rows(store.ItemDay, query, func(i *store.Item) fields {
		return append(fields{&i.Day.Account}, dayColumns(&i.Day.DayUsage)...)
	}, nil)
}

func (d dumper) grants() error {
	const query = `SELECT w.account_id, g.at, g.requests FROM burst_windows w, unnest(w.granted_at, w.requests) AS g (at, requests)
		ORDER BY w.account_id, g.at`
	return d.rows(store.ItemGrant, query, func(i *store.Item) fields {
		return fields{&i.Grant.Account, &i.Grant.At, &i.Grant.Requests}
	}, nil)
}

func (d dumper) references() error {
	sets := &store.ReferenceSets{}
	if err := readSets(d.ctx, d.q, sets); err != nil {
		return err
	}
	return d.yield(&store.Item{Kind: store.ItemReferences, References: sets})
}

func (d dumper) permittees() error {
	return d.rows(store.ItemPermittee, `SELECT permit_number, from_labels, `+permitteeList+` FROM permittees ORDER BY permit_number`,
		func(i *store.Item) fields { return storedPermitteeColumns(&i.Permittee) }, nil)
}

// colas reads labels a chunk at a time, each with its parts.
func (d dumper) colas() error {
	for last := cola.TTBID(0); ; {
		rows, err := d.q.Query(d.ctx, `SELECT ttb_id FROM colas WHERE ttb_id > $1 ORDER BY ttb_id LIMIT $2`, int64(last), colaChunk)
		ids, err := collect(rows, err, func(id *cola.TTBID) fields { return fields{id} })
		if err != nil || len(ids) == 0 {
			return err
		}
		known := make(map[cola.TTBID]*cola.Cola, len(ids))
		if err := loadColas(d.ctx, d.q, ids, known); err != nil {
			return err
		}
		for _, id := range ids {
			if err := d.yield(&store.Item{Kind: store.ItemCola, Cola: known[id]}); err != nil {
				return err
			}
		}
		last = ids[len(ids)-1]
	}
}

// Sizes implements store.Moves.
func (s *Store) Sizes(ctx context.Context) (map[store.ItemKind]int, error) {
	const operation = "count records"
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	sizes := map[store.ItemKind]int{}
	err := s.view(ctx, func(q querier) error {
		for kind, counts := range countsOf {
			sizes[kind] = 0
			for _, count := range counts {
				var n int
				if err := q.QueryRow(ctx, `SELECT `+count).Scan(fields{&n}); err != nil {
					return err
				}
				sizes[kind] += n
			}
		}
		return nil
	})
	return sizes, s.failed(ctx, operation, err)
}

// countsOf says how the records of each kind are counted.
var countsOf = map[store.ItemKind][]string{
	store.ItemAccount:     {`count(*) FROM accounts`},
	store.ItemKey:         {`count(*) FROM api_keys`},
	store.ItemApp:         {`count(*) FROM apps`},
	store.ItemIdentity:    {`count(*) FROM identities`},
	store.ItemLink:        {`count(*) FROM links`},
	store.ItemSignIn:      {`count(*) FROM sign_ins`},
	store.ItemSearch:      {`count(*) FROM saved_searches`},
	store.ItemRun:         {`count(*) FROM saved_search_runs`},
	store.ItemMatch:       {`count(*) FROM saved_search_matches`},
	store.ItemDestination: {`count(*) FROM destinations`},
	store.ItemDelivery:    {`count(*) FROM deliveries`},
	store.ItemAttempt:     {`count(*) FROM delivery_attempts`},
	store.ItemCreation:    {`count(*) FROM saved_search_creations`},
	store.ItemAsked:       {`count(*) FROM confirmations_asked`},
	store.ItemMonth:       {`count(*) FROM usage_months`},
	store.ItemDay:         {`count(*) FROM usage_days`},
	store.ItemGrant:       {`coalesce(sum(cardinality(granted_at)), 0) FROM burst_windows`},
	store.ItemRefusal:     {`count(*) FROM refusals`},
	store.ItemPermittee:   {`count(*) FROM permittees`},
	store.ItemCola:        {`count(*) FROM colas`},
	store.ItemArrival:     {`count(*) FROM cola_arrivals`},
	store.ItemReferences: {`count(*) FROM ` + records.AVAs.Table, `count(*) FROM ` + records.ProductionReports.Table,
		`count(*) FROM ` + records.ProcessingTimes.Table, `count(*) FROM ` + records.FormulaProcessingTimes.Table,
		`count(*) FROM ` + records.RegistrationProcessingTimes.Table, `count(*) FROM ` + records.CategoryAliases.Table},
}

// checkEmpty fails with store.ErrExists unless the store, at its latest revision, holds nothing and never did. All but apps comes
// with an account or a revision.
func checkEmpty(ctx context.Context, tx pgx.Tx, latest cola.Revision) error {
	var filled bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM accounts) OR EXISTS (SELECT 1 FROM apps)`).Scan(fields{&filled})
	if err == nil && (latest > 0 || filled) {
		err = errors.Join(store.ErrExists, errors.New("the database holds records already"))
	}
	return err
}
