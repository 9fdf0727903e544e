package mcp

import (
	"net/http"
	"slices"
	"strings"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
)

// logLevels are the severities from which on a client may want messages of a server's log, least first.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// setLogLevel answers a client that says how severe a message of the log must be to be sent to it. The server sends none and does
// not claim to, so any level is kept already, and a client that asks all the same has no reason to fail. The newest revision has
// no such method.
func (e *edge) setLogLevel(w http.ResponseWriter, r *http.Request, x *exchange) {
	if !slices.Contains(logLevels, x.target) {
		e.tell(w, r, x, &rpcError{
			Code:    protocol.INVALID_PARAMS,
			Message: "There is no level " + params.Quoted(x.target) + "; there are " + strings.Join(logLevels, ", ") + ".",
		})
		return
	}
	web.SetQuota(w.Header(), x.state)
	web.WriteJSON(w, http.StatusOK, mustJSON(object{{"jsonrpc", protocol.JSONRPC_VERSION}, {"id", x.id}, {"result", object{}}}))
}
