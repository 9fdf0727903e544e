package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
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
	RevokeKey(ctx context.Context, c cola.Caller, id int64) (cola.QuotaState, error)
}

func keyRoutes() []route {
	return []route{
		get(keysPath, (*request).keys),
		get(keysPath+"/ended", (*request).inactiveKeys),
		get(keysPath+"/new", (*request).newKeyForm),
		post(keysPath+"/new", (*request).createKey),
		get(keysPath+"/{id}/rotate", (*request).rotationForm),
		post(keysPath+"/{id}/rotate", (*request).rotateKey),
		get(keysPath+"/{id}/revoke", (*request).confirmRevokeKey),
		post(keysPath+"/{id}/revoke", (*request).revokeKey),
	}
}

const (
	keysPerPage       = 25
	inactiveKeysShown = 5 // in the list of keys
	expirySoon        = 14 * 24 * time.Hour
)

// keyRow is a key with its current state.
type keyRow struct {
	registry.Key
	Active, ExpiresSoon bool
}

// Shown returns the start and the end of the key.
func (k keyRow) Shown() string { return k.Prefix + "…" + k.LastFour }

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
	return req.show(http.StatusOK, "keys_ended", page{Title: "Inactive API keys", Data: p})
}

// keyForm is the form for a new key or a rotation.
type keyForm struct {
	Token           string // see newFormToken
	Name, Expires   string // as entered
	Earliest, Until cola.Date
	Key             keyRow // the key to rotate
	Overlaps        []option
	Problems        map[string][]string
	Error           string // why the form was rejected; may be empty
}

// keyYears limits the date picker; the service enforces the actual limit.
const keyYears = 10

func (req *request) newKeyForm() error { return req.showKeyForm(http.StatusOK, keyForm{}) }

func (req *request) showKeyForm(status int, f keyForm) (err error) {
	if f.Token, err = req.newFormToken(); err != nil {
		return err
	}
	today := cola.DateOf(req.now())
	f.Earliest, f.Until = today.AddDays(1), cola.DateOf(today.Time().AddDate(keyYears, 0, 0))
	return req.show(status, "key_new", page{Title: "Create API key", Data: f})
}

// redirectFormUsed redirects to the list of keys if a form token is invalid.
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
	key, state, err := req.svc.CreateKey(req.ctx(), req.caller, keyParams(form.Get("name"), form.Get("expires")))
	req.recordQuota(state)
	if problems, sentence, ok := correctable(err); ok {
		f := keyForm{
			Name:     stripHidden(form.Get("name")),
			Expires:  stripHidden(form.Get("expires")),
			Problems: problems,
			Error:    sentence,
		}
		return req.showKeyForm(statusOf(err), f)
	}
	if err != nil {
		return err
	}
	return req.showNewKey(newKeyPage{Key: key})
}

// keyParams reads the form of a new key.
func keyParams(name, expires string) registry.KeyParams {
	p := registry.KeyParams{Name: name}
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
}

// showNewKey shows a new key. The secret appears only in this response.
func (req *request) showNewKey(p newKeyPage) error {
	p.Setups = req.setupsWithKey(p.Key.Secret)
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

// overlapLabels returns the display names of registry.KeyOverlaps, in the same order.
func overlapLabels() []string {
	return []string{
		"Immediately (if the key leaked)",
		"In 1 hour",
		"In 1 day",
		"In 7 days",
		"In 30 days",
	}
}

func overlapOptions(chosen string) []option {
	list := optionsOf(chosen, registry.KeyOverlaps()...)
	for i, words := range overlapLabels() {
		list[i].Label = words
	}
	return list
}

func (req *request) rotationForm() error {
	k, err := req.key()
	if err != nil {
		return err
	}
	if !k.Active {
		return cola.Errorf(cola.CodeNotActive,
			"This key is revoked or expired. Create a new key instead.")
	}
	return req.showRotationForm(http.StatusOK, keyForm{Key: k})
}

func (req *request) showRotationForm(status int, f keyForm) (err error) {
	if f.Token, err = req.newFormToken(); err != nil {
		return err
	}
	f.Overlaps = overlapOptions("1 day")
	return req.show(status, "key_rotate", page{Title: "Rotate API key", Data: f})
}

func (req *request) rotateKey() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	old, err := req.key()
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
	key, state, err := req.svc.RotateKey(req.ctx(), req.caller, old.ID,
		registry.KeyRotationParams{Overlap: form.Get("overlap")})
	req.recordQuota(state)
	if problems, sentence, ok := correctable(err); ok && old.Active {
		return req.showRotationForm(statusOf(err), keyForm{Key: old, Problems: problems, Error: sentence})
	}
	if err != nil {
		return err
	}
	p := newKeyPage{Key: key, Old: &old}
	if now, err := req.key(); err == nil { // otherwise show the new key anyway: it can't be shown later
		p.Old, p.OldIsCurrent = &now, true
	}
	return req.showNewKey(p)
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
