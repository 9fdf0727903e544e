package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// Dump implements store.Moves.
func (s *Store) Dump(ctx context.Context, yield func(*store.Item) error) error {
	const operation = "read everything"
	if err := s.start(); err != nil {
		return failed(operation, err)
	}
	defer s.done()
	return failed(operation, s.read.view(ctx, func(q querier) error {
		for _, dump := range []func(context.Context, querier, func(*store.Item) error) error{
			dumpAccounts, dumpKeys, dumpApps, dumpIdentities, dumpLinks, dumpSignIns, dumpSearches, dumpRuns, dumpMatches,
			dumpDestinations, dumpDeliveries, dumpAttempts, dumpCreations, dumpAsked,
			dumpMonths, dumpDays, dumpGrants, dumpRefusals, dumpReferences, dumpPermittees, dumpColas, dumpArrivals,
		} {
			if err := dump(ctx, q, yield); err != nil {
				return err
			}
		}
		return nil
	}))
}

// dumpRows reads rows as items: scan fills in what the row says.
func dumpRows(ctx context.Context, q querier, yield func(*store.Item) error, kind store.ItemKind, query string,
	scan func(row scanner, i *store.Item) error) error {
	rows, err := q.query(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		i := &store.Item{Kind: kind}
		if err := scan(rows, i); err != nil {
			return err
		}
		if err := yield(i); err != nil {
			return err
		}
	}
	return rows.Err()
}

func dumpAccounts(ctx context.Context, q querier, yield func(*store.Item) error) error {
	return dumpRows(ctx, q, yield, store.ItemAccount, selectAccounts+` ORDER BY a.id`, func(row scanner, i *store.Item) (err error) {
		i.Account, err = scanAccount(row)
		return err
	})
}

func dumpKeys(ctx context.Context, q querier, yield func(*store.Item) error) error {
	const query = `SELECT id, account_id, hash, name, prefix, last_four, created_at, last_used_at, revoked_at, expires_at
		FROM api_keys ORDER BY id`
	return dumpRows(ctx, q, yield, store.ItemKey, query, func(row scanner, i *store.Item) error {
		k, hash := &i.Key, []byte(nil)
		err := row.Scan(&k.ID, &k.AccountID, &hash, &k.Name, &k.Prefix, &k.LastFour,
			target{&k.CreatedAt}, target{&k.LastUsedAt}, target{&k.RevokedAt}, target{&k.ExpiresAt})
		if err == nil && copy(k.Hash[:], hash) != len(hash) {
			err = fmt.Errorf("key %d: its hash has %d bytes", k.ID, len(hash))
		}
		return err
	})
}

func dumpApps(ctx context.Context, q querier, yield func(*store.Item) error) error {
	return dumpRows(ctx, q, yield, store.ItemApp, selectApps+` ORDER BY id`, func(row scanner, i *store.Item) (err error) {
		i.App, err = scanApp(row)
		return err
	})
}

func dumpIdentities(ctx context.Context, q querier, yield func(*store.Item) error) error {
	const query = `SELECT account_id, issuer, subject FROM identities ORDER BY issuer, subject`
	return dumpRows(ctx, q, yield, store.ItemIdentity, query, func(row scanner, i *store.Item) error {
		return row.Scan(&i.Identity.Account, &i.Identity.Issuer, &i.Identity.Subject)
	})
}

func dumpLinks(ctx context.Context, q querier, yield func(*store.Item) error) error {
	const query = `SELECT id, account_id, app_id, scopes, created_at, last_used_at, revoked_at FROM links ORDER BY id`
	return dumpRows(ctx, q, yield, store.ItemLink, query, func(row scanner, i *store.Item) error {
		l := &i.Link
		return row.Scan(&l.ID, &l.Account, &l.App.ID, target{&l.Scopes}, target{&l.CreatedAt}, target{&l.LastUsedAt}, target{&l.RevokedAt})
	})
}

func dumpMonths(ctx context.Context, q querier, yield func(*store.Item) error) error {
	const query = selectMonths + ` ORDER BY account_id, period`
	return dumpRows(ctx, q, yield, store.ItemMonth, query, func(row scanner, i *store.Item) (err error) {
		i.Month, err = scanMonth(row)
		return err
	})
}

func dumpDays(ctx context.Context, q querier, yield func(*store.Item) error) error {
	const query = `SELECT account_id, day, channel, credential_kind, credential_id, meter, units, requests FROM usage_days
		ORDER BY account_id, day, channel, credential_kind, credential_id, meter`
	return dumpRows(ctx, q, yield, store.ItemDay, query, func(row scanner, i *store.Item) error {
		d := &i.Day
		return row.Scan(&d.Account, target{&d.Day}, &d.Channel, &d.Credential.Kind, &d.Credential.ID, &d.Meter, &d.Units, &d.Requests)
	})
}

func dumpGrants(ctx context.Context, q querier, yield func(*store.Item) error) error {
	const query = `SELECT account_id, granted_at, requests FROM burst_grants ORDER BY account_id, granted_at`
	return dumpRows(ctx, q, yield, store.ItemGrant, query, func(row scanner, i *store.Item) error {
		return row.Scan(&i.Grant.Account, target{&i.Grant.At}, &i.Grant.Requests)
	})
}

func dumpReferences(ctx context.Context, q querier, yield func(*store.Item) error) error {
	sets := &store.ReferenceSets{}
	if err := readSets(ctx, q, sets); err != nil {
		return err
	}
	return yield(&store.Item{Kind: store.ItemReferences, References: sets})
}

func dumpPermittees(ctx context.Context, q querier, yield func(*store.Item) error) error {
	query := `SELECT permit_number, from_labels, ` + permitteeNames + ` FROM permittees ORDER BY permit_number`
	return dumpRows(ctx, q, yield, store.ItemPermittee, query, func(row scanner, i *store.Item) error {
		p := &i.Permittee
		return row.Scan(append([]any{&p.PermitNumber, target{&p.FromLabels}}, targets(records.PermitteeColumns(&p.Permittee))...)...)
	})
}

// dumpColas reads labels a chunk at a time, each with its parts.
func dumpColas(ctx context.Context, q querier, yield func(*store.Item) error) error {
	for last := cola.TTBID(0); ; {
		rows, err := q.query(ctx, `SELECT ttb_id FROM colas WHERE ttb_id > ? ORDER BY ttb_id LIMIT ?`, int64(last), colaChunk)
		ids, err := collect(rows, err, func(row scanner) (id cola.TTBID, err error) { return id, row.Scan(target{&id}) })
		if err != nil || len(ids) == 0 {
			return err
		}
		known := make(map[cola.TTBID]*cola.Cola, len(ids))
		if err := loadColas(ctx, q, ids, known); err != nil {
			return err
		}
		for _, id := range ids {
			if err := yield(&store.Item{Kind: store.ItemCola, Cola: known[id]}); err != nil {
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
	err := s.read.view(ctx, func(q querier) error {
		for kind, tables := range tablesOf {
			sizes[kind] = 0
			for _, table := range tables {
				var n int
				if err := q.row(ctx, `SELECT count(*) FROM `+table).Scan(&n); err != nil {
					return err
				}
				sizes[kind] += n
			}
		}
		return nil
	})
	return sizes, failed(operation, err)
}

// tablesOf names the tables that hold the records of each kind, less those of parts of records.
var tablesOf = map[store.ItemKind][]string{
	store.ItemAccount: {"accounts"}, store.ItemKey: {"api_keys"}, store.ItemApp: {"apps"}, store.ItemIdentity: {"identities"},
	store.ItemLink: {"links"}, store.ItemSignIn: {"sign_ins"}, store.ItemSearch: {"saved_searches"}, store.ItemRun: {"saved_search_runs"}, store.ItemMatch: {"saved_search_matches"},
	store.ItemDestination: {"destinations"}, store.ItemDelivery: {"deliveries"}, store.ItemAttempt: {"delivery_attempts"},
	store.ItemCreation: {"saved_search_creations"}, store.ItemAsked: {"confirmations_asked"},
	store.ItemMonth: {"usage_months"}, store.ItemDay: {"usage_days"}, store.ItemGrant: {"burst_grants"}, store.ItemRefusal: {"refusals"},
	store.ItemPermittee: {"permittees"}, store.ItemCola: {"colas"}, store.ItemArrival: {"cola_arrivals"},
	store.ItemReferences: {records.AVAs.Table, records.ProductionReports.Table, records.ProcessingTimes.Table,
		records.FormulaProcessingTimes.Table, records.RegistrationProcessingTimes.Table, records.CategoryAliases.Table},
}

// checkEmpty fails with store.ErrExists unless the store holds nothing and never did. All but apps comes with an account or a
// revision.
func checkEmpty(ctx context.Context, q querier) error {
	var rev cola.Revision
	if err := q.row(ctx, `SELECT revision FROM meta`).Scan(&rev); err != nil {
		return err
	}
	var filled bool
	err := q.row(ctx, `SELECT EXISTS (SELECT 1 FROM accounts) OR EXISTS (SELECT 1 FROM apps)`).Scan(&filled)
	if err == nil && (rev > 0 || filled) {
		err = errors.Join(store.ErrExists, errors.New("the database holds records already"))
	}
	return err
}
