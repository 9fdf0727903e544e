package dashboard

import (
	"context"
	"net/http"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// deletionService contains the operations for deleting the account.
type deletionService interface {
	SuspendedAccount(context.Context, cola.Caller) (registry.Account, cola.QuotaState, error)
	DeleteAccount(ctx context.Context, c cola.Caller, typed string) (cola.QuotaState, error)
	KeepAccount(context.Context, cola.Caller) (cola.QuotaState, error)
}

const deletionPath = accountPath + "/delete"

// deletionRoutes are the routes for deleting the account. They remain available after deletion has
// been requested; other routes that need a sign-in redirect to deletionPath, except billingPath.
func deletionRoutes() []route {
	routes := []route{
		get(deletionPath, (*request).deletionPage),
		post(deletionPath, (*request).deleteAccount),
		post(accountPath+"/keep", (*request).keepAccount),
		get(accountPath+"/export", (*request).exportAccount),
	}
	for i := range routes {
		routes[i].leaving = true
	}
	return routes
}

// loadSuspendedAccount loads an account that is suspended or whose deletion was requested.
func (req *request) loadSuspendedAccount() error {
	account, state, err := req.svc.SuspendedAccount(req.ctx(), req.caller)
	req.recordQuota(state)
	req.account = account
	return err
}

// redirectToDeletion redirects to the page that offers to keep the account.
func (req *request) redirectToDeletion() error {
	if req.http.Header.Get("Hx-Request") != "" {
		req.w.Header().Set("Hx-Redirect", deletionPath) // a script would follow other redirects within the page
		req.w.WriteHeader(http.StatusOK)
		return nil
	}
	return req.redirect(deletionPath, "")
}

// deletionForm is the form that requests the deletion.
type deletionForm struct {
	Confirmation string // text that the user must type
	Email        bool   // whether Confirmation is the email address
	Problems     []string
}

// deletionPage shows the form, or, once deletion has been requested, the page that offers to keep
// the account.
func (req *request) deletionPage() error {
	if !req.account.DeletesAt.IsZero() {
		return req.show(http.StatusOK, "account_leaving", page{Title: "Your account will be deleted"})
	}
	return req.showDeletionForm(http.StatusOK, nil)
}

func (req *request) showDeletionForm(status int, problems []string) error {
	f := deletionForm{Confirmation: req.account.Confirmation(), Email: req.account.Email != "", Problems: problems}
	return req.show(status, "account_delete", page{Title: "Delete account", Data: f})
}

func (req *request) deleteAccount() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	if !req.account.DeletesAt.IsZero() {
		return req.redirect(deletionPath, "")
	}
	state, err := req.svc.DeleteAccount(req.ctx(), req.caller, form.Get("confirmation"))
	req.recordQuota(state)
	if problems, _, ok := correctable(err); ok {
		return req.showDeletionForm(statusOf(err), problems["confirmation"])
	}
	if err != nil {
		return err
	}
	return req.redirect(deletionPath, "")
}

func (req *request) keepAccount() error {
	if _, err := req.form(); err != nil {
		return err
	}
	state, err := req.svc.KeepAccount(req.ctx(), req.caller)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	return req.redirect(homePath, "The deletion was canceled.")
}
