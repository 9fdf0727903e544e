package storetest

import (
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

func testPermittees(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"a label makes its permittee", labelMakesPermittee},
		{"labels fill in what they did not know", labelsFillIn},
		{"a list has the last word", listHasLastWord},
		{"lists merge field by field", listsMerge},
		{"a dry run writes nothing", permitteeDryRun},
		{"followers see what changed", followersSeePermittees},
	})
}

// applicant returns a label whose applicant address determines its permittee.
func applicant(n int, permit string, name, state, zip cola.Text) cola.Cola {
	c := label(n)
	c.PermitNumber, c.AddressRecipient, c.AddressState, c.AddressZipCode = permit, name, state, zip
	return c
}

func samePermittees(t *testing.T, st store.Store, want ...cola.Permittee) {
	t.Helper()
	all := map[string]cola.Permittee{}
	for _, p := range want {
		all[p.PermitNumber] = p
	}
	same(t, "permittees", all, permittees(t, st))
}

func mustPermittees(t *testing.T, st store.Store, want []store.Outcome, patches ...cola.Patch[cola.Permittee]) {
	t.Helper()
	got, err := st.UpsertPermittees(t.Context(), patches, store.Commit)
	same(t, "outcomes", want, must(t, got, err))
}

func labelMakesPermittee(t *testing.T, st store.Store, _ *clock) {
	mustKeep(t, st, applicant(0, "NJ-I-721", "NIEDERHOFF IMPORTS INC", "NJ", "07927"), applicant(1, "XX", "", "", ""),
		applicant(2, "NJ-I-721", "ANOTHER NAME", "PA", ""))
	samePermittees(t, st,
		cola.Permittee{PermitNumber: "NJ-I-721", CompanyName: "NIEDERHOFF IMPORTS INC", CompanyState: "NJ", CompanyZipCode: "07927",
			PermitteeType: cola.Text(vocabulary.PermitteeTypeOf("NJ-I-721"))},
		cola.Permittee{PermitNumber: "XX"})
}

func labelsFillIn(t *testing.T, st store.Store, _ *clock) {
	mustKeep(t, st, applicant(0, "XX", "", "NJ", ""))
	before := mustRevision(t, st)
	mustKeep(t, st, applicant(1, "XX", "FIRST NAME", "PA", ""))
	samePermittees(t, st, cola.Permittee{PermitNumber: "XX", CompanyName: "FIRST NAME", CompanyState: "NJ"})
	mustKeep(t, st, applicant(2, "XX", "SECOND NAME", "", "07927"))
	samePermittees(t, st, cola.Permittee{PermitNumber: "XX", CompanyName: "FIRST NAME", CompanyState: "NJ", CompanyZipCode: "07927"})
	if after := mustRevision(t, st); after <= before {
		t.Errorf("revision %d after the permittee changed, was %d", after, before)
	}

	moved := applicant(0, "YY", "MOVED", "", "") // the label's new permit determines the other permittee
	mustUpsert(t, st, []store.Outcome{store.Changed}, whole(moved))
	if _, ok := permittees(t, st)["YY"]; !ok {
		t.Error("no permittee for the permit that a label changed to")
	}
}

func listHasLastWord(t *testing.T, st store.Store, _ *clock) {
	mustKeep(t, st, applicant(0, "CA-I-881", "NAME ON LABEL", "CA", "94558"))
	listed := cola.Permittee{PermitNumber: "CA-I-881", CompanyName: "NAME ON LIST", OperatingName: "TRADE NAME", Listed: true}
	patch := only(listed, "permit_number", "company_name", "operating_name", "company_zip_code") // clears the ZIP code
	mustPermittees(t, st, []store.Outcome{store.Changed}, patch)
	want := listed
	want.CompanyState, want.PermitteeType = "CA", cola.Text(vocabulary.PermitteeTypeOf("CA-I-881"))
	samePermittees(t, st, want)

	mustKeep(t, st, applicant(1, "CA-I-881", "NAME ON LABEL", "NV", "11111"))
	samePermittees(t, st, want)
	mustPermittees(t, st, []store.Outcome{store.Unchanged}, patch)
}

func listsMerge(t *testing.T, st store.Store, _ *clock) {
	p := cola.Permittee{PermitNumber: "BR-ME-MAI-7", CompanyName: "Ølhus 100% _A_", CompanyState: "ME", CompanyZipCode: "04101",
		OperatingName: "PUB", PermitteeType: "Brewery", Listed: true}
	renamed := only(cola.Permittee{PermitNumber: p.PermitNumber, CompanyName: "NEW"}, "company_name")
	mustPermittees(t, st, []store.Outcome{store.Added, store.Unchanged, store.Changed, store.Unchanged, store.Added},
		wholePermittee(p), wholePermittee(p), renamed, renamed, wholePermittee(cola.Permittee{PermitNumber: "ZZ-1"}))
	p.CompanyName = "NEW" // still listed: no list removes a permit
	samePermittees(t, st, p, cola.Permittee{PermitNumber: "ZZ-1"})

	mustPermittees(t, st, []store.Outcome{store.Changed}, only(cola.Permittee{PermitNumber: "ZZ-1", Listed: true}))
	samePermittees(t, st, p, cola.Permittee{PermitNumber: "ZZ-1", Listed: true})
}

func permitteeDryRun(t *testing.T, st store.Store, _ *clock) {
	p := wholePermittee(cola.Permittee{PermitNumber: "ZZ-1", CompanyName: "A"})
	got, err := st.UpsertPermittees(t.Context(), []cola.Patch[cola.Permittee]{p, p}, store.DryRun)
	same(t, "outcomes", []store.Outcome{store.Added, store.Unchanged}, must(t, got, err))
	samePermittees(t, st)
	if rev := mustRevision(t, st); rev != 0 {
		t.Errorf("revision %d after a dry run, want 0", rev)
	}
}

func followersSeePermittees(t *testing.T, st store.Store, _ *clock) {
	mustPermittees(t, st, []store.Outcome{store.Added, store.Added},
		wholePermittee(cola.Permittee{PermitNumber: "A"}), wholePermittee(cola.Permittee{PermitNumber: "B"}))
	before := mustRevision(t, st)
	mustPermittees(t, st, []store.Outcome{store.Unchanged, store.Changed},
		wholePermittee(cola.Permittee{PermitNumber: "A"}), wholePermittee(cola.Permittee{PermitNumber: "B", CompanyName: "X"}))
	var seen []cola.Permittee
	rev, err := st.PermitteesSince(t.Context(), before, func(p *cola.Permittee) error { seen = append(seen, *p); return nil })
	if err != nil || rev != mustRevision(t, st) {
		t.Errorf("PermitteesSince = %d, %v; want the latest revision %d", rev, err, mustRevision(t, st))
	}
	same(t, "changed", []cola.Permittee{{PermitNumber: "B", CompanyName: "X"}}, seen)
}
