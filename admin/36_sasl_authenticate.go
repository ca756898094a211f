package admin

import "github.com/twmb/franz-go/pkg/kmsg"

// SaslAuthenticate v0-2 (SaslServerAuthenticator):
//
//   - A client that fails is told no more than that, and the connection ends.
//   - From v1 on it is told how long its login lasts: that of a token until the
//     token expires, after which it has to begin anew (KIP-368).
func (c *call) saslAuthenticate(q *kmsg.SASLAuthenticateRequest) *kmsg.SASLAuthenticateResponse {
	r := reply[*kmsg.SASLAuthenticateResponse](q)
	r.SASLAuthBytes = []byte{}
	if c.session.exchange == nil {
		r.ErrorCode, r.ErrorMessage = codeIllegalSaslState, errorMessage(codeIllegalSaslState)
		c.session.failed = true
		return r
	}
	answer, name, err := c.session.exchange.next(q.SASLAuthBytes)
	if err != nil {
		r.ErrorCode, r.ErrorMessage = codeSaslAuthenticationFailed, new(c.session.failure())
		c.session.failed = true
		return r
	}
	if answer != nil {
		r.SASLAuthBytes = answer
	}
	if name != "" {
		if again := c.session.principal; again != "" && again != "User:"+name {
			r.ErrorCode, r.ErrorMessage = codeSaslAuthenticationFailed, new("Authentication failed: cannot change principals during re-authentication")
			c.session.failed = true
			return r
		}
		c.session.principal = "User:" + name
		if bearer, ok := c.session.exchange.(*bearerExchange); ok {
			c.session.expires = bearer.expires
			r.SessionLifetimeMillis = max(1, bearer.expires.Sub(c.o.Now()).Milliseconds())
		}
		c.session.exchange = nil
	}
	return r
}
