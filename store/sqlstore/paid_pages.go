package sqlstore

import (
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Statements for the pages that sessions paid for. There is a row for each page and batch that
// charged for it, so that voiding a batch removes only its own rows. Rows are kept for as long as
// batches are.
const (
	// SelectPaidPages reads the payments for the pages in $1 and $2, the lists that PageColumns
	// returns. PaidPageRow.Columns matches its columns. Payments made at or before $3 have expired.
	SelectPaidPages = `SELECT account_id, sign_in_id, page, units FROM paid_pages
		WHERE sign_in_id = ANY($1) AND page = ANY($2) AND paid_at > $3`
	// MarkReloaded records that a batch grants a page again. It does not record which batch, so voiding
	// that batch does not undo the mark. Run it before InsertPaidPage.
	MarkReloaded = `UPDATE paid_pages SET reloaded = TRUE WHERE sign_in_id = $1 AND page = $2 AND paid_at > $3`
	// InsertPaidPage records the units that a batch charged for a page.
	InsertPaidPage = `INSERT INTO paid_pages (sign_in_id, page, batch_id, account_id, units, paid_at) VALUES ($1, $2, $3, $4, $5, $6)`
	// DeletePaidPage deletes a voided batch's row for a page, unless the page was reloaded.
	DeletePaidPage = `DELETE FROM paid_pages WHERE sign_in_id = $1 AND page = $2 AND batch_id = $3 AND NOT reloaded`
)

// PaidPageRow is a payment for a page.
type PaidPageRow struct {
	store.PageKey
	Account cola.AccountID
	Units   int
}

// Columns returns pointers to the fields in the order of SelectPaidPages.
func (r *PaidPageRow) Columns() []any { return []any{&r.Account, &r.SignIn, &r.Page, &r.Units} }

// PageColumns returns the sign-in IDs and the hashes of pages.
func PageColumns(pages []store.PageKey) (signIns []int64, hashes []string) {
	for _, p := range pages {
		signIns, hashes = append(signIns, p.SignIn), append(hashes, p.Page)
	}
	return signIns, hashes
}

// AddPaid adds the payments for the batch's pages to the states of their accounts.
func (s *Settlement) AddPaid(rows []PaidPageRow) {
	for _, r := range rows {
		for i := range s.States {
			if state := &s.States[i]; state.Account == r.Account {
				if state.Paid == nil {
					state.Paid = map[store.PageKey]int{}
				}
				state.Paid[r.PageKey] += r.Units
			}
		}
	}
}

// PagePayment is an account's payment for a page.
type PagePayment struct {
	Account cola.AccountID
	store.PagePayment
}
