package auth

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// LinkPolicy decides which email addresses that an issuer has verified link its identities to
// accounts with those addresses. An address that does not link counts as none. The zero LinkPolicy
// links all of them.
type LinkPolicy struct {
	never   bool
	domains []string // folded; empty allows every domain
}

// ParseLinkPolicy reads a policy: "verified" links every verified address,
// "verified:example.com:example.org" those of the listed domains without their subdomains, and
// "never" none.
func ParseLinkPolicy(text string) (LinkPolicy, error) {
	kind, list, limited := strings.Cut(text, ":")
	switch {
	case text == "never":
		return LinkPolicy{never: true}, nil
	case kind != "verified":
		return LinkPolicy{}, fmt.Errorf(
			"%s is not a policy; write verified, never, or verified:example.com with the domains to accept", strconv.Quote(text))
	case !limited:
		return LinkPolicy{}, nil
	}
	var p LinkPolicy
	for domain := range strings.SplitSeq(list, ":") {
		if cola.CheckEmail("postmaster@"+domain) != nil {
			return LinkPolicy{}, fmt.Errorf(
				"%s is not a domain of email addresses; write letters outside ASCII in their xn-- form", strconv.Quote(domain))
		}
		p.domains = append(p.domains, cola.FoldASCII(domain))
	}
	return p, nil
}

// allows reports whether a verified address links.
func (p LinkPolicy) allows(email string) bool {
	domain := cola.FoldASCII(email[strings.LastIndexByte(email, '@')+1:])
	return !p.never && (len(p.domains) == 0 || slices.Contains(p.domains, domain))
}

// linking returns a verified address if it links, else "".
func (p LinkPolicy) linking(email string) string {
	if !p.allows(email) {
		return ""
	}
	return email
}

// LinkPolicies holds the LinkPolicy of every issuer. The zero LinkPolicies links every verified
// address of all of them.
type LinkPolicies struct {
	fallback LinkPolicy
	byIssuer map[string]LinkPolicy // by URL
}

// ParseLinkPolicies reads policies written as ISSUER=POLICY, or as POLICY for the issuers that are
// not named. It fails when a policy names an issuer that is not among the given ones, or when two
// apply to the same issuer.
func ParseLinkPolicies(list, issuers []string) (LinkPolicies, error) {
	all := LinkPolicies{byIssuer: map[string]LinkPolicy{}}
	fallback := false
	for _, text := range list {
		at := strings.LastIndexByte(text, '=') // an issuer's URL may contain one
		p, err := ParseLinkPolicy(text[at+1:])
		if err != nil {
			return LinkPolicies{}, err
		}
		issuer := text[:max(at, 0)]
		_, again := all.byIssuer[issuer]
		switch {
		case at < 0 && fallback:
			return LinkPolicies{}, errors.New("two policies without an issuer are given; give one for all other issuers")
		case at < 0:
			all.fallback, fallback = p, true
			continue
		case !slices.Contains(issuers, issuer):
			return LinkPolicies{}, fmt.Errorf(
				"%s is not a configured issuer; write its URL exactly as it is configured", strconv.Quote(issuer))
		case again:
			return LinkPolicies{}, fmt.Errorf("two policies are given for the issuer %s", strconv.Quote(issuer))
		}
		all.byIssuer[issuer] = p
	}
	return all, nil
}

// of returns the policy of an issuer.
func (all LinkPolicies) of(issuer string) LinkPolicy {
	if p, named := all.byIssuer[issuer]; named {
		return p
	}
	return all.fallback
}
