package dashboard

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// accessService contains the operations for connected apps and sign-ins.
type accessService interface {
	Connections(context.Context, cola.Caller) ([]registry.Connection, cola.QuotaState, error)
	RevokeConnection(ctx context.Context, c cola.Caller, id int64) (cola.QuotaState, error)
	RestoreConnection(ctx context.Context, c cola.Caller, id int64) (cola.QuotaState, error)
	SignIns(context.Context, cola.Caller) ([]registry.SignIn, cola.QuotaState, error)
	EndSignIn(ctx context.Context, c cola.Caller, id int64) (cola.QuotaState, error)
	EndOtherSignIns(context.Context, cola.Caller) (int, cola.QuotaState, error)
	Identities(context.Context, cola.Caller) ([]registry.Identity, cola.QuotaState, error)
	RemoveIdentity(context.Context, cola.Caller, registry.Identity) (cola.QuotaState, error)
	ExportAccount(context.Context, cola.Caller, io.Writer) (cola.QuotaState, error)
	SetQuotaEmails(ctx context.Context, c cola.Caller, on bool) (cola.QuotaState, error)
}

func accessRoutes() []route {
	return []route{
		get(appsPath, (*request).apps),
		get(appsPath+"/{id}/revoke", (*request).confirmRevokeApp),
		post(appsPath+"/{id}/revoke", (*request).revokeApp),
		get(appsPath+"/{id}/restore", (*request).confirmRestoreApp),
		post(appsPath+"/{id}/restore", (*request).restoreApp),
		get(accountPath, (*request).accountPage),
		get(accountPath+"/identities/remove", (*request).confirmRemoveIdentity),
		post(accountPath+"/identities/remove", (*request).removeIdentity),
		post(accountPath+"/quota-emails", (*request).setQuotaEmails),
		post(accountPath+"/sign-ins/{id}/end", (*request).endSignIn),
		post(accountPath+"/sign-ins/end-others", (*request).endOtherSignIns),
	}
}

// appRow is a connected app as shown on pages.
type appRow struct{ registry.Connection }

// Name returns the app's name without hidden characters: apps choose their own names.
func (a appRow) Name() string {
	if name := stripHidden(a.App); name != "" {
		return name
	}
	return stripHidden(a.ClientID)
}

// Client returns the client ID, and IssuerShown the issuer, without hidden characters.
func (a appRow) Client() string      { return stripHidden(a.ClientID) }
func (a appRow) IssuerShown() string { return stripHidden(a.Issuer) }

// Permissions lists the app's permissions and their limits.
func (a appRow) Permissions() []string {
	return a.permissions("see the host or email domain of each destination, but not the full URL or address")
}

// LostPermissions lists what the app can no longer do once its access is revoked.
func (a appRow) LostPermissions() []string {
	return a.permissions("see the host or email domain of each destination")
}

// permissions lists the app's permissions. masked describes what the app can see of destinations if
// it can't change them.
func (a appRow) permissions(masked string) []string {
	words := []string{
		"read labels, permittees and reference data, using your quota",
		"read your usage, saved searches, matches and deliveries",
	}
	if !slices.Contains(a.Scopes, cola.ScopeWriteSavedSearches) {
		words = append(words, masked)
	}
	for _, s := range a.Scopes {
		words = append(words, scopePermission(s))
	}
	return words
}

// scopePermission describes the permissions of a scope.
func scopePermission(s cola.Scope) string {
	if s == cola.ScopeWriteSavedSearches {
		return "create, edit and delete saved searches and destinations, and see full destination URLs and addresses"
	}
	return stripHidden(string(s))
}

// appsPage lists connected apps.
type appsPage struct {
	Apps  []appRow
	Pager pager
}

func (req *request) apps() error {
	apps, err := req.connections()
	if err != nil {
		return err
	}
	var p appsPage
	p.Apps, p.Pager = paginate(req, apps, appsPerPage)
	return req.show(http.StatusOK, "apps", page{Title: "Connected apps", Data: p})
}

func (req *request) connections() ([]appRow, error) {
	apps, state, err := req.svc.Connections(req.ctx(), req.caller)
	req.recordQuota(state)
	rows := make([]appRow, len(apps))
	for i, a := range apps {
		rows[i] = appRow{a}
	}
	return rows, err
}

// app returns the connected app identified by the path.
func (req *request) app() (appRow, error) {
	apps, err := req.connections()
	if err != nil {
		return appRow{}, err
	}
	id := req.id()
	i := slices.IndexFunc(apps, func(a appRow) bool { return a.ID == id })
	if i < 0 {
		return appRow{}, cola.Errorf(cola.CodeNotFound,
			"Connected app not found. Check the list of connected apps.")
	}
	return apps[i], nil
}

func (req *request) confirmRevokeApp() error {
	a, err := req.app()
	if err != nil {
		return err
	}
	if !a.RevokedAt.IsZero() {
		return req.redirect(appsPath, fmt.Sprintf("Access for “%s” is already revoked.", a.Name()))
	}
	return req.show(http.StatusOK, "app_revoke", page{Title: "Revoke access", Data: a})
}

func (req *request) revokeApp() error {
	a, err := req.app()
	if err != nil {
		return err
	}
	state, err := req.svc.RevokeConnection(req.ctx(), req.caller, a.ID)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	return req.redirect(appsPath, fmt.Sprintf("Access for “%s” revoked.", a.Name()))
}

func (req *request) confirmRestoreApp() error {
	a, err := req.app()
	if err != nil {
		return err
	}
	if a.RevokedAt.IsZero() {
		return req.redirect(appsPath, fmt.Sprintf("“%s” already has access.", a.Name()))
	}
	return req.show(http.StatusOK, "app_restore", page{Title: "Restore access", Data: a})
}

func (req *request) restoreApp() error {
	a, err := req.app()
	if err != nil {
		return err
	}
	state, err := req.svc.RestoreConnection(req.ctx(), req.caller, a.ID)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	return req.redirect(appsPath, fmt.Sprintf("Access for “%s” restored.", a.Name()))
}
