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

// keyService is what the pages of keys ask.
type keyService interface {
	Keys(context.Context, cola.Caller) ([]registry.Key, cola.QuotaState, error)
	CreateKey(context.Context, cola.Caller, registry.KeyParams) (registry.NewKey, cola.QuotaState, error)
	RotateKey(ctx context.Context, c cola.Caller, id int64, p registry.KeyRotationParams) (registry.NewKey, cola.QuotaState, error)
	RevokeKey(ctx context.Context, c cola.Caller, id int64) (cola.QuotaState, error)
}

func keyRoutes() []route {
	return []route{
		get(keysPath, (*visit).keys),
		get(keysPath+"/ended", (*visit).endedKeys),
		get(keysPath+"/new", (*visit).newKeyForm),
		post(keysPath+"/new", (*visit).createKey),
		get(keysPath+"/{id}/rotate", (*visit).rotationForm),
		post(keysPath+"/{id}/rotate", (*visit).rotateKey),
		get(keysPath+"/{id}/revoke", (*visit).keyRevocation),
		post(keysPath+"/{id}/revoke", (*visit).revokeKey),
	}
}

const (
	keysPerPage    = 25
	endedKeysFirst = 5 // that the list of keys shows of those that have ended
	keyEndsSoon    = 14 * 24 * time.Hour
)

// keyRow is a key and how it stands now.
type keyRow struct {
	registry.Key
	Holds, Soon bool // Soon: it ends soon
}

// Shown returns what the key can be recognised by.
func (k keyRow) Shown() string { return k.Prefix + "…" + k.LastFour }

func (v *visit) keyRow(k registry.Key) keyRow {
	now := v.now()
	return keyRow{Key: k, Holds: k.Holds(now), Soon: !k.ExpiresAt.IsZero() && k.ExpiresAt.Sub(now) < keyEndsSoon}
}

// keysPage lists keys: those that hold, and some that have ended, or all of those.
type keysPage struct {
	Holding []keyRow
	Ended   []keyRow
	EndedIn int // all that have ended
	Pager   pager
	Most    int // that may hold
}

// keyRows returns the caller's keys, apart by whether they hold.
func (v *visit) keyRows() (holding, ended []keyRow, err error) {
	keys, state, err := v.svc.Keys(v.ctx(), v.caller)
	v.asked(state)
	for _, k := range keys {
		row := v.keyRow(k)
		if row.Holds {
			holding = append(holding, row)
		} else {
			ended = append(ended, row)
		}
	}
	return holding, ended, err
}

func (v *visit) keys() error {
	holding, ended, err := v.keyRows()
	if err != nil {
		return err
	}
	p := keysPage{Ended: ended[:min(len(ended), endedKeysFirst)], EndedIn: len(ended), Most: registry.MaxKeys}
	p.Holding, p.Pager = paged(v, holding, keysPerPage)
	return v.show(http.StatusOK, "keys", page{Title: "API keys", Data: p})
}

func (v *visit) endedKeys() error {
	_, ended, err := v.keyRows()
	if err != nil {
		return err
	}
	p := keysPage{EndedIn: len(ended)}
	p.Ended, p.Pager = paged(v, ended, keysPerPage)
	return v.show(http.StatusOK, "keysended", page{Title: "API keys that have ended", Data: p})
}

// keyForm is the form of a new key, or of one in place of another.
type keyForm struct {
	Token           string // see openForm
	Name, Expires   string // as typed
	Earliest, Until cola.Date
	Key             keyRow // to be replaced
	Overlaps        []option
	Problems        map[string][]string
	Refusal         string // why it was refused, in a sentence; empty: it was not
}

// keyYears is how far ahead the field of the last day lets one choose; the service says what holds.
const keyYears = 10

func (v *visit) newKeyForm() error { return v.showKeyForm(http.StatusOK, keyForm{}) }

func (v *visit) showKeyForm(status int, f keyForm) (err error) {
	if f.Token, err = v.openForm(); err != nil {
		return err
	}
	today := cola.DateOf(v.now())
	f.Earliest, f.Until = today.AddDays(1), cola.DateOf(today.Time().AddDate(keyYears, 0, 0))
	return v.show(status, "keynew", page{Title: "New API key", Data: f})
}

// sentBefore leads on from a form that is not taken.
func (v *visit) sentBefore() error {
	return v.leadTo(keysPath, notOpen+"If it made a key, the key is in the list; it cannot be shown again. "+
		"Revoke it and make another if you did not copy it. If it made none, open the form anew.")
}

func (v *visit) createKey() error {
	form, err := v.form()
	if err != nil {
		return err
	}
	first, err := v.takeForm(form.Get("form"))
	if err != nil {
		return err
	}
	if !first {
		return v.sentBefore()
	}
	made, state, err := v.svc.CreateKey(v.ctx(), v.caller, keyParams(form.Get("name"), form.Get("expires")))
	v.asked(state)
	if problems, sentence, ok := correctable(err); ok {
		f := keyForm{Name: legible(form.Get("name")), Expires: legible(form.Get("expires")), Problems: problems, Refusal: sentence}
		return v.showKeyForm(statusOf(err), f)
	}
	if err != nil {
		return err
	}
	return v.showNewKey(newKeyPage{Key: made})
}

// keyParams reads what a new key is to be.
func keyParams(name, expires string) registry.KeyParams {
	p := registry.KeyParams{Name: name}
	if expires == "" {
		return p
	}
	if err := p.Expires.UnmarshalText([]byte(expires)); err != nil {
		p.Problems.Add("expires", "%s is not a day. Write it as YYYY-MM-DD, such as 2027-05-31, or leave it empty for a key that does not expire.", cola.Quoted(expires))
	}
	return p
}

// newKeyPage shows a new key, once.
type newKeyPage struct {
	Key    registry.NewKey
	Old    *keyRow // which it replaces; nil: none
	Sure   bool    // Old is as it stands now
	Setups []setup
}

// showNewKey answers with a new key. The answer to the form is the only place where it ever stands.
func (v *visit) showNewKey(p newKeyPage) error {
	p.Setups = v.setupsWithKey(p.Key.Secret)
	return v.show(http.StatusOK, "keymade", page{Title: "Your new API key", Data: p})
}

// key returns the key of the caller's that the path names.
func (v *visit) key() (keyRow, error) {
	keys, state, err := v.svc.Keys(v.ctx(), v.caller)
	v.asked(state)
	if err != nil {
		return keyRow{}, err
	}
	id := v.id()
	i := slices.IndexFunc(keys, func(k registry.Key) bool { return k.ID == id })
	if i < 0 {
		return keyRow{}, cola.Errorf(cola.CodeNotFound, "Your account has no such API key. The list of keys shows those that it has.")
	}
	return v.keyRow(keys[i]), nil
}

// id returns the number in the path, or 0, which names nothing.
func (v *visit) id() int64 {
	id, err := strconv.ParseInt(v.path("id"), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// overlapWords tells what each of registry.KeyOverlaps means, in their order.
func overlapWords() []string {
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
	for i, words := range overlapWords() {
		list[i].Label = words
	}
	return list
}

func (v *visit) rotationForm() error {
	k, err := v.key()
	if err != nil {
		return err
	}
	if !k.Holds {
		return cola.Errorf(cola.CodeNotActive, "This key was revoked or has expired, so there is nothing to replace. Make a new key instead.")
	}
	return v.showRotationForm(http.StatusOK, keyForm{Key: k})
}

func (v *visit) showRotationForm(status int, f keyForm) (err error) {
	if f.Token, err = v.openForm(); err != nil {
		return err
	}
	f.Overlaps = overlapOptions("1 day")
	return v.show(status, "keyrotate", page{Title: "Rotate an API key", Data: f})
}

func (v *visit) rotateKey() error {
	form, err := v.form()
	if err != nil {
		return err
	}
	old, err := v.key()
	if err != nil {
		return err
	}
	first, err := v.takeForm(form.Get("form"))
	if err != nil {
		return err
	}
	if !first {
		return v.sentBefore()
	}
	made, state, err := v.svc.RotateKey(v.ctx(), v.caller, old.ID, registry.KeyRotationParams{Overlap: form.Get("overlap")})
	v.asked(state)
	if problems, sentence, ok := correctable(err); ok && old.Holds {
		return v.showRotationForm(statusOf(err), keyForm{Key: old, Problems: problems, Refusal: sentence})
	}
	if err != nil {
		return err
	}
	p := newKeyPage{Key: made, Old: &old}
	if now, err := v.key(); err == nil { // else the new one is shown all the same: it is never again
		p.Old, p.Sure = &now, true
	}
	return v.showNewKey(p)
}

func (v *visit) keyRevocation() error {
	k, err := v.key()
	if err != nil {
		return err
	}
	if !k.RevokedAt.IsZero() {
		return v.leadTo(keysPath, fmt.Sprintf("The key “%s” was revoked before.", legible(k.Name)))
	}
	return v.show(http.StatusOK, "keyrevoke", page{Title: "Revoke an API key", Data: k})
}

func (v *visit) revokeKey() error {
	k, err := v.key()
	if err != nil {
		return err
	}
	state, err := v.svc.RevokeKey(v.ctx(), v.caller, k.ID)
	v.asked(state)
	if err != nil {
		return err
	}
	return v.leadTo(keysPath, fmt.Sprintf("The key “%s” (%s) is revoked: every request with it is refused from now on.", legible(k.Name), k.Shown()))
}
