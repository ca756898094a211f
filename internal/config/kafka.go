package config

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// Toggle is yes, no, or as other settings have it.
type Toggle string

// The values of a Toggle. After Load none is Auto.
const (
	Auto Toggle = "auto"
	On   Toggle = "true"
	Off  Toggle = "false"
)

// Mechanism is how to log in by SASL.
type Mechanism string

// The mechanisms. After Load none is Inherit.
const (
	Inherit     Mechanism = "" // controllers only: as for brokers
	NoSASL      Mechanism = "none"
	Plain       Mechanism = "PLAIN"
	ScramSHA256 Mechanism = "SCRAM-SHA-256"
	ScramSHA512 Mechanism = "SCRAM-SHA-512"
	OAuthBearer Mechanism = "OAUTHBEARER"
)

// Kafka is how to find brokers and talk to them.
type Kafka struct {
	Bootstrap []string // HOST:PORT
	Security
}

// Security is how to talk to servers of one kind.
type Security struct {
	TLS  TLS
	SASL SASL
}

// TLS names files in PEM. They are read again for every connection.
type TLS struct {
	Enabled    Toggle
	CAFile     string // "" trusts what the system trusts
	CertFile   string
	KeyFile    string
	ServerName string // "" is the host that is connected to
}

// SASL names credentials. Files are read again for every login.
type SASL struct {
	Mechanism    Mechanism
	Username     string
	PasswordFile string
	Password     Secret
	TokenFile    string
}

func (k *Kafka) settings() []setting {
	return append([]setting{
		{"bootstrap", list(&k.Bootstrap, "HOST:PORT", hostPort), "brokers' listeners; one that is up is enough to find the others"},
	}, k.Security.settings()...)
}

func (s *Security) settings() []setting {
	t, a := &s.TLS, &s.SASL
	return []setting{
		{"tls.enabled", choice(&t.Enabled, Auto, On, Off), "whether to use TLS; auto: if another tls setting is given"},
		{"tls.ca-file", filePath(&t.CAFile), "PEM file of the authorities to trust; default: those that the system trusts"},
		{"tls.cert-file", filePath(&t.CertFile), "PEM file of the client certificate, with what is between it and an authority (mTLS)"},
		{"tls.key-file", filePath(&t.KeyFile), "PEM file of its private key, not encrypted"},
		{"tls.server-name", text(&t.ServerName, "NAME"),
			"the name that servers' certificates must bear; default: the host that is connected to"},
		{"sasl.mechanism", choice(&a.Mechanism, NoSASL, Plain, ScramSHA256, ScramSHA512, OAuthBearer),
			"how to log in; PLAIN, and OAUTHBEARER too, give the secret itself to the server and want TLS"},
		{"sasl.username", text(&a.Username, "NAME"), "the user of PLAIN and SCRAM"},
		{"sasl.password-file", filePath(&a.PasswordFile), "file with its password; a line feed at the end is not part of it"},
		{"sasl.password", secret(&a.Password), "the password itself; use sasl.password-file to change it without a restart"},
		{"sasl.token-file", filePath(&a.TokenFile), "file with the token of OAUTHBEARER"},
	}
}

// decide settles whether TLS is used.
func (t *TLS) decide() {
	if t.Enabled == Auto {
		t.Enabled = Off
		if cmp.Or(t.CAFile, t.CertFile, t.KeyFile, t.ServerName) != "" {
			t.Enabled = On
		}
	}
}

// inherit takes over from another what is not set and what fits.
func (s *Security) inherit(from *Security) {
	if t := &s.TLS; *t == (TLS{Enabled: Auto}) {
		*t = from.TLS
	} else if t.decide(); t.Enabled == On {
		t.CAFile = cmp.Or(t.CAFile, from.TLS.CAFile)
		t.ServerName = cmp.Or(t.ServerName, from.TLS.ServerName)
		if t.CertFile == "" && t.KeyFile == "" {
			t.CertFile, t.KeyFile = from.TLS.CertFile, from.TLS.KeyFile
		}
	}
	s.SASL.inherit(&from.SASL)
}

func (a *SASL) inherit(from *SASL) {
	if a.Mechanism == Inherit {
		a.Mechanism = from.Mechanism
	}
	switch {
	case a.Mechanism == OAuthBearer:
		a.TokenFile = cmp.Or(a.TokenFile, from.TokenFile)
	case a.Mechanism != NoSASL && a.Username == "" && !a.hasPassword():
		a.Username, a.PasswordFile, a.Password = from.Username, from.PasswordFile, from.Password
	}
}

func (a *SASL) hasPassword() bool { return a.PasswordFile != "" || a.Password != "" }

func (s *Security) validate(prefix string) error {
	return errors.Join(s.TLS.validate(prefix+".tls"), s.SASL.validate(prefix+".sasl"))
}

func (t *TLS) validate(prefix string) error {
	switch {
	case t.Enabled == Off && *t != (TLS{Enabled: Off}):
		return fmt.Errorf("%s.enabled is false, and other settings of %s are given: leave out one or the other", prefix, prefix)
	case (t.CertFile == "") != (t.KeyFile == ""):
		return fmt.Errorf("only one of %s.cert-file and %s.key-file is set: a client certificate needs both", prefix, prefix)
	}
	return nil
}

func (a *SASL) validate(prefix string) error {
	set := func(key string) string { return prefix + "." + key }
	switch a.Mechanism {
	case NoSASL:
		if a.Username != "" || a.hasPassword() || a.TokenFile != "" {
			return fmt.Errorf("credentials are given under %s, and %s is none: set it to the mechanism that they are for", prefix, set("mechanism"))
		}
	case OAuthBearer:
		if a.TokenFile == "" {
			return fmt.Errorf("%s is %s and %s is not set: give the file that holds the token", set("mechanism"), a.Mechanism, set("token-file"))
		}
		if a.Username != "" || a.hasPassword() {
			return fmt.Errorf("%s is %s, which takes no user and no password: they are in the token", set("mechanism"), a.Mechanism)
		}
	default:
		return a.validatePassword(set)
	}
	return nil
}

// validatePassword is for the mechanisms that have a user and a password.
func (a *SASL) validatePassword(set func(string) string) error {
	switch {
	case a.Username == "":
		return fmt.Errorf("%s is %s and %s is not set", set("mechanism"), a.Mechanism, set("username"))
	case !a.hasPassword():
		return fmt.Errorf("%s is %s and there is no password: set %s, or the variable %s",
			set("mechanism"), a.Mechanism, set("password-file"), variable(set("password")))
	case a.PasswordFile != "" && a.Password != "":
		return fmt.Errorf("%s and the variable %s are both set: which of the passwords is meant?",
			set("password-file"), variable(set("password")))
	case a.TokenFile != "":
		return fmt.Errorf("%s is %s, which takes no token: leave out %s", set("mechanism"), a.Mechanism, set("token-file"))
	}
	return nil
}

// Secret is a secret that was given as it is. It shows itself to nobody who
// prints it by accident.
type Secret string

const redacted = "[redacted]"

// String hides the secret; convert it to a string to use it.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString is String.
func (s Secret) GoString() string { return s.String() }

// MarshalText is String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// variable is the environment variable of a key.
func variable(key string) string {
	return variablePrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
}
