package sqlstore

import (
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// Table describes how records of one kind are copied from one database to another.
type Table struct {
	Kind    store.ItemKind
	Name    string
	Columns []string // copied columns
	Order   string   // ORDER BY list for reading

	// Fields returns the scan targets for Columns. finish, unless nil, completes the item after the
	// scan.
	Fields func(i *store.Item) (into []any, finish func() error)
	// Row returns the arguments for Columns.
	Row func(i *store.Item) ([]any, error)
}

// Insert returns the statement that inserts a row.
func (t Table) Insert() string {
	return `INSERT INTO ` + t.Name + ` (` + strings.Join(t.Columns, ", ") + `) VALUES (` + parameters(1,
		len(t.Columns)) + `)`
}

// null points to a field that is stored as NULL when it is zero.
type null struct {
	field  any
	isZero func() bool
}

func orNull[T comparable](field *T) null {
	var zero T
	return null{field, func() bool { return *field == zero }}
}

// into replaces nulls with the fields that they point to.
func into(fields []any) []any {
	for i, f := range fields {
		if n, ok := f.(null); ok {
			fields[i] = n.field
		}
	}
	return fields
}

// arguments replaces nulls with the fields that they point to, or with NULL.
func arguments(fields []any) []any {
	for i, f := range fields {
		if n, ok := f.(null); ok {
			if fields[i] = n.field; n.isZero() {
				fields[i] = nil
			}
		}
	}
	return fields
}

// table returns a Table that reads and writes rows through the same field pointers.
func table(kind store.ItemKind, name, columns, order string, fields func(i *store.Item) []any) Table {
	return Table{
		Kind:    kind,
		Name:    name,
		Columns: strings.Split(columns, ", "),
		Order:   order,
		Fields:  func(i *store.Item) ([]any, func() error) { return into(fields(i)), nil },
		Row:     func(i *store.Item) ([]any, error) { return arguments(fields(i)), nil },
	}
}

// Tables returns the tables of all kinds except labels and reference data, in the order of
// store.ItemKinds. Each table refers only to earlier ones. Destinations come after runs so that
// copied runs don't create deliveries again: when a run is inserted, a trigger creates deliveries
// for the destinations of its search. grants is the table or subquery with the last minute's
// requests.
func Tables(grants string) []Table {
	return []Table{
		accountTable(),
		table(store.ItemSubscription, "subscriptions", subscriptionNames, "account_id",
			func(i *store.Item) []any { return subscriptionFields(&i.Subscription) }),
		table(store.ItemKey, "api_keys",
			"id, account_id, hash, name, prefix, last_four, created_at, last_used_at, revoked_at, expires_at, "+
				"scopes, networks", "id",
			func(i *store.Item) []any {
				k := &i.Key
				return []any{
					&k.ID, &k.AccountID, &k.Hash, &k.Name, &k.Prefix, &k.LastFour,
					&k.CreatedAt, &k.LastUsedAt, &k.RevokedAt, &k.ExpiresAt, &k.Scopes, &k.Networks,
				}
			}),
		table(store.ItemApp, "apps", appNames, "id", func(i *store.Item) []any { return appColumns(&i.App) }),
		table(store.ItemIdentity, "identities", "account_id, issuer, subject", "issuer, subject",
			func(i *store.Item) []any {
				return []any{&i.Identity.Account, &i.Identity.Issuer, &i.Identity.Subject}
			}),
		table(store.ItemLink, "links", "id, account_id, app_id, scopes, created_at, last_used_at, revoked_at", "id",
			func(i *store.Item) []any {
				l := &i.Link
				return []any{&l.ID, &l.Account, &l.App.ID, &l.Scopes, &l.CreatedAt, &l.LastUsedAt, &l.RevokedAt}
			}),
		table(store.ItemSignIn, "sign_ins", signInNames, "id",
			func(i *store.Item) []any { return signInColumns(&i.SignIn) }),
		searchTable(),
		table(store.ItemRun, "saved_search_runs", runNames+", search_id, upto, named_labels", "id",
			func(i *store.Item) []any {
				return append(runColumns(&i.Run.SavedSearchRun), &i.Run.Search, orNull(&i.Run.UpTo), &i.Run.Named)
			}),
		table(store.ItemMatch, "saved_search_matches", "search_id, "+matchNames, "search_id, ttb_id",
			func(i *store.Item) []any {
				return append([]any{&i.Match.Search}, matchColumns(&i.Match.SavedSearchMatch)...)
			}),
		destinationTable(),
		table(store.ItemDelivery, "deliveries",
			"id, message_id, account_id, destination_id, search_id, run_id, event, kind, "+
				"state, error, attempts, created_at, first_attempt_at, next_attempt_at, settled_at", "id",
			func(i *store.Item) []any {
				d := &i.Delivery
				return []any{
					&d.ID, &d.MessageID, &d.Account, &d.Destination, orNull(&d.Search), orNull(&d.Run),
					&d.Event, &d.Kind,
					&d.State, &d.Error, &d.AttemptCount, &d.CreatedAt, &d.FirstAttemptAt, &d.NextAttemptAt,
					&d.SettledAt,
				}
			}),
		attemptTable(),
		table(store.ItemCreation, "saved_search_creations", "account_id, once_key, fingerprint, uuid, kept_until",
			"account_id, once_key", func(i *store.Item) []any {
				c := &i.Creation
				return []any{&c.Account, &c.Key, (*store.KeyHash)(&c.Fingerprint), &c.UUID, &c.Until}
			}),
		confirmationTable(),
		table(store.ItemAccountEmail, "account_emails", accountEmailNames, "id",
			func(i *store.Item) []any { return accountEmailColumns(&i.AccountEmail) }),
		monthTable(),
		table(store.ItemDay, "usage_days",
			"account_id, day, channel, credential_kind, credential_id, meter, units, requests",
			"account_id, day, channel, credential_kind, credential_id, meter", func(i *store.Item) []any {
				return append([]any{&i.Day.Account}, dayColumns(&i.Day.DayUsage)...)
			}),
		table(store.ItemGrant, grants, "account_id, granted_at, requests", "account_id, granted_at",
			func(i *store.Item) []any {
				return []any{&i.Grant.Account, &i.Grant.At, &i.Grant.Requests}
			}),
		table(store.ItemRefusal, "refusals", "account_id, "+refusalNames,
			"account_id, minute, channel, credential_kind, credential_id, reason", func(i *store.Item) []any {
				return append([]any{&i.Refusal.Account}, refusalColumns(&i.Refusal.Refusal)...)
			}),
		table(store.ItemImport, "imports", importNames, "id",
			func(i *store.Item) []any { return importColumns(&i.Import) }),
		table(store.ItemImageFile, "image_files", imageFileNames, "ttb_image_id",
			func(i *store.Item) []any { return imageFileColumns(&i.ImageFile) }),
		fetchWindowTable(),
		fetchLabelTable(),
		table(store.ItemFetchSource, "reference_fetches", referenceFetchNames, `source COLLATE "C"`,
			func(i *store.Item) []any { return referenceFetchColumns(&i.FetchSource) }),
		table(store.ItemEnrichment, "enrichments", "ttb_id, "+enrichmentNames, "ttb_id",
			func(i *store.Item) []any {
				return append([]any{&i.Enrichment.TTBID}, enrichmentColumns(&i.Enrichment)...)
			}),
		permitteeTable(),
		table(store.ItemArrival, "cola_arrivals", "ttb_id, revision, approval_date", "ttb_id",
			func(i *store.Item) []any {
				return []any{&i.Arrival.TTBID, &i.Arrival.At, &i.Arrival.ApprovalDate}
			}),
	}
}

func accountTable() Table {
	t := table(store.ItemAccount, "accounts",
		"id, email, tier, created_at, suspended_at, suspended_because, deletes_at, deleted_at, active_limit, no_quota_emails, email_folded", "id",
		func(i *store.Item) []any { return append(accountColumns(&i.Account), new(string)) })
	t.Row = func(i *store.Item) ([]any, error) {
		a := &i.Account
		folded := store.FoldEmail(a.Email)
		return arguments([]any{
			&a.ID, &a.Email, &a.Tier, &a.CreatedAt, &a.SuspendedAt, orNull(&a.SuspendedReason), &a.DeletesAt,
			&a.DeletedAt, &a.ActiveLimit, &a.NoQuotaEmails, &folded,
		}), nil
	}
	return t
}

func searchTable() Table {
	columns := append([]string{"id", "account_id", "mark_at", "mark_revision", "feed_hash"},
		records.Names((&records.SavedSearch{}).Columns())...)
	fields := func(s *store.StoredSearch, r *records.SavedSearch) []any {
		return append([]any{&s.ID, &s.Account, &s.Mark.At, &s.Mark.Revision, &s.Feed}, targets(r.Columns())...)
	}
	return Table{
		Kind:    store.ItemSearch,
		Name:    "saved_searches",
		Columns: columns,
		Order:   "id",
		Fields: func(i *store.Item) ([]any, func() error) {
			row := &records.SavedSearch{}
			return fields(&i.Search, row), func() error { return row.CopyTo(&i.Search) }
		},
		Row: func(i *store.Item) ([]any, error) {
			row, err := records.NewStoredSearch(&i.Search)
			return fields(&i.Search, &row), err
		},
	}
}

func destinationTable() Table {
	const columns = `id, search_id, link_hash, uuid, account_id, kind, address, address_folded, send_empty, state, reason, ` +
		`verified_at, secret, old_secret, old_secret_until, challenge, challenge_tries, created_at, last_delivered_at, failing_since`
	fields := func(d *store.StoredDestination, address, folded *cola.Opt[string]) []any {
		return []any{
			&d.ID, orNull(&d.Search), &d.LinkHash, &d.UUID, &d.Account, &d.Kind, address, folded, &d.SendEmpty,
			&d.State,
			&d.Reason, &d.VerifiedAt, orNull(&d.Secrets.Current), orNull(&d.Secrets.Old), &d.Secrets.OldUntil,
			orNull(&d.Challenge.Sealed), &d.Challenge.Tries, &d.CreatedAt, &d.LastDeliveredAt, &d.FailingSince,
		}
	}
	return Table{
		Kind:    store.ItemDestination,
		Name:    "destinations",
		Columns: strings.Split(columns, ", "),
		Order:   "id",
		Fields: func(i *store.Item) ([]any, func() error) {
			d := &i.Destination
			return into(fields(d, &d.Address, new(cola.Opt[string]))), func() error {
				d.Own = !d.Address.OK
				return nil
			}
		},
		Row: func(i *store.Item) ([]any, error) {
			d := &i.Destination
			var address, folded cola.Opt[string] // NULL for the account's own address
			if !d.Own {
				address, folded = d.Address, cola.Some(cola.FoldAddress(d.Kind, d.Address.V))
			}
			return arguments(fields(d, &address, &folded)), nil
		},
	}
}

func attemptTable() Table {
	fields := func(a *store.StoredAttempt, took *int64) []any {
		return []any{
			&a.Delivery, &a.N, &a.At, took, orNull(&a.Status), orNull(&a.Error),
			orNull(&a.Subject), &a.Sent, orNull(&a.Headers), orNull(&a.Response),
		}
	}
	return Table{
		Kind:    store.ItemAttempt,
		Name:    "delivery_attempts",
		Order:   "delivery_id, n",
		Columns: []string{"delivery_id", "n", "at", "took", "status", "error", "subject", "sent", "headers", "response"},
		Fields: func(i *store.Item) ([]any, func() error) {
			var took int64 // in microseconds
			return into(fields(&i.Attempt, &took)), func() error {
				i.Attempt.Took = time.Duration(took) * time.Microsecond
				return nil
			}
		},
		Row: func(i *store.Item) ([]any, error) {
			took := i.Attempt.Took.Microseconds()
			return arguments(fields(&i.Attempt, &took)), nil
		},
	}
}

func confirmationTable() Table {
	return table(store.ItemConfirmation, "confirmations_asked", "account_id, address_folded, asked_at", "id",
		func(i *store.Item) []any {
			return []any{&i.Confirmation.Account, &i.Confirmation.Address, &i.Confirmation.At}
		})
}

func monthTable() Table {
	return Table{
		Kind:    store.ItemMonth,
		Name:    "usage_months",
		Order:   "account_id, period",
		Columns: []string{"account_id", "period", "detail_views", "list_records"},
		Fields: func(i *store.Item) ([]any, func() error) {
			var m storedMonth
			return monthColumns(&m), func() error {
				err := m.parsePeriod()
				i.Month = m.MonthUsage
				return err
			}
		},
		Row: func(i *store.Item) ([]any, error) {
			return monthColumns(&storedMonth{i.Month, i.Month.Period.String()}), nil
		},
	}
}

// permitteeTable writes permittees with revision 1, since no reader has seen them.
func permitteeTable() Table {
	names := strings.Join(records.Names(records.PermitteeColumns(new(cola.Permittee))), ", ")
	return table(store.ItemPermittee, "permittees", "permit_number, revision, from_labels, "+names, "permit_number",
		func(i *store.Item) []any {
			p, first := &i.Permittee, int64(1)
			return append([]any{&p.PermitNumber, &first, &p.FromLabels},
				targets(records.PermitteeColumns(&p.Permittee))...)
		})
}
