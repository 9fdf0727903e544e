package dashboard

import (
	"net/http"

	"github.com/colaregistry/colaregistry/registry"
)

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
	k, err := req.activeKey()
	if err != nil {
		return err
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
