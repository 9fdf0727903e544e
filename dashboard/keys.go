package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// keyService contains the operations for API keys.
type keyService interface {
	Keys(context.Context, cola.Caller) ([]registry.Key, cola.QuotaState, error)
	CreateKey(context.Context, cola.Caller, registry.KeyParams) (registry.NewKey, cola.QuotaState, error)
	RotateKey(
		ctx context.Context, c cola.Caller, id int64, p registry.KeyRotationParams,
	) (registry.NewKey, cola.QuotaState, error)
	ChangeKey(ctx context.Context, c cola.Caller, id int64, p registry.KeyParams) (cola.QuotaState, error)
	RevokeKey(ctx context.Context, c cola.Caller, id int64) (cola.QuotaState, error)
}

func keyRoutes() []route {
	return []route{
		get(keysPath, (*request).keys),
		get(keysPath+"/ended", (*request).inactiveKeys),
		get(keysPath+"/new", (*request).newKeyForm),
		post(keysPath+"/new", (*request).createKey),
		get(keysPath+"/{id}/edit", (*request).keyEditForm),
		post(keysPath+"/{id}/edit", (*request).changeKey),
		get(keysPath+"/{id}/rotate", (*request).rotationForm),
		post(keysPath+"/{id}/rotate", (*request).rotateKey),
		get(keysPath+"/{id}/revoke", (*request).confirmRevokeKey),
		post(keysPath+"/{id}/revoke", (*request).revokeKey),
	}
}

const (
	keysPerPage       = 25
	inactiveKeysShown = 5 // number of inactive keys in the list of keys
	expirySoon        = 14 * 24 * time.Hour
)

// keyRow is a key with its current state.
type keyRow struct {
	registry.Key
	Active, ExpiresSoon bool
}

// Shown returns the start and end of the key.
func (k keyRow) Shown() string { return k.Prefix + "…" + k.LastFour }

// Access returns the display name of the key's scope.
func (k keyRow) Access() string { return keyAccessName(k.Scope()) }

// networksShown limits how many networks the list shows for a key.
const networksShown = 2

// From returns the networks that the key can be used from: the first few and the number of others.
func (k keyRow) From() string {
	list := k.Networks.Strings()
	if len(list) == 0 {
		return "from any network"
	}
	if len(list) > networksShown {
		list = append(list[:networksShown:networksShown], fmt.Sprintf("and %d more", len(list)-networksShown))
	}
	return "from " + strings.Join(list, ", ")
}

func keyAccessName(scope string) string {
	if scope == registry.ReadOnly {
		return "Read-only"
	}
	return "Read and write"
}

// keyScopeOptions returns the options for a key's access.
func keyScopeOptions(chosen string) []option {
	list := optionsOf(chosen, registry.KeyScopes()...)
	for i, o := range list {
		list[i].Label = keyAccessName(o.Value) + ": can also manage alerts"
		if o.Value == registry.ReadOnly {
			list[i].Label = keyAccessName(o.Value) + ": can’t manage alerts or see where they’re sent"
		}
	}
	return list
}

func (req *request) keyRow(k registry.Key) keyRow {
	now := req.now()
	return keyRow{
		Key:         k,
		Active:      k.IsActive(now),
		ExpiresSoon: !k.ExpiresAt.IsZero() && k.ExpiresAt.Sub(now) < expirySoon,
	}
}

// keysPage lists the active keys and some inactive ones, or all inactive keys.
type keysPage struct {
	Active        []keyRow
	Inactive      []keyRow
	InactiveTotal int
	Pager         pager
	MaxKeys       int // limit on active keys
}

// keyRows returns the caller's active and inactive keys.
func (req *request) keyRows() (active, inactive []keyRow, err error) {
	keys, state, err := req.svc.Keys(req.ctx(), req.caller)
	req.recordQuota(state)
	for _, k := range keys {
		row := req.keyRow(k)
		if row.Active {
			active = append(active, row)
		} else {
			inactive = append(inactive, row)
		}
	}
	return active, inactive, err
}

func (req *request) keys() error {
	active, inactive, err := req.keyRows()
	if err != nil {
		return err
	}
	p := keysPage{
		Inactive: inactive[:min(len(inactive), inactiveKeysShown)], InactiveTotal: len(inactive), MaxKeys: registry.MaxKeys,
	}
	p.Active, p.Pager = paginate(req, active, keysPerPage)
	return req.show(http.StatusOK, "keys", page{Title: "API keys", Data: p})
}

func (req *request) inactiveKeys() error {
	_, inactive, err := req.keyRows()
	if err != nil {
		return err
	}
	p := keysPage{InactiveTotal: len(inactive)}
	p.Inactive, p.Pager = paginate(req, inactive, keysPerPage)
	return req.show(http.StatusOK, "keys_inactive", page{Title: "Inactive API keys", Data: p})
}

// keyForm is the form for a new key, a change or a rotation.
type keyForm struct {
	Token           string // see newFormToken; empty for a change
	Name, Expires   string // as entered
	Networks        string // as entered
	Scope           string // one of registry.KeyScopes
	Earliest, Until cola.Date
	Key             keyRow // the key to change or rotate; ID 0 for a new key
	Overlaps        []option
	Problems        map[string][]string
	Error           string // why the form was rejected; may be empty

	Client netip.Addr // browser's address; may be unknown
}

// Scopes returns the options for the key's access.
func (f keyForm) Scopes() []option { return keyScopeOptions(f.Scope) }

// MaxNetworks returns the limit on networks.
func (keyForm) MaxNetworks() int { return cola.MaxNetworks }

// readKeyForm returns a rejected form as it was entered.
func readKeyForm(form url.Values) keyForm {
	return keyForm{
		Name: stripHidden(form.Get("name")), Expires: stripHidden(form.Get("expires")),
		Networks: multiLine(form.Get("networks")), Scope: form.Get("scope"),
	}
}

// keyYears limits the date picker; the service enforces the actual limit.
const keyYears = 10

func (req *request) newKeyForm() error {
	return req.showKeyForm(http.StatusOK, keyForm{Scope: registry.KeyScopes()[0]})
}

func (req *request) showKeyForm(status int, f keyForm) (err error) {
	if f.Token, err = req.newFormToken(); err != nil {
		return err
	}
	today := cola.DateOf(req.now())
	f.Earliest, f.Until = today.AddDays(1), cola.DateOf(today.Time().AddDate(keyYears, 0, 0))
	f.Client = cola.ClientFrom(req.ctx())
	return req.show(status, "key_form", page{Title: "Create API key", Data: f})
}

// activeKey returns the caller's key identified by the path, or CodeNotActive.
func (req *request) activeKey() (keyRow, error) {
	k, err := req.key()
	if err == nil && !k.Active {
		err = cola.Errorf(cola.CodeNotActive, "This key is revoked or expired. Create a new key instead.")
	}
	return k, err
}

func (req *request) keyEditForm() error {
	k, err := req.activeKey()
	if err != nil {
		return err
	}
	return req.showKeyEditForm(http.StatusOK, keyForm{
		Key: k, Name: k.Name, Scope: k.Scope(), Networks: strings.Join(k.Networks.Strings(), "\n"),
	})
}

func (req *request) showKeyEditForm(status int, f keyForm) error {
	f.Client = cola.ClientFrom(req.ctx())
	return req.show(status, "key_form", page{Title: "Edit API key", Data: f})
}

func (req *request) changeKey() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	k, err := req.activeKey()
	if err != nil {
		return err
	}
	state, err := req.svc.ChangeKey(req.ctx(), req.caller, k.ID, keyParams(form))
	req.recordQuota(state)
	if problems, sentence, ok := correctable(err); ok {
		f := readKeyForm(form)
		f.Key, f.Problems, f.Error = k, problems, sentence
		return req.showKeyEditForm(statusOf(err), f)
	}
	if err != nil {
		return err
	}
	return req.redirect(keysPath, fmt.Sprintf("Key “%s” saved.", stripHidden(form.Get("name"))))
}

// redirectFormUsed redirects to the list of keys after an invalid form token.
func (req *request) redirectFormUsed() error {
	return req.redirect(keysPath, formUsed+"If it created a key, the key is listed below but can’t be shown again. "+
		"If you didn’t copy it, revoke it and create another.")
}

func (req *request) createKey() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	first, err := req.useFormToken(form.Get("form"))
	if err != nil {
		return err
	}
	if !first {
		return req.redirectFormUsed()
	}
	key, state, err := req.svc.CreateKey(req.ctx(), req.caller, keyParams(form))
	req.recordQuota(state)
	if problems, sentence, ok := correctable(err); ok {
		f := readKeyForm(form)
		f.Problems, f.Error = problems, sentence
		return req.showKeyForm(statusOf(err), f)
	}
	if err != nil {
		return err
	}
	return req.showNewKey(newKeyPage{Key: key})
}

// keyParams reads the form of a new or changed key.
func keyParams(form url.Values) registry.KeyParams {
	p := registry.KeyParams{Name: form.Get("name"), Scope: form.Get("scope"), Networks: form.Get("networks")}
	expires := form.Get("expires")
	if expires == "" {
		return p
	}
	if err := p.Expires.UnmarshalText([]byte(expires)); err != nil {
		p.Problems.Add("expires", "%s isn’t a valid date. Use YYYY-MM-DD, or leave it empty if the key shouldn’t expire.",
			cola.Quoted(expires))
	}
	return p
}

// newKeyPage shows a new key, once.
type newKeyPage struct {
	Key          registry.NewKey
	Old          *keyRow // the replaced key; may be nil
	OldIsCurrent bool    // Old was read after the rotation
	Setups       []setup
	Client       netip.Addr // browser's address, if the key doesn't work from there; otherwise invalid
}

// Row returns the new key as a row of the key list.
func (p newKeyPage) Row() keyRow { return keyRow{Key: p.Key.Key} }

// showNewKey shows a new key. The secret appears only in this response.
func (req *request) showNewKey(p newKeyPage) error {
	p.Setups = req.setupsWithKey(p.Key.Secret)
	if client := cola.ClientFrom(req.ctx()); !p.Key.Networks.Allow(client) {
		p.Client = client
	}
	return req.show(http.StatusOK, "key_created", page{Title: "API key created", Data: p})
}

// key returns the caller's key identified by the path.
func (req *request) key() (keyRow, error) {
	keys, state, err := req.svc.Keys(req.ctx(), req.caller)
	req.recordQuota(state)
	if err != nil {
		return keyRow{}, err
	}
	id := req.id()
	i := slices.IndexFunc(keys, func(k registry.Key) bool { return k.ID == id })
	if i < 0 {
		return keyRow{}, cola.Errorf(cola.CodeNotFound,
			"API key not found. Check the list of keys.")
	}
	return req.keyRow(keys[i]), nil
}

// id returns the ID in the path, or 0, which no record has.
func (req *request) id() int64 {
	id, err := strconv.ParseInt(req.path("id"), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

func (req *request) confirmRevokeKey() error {
	k, err := req.key()
	if err != nil {
		return err
	}
	if !k.RevokedAt.IsZero() {
		return req.redirect(keysPath, fmt.Sprintf("Key “%s” is already revoked.", stripHidden(k.Name)))
	}
	return req.show(http.StatusOK, "key_revoke", page{Title: "Revoke API key", Data: k})
}

func (req *request) revokeKey() error {
	k, err := req.key()
	if err != nil {
		return err
	}
	state, err := req.svc.RevokeKey(req.ctx(), req.caller, k.ID)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	return req.redirect(keysPath,
		fmt.Sprintf("Key “%s” (%s) revoked.", stripHidden(k.Name), k.Shown()))
}
