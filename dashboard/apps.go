package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// accessService is what the pages of connected apps and sign-ins ask.
type accessService interface {
	Connections(context.Context, cola.Caller) ([]registry.Connection, cola.QuotaState, error)
	RevokeConnection(ctx context.Context, c cola.Caller, id int64) (cola.QuotaState, error)
	RestoreConnection(ctx context.Context, c cola.Caller, id int64) (cola.QuotaState, error)
	SignIns(context.Context, cola.Caller) ([]registry.SignIn, cola.QuotaState, error)
	EndSignIn(ctx context.Context, c cola.Caller, id int64) (cola.QuotaState, error)
	EndOtherSignIns(context.Context, cola.Caller) (int, cola.QuotaState, error)
}

func accessRoutes() []route {
	return []route{
		get(appsPath, (*visit).apps),
		get(appsPath+"/{id}/revoke", (*visit).appRevocation),
		post(appsPath+"/{id}/revoke", (*visit).revokeApp),
		get(appsPath+"/{id}/restore", (*visit).appRestoration),
		post(appsPath+"/{id}/restore", (*visit).restoreApp),
		get(accountPath, (*visit).accountPage),
		post(accountPath+"/sign-ins/{id}/end", (*visit).endSignIn),
		post(accountPath+"/sign-ins/end-others", (*visit).endOtherSignIns),
	}
}

// appRow is a connected app, with what it may do in words.
type appRow struct{ registry.Connection }

// Name returns what the app is called, without what nobody sees: apps name themselves.
func (a appRow) Name() string {
	if name := legible(a.App); name != "" {
		return name
	}
	return legible(a.ClientID)
}

// Client returns its client id, and IssuerShown the issuer that signs people in to it, without what nobody sees.
func (a appRow) Client() string      { return legible(a.ClientID) }
func (a appRow) IssuerShown() string { return legible(a.Issuer) }

// May lists what the app can see and do.
func (a appRow) May() []string {
	words := []string{
		"read labels, permittees and reference data, at the cost of your quota",
		"read your usage, saved searches, matches and deliveries",
	}
	if !slices.Contains(a.Scopes, cola.ScopeWriteSavedSearches) {
		words = append(words, "see the hosts and email domains that receive alerts, but not the full URLs and addresses")
	}
	for _, s := range a.Scopes {
		words = append(words, scopeWords(s))
	}
	return words
}

// scopeWords describes the permissions of a scope.
func scopeWords(s cola.Scope) string {
	if s == cola.ScopeWriteSavedSearches {
		return "create, change and delete saved searches and destinations, and see the full URLs and email addresses of destinations"
	}
	return legible(string(s))
}

// appsPage lists connected apps.
type appsPage struct {
	Apps  []appRow
	Pager pager
}

func (v *visit) apps() error {
	apps, err := v.connections()
	if err != nil {
		return err
	}
	var p appsPage
	p.Apps, p.Pager = paged(v, apps, appsPerPage)
	return v.show(http.StatusOK, "apps", page{Title: "Connected apps", Data: p})
}

func (v *visit) connections() ([]appRow, error) {
	apps, state, err := v.svc.Connections(v.ctx(), v.caller)
	v.asked(state)
	rows := make([]appRow, len(apps))
	for i, a := range apps {
		rows[i] = appRow{a}
	}
	return rows, err
}

// app returns the connected app that the path names.
func (v *visit) app() (appRow, error) {
	apps, err := v.connections()
	if err != nil {
		return appRow{}, err
	}
	id := v.id()
	i := slices.IndexFunc(apps, func(a appRow) bool { return a.ID == id })
	if i < 0 {
		return appRow{}, cola.Errorf(cola.CodeNotFound, "Your account has no such connected app. The list of connected apps shows those that it has.")
	}
	return apps[i], nil
}

func (v *visit) appRevocation() error {
	a, err := v.app()
	if err != nil {
		return err
	}
	if !a.RevokedAt.IsZero() {
		return v.leadTo(appsPath, fmt.Sprintf("“%s” was revoked before.", a.Name()))
	}
	return v.show(http.StatusOK, "apprevoke", page{Title: "Revoke an app", Data: a})
}

func (v *visit) revokeApp() error {
	a, err := v.app()
	if err != nil {
		return err
	}
	state, err := v.svc.RevokeConnection(v.ctx(), v.caller, a.ID)
	v.asked(state)
	if err != nil {
		return err
	}
	return v.leadTo(appsPath, fmt.Sprintf("“%s” is revoked: its tokens are refused from now on.", a.Name()))
}

func (v *visit) appRestoration() error {
	a, err := v.app()
	if err != nil {
		return err
	}
	if a.RevokedAt.IsZero() {
		return v.leadTo(appsPath, fmt.Sprintf("“%s” is not revoked.", a.Name()))
	}
	return v.show(http.StatusOK, "apprestore", page{Title: "Allow an app again", Data: a})
}

func (v *visit) restoreApp() error {
	a, err := v.app()
	if err != nil {
		return err
	}
	state, err := v.svc.RestoreConnection(v.ctx(), v.caller, a.ID)
	v.asked(state)
	if err != nil {
		return err
	}
	return v.leadTo(appsPath, fmt.Sprintf("“%s” may act for your account again.", a.Name()))
}
