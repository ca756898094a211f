package admin

import "github.com/twmb/franz-go/pkg/kmsg"

// SaslHandshake v1 (SaslServerAuthenticator):
//
//   - v0, after which the messages of the mechanism come without a header, is
//     not served.
//   - Where nobody has to log in, or has already, it is ILLEGAL_SASL_STATE. Who
//     has a login that expires may log in again (KIP-368).
func (c *call) saslHandshake(q *kmsg.SASLHandshakeRequest) *kmsg.SASLHandshakeResponse {
	r := reply[*kmsg.SASLHandshakeResponse](q)
	if len(c.door.mechanisms) == 0 || c.session.exchange != nil || c.session.principal != "" && c.session.expires.IsZero() {
		r.ErrorCode = codeIllegalSaslState
		return r
	}
	r.SupportedMechanisms = c.door.mechanisms
	x, ok := c.door.begin(q.Mechanism, c.view.Image.Scram(), c.o.Now)
	if !ok {
		r.ErrorCode = codeUnsupportedSaslMechanism
		c.session.failed = true
		return r
	}
	c.session.mechanism, c.session.exchange = q.Mechanism, x
	return r
}
