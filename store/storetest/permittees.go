package storetest

import (
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

func testPermittees(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"created from labels", permitteeFromLabel},
		{"labels fill missing fields", labelsFillFields},
		{"lists override labels", listOverridesLabels},
		{"lists merge field by field", listsMerge},
		{"dry run", permitteeDryRun},
		{"changes since a revision", permitteesSince},
	})
}

// applicant returns a label with an applicant address that determines its permittee.
func applicant(n int, permit string, name, state, zip cola.Text) cola.Cola {
	c := label(n)
	c.PermitNumber, c.AddressRecipient, c.AddressState, c.AddressZipCode = permit, name, state, zip
	return c
}

func checkPermittees(t *testing.T, st store.Store, want ...cola.Permittee) {
	t.Helper()
	all := map[string]cola.Permittee{}
	for _, p := range want {
		all[p.PermitNumber] = p
	}
	checkEqual(t, "permittees", all, permittees(t, st))
}

func mustPermittees(t *testing.T, st store.Store, want []store.Outcome, patches ...cola.Patch[cola.Permittee]) {
	t.Helper()
	got, err := st.UpsertPermittees(t.Context(), patches, store.Commit)
	checkEqual(t, "UpsertPermittees outcomes", want, must(t, got, err))
}

func permitteeFromLabel(t *testing.T, st store.Store, _ *clock) {
	mustAddColas(t, st, applicant(0, "NJ-I-721", "NIEDERHOFF IMPORTS INC", "NJ", "07927"),
		applicant(1, "XX", "", "", ""),
		applicant(2, "NJ-I-721", "ANOTHER NAME", "PA", ""))
	checkPermittees(t, st,
		cola.Permittee{
			PermitNumber:   "NJ-I-721",
			CompanyName:    "NIEDERHOFF IMPORTS INC",
			CompanyState:   "NJ",
			CompanyZipCode: "07927",
			PermitteeType:  cola.Text(vocabulary.PermitteeTypeOf("NJ-I-721")),
		},
		cola.Permittee{PermitNumber: "XX"})
}

func labelsFillFields(t *testing.T, st store.Store, _ *clock) {
	mustAddColas(t, st, applicant(0, "XX", "", "NJ", ""))
	before := mustRevision(t, st)
	mustAddColas(t, st, applicant(1, "XX", "FIRST NAME", "PA", ""))
	checkPermittees(t, st, cola.Permittee{PermitNumber: "XX", CompanyName: "FIRST NAME", CompanyState: "NJ"})
	mustAddColas(t, st, applicant(2, "XX", "SECOND NAME", "", "07927"))
	checkPermittees(t, st, cola.Permittee{
		PermitNumber:   "XX",
		CompanyName:    "FIRST NAME",
		CompanyState:   "NJ",
		CompanyZipCode: "07927",
	})
	if after := mustRevision(t, st); after <= before {
		t.Errorf("revision after the permittee changed = %d, want more than %d", after, before)
	}

	moved := applicant(0, "YY", "MOVED", "", "") // changing a label's permit creates the new permit's permittee
	mustUpsert(t, st, []store.Outcome{store.Changed}, patchOf(moved))
	if _, ok := permittees(t, st)["YY"]; !ok {
		t.Error("no permittee for the label's new permit")
	}
}

func listOverridesLabels(t *testing.T, st store.Store, _ *clock) {
	mustAddColas(t, st, applicant(0, "CA-I-881", "NAME ON LABEL", "CA", "94558"))
	listed := cola.Permittee{
		PermitNumber:  "CA-I-881",
		CompanyName:   "NAME ON LIST",
		OperatingName: "TRADE NAME",
		Listed:        true,
	}
	patch := only(listed, "permit_number", "company_name", "operating_name", "company_zip_code") // clears the ZIP code
	mustPermittees(t, st, []store.Outcome{store.Changed}, patch)
	want := listed
	want.CompanyState, want.PermitteeType = "CA", cola.Text(vocabulary.PermitteeTypeOf("CA-I-881"))
	checkPermittees(t, st, want)

	mustAddColas(t, st, applicant(1, "CA-I-881", "NAME ON LABEL", "NV", "11111"))
	checkPermittees(t, st, want)
	mustPermittees(t, st, []store.Outcome{store.Unchanged}, patch)
}

func listsMerge(t *testing.T, st store.Store, _ *clock) {
	p := cola.Permittee{
		PermitNumber:   "BR-ME-MAI-7",
		CompanyName:    "Ølhus 100% _A_",
		CompanyState:   "ME",
		CompanyZipCode: "04101",
		OperatingName:  "PUB",
		PermitteeType:  "Brewery",
		Listed:         true,
	}
	renamed := only(cola.Permittee{PermitNumber: p.PermitNumber, CompanyName: "NEW"}, "company_name")
	mustPermittees(t, st, []store.Outcome{store.Added, store.Unchanged, store.Changed, store.Unchanged, store.Added},
		permitteePatch(p), permitteePatch(p), renamed, renamed, permitteePatch(cola.Permittee{PermitNumber: "ZZ-1"}))
	p.CompanyName = "NEW" // still listed: a list never removes a permit
	checkPermittees(t, st, p, cola.Permittee{PermitNumber: "ZZ-1"})

	mustPermittees(t, st, []store.Outcome{store.Changed}, only(cola.Permittee{PermitNumber: "ZZ-1", Listed: true}))
	checkPermittees(t, st, p, cola.Permittee{PermitNumber: "ZZ-1", Listed: true})
}

func permitteeDryRun(t *testing.T, st store.Store, _ *clock) {
	p := permitteePatch(cola.Permittee{PermitNumber: "ZZ-1", CompanyName: "A"})
	got, err := st.UpsertPermittees(t.Context(), []cola.Patch[cola.Permittee]{p, p}, store.DryRun)
	checkEqual(t, "UpsertPermittees outcomes", []store.Outcome{store.Added, store.Unchanged}, must(t, got, err))
	checkPermittees(t, st)
	if rev := mustRevision(t, st); rev != 0 {
		t.Errorf("revision after a dry run = %d, want 0", rev)
	}
}

func permitteesSince(t *testing.T, st store.Store, _ *clock) {
	mustPermittees(t, st, []store.Outcome{store.Added, store.Added},
		permitteePatch(cola.Permittee{PermitNumber: "A"}), permitteePatch(cola.Permittee{PermitNumber: "B"}))
	before := mustRevision(t, st)
	mustPermittees(t, st, []store.Outcome{store.Unchanged, store.Changed},
		permitteePatch(cola.Permittee{PermitNumber: "A"}),
		permitteePatch(cola.Permittee{PermitNumber: "B", CompanyName: "X"}))
	var seen []cola.Permittee
	rev, err := st.PermitteesSince(t.Context(), before,
		func(p *cola.Permittee) error { seen = append(seen, *p); return nil })
	if err != nil || rev != mustRevision(t, st) {
		t.Errorf("PermitteesSince = %d, %v; want the latest revision %d", rev, err, mustRevision(t, st))
	}
	checkEqual(t, "changed permittees", []cola.Permittee{{PermitNumber: "B", CompanyName: "X"}}, seen)
}
