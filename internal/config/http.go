package config

import "errors"

// HTTP is the HTTP server.
type HTTP struct {
	Listen         string // [HOST]:PORT
	TokenFile      string
	TLS            ServerTLS
	AllowAnonymous bool
}

// ServerTLS names files in PEM.
type ServerTLS struct {
	CertFile     string
	KeyFile      string
	ClientCAFile string
}

func (h *HTTP) settings() []setting {
	t := &h.TLS
	return []setting{
		{"listen", address(&h.Listen), "where to listen; without a host, on all addresses"},
		{"token-file", filePath(&h.TokenFile), "file with tokens, one a line; who sends one as a bearer token may read everything. Peers are asked with the first"},
		{"tls.cert-file", filePath(&t.CertFile), "PEM file of the server's certificate; with it the server speaks TLS"},
		{"tls.key-file", filePath(&t.KeyFile), "PEM file of its private key, not encrypted"},
		{"tls.client-ca-file", filePath(&t.ClientCAFile),
			"PEM file of authorities; who has a client certificate of theirs may read everything (mTLS)"},
		{"allow-anonymous", boolean(&h.AllowAnonymous), "let anyone read everything who can reach the server"},
	}
}

func (h *HTTP) validate() error {
	t := &h.TLS
	switch {
	case (t.CertFile == "") != (t.KeyFile == ""):
		return errors.New("only one of http.tls.cert-file and http.tls.key-file is set: a server certificate needs both")
	case t.ClientCAFile != "" && t.CertFile == "":
		return errors.New("http.tls.client-ca-file is set and http.tls.cert-file is not: client certificates need a server that speaks TLS")
	case h.AllowAnonymous && (h.TokenFile != "" || t.ClientCAFile != ""):
		return errors.New("http.allow-anonymous is set beside http.token-file or http.tls.client-ca-file, which it makes useless: leave out one or the other")
	}
	return nil
}

// Peers is how other sidecars are found.
type Peers struct {
	Listener string
	Address  string // HOST[:PORT] with {host} or {id} in it
}

func (p *Peers) settings() []setting {
	return []setting{
		{"listener", text(&p.Listener, "NAME"),
			"the brokers' listener whose host is that of the sidecar beside it; needed where a broker's listeners are on different hosts"},
		{"address", peerAddress(&p.Address),
			"where the sidecar beside a broker is, with {host} for the broker's host and {id} for its node id; default: {host} and the port " +
				"of http.listen"},
	}
}
