package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	signInNames   = `id, account_id, via, browser, created_at, last_used_at, ended_at, expires_at`
	selectSignIns = `SELECT ` + signInNames + ` FROM sign_ins
		WHERE account_id = $1 AND ended_at IS NULL AND expires_at > coalesce($2, clock_timestamp()) ORDER BY id DESC`
	insertSignIn = `INSERT INTO sign_ins (account_id, via, browser, created_at, expires_at)
		SELECT id, $2, $3, coalesce($4, clock_timestamp()), $5 FROM accounts WHERE id = $1 AND deleted_at IS NULL RETURNING ` + signInNames
	endSignIn       = `UPDATE sign_ins SET ended_at = coalesce(ended_at, $3, clock_timestamp()) WHERE account_id = $1 AND id = $2`
	endOtherSignIns = `UPDATE sign_ins SET ended_at = $3 WHERE account_id = $1 AND id <> $2 AND ended_at IS NULL AND expires_at > $3`
)

func signInColumns(i *store.SignIn) []any {
	return []any{&i.ID, &i.Account, &i.Via, &i.Browser, &i.CreatedAt, &i.LastUsedAt, &i.EndedAt, &i.ExpiresAt}
}

// CreateSignIn implements store.SignIns.
func (s *Store) CreateSignIn(ctx context.Context, i store.SignIn) (store.SignIn, error) {
	const operation = "create sign-in"
	if err := i.Check(); err != nil {
		return store.SignIn{}, s.db.Failed(operation, err)
	}
	var signIn store.SignIn
	err := s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) (err error) {
		signIn, err = one(ctx, tx, signInColumns, insertSignIn,
			int64(i.Account), i.Via, i.Browser, s.clock(), i.ExpiresAt)
		return err
	})
	if err != nil {
		return store.SignIn{}, err
	}
	return signIn, nil
}

// SignIns implements store.SignIns.
func (s *Store) SignIns(ctx context.Context, account cola.AccountID) ([]store.SignIn, error) {
	return readList(ctx, s, "list sign-ins", signInColumns, selectSignIns, int64(account), s.clock())
}

// EndSignIn implements store.SignIns.
func (s *Store) EndSignIn(ctx context.Context, account cola.AccountID, id int64) error {
	return s.affectOne(ctx, "end sign-in", endSignIn, int64(account), id, s.clock)
}

// EndOtherSignIns implements store.SignIns. It locks the account first, as a settlement does, so
// that it can't deadlock with a settlement that updates several of the sign-ins.
func (s *Store) EndOtherSignIns(ctx context.Context, account cola.AccountID, except int64) (ended int, err error) {
	err = s.db.Transact(ctx, "end other sign-ins", func(ctx context.Context, tx Tx) error {
		if err := tx.LockRows(ctx, lockAccount, int64(account)); err != nil {
			return err
		}
		now, err := s.currentTime(ctx, tx)
		if err != nil {
			return err
		}
		ended, err = tx.Exec(ctx, endOtherSignIns, int64(account), except, now)
		return err
	})
	if err != nil {
		return 0, err
	}
	return ended, nil
}

const (
	insertSignInLink = `INSERT INTO sign_in_links (hash, account_id, expires_at)
		SELECT $2, id, coalesce($3, clock_timestamp()) + make_interval(secs => $4) FROM accounts WHERE id = $1 AND deleted_at IS NULL`
	signInLink = selectAccounts + ` JOIN sign_in_links l ON l.account_id = a.id
		WHERE l.hash = $1 AND l.expires_at > coalesce($2, clock_timestamp())`
	// useSignInLink waits for a concurrent use of the same link, and then finds no row.
	useSignInLink = `DELETE FROM sign_in_links WHERE hash = $1 AND expires_at > coalesce($2, clock_timestamp()) RETURNING account_id`
)

// CreateSignInLink implements store.SignInLinks.
func (s *Store) CreateSignInLink(ctx context.Context, account cola.AccountID, hash store.SignInLinkHash,
	lifetime time.Duration) error {
	return s.db.Transact(ctx, "create sign-in link", func(ctx context.Context, tx Tx) error {
		if err := s.deleteSomeExpired(ctx, tx, expiredSignInLinks); err != nil {
			return err
		}
		err := execOne(ctx, tx, insertSignInLink, int64(account), hash[:], s.clock(), lifetime.Seconds())
		if s.db.IsDuplicate(err) {
			return store.ErrExists
		}
		return err
	})
}

// SignInLink implements store.SignInLinks.
func (s *Store) SignInLink(ctx context.Context, hash store.SignInLinkHash) (store.Account, error) {
	a, err := readOne(ctx, s, "find sign-in link", accountColumns, signInLink, hash[:], s.clock())
	if errors.Is(err, store.ErrNotFound) {
		return s.emailedLink(ctx, hash)
	}
	return a, err
}

// UseSignInLink implements store.SignInLinks. It first looks for the link outside a transaction, so
// that requests with unknown links, which anyone can send, take no locks.
func (s *Store) UseSignInLink(ctx context.Context, hash store.SignInLinkHash, signUp bool) (store.Account, error) {
	const operation = "use sign-in link"
	found, err := s.SignInLink(ctx, hash)
	if err == nil && found.ID == 0 && !signUp {
		err = s.db.Failed(operation, store.ErrNotFound)
	}
	if err != nil {
		return store.Account{}, err
	}
	var a store.Account
	err = s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) error {
		id, err := value[int64](ctx, tx, useSignInLink, hash[:], s.clock())
		switch {
		case errors.Is(err, store.ErrNotFound):
			a, err = s.useEmailedLink(ctx, tx, hash, signUp)
		case err == nil:
			a, err = one(ctx, tx, accountColumns, accountByID, id)
		}
		return err
	})
	if err != nil {
		return store.Account{}, err
	}
	return a, nil
}

// Session writes aren't synced, so a page view waits neither for the disk nor for a standby. If a
// machine fails, the latest sessions are lost and their users have to sign in again. A deleted
// session that reappears this way grants no access, because the end of its sign-in is durable.

const (
	selectSession = `SELECT data FROM sessions WHERE name = $1 AND expires_at > coalesce($2, clock_timestamp())`
	updateSession = `UPDATE sessions SET data = $2, expires_at = $3 WHERE name = $1`
	upsertSession = `INSERT INTO sessions (name, data, expires_at) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at`
	deleteSession = `DELETE FROM sessions WHERE name = $1 RETURNING expires_at > coalesce($2, clock_timestamp())`
)

// Session implements store.Sessions.
func (s *Store) Session(ctx context.Context, name string) ([]byte, error) {
	const operation = "read session"
	if store.CheckSessionName(name) != nil {
		return nil, s.db.Failed(operation, store.ErrNotFound)
	}
	return readOne(ctx, s, operation, column[[]byte], selectSession, name, s.clock())
}

// SaveSession implements store.Sessions.
func (s *Store) SaveSession(ctx context.Context, name string, data []byte, until time.Time) error {
	const operation = "save session"
	if err := store.CheckSessionName(name); err != nil {
		return s.db.Failed(operation, err)
	}
	data = append([]byte{}, data...) // not nil, which would be NULL
	return s.db.TransactUnsynced(ctx, operation, func(ctx context.Context, tx Tx) error {
		n, err := tx.Exec(ctx, updateSession, name, data, until)
		if err != nil || n > 0 {
			return err
		}
		if err := s.deleteSomeExpired(ctx, tx, expiredSessions); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, upsertSession, name, data, until)
		return err
	})
}

// DeleteSession implements store.Sessions.
func (s *Store) DeleteSession(ctx context.Context, name string) (dropped bool, err error) {
	if store.CheckSessionName(name) != nil {
		return false, nil // no session has such a name
	}
	err = s.db.TransactUnsynced(ctx, "delete session", func(ctx context.Context, tx Tx) error {
		dropped, err = value[bool](ctx, tx, deleteSession, name, s.clock())
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	return dropped && err == nil, err
}
