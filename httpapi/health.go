package httpapi

import (
	"net/http"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// healthBody is the body of /healthz and /readyz.
type healthBody struct {
	Status  string `json:"status"`
	Version string `json:"version"` // of the program
}

// health tells that the process is up. It asks nothing of anything else.
func (a *api) health(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if err := a.writeJSON(w, http.StatusOK, plain(healthBody{Status: "ok", Version: a.opts.Version})); err != nil {
		web.Fail(w, r, err)
	}
}

// ready tells whether requests can be answered: for load balancers, which send none while it is 503.
func (a *api) ready(w http.ResponseWriter, r *http.Request) {
	if err := a.svc.Ready(r.Context()); err != nil {
		if cola.CodeOf(err) == cola.CodeInternal {
			web.EventOf(r.Context()).Fault = err
			err = &cola.Error{
				Code:       cola.CodeUnavailable,
				Message:    "The service is not ready: something it depends on does not answer.",
				RetryAfter: cola.UnavailableRetry,
			}
		}
		web.Fail(w, r, err)
		return
	}
	a.health(w, r)
}
