package admin

import (
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"strings"
)

// certificatePrincipal is whom the verified certificate of a client names
// (DefaultKafkaPrincipalBuilder); false if it brought none.
func certificatePrincipal(s tls.ConnectionState) (principal string, ok bool) {
	if len(s.VerifiedChains) == 0 {
		return "", false
	}
	var name pkix.RDNSequence
	if _, err := asn1.Unmarshal(s.PeerCertificates[0].RawSubject, &name); err != nil {
		return "", false
	}
	return "User:" + distinguishedName(name), true
}

// keywords are the types of attributes that RFC 2253 has names for; Java writes
// the others as their numbers.
var keywords = map[string]string{
	"2.5.4.3": "CN", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.10": "O", "2.5.4.11": "OU", "2.5.4.9": "STREET",
	"0.9.2342.19200300.100.1.25": "DC", "0.9.2342.19200300.100.1.1": "UID",
}

// distinguishedName is a subject as Java writes it (X500Principal.getName), by
// which access control entries name it: by RFC 2253, the last part first.
func distinguishedName(name pkix.RDNSequence) string {
	var parts []string
	for i := len(name) - 1; i >= 0; i-- {
		var set []string
		for _, a := range name[i] {
			set = append(set, attribute(a))
		}
		parts = append(parts, strings.Join(set, "+"))
	}
	return strings.Join(parts, ",")
}

func attribute(a pkix.AttributeTypeAndValue) string {
	oid := a.Type.String()
	if keyword, ok := keywords[oid]; ok {
		return keyword + "=" + escaped(fmt.Sprint(a.Value))
	}
	der, err := asn1.Marshal(a.Value)
	if err != nil {
		return oid + "="
	}
	return oid + "=#" + hex.EncodeToString(der)
}

// escaped marks what has a meaning in a distinguished name.
func escaped(s string) string {
	var b strings.Builder
	for i, r := range s {
		space := r == ' ' && (i == 0 || i == len(s)-1)
		if strings.ContainsRune(`,+"\<>;`, r) || r == '#' && i == 0 || space {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
