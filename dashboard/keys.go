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
		get(keysPath+"/ended", (*request).endedKeys),
		get(keysPath+"/new", (*request).newKeyForm),
		post(keysPath+"/new", (*request).createKey),
		get(keysPath+"/{id}/rotate", (*request).rotationForm),
		post(keysPath+"/{id}/rotate", (*request).rotateKey),
		get(keysPath+"/{id}/revoke", (*request).confirmRevokeKey),
		post(keysPath+"/{id}/revoke", (*request).revokeKey),
	}
}

const (
	keysPerPage    = 25
	endedKeysShown = 5 // that the list of keys shows of those that have ended
	expirySoon     = 14 * 24 * time.Hour
)

// keyRow is a key with its current state.
type keyRow struct {
	registry.Key
	Active, ExpiresSoon bool // Soon: it ends soon
}

// Shown returns the recognizable part of the key.
func (k keyRow) Shown() string { return k.Prefix + "…" + k.LastFour }

func (req *request) keyRow(k registry.Key) keyRow {
	now := req.now()
	return keyRow{Key: k, Active: k.IsActive(now),
		ExpiresSoon: !k.ExpiresAt.IsZero() && k.ExpiresAt.Sub(now) < expirySoon}
}

// keysPage lists the valid keys and some that have ended, or all that have ended.
type keysPage struct {
	Active     []keyRow
	Ended      []keyRow
	EndedTotal int // all that have ended
	Pager      pager
	MaxKeys    int // that may hold
}

// keyRows returns the caller's keys, apart by whether they hold.
func (req *request) keyRows() (holding, ended []keyRow, err error) {
	keys, state, err := req.svc.Keys(req.ctx(), req.caller)
	req.recordQuota(state)
	for _, k := range keys {
		row := req.keyRow(k)
		if row.Active {
			holding = append(holding, row)
		} else {
			ended = append(ended, row)
		}
	}
	return holding, ended, err
}

func (req *request) keys() error {
	holding, ended, err := req.keyRows()
	if err != nil {
		return err
	}
	p := keysPage{Ended: ended[:min(len(ended), endedKeysShown)], EndedTotal: len(ended), MaxKeys: registry.MaxKeys}
	p.Active, p.Pager = paginate(req, holding, keysPerPage)
	return req.show(http.StatusOK, "keys", page{Title: "API keys", Data: p})
}

func (req *request) endedKeys() error {
	_, ended, err := req.keyRows()
	if err != nil {
		return err
	}
	p := keysPage{EndedTotal: len(ended)}
	p.Ended, p.Pager = paginate(req, ended, keysPerPage)
	return req.show(http.StatusOK, "keys_ended", page{Title: "API keys that have ended", Data: p})
}

// keyForm is the form of a new key, or of a rotation.
type keyForm struct {
	Token           string // see newFormToken
	Name, Expires   string // as typed
	Earliest, Until cola.Date
	Key             keyRow // to be replaced
	Overlaps        []option
	Problems        map[string][]string
	Error           string // why it was refused, in a sentence; empty: it was not
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
	return req.show(status, "key_new", page{Title: "New API key", Data: f})
}

// redirectFormUsed redirects after a used form token.
func (req *request) redirectFormUsed() error {
	return req.redirect(keysPath, formUsed+"If it made a key, the key is in the list; it cannot be shown again. "+
		"Revoke it and make another if you did not copy it. If it made none, open the form anew.")
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
	made, state, err := req.svc.CreateKey(req.ctx(), req.caller, keyParams(form.Get("name"), form.Get("expires")))
	req.recordQuota(state)
	if problems, sentence, ok := correctable(err); ok {
		f := keyForm{Name: stripHidden(form.Get("name")), Expires: stripHidden(form.Get("expires")), Problems: problems,
			Error: sentence}
		return req.showKeyForm(statusOf(err), f)
	}
	if err != nil {
		return err
	}
	return req.showNewKey(newKeyPage{Key: made})
}

// keyParams reads the form of a new key.
func keyParams(name, expires string) registry.KeyParams {
	p := registry.KeyParams{Name: name}
	if expires == "" {
		return p
	}
	if err := p.Expires.UnmarshalText([]byte(expires)); err != nil {
		p.Problems.Add("expires", "%s is not a day. Write it as YYYY-MM-DD, such as 2027-05-31, or leave it empty "+
			"for a key that does not expire.", cola.Quoted(expires))
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
	return req.show(http.StatusOK, "key_created", page{Title: "Your new API key", Data: p})
}

// key returns the key of the caller's that the path names.
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
			"Your account has no such API key. The list of keys shows those that it has.")
	}
	return req.keyRow(keys[i]), nil
}

// id returns the number in the path, or 0, which no record has.
func (req *request) id() int64 {
	id, err := strconv.ParseInt(req.path("id"), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// overlapLabels describes registry.KeyOverlaps, in their order.
func overlapLabels() []string {
	return []string{
		"Not at all: it stops now. For a key that may be in wrong hands.",
		"1 hour, for one program that you set up right away.",
		"1 day, for a few programs.",
		"7 days, for what several people set up.",
		"30 days, for what is released now and then.",
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
			"This key was revoked or has expired, so there is nothing to replace. Make a new key instead.")
	}
	return req.showRotationForm(http.StatusOK, keyForm{Key: k})
}

func (req *request) showRotationForm(status int, f keyForm) (err error) {
	if f.Token, err = req.newFormToken(); err != nil {
		return err
	}
	f.Overlaps = overlapOptions("1 day")
	return req.show(status, "key_rotate", page{Title: "Rotate an API key", Data: f})
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
	made, state, err := req.svc.RotateKey(req.ctx(), req.caller, old.ID,
		registry.KeyRotationParams{Overlap: form.Get("overlap")})
	req.recordQuota(state)
	if problems, sentence, ok := correctable(err); ok && old.Active {
		return req.showRotationForm(statusOf(err), keyForm{Key: old, Problems: problems, Error: sentence})
	}
	if err != nil {
		return err
	}
	p := newKeyPage{Key: made, Old: &old}
	if now, err := req.key(); err == nil { // otherwise show the new key anyway: there is no second chance
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
		return req.redirect(keysPath, fmt.Sprintf("The key “%s” was revoked before.", stripHidden(k.Name)))
	}
	return req.show(http.StatusOK, "key_revoke", page{Title: "Revoke an API key", Data: k})
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
		fmt.Sprintf("The key “%s” (%s) is revoked: every request with it is refused from now on.", stripHidden(k.Name),
			k.Shown()))
}
