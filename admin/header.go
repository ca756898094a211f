package admin

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/wire"
)

const (
	saslHandshakeKey    = 17
	apiVersionsKey      = 18
	saslAuthenticateKey = 36
)

// header is the header of a request (RequestHeader v1 and v2).
type header struct {
	key, version int16
	correlation  int32
	client       string
}

// String names a request for a log.
func (h header) String() string {
	return fmt.Sprintf("%s (key %d) version %d of client %q", kmsg.NameForKey(h.key), h.key, h.version, h.client)
}

// minHeader is the size of a header without a client id.
const minHeader = 10

// parseHeader reads a header up to its tagged fields.
func parseHeader(b []byte) (h header, rest []byte, err error) {
	h.key = int16(binary.BigEndian.Uint16(b))
	h.version = int16(binary.BigEndian.Uint16(b[2:]))
	h.correlation = int32(binary.BigEndian.Uint32(b[4:]))
	n := int(int16(binary.BigEndian.Uint16(b[8:])))
	b = b[minHeader:]
	if n > len(b) {
		return h, nil, fmt.Errorf("%w: its client id would have %d bytes, and %d are left", errMalformed, n, len(b))
	}
	if n > 0 {
		h.client, b = string(b[:n]), b[n:]
	}
	return h, b, nil
}

// skipTags passes over the tagged fields of the header of a flexible request.
func (h *header) skipTags(b []byte, q kmsg.Request) ([]byte, error) {
	if !q.IsFlexible() {
		return b, nil
	}
	r := wire.NewReader(b)
	r.UnknownTags(nil)
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("%w: the tagged fields of its header: %w", errMalformed, err)
	}
	return r.Rest(), nil
}

// unsupportedApiVersions answers a version of ApiVersions that is not known
// here: in the version that every client understands, with the range from which
// the client has to choose (KIP-511).
func unsupportedApiVersions(a api) kmsg.Response {
	r := kmsg.NewPtrApiVersionsResponse()
	r.ErrorCode = codeUnsupportedVersion
	r.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: a.key, MinVersion: a.min, MaxVersion: a.max}}
	return r
}
