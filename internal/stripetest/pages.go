package stripetest

import (
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"time"
)

// matches reports whether a name matches a pattern of alternatives.
func matches(pattern, name string) bool {
	return regexp.MustCompile(`^(` + pattern + `)$`).MatchString(name)
}

func (s *Server) routePages(mux *http.ServeMux) {
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /pay/{id}", s.payPage)
	mux.HandleFunc("POST /pay/{id}", s.pay)
	mux.HandleFunc("GET /portal/{id}", s.portalPage)
	mux.HandleFunc("POST /portal/{id}", s.changePortal)
}

var pageTemplate = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title><style>body{font:16px/1.5 system-ui;max-width:30rem;margin:3rem auto;padding:0 1rem}
button{display:block;font:inherit;padding:.5rem 1rem;margin:.5rem 0;width:100%}</style></head>
<body><p><strong>Local stand-in for Stripe.</strong> No payments are made.</p>
<h1>{{.Title}}</h1>{{range .Lines}}<p>{{.}}</p>{{end}}
<form method="post">{{range .Actions}}<button name="action" value="{{.Value}}">{{.Label}}</button>{{end}}</form>
{{if .Back}}<p><a href="{{.Back}}">Return without changes</a></p>{{end}}
</body></html>
`))

type pageData struct {
	Title   string
	Lines   []string
	Actions []action
	Back    string
}

type action struct{ Value, Label string }

func show(w http.ResponseWriter, status int, p pageData) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = pageTemplate.Execute(w, p) // the client may have disconnected
}

func dollars(cents int64) string { return fmt.Sprintf("$%d.%02d per month", cents/100, cents%100) }

// openSession returns a session that can be completed, or shows an error page.
func (s *Server) openSession(w http.ResponseWriter, r *http.Request) (c session, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.sessionByID(r.PathValue("id"))
	if found == nil || found.Status != "open" || s.customers[found.Customer].Deleted {
		show(w, http.StatusGone, pageData{Title: "This page has expired"})
		return c, false
	}
	return *found, true
}

func (s *Server) payPage(w http.ResponseWriter, r *http.Request) {
	if c, ok := s.openSession(w, r); ok {
		p := s.price(c.Price)
		show(w, http.StatusOK, pageData{
			Title: "Subscribe to " + p.Name, Lines: []string{dollars(p.Amount)}, Back: c.CancelURL,
			Actions: []action{{"pay", "Subscribe"}},
		})
	}
}

// pay completes a session and redirects the browser to the success URL.
func (s *Server) pay(w http.ResponseWriter, r *http.Request) {
	c, ok := s.openSession(w, r)
	if !ok {
		return
	}
	s.Pay(c.ID)
	http.Redirect(w, r, c.SuccessURL, http.StatusSeeOther)
}

// Pay completes an open Checkout session.
func (s *Server) Pay(id string) {
	s.mu.Lock()
	c := s.sessionByID(id)
	c.Status = "complete"
	object, key := s.sessionObject(c), s.priceByID(c.Price).LookupKey
	s.mu.Unlock()
	s.Subscribe(c.Customer, key)
	s.emit("checkout.session.completed", object)
}

// OpenSession returns the ID of a customer's open Checkout session, or "".
func (s *Server) OpenSession(customer string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sessions {
		if c.Customer == customer && c.Status == "open" {
			return c.ID
		}
	}
	return ""
}

// openPortal returns a portal session with the customer's latest subscription, or shows an error
// page.
func (s *Server) openPortal(w http.ResponseWriter, r *http.Request) (p portal, sub Subscription, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.portals[r.PathValue("id")]
	if !ok {
		show(w, http.StatusGone, pageData{Title: "This page has expired"})
		return p, sub, false
	}
	for _, one := range s.subscriptions {
		if one.Customer == found.Customer {
			sub = *one
		}
	}
	return *found, sub, true
}

func (s *Server) portalPage(w http.ResponseWriter, r *http.Request) {
	p, sub, ok := s.openPortal(w, r)
	if !ok {
		return
	}
	page := pageData{Title: "Your subscription", Back: p.ReturnURL}
	if sub.ID != "" {
		page.Lines = []string{s.price(sub.Price).Name + ", " + sub.Status, "Period ends " + sub.PeriodEnd.Format(time.DateOnly)}
	}
	switch {
	case p.Flow == "subscription_cancel":
		page.Actions = []action{{"cancel", "Cancel plan"}}
	case p.Flow != "":
		page.Actions = []action{{"confirm", "Change to " + s.price(p.Price).Name}}
	case sub.ID != "":
		page.Actions = []action{
			{"cancel", "Cancel plan"}, {"keep", "Don’t cancel plan"}, {"starter_monthly", "Change to Starter"},
			{"pro_monthly", "Change to Pro"}, {"past_due", "Test: let a payment fail"}, {"active", "Pay open invoice"},
			{"end", "Test: end now"},
		}
	}
	show(w, http.StatusOK, page)
}

func (s *Server) changePortal(w http.ResponseWriter, r *http.Request) {
	p, sub, ok := s.openPortal(w, r)
	if !ok {
		return
	}
	back := p.ReturnURL
	if p.AfterURL != "" {
		back = p.AfterURL
	}
	changes := map[string]func(*Subscription){
		"cancel":  func(sub *Subscription) { sub.CancelAtPeriodEnd = true },
		"keep":    func(sub *Subscription) { sub.CancelAtPeriodEnd = false },
		"confirm": func(sub *Subscription) { sub.Price = p.Price },
		"active":  Status("active"), "past_due": Status("past_due"), "end": End(s.Now()),
		"starter_monthly": s.To("starter_monthly"), "pro_monthly": s.To("pro_monthly"),
	}
	change, known := changes[r.FormValue("action")]
	if !known || sub.ID == "" {
		show(w, http.StatusBadRequest, pageData{Title: "Unknown action", Back: p.ReturnURL})
		return
	}
	s.Change(sub.ID, change)
	http.Redirect(w, r, back, http.StatusSeeOther)
}
