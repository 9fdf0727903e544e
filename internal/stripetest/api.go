package stripetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

func (s *Server) routeAPI(mux *http.ServeMux) {
	for pattern, op := range map[string]operation{
		"GET /v1/prices":                         {s.listPrices, `active|lookup_keys\[\d+\]`},
		"POST /v1/customers":                     {s.createCustomer, `email|metadata\[\w+\]`},
		"GET /v1/customers/{id}":                 {s.retrieveCustomer, ``},
		"GET /v1/subscriptions":                  {s.listSubscriptions, `customer|status|limit`},
		"GET /v1/checkout/sessions":              {s.listSessions, `customer|limit`},
		"POST /v1/checkout/sessions":             {s.createSession, sessionParams},
		"POST /v1/checkout/sessions/{id}/expire": {s.expireSession, ``},
		"POST /v1/billing_portal/sessions":       {s.createPortal, portalParams},
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serveAPI(w, r, op) })
	}
	mux.HandleFunc("DELETE /v1/customers/{id}", s.deleteCustomer)
}

// operation is an API operation with a pattern for the parameters that it accepts.
type operation struct {
	serve  func(r *http.Request, params url.Values) (any, *apiError)
	params string
}

const (
	sessionParams = `mode|customer|client_reference_id|success_url|cancel_url|allow_promotion_codes|metadata\[\w+\]|` +
		`subscription_data\[metadata\]\[\w+\]|line_items\[0\]\[(price|quantity)\]`
	portalParams = `customer|return_url|flow_data\[type\]|flow_data\[after_completion\]\[type\]|` +
		`flow_data\[after_completion\]\[redirect\]\[return_url\]|flow_data\[subscription_cancel\]\[subscription\]|` +
		`flow_data\[subscription_update_confirm\]\[subscription\]|` +
		`flow_data\[subscription_update_confirm\]\[items\]\[0\]\[(id|price|quantity)\]`
)

// apiError is an error response of the API.
type apiError struct {
	status  int
	Type    string `json:"type"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	Param   string `json:"param,omitempty"`
}

func invalid(param, message string) *apiError {
	return &apiError{status: http.StatusBadRequest, Type: "invalid_request_error", Message: message, Param: param}
}

func missing(kind, id string) *apiError {
	return &apiError{
		status: http.StatusNotFound, Type: "invalid_request_error", Code: "resource_missing", Param: kind,
		Message: fmt.Sprintf("No such %s: '%s'", kind, id),
	}
}

// serveAPI checks a request and runs its operation. For a repeated idempotency key, it sends the
// stored reply instead.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request, op operation) {
	s.mu.Lock()
	fault := s.Fault
	s.mu.Unlock()
	if fault != nil {
		if status := fault(r); status != 0 {
			writeJSON(w, status, failure(&apiError{Type: "api_error", Message: "Stripe is unavailable."}))
			return
		}
	}
	if err := r.ParseForm(); err != nil {
		writeJSON(w, http.StatusBadRequest, failure(invalid("", err.Error())))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key, params := r.Header.Get("Idempotency-Key"), r.URL.Path+"?"+r.Form.Encode()
	if r.Method == http.MethodGet {
		key = ""
	}
	if stored, ok := s.replies[key]; ok && key != "" {
		if stored.params != params {
			writeJSON(w, http.StatusBadRequest, failure(&apiError{Type: "idempotency_error", Message: "Keys must be used with the same parameters."}))
			return
		}
		writeJSON(w, stored.status, stored.body)
		return
	}
	status, body := s.run(r, op)
	if key != "" {
		s.replies[key] = reply{params, status, body}
	}
	writeJSON(w, status, body)
}

func (s *Server) run(r *http.Request, op operation) (status int, body []byte) {
	if r.Header.Get("Authorization") != "Bearer "+SecretKey {
		return http.StatusUnauthorized, failure(&apiError{Type: "invalid_request_error", Message: "Invalid API Key provided."})
	}
	for name := range r.Form {
		if !matches(op.params, name) {
			return http.StatusBadRequest, failure(invalid(name, "Received unknown parameter: "+name))
		}
	}
	result, err := op.serve(r, r.Form)
	if err != nil {
		return err.status, failure(err)
	}
	body, marshalErr := json.Marshal(result)
	if marshalErr != nil {
		panic(marshalErr) // unreachable: maps of JSON values
	}
	return http.StatusOK, body
}

func failure(e *apiError) []byte {
	body, err := json.Marshal(map[string]any{"error": e})
	if err != nil {
		panic(err) // unreachable: strings
	}
	return body
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}

func list(objects []any) map[string]any {
	if objects == nil {
		objects = []any{}
	}
	return map[string]any{"object": "list", "data": objects, "has_more": false}
}

func (s *Server) listPrices(_ *http.Request, params url.Values) (any, *apiError) {
	var found []any
	for name, values := range params {
		for _, p := range s.prices {
			if strings.HasPrefix(name, "lookup_keys") && p.LookupKey == values[0] {
				found = append(found, priceObject(p))
			}
		}
	}
	return list(found), nil
}

func priceObject(p price) map[string]any {
	return map[string]any{
		"id": p.ID, "object": "price", "active": true, "lookup_key": p.LookupKey, "product": p.Product, "currency": "usd",
		"unit_amount": p.Amount, "recurring": map[string]any{"interval": "month", "interval_count": 1},
	}
}

func (s *Server) createCustomer(_ *http.Request, params url.Values) (any, *apiError) {
	c := &customer{ID: s.id("cus"), Email: params.Get("email"), Metadata: metadataOf(params)}
	s.customers[c.ID] = c
	return customerObject(c), nil
}

func (s *Server) retrieveCustomer(r *http.Request, _ url.Values) (any, *apiError) {
	c, ok := s.customers[r.PathValue("id")]
	if !ok {
		return nil, missing("customer", r.PathValue("id"))
	}
	return customerObject(c), nil
}

// deleteCustomer deletes a customer. Its events follow the response, as in Stripe.
func (s *Server) deleteCustomer(w http.ResponseWriter, r *http.Request) {
	id, deleted := r.PathValue("id"), false
	s.serveAPI(w, r, operation{func(*http.Request, url.Values) (any, *apiError) {
		c, ok := s.customers[id]
		if !ok || c.Deleted {
			return nil, missing("customer", id)
		}
		c.Deleted, deleted = true, true
		return customerObject(c), nil
	}, ``})
	if deleted {
		s.DeleteCustomer(id)
	}
}

func customerObject(c *customer) map[string]any {
	if c.Deleted {
		return map[string]any{"id": c.ID, "object": "customer", "deleted": true}
	}
	return map[string]any{"id": c.ID, "object": "customer", "email": c.Email, "metadata": c.Metadata}
}

// findCustomer returns an error for an unknown or deleted customer.
func (s *Server) findCustomer(params url.Values) *apiError {
	if c, ok := s.customers[params.Get("customer")]; !ok || c.Deleted {
		return missing("customer", params.Get("customer"))
	}
	return nil
}

func (s *Server) listSubscriptions(_ *http.Request, params url.Values) (any, *apiError) {
	if err := s.findCustomer(params); err != nil {
		return nil, err
	}
	var found []any
	for _, sub := range slices.Backward(s.subscriptions) {
		if sub.Customer == params.Get("customer") {
			found = append(found, subscriptionObject(*sub, s.priceByID(sub.Price)))
		}
	}
	return list(found), nil
}

func subscriptionObject(sub Subscription, p price) map[string]any {
	return map[string]any{
		"id": sub.ID, "object": "subscription", "customer": sub.Customer, "status": sub.Status,
		"created": sub.Created.Unix(), "cancel_at_period_end": sub.CancelAtPeriodEnd,
		"cancel_at": unixOrNull(sub.CancelAt), "ended_at": unixOrNull(sub.EndedAt),
		"items": list([]any{map[string]any{
			"id": "si_" + sub.ID, "object": "subscription_item", "price": priceObject(p), "quantity": 1,
			"current_period_end": sub.PeriodEnd.Unix(),
		}}),
	}
}

func unixOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Unix()
}

func metadataOf(params url.Values) map[string]string {
	metadata := map[string]string{}
	for name, values := range params {
		if inner, ok := strings.CutPrefix(name, "metadata["); ok {
			metadata[strings.TrimSuffix(inner, "]")] = values[0]
		}
	}
	return metadata
}

func (s *Server) listSessions(_ *http.Request, params url.Values) (any, *apiError) {
	if err := s.findCustomer(params); err != nil {
		return nil, err
	}
	var found []any
	for _, c := range slices.Backward(s.sessions) {
		if c.Customer == params.Get("customer") {
			found = append(found, s.sessionObject(c))
		}
	}
	return list(found), nil
}

func (s *Server) sessionObject(c *session) map[string]any {
	object := map[string]any{
		"id": c.ID, "object": "checkout.session", "customer": c.Customer, "status": c.Status, "metadata": c.Metadata,
		"url": nil,
	}
	if c.Status == "open" {
		object["url"] = s.URL + "/pay/" + c.ID
	}
	return object
}

func (s *Server) createSession(_ *http.Request, params url.Values) (any, *apiError) {
	if err := s.findCustomer(params); err != nil {
		return nil, err
	}
	c := &session{
		ID: s.id("cs"), Customer: params.Get("customer"), Price: params.Get("line_items[0][price]"), Status: "open",
		SuccessURL: params.Get("success_url"), CancelURL: params.Get("cancel_url"), Metadata: metadataOf(params),
	}
	switch {
	case params.Get("mode") != "subscription":
		return nil, invalid("mode", "Only subscription is supported.")
	case s.priceByID(c.Price).ID == "":
		return nil, missing("price", c.Price)
	case c.SuccessURL == "":
		return nil, invalid("success_url", "Missing required param: success_url.")
	}
	s.sessions = append(s.sessions, c)
	return s.sessionObject(c), nil
}

func (s *Server) expireSession(r *http.Request, _ url.Values) (any, *apiError) {
	c := s.sessionByID(r.PathValue("id"))
	switch {
	case c == nil:
		return nil, missing("checkout.session", r.PathValue("id"))
	case c.Status != "open":
		return nil, invalid("", "Only open sessions can be expired.")
	}
	c.Status = "expired"
	return s.sessionObject(c), nil
}

func (s *Server) sessionByID(id string) *session {
	if i := slices.IndexFunc(s.sessions, func(c *session) bool { return c.ID == id }); i >= 0 {
		return s.sessions[i]
	}
	return nil
}

func (s *Server) createPortal(_ *http.Request, params url.Values) (any, *apiError) {
	if err := s.findCustomer(params); err != nil {
		return nil, err
	}
	flow := params.Get("flow_data[type]")
	p := &portal{
		ID: s.id("bps"), Customer: params.Get("customer"), ReturnURL: params.Get("return_url"), Flow: flow,
		AfterURL:     params.Get("flow_data[after_completion][redirect][return_url]"),
		Subscription: params.Get("flow_data[" + flow + "][subscription]"),
		Price:        params.Get("flow_data[" + flow + "][items][0][price]"),
	}
	if flow != "" {
		owned := func(sub *Subscription) bool { return sub.ID == p.Subscription && sub.Customer == p.Customer }
		item := params.Get("flow_data[" + flow + "][items][0][id]")
		switch {
		case !slices.ContainsFunc(s.subscriptions, owned):
			return nil, missing("subscription", p.Subscription)
		case flow == "subscription_update_confirm" && (item != "si_"+p.Subscription || s.priceByID(p.Price).ID == ""):
			return nil, invalid("flow_data", "No such item or price.")
		}
	}
	s.portals[p.ID] = p
	return map[string]any{
		"id": p.ID, "object": "billing_portal.session", "customer": p.Customer, "url": s.URL + "/portal/" + p.ID,
	}, nil
}
