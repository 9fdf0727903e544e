package dashboard

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/internal/registrytest"
)

func TestPlans(t *testing.T) {
	s := mustSite(t)
	open := s.by("").get("/plans")
	open.wellMade(t)
	open.shows(t, http.StatusOK, "Free", "Starter", "Pro", "39 USD a month", "99 USD a month", "free of charge", "10,000", "1,000,000", "What happens at a limit",
		"ask the operator of this service", "Sign in to see your plan")
	if strings.Contains(open.body, "your plan</span>") {
		t.Error("nobody has a plan")
	}
	own := s.get("/plans")
	own.wellMade(t)
	own.shows(t, http.StatusOK, `<th scope="col" class="own">Pro <span class="state good">your plan</span></th>`, "What you have used", "/api/v1/usage'")
	if strings.Count(own.body, "your plan</span>") != 1 {
		t.Error("not one plan is the own one")
	}
	s.handler = New(s.registry.Service, s.browsers, Options{
		PublicURL: registrytest.PublicURL, BillingURL: "https://billing.example/change?a=1&b=2", Logger: slog.New(slog.DiscardHandler), Now: s.registry.Now,
	})
	paid := s.get("/plans")
	paid.wellMade(t)
	paid.shows(t, http.StatusOK, `<a class="button" href="https://billing.example/change?a=1&b=2">Change plan</a>`)
}
