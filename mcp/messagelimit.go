package mcp

import (
	"fmt"
	"net/http"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
	"github.com/colaregistry/colaregistry/internal/web"
)

// The message limits bound the cost of messages that the rate limit doesn't count: lists, completions,
// pings, notifications and malformed messages. They count every message, including tool calls, per
// process. A typical client sends a few dozen a minute.
const (
	messagesPerMinute        = 600                   // of a credential
	accountMessagesPerMinute = 5 * messagesPerMinute // over all credentials: an account may have a hundred keys
	// messageUnit is the number of bytes that count as one message: long messages take longer to read.
	messageUnit    = 64 << 10
	limitedSenders = 20_000 // credentials, and accounts, in memory
	reasonMessages = "messages"
)

// messageLimits counts the messages of credentials and accounts.
type messageLimits struct {
	credentials *ratelimit.Limiter[cola.Credential]
	accounts    *ratelimit.Limiter[cola.AccountID]
}

func newMessageLimits(now cola.Clock) messageLimits {
	return messageLimits{
		ratelimit.New[cola.Credential](messagesPerMinute, time.Minute/messagesPerMinute, limitedSenders, now),
		ratelimit.New[cola.AccountID](accountMessagesPerMinute, time.Minute/accountMessagesPerMinute, limitedSenders, now),
	}
}

// take counts a request of a caller, or returns its refusal. The body has not been read yet; a body of
// unknown length counts as the longest.
func (l messageLimits) take(c cola.Caller, length int64) *cola.Error {
	if length < 0 || length > maxMessageBytes {
		length = maxMessageBytes
	}
	n := 1 + int(max(length-1, 0)/messageUnit)
	limit, wait := messagesPerMinute, l.credentials.Take(c.Credential, n)
	if wait == 0 {
		limit, wait = accountMessagesPerMinute, l.accounts.Take(c.Account, n)
	}
	if wait == 0 {
		return nil
	}
	return cola.TooMany(reasonMessages, limit, wait, fmt.Sprintf("%s accepts at most %d messages a minute.", Path, limit))
}

// refuseMessage answers a request over the message limits. To keep that cheap, it does not read the
// message, so the answer has no ID.
func (e *edge) refuseMessage(w http.ResponseWriter, r *http.Request, x *exchange, refusal *cola.Error) {
	x.event.Code = refusal.Code
	web.PrepareFailure(w, r, refusal)
	wrong := &rpcError{Code: refusedCode, Message: refusal.Message, Data: web.Envelope(refusal), httpStatus: web.StatusOf(refusal.Code)}
	web.WriteJSON(w, wrong.status(x.modern), wrong.answer(x.id))
}
