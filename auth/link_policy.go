package auth

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// LinkPolicy determines which of an issuer's verified email addresses link its identities to
// accounts with the same address. An address that does not link counts as missing. The zero
// LinkPolicy links all addresses.
type LinkPolicy struct {
	never   bool
	domains []string // in lower case; empty for every domain
}

// ParseLinkPolicy reads a policy: "verified" links every verified address,
// "verified:example.com:example.org" links addresses in the listed domains but not in their
// subdomains, and "never" links no address.
func ParseLinkPolicy(text string) (LinkPolicy, error) {
	kind, list, limited := strings.Cut(text, ":")
	switch {
	case text == "never":
		return LinkPolicy{never: true}, nil
	case kind != "verified":
		return LinkPolicy{}, fmt.Errorf(
			"%s is not a policy; use verified, never, or verified with domains, such as verified:example.com", strconv.Quote(text))
	case !limited:
		return LinkPolicy{}, nil
	}
	var p LinkPolicy
	for domain := range strings.SplitSeq(list, ":") {
		if cola.CheckEmail("postmaster@"+domain) != nil {
			return LinkPolicy{}, fmt.Errorf(
				"%s is not a valid domain; use the xn-- form for non-ASCII domains", strconv.Quote(domain))
		}
		p.domains = append(p.domains, vocabulary.FoldASCII(domain))
	}
	return p, nil
}

// allows reports whether a verified address links.
func (p LinkPolicy) allows(email string) bool {
	domain := vocabulary.FoldASCII(email[strings.LastIndexByte(email, '@')+1:])
	return !p.never && (len(p.domains) == 0 || slices.Contains(p.domains, domain))
}

// linking returns the verified address if it links, otherwise "".
func (p LinkPolicy) linking(email string) string {
	if !p.allows(email) {
		return ""
	}
	return email
}

// LinkPolicies maps issuers to their LinkPolicy. The zero LinkPolicies links all verified addresses
// of all issuers.
type LinkPolicies struct {
	fallback LinkPolicy
	byIssuer map[string]LinkPolicy // by URL
}

// ParseLinkPolicies reads policies of the form ISSUER=POLICY, or POLICY for all other issuers. It
// fails if a policy names an unknown issuer, or if two policies apply to the same issuer.
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
		_, duplicate := all.byIssuer[issuer]
		switch {
		case at < 0 && fallback:
			return LinkPolicies{}, errors.New("two policies without an issuer; keep one, which applies to all other issuers")
		case at < 0:
			all.fallback, fallback = p, true
			continue
		case !slices.Contains(issuers, issuer):
			return LinkPolicies{}, fmt.Errorf(
				"%s is not a configured issuer; use its URL exactly as configured", strconv.Quote(issuer))
		case duplicate:
			return LinkPolicies{}, fmt.Errorf("two policies for the issuer %s", strconv.Quote(issuer))
		}
		all.byIssuer[issuer] = p
	}
	return all, nil
}

// of returns an issuer's policy.
func (all LinkPolicies) of(issuer string) LinkPolicy {
	if p, ok := all.byIssuer[issuer]; ok {
		return p
	}
	return all.fallback
}
