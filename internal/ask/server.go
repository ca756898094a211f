package ask

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/kraftside/kraftside/internal/cli"
)

// server is a sidecar that was named.
type server struct {
	base *url.URL
}

// parseServer reads a URL. Without a scheme it is taken for HOST:PORT.
func parseServer(text string) (*server, error) {
	whole := text
	if !strings.Contains(text, "://") {
		whole = "http://" + text
	}
	u, err := url.Parse(whole)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return nil, cli.Errorf(cli.BadUsage, "--server: %s is not the URL of a sidecar; want one such as %s", cli.Name(text), DefaultServer)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, cli.Errorf(cli.BadUsage, "--server: %s begins neither with http:// nor with https://", cli.Name(text))
	case u.User != nil:
		// Not printed: it may hold a password.
		return nil, cli.Errorf(cli.BadUsage, "--server: the URL of %s has a user name in it; sidecars know tokens, see --token-file", cli.Name(u.Host))
	case u.RawQuery != "" || u.Fragment != "":
		return nil, cli.Errorf(cli.BadUsage, "--server: %s has more than a path; leave out what follows ? or #", cli.Name(text))
	}
	return &server{base: u}, nil
}

// url is that of a path below /v1, whose elements are escaped already.
func (s *server) url(path string, q url.Values) string {
	text := s.base.Scheme + "://" + s.base.Host + strings.TrimSuffix(s.base.EscapedPath(), "/") + "/v1" + path
	if len(q) > 0 {
		text += "?" + q.Encode()
	}
	return text
}

// escape makes an element of a path of any name. Dots alone would be taken for
// a step up.
func escape(name string) string {
	if strings.Trim(name, ".") == "" {
		return strings.Repeat("%2E", len(name))
	}
	return url.PathEscape(name)
}

// String is how messages call the server.
func (s *server) String() string { return s.base.String() }

const dialTimeout = 5 * time.Second

func newTransport(c *Config) (http.RoundTripper, error) {
	if c.Transport != nil {
		return c.Transport, nil
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.ServerName}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, cli.Errorf(cli.BadUsage, "--ca-file: %w", err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, cli.Errorf(cli.BadUsage, "--ca-file: read %s: there is no PEM certificate in it", c.CAFile)
		}
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return nil, cli.Errorf(cli.BadUsage, "only one of --cert-file and --key-file is given: a certificate needs its key")
	}
	if c.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, cli.Errorf(cli.BadUsage, "--cert-file: read %s and %s: %w", c.CertFile, c.KeyFile, err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig:        t,
		TLSHandshakeTimeout:    dialTimeout,
		DisableCompression:     true, // so that the limits are on what is sent
		MaxResponseHeaderBytes: 64 << 10,
		MaxIdleConnsPerHost:    1,
		IdleConnTimeout:        30 * time.Second,
	}, nil
}
