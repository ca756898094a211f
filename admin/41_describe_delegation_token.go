package admin

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/image"
)

// DescribeDelegationToken v1-3 (DelegationTokenManager.getTokens):
//
//   - Tokens are told to whom a broker would tell them: their owner, their
//     renewers, and who may describe them; nobody who is not authenticated.
//   - The HMAC, with which one logs in, is empty: it is a secret.
func (c *call) describeDelegationToken(q *kmsg.DescribeDelegationTokenRequest) *kmsg.DescribeDelegationTokenResponse {
	r := reply[*kmsg.DescribeDelegationTokenResponse](q)
	switch {
	case !c.authenticated():
		r.ErrorCode = codeDelegationTokenRequestNotAllowed
		return r
	case !c.fresh.metadata:
		r.ErrorCode = codeRequestTimedOut
		return r
	}
	var owners []string
	for _, o := range q.Owners {
		owners = append(owners, o.PrincipalType+":"+o.PrincipalName)
	}
	for t := range c.view.Image.DelegationTokens().All() {
		if (q.Owners == nil || slices.Contains(owners, t.Owner)) && c.mayDescribeToken(&t) {
			r.TokenDetails = append(r.TokenDetails, describedToken(&t))
		}
	}
	return r
}

func (c *call) mayDescribeToken(t *image.DelegationToken) bool {
	me := c.session.principal
	return t.Owner == me || slices.Contains(t.Renewers, me) ||
		c.may(opDescribe, delegationTokenResource, t.ID) || c.may(opDescribeTokens, userResource, t.Owner)
}

func describedToken(t *image.DelegationToken) kmsg.DescribeDelegationTokenResponseTokenDetail {
	r := kmsg.DescribeDelegationTokenResponseTokenDetail{
		IssueTimestamp: t.IssuedAt, ExpiryTimestamp: t.ExpiresAt, MaxTimestamp: t.MaxAt, TokenID: t.ID, HMAC: []byte{},
	}
	r.PrincipalType, r.PrincipalName, _ = strings.Cut(t.Owner, ":")
	r.TokenRequesterPrincipalType, r.TokenRequesterPrincipalName, _ = strings.Cut(t.Requester, ":")
	for _, renewer := range t.Renewers {
		kind, name, _ := strings.Cut(renewer, ":")
		r.Renewers = append(r.Renewers, kmsg.DescribeDelegationTokenResponseTokenDetailRenewer{PrincipalType: kind, PrincipalName: name})
	}
	return r
}
